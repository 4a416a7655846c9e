//! Admitted units in a window that moves with the events: what an online metric keeps of a subject.

use std::collections::VecDeque;

use super::peak::Window;

/// Admitted units in a trailing window, in time order.
#[derive(Debug, Default, Clone)]
pub(super) struct Queue {
    at: VecDeque<u64>,
    /// The cost of each; none while all cost one unit.
    #[expect(clippy::box_collection, reason = "most queues have none, and there are many queues")]
    costs: Option<Box<VecDeque<u64>>>,
    pub(super) units: u128,
    /// Entries before this index are older than the instant; `recent` are the units from there on.
    instant: usize,
    recent: u128,
}

impl Queue {
    fn cost(&self, index: usize) -> u128 {
        self.costs.as_ref().and_then(|costs| costs.get(index)).map_or(1, |&cost| u128::from(cost))
    }

    /// Drops what a window that ends at `now` does not hold any more.
    pub(super) fn advance(&mut self, now: u64, window: u64) {
        while self.at.front().is_some_and(|at| now.saturating_sub(*at) >= window) {
            let units = self.cost(0);
            self.units -= units;
            match self.instant.checked_sub(1) {
                Some(before) => self.instant = before,
                None => self.recent -= units,
            }
            self.at.pop_front();
            if let Some(costs) = &mut self.costs {
                costs.pop_front();
            }
        }
    }

    /// Adds units at a time that is not before those added already.
    pub(super) fn push(&mut self, at: u64, units: u64) {
        self.units += u128::from(units);
        self.recent += u128::from(units);
        if units != 1 && self.costs.is_none() {
            self.costs = Some(Box::new(self.at.iter().map(|_| 1).collect()));
        }
        if let Some(costs) = &mut self.costs {
            costs.push_back(units);
        }
        self.at.push_back(at);
    }

    /// The window of `length` that ends with the newest entry, where `length` is no more than that of the queue.
    pub(super) fn densest(&mut self, length: u64, client: Option<u32>) -> Option<Window> {
        let end = *self.at.back()?;
        while self.at.get(self.instant).is_some_and(|at| end - at >= length) {
            self.recent -= self.cost(self.instant);
            self.instant += 1;
        }
        let start = *self.at.get(self.instant)?;
        Some(Window { units: self.recent, start, end, client })
    }

    /// The whole window, up to the newest entry.
    pub(super) fn whole(&self, client: Option<u32>) -> Option<Window> {
        let (start, end) = (*self.at.front()?, *self.at.back()?);
        Some(Window { units: self.units, start, end, client })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_holds_one_window_and_its_latest_instant() {
        let mut queue = Queue::default();
        for (at, units) in [(0, 3), (0, 1), (50, 2), (99, 1)] {
            queue.advance(at, 100);
            queue.push(at, units);
        }
        assert_eq!(queue.whole(None).map(|w| (w.units, w.start, w.end)), Some((7, 0, 99)));
        assert_eq!(queue.densest(50, None).map(|w| (w.units, w.start)), Some((3, 50)));
        queue.advance(100, 100);
        queue.push(100, 5);
        assert_eq!(queue.whole(None).map(|w| (w.units, w.start)), Some((8, 50)));
        assert_eq!(queue.densest(1, None).map(|w| (w.units, w.start)), Some((5, 100)));
        queue.advance(10_000, 100);
        assert_eq!((queue.units, queue.recent, queue.at.len()), (0, 0, 0));
    }
}
