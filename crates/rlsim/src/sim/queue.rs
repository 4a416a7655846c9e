//! The event queue: what happens next, with ties served in the order in which they were scheduled.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Events waiting for their time, and the clock that they drive.
///
/// Time never goes back: an event for a time already past happens now. Cost: a heap operation each, logarithmic in the
/// number of waiting events.
#[derive(Debug)]
pub struct Queue<E> {
    waiting: BinaryHeap<Entry<E>>,
    now: u64,
    scheduled: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: u64,
    /// Which scheduled event this is: makes ties deterministic.
    serial: u64,
    event: E,
}

impl<E> Queue<E> {
    /// An empty queue at time zero.
    pub fn new() -> Self {
        Queue { waiting: BinaryHeap::new(), now: 0, scheduled: 0 }
    }

    /// The time of the event that was taken last, in nanoseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// How many events have been scheduled so far.
    pub fn scheduled(&self) -> u64 {
        self.scheduled
    }

    /// Lets `event` happen at `at`, or now when that has passed.
    pub fn at(&mut self, at: u64, event: E) {
        let at = at.max(self.now);
        self.waiting.push(Entry { at, serial: self.scheduled, event });
        self.scheduled += 1;
    }

    /// Lets `event` happen `delay` nanoseconds from now.
    pub fn after(&mut self, delay: u64, event: E) {
        self.at(self.now.saturating_add(delay), event);
    }

    /// Takes the next event and moves the clock to it; `None` when nothing waits, or not before `until`.
    pub fn next_before(&mut self, until: u64) -> Option<E> {
        if self.waiting.peek()?.at >= until {
            return None;
        }
        let entry = self.waiting.pop()?;
        self.now = entry.at;
        Some(entry.event)
    }
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Self::new()
    }
}

/// Reversed, because the heap gives the greatest first and the earliest is wanted.
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.serial).cmp(&(self.at, self.serial))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earliest_first_and_ties_in_order() {
        let mut queue = Queue::new();
        for (at, name) in [(5, "c"), (1, "a"), (5, "d"), (3, "b"), (u64::MAX - 1, "e")] {
            queue.at(at, name);
        }
        let mut order = Vec::new();
        while let Some(name) = queue.next_before(u64::MAX) {
            order.push((queue.now(), name));
        }
        assert_eq!(order, [(1, "a"), (3, "b"), (5, "c"), (5, "d"), (u64::MAX - 1, "e")]);
    }

    #[test]
    fn the_clock_never_goes_back_and_never_wraps() {
        let mut queue = Queue::new();
        queue.at(10, "first");
        assert_eq!(queue.next_before(11), Some("first"));
        queue.at(3, "late");
        queue.after(u64::MAX, "never");
        assert_eq!(queue.next_before(11), Some("late"));
        assert_eq!(queue.now(), 10);
        assert_eq!(queue.next_before(u64::MAX), None);
        assert_eq!(queue.scheduled(), 3);
    }

    #[test]
    fn events_from_the_limit_on_stay() {
        let mut queue = Queue::new();
        queue.at(10, ());
        assert_eq!(queue.next_before(10), None);
        assert_eq!(queue.now(), 0);
        assert_eq!(queue.next_before(11), Some(()));
    }
}
