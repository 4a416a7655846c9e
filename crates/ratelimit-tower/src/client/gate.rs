//! What is known of one server, and the queue before it. Pure: the time is an argument.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use ratelimit_core::Nanos;

/// Locks, also after a panic elsewhere: between any two calls the gate is whole.
pub(super) fn lock(gate: &Mutex<Gate>) -> MutexGuard<'_, Gate> {
    gate.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One server. Invariant: `in_flight` passes have been given out and not come back.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// Whether the server has said anything about limits.
    limited: bool,
    /// Requests that may be sent before `until`.
    budget: u64,
    until: Nanos,
    /// How long the last refusal said to wait.
    pause: Nanos,
    in_flight: u64,
    /// Passes given out so far.
    sent: u64,
    /// Who waits, oldest ticket first.
    queue: BTreeMap<u64, Option<Waker>>,
    tickets: u64,
}

/// The right to send one request; it must come back by [`Gate::answered`] or [`Gate::abandoned`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pass {
    /// How many were sent before it, and it.
    pub(super) number: u64,
    /// Nothing else was on its way when this was.
    alone: bool,
}

/// Whether a request may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    Go(Pass),
    /// Not before then.
    At(Nanos),
    /// When somebody's answer has come, or those before it have gone.
    Later,
}

impl Gate {
    /// A place at the end of the queue.
    pub(super) fn enqueue(&mut self) -> u64 {
        self.tickets += 1;
        self.queue.insert(self.tickets, None);
        self.tickets
    }

    /// Leaves the queue without having been sent.
    pub(super) fn leave(&mut self, ticket: u64) {
        self.queue.remove(&ticket);
        self.wake_first();
    }

    /// Sends the holder of a ticket if it is its turn; otherwise `waker` is called when that may have changed, and for
    /// [`Entry::At`] the holder must come back by itself, too.
    pub(super) fn enter(&mut self, ticket: u64, now: Nanos, waker: &Waker) -> Entry {
        let is_first = self.queue.first_key_value().is_none_or(|(first, _)| *first == ticket);
        let entry = match (is_first, self.limited) {
            (true, false) => self.go(),
            (true, true) if now < self.until && self.budget > 0 => {
                self.budget -= 1;
                self.go()
            }
            (true, true) if now < self.until => Entry::At(self.until),
            // What was said no longer holds: one asks for all.
            (true, true) if self.in_flight == 0 => {
                self.budget = 0;
                self.go()
            }
            (false, _) | (true, true) => Entry::Later,
        };
        match entry {
            Entry::Go(_) => {
                self.queue.remove(&ticket);
                self.wake_first();
            }
            Entry::At(_) | Entry::Later => {
                self.queue.insert(ticket, Some(waker.clone()));
            }
        }
        entry
    }

    fn go(&mut self) -> Entry {
        self.sent += 1;
        let alone = self.in_flight == 0;
        self.in_flight += 1;
        Entry::Go(Pass { number: self.sent, alone })
    }

    /// An answer has come: `told` is how many more it said can be sent, and within which time.
    pub(super) fn answered(&mut self, pass: Pass, now: Nanos, told: Option<(u64, Nanos)>) {
        self.in_flight -= 1;
        match told {
            Some((available, within)) => self.learn(pass, now, available, within),
            None if now < self.until => {}
            // A server that says no more than when to come back gets one request in that time, while others wait.
            None if self.queue.is_empty() => self.limited = false,
            None => self.until = now.saturating_add(self.pause),
        }
        self.wake_first();
    }

    /// The request was refused: nothing is sent for so long.
    pub(super) fn refused(&mut self, now: Nanos, wait: Nanos) {
        self.in_flight -= 1;
        self.limited = true;
        self.budget = 0;
        self.pause = wait;
        self.until = self.until.max(now.saturating_add(wait));
        self.wake_first();
    }

    /// No answer will come.
    pub(super) fn abandoned(&mut self) {
        self.in_flight -= 1;
        self.wake_first();
    }

    /// Those on their way may take of what is available. An answer may have been overtaken by a newer one, unless its
    /// request was alone and the last: then it is believed, and otherwise only if it says less.
    fn learn(&mut self, pass: Pass, now: Nanos, available: u64, within: Nanos) {
        let left = available.saturating_sub(self.in_flight);
        let newest = pass.alone && self.sent == pass.number;
        if newest || !self.limited || now >= self.until {
            self.budget = left;
            self.until = now.saturating_add(within);
        } else {
            self.budget = self.budget.min(left);
        }
        self.limited = true;
    }

    fn wake_first(&mut self) {
        if let Some(mut first) = self.queue.first_entry()
            && let Some(waker) = first.get_mut().take()
        {
            waker.wake();
        }
    }

    /// Whether nothing is lost if the gate is forgotten.
    pub(super) fn is_idle(&self, now: Nanos) -> bool {
        self.queue.is_empty() && self.in_flight == 0 && (!self.limited || now >= self.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(secs: u64) -> Nanos {
        Nanos::from_secs(secs)
    }

    fn try_enter(gate: &mut Gate, now: Nanos) -> Entry {
        let ticket = gate.enqueue();
        let entry = gate.enter(ticket, now, Waker::noop());
        gate.leave(ticket);
        entry
    }

    fn enter(gate: &mut Gate, now: Nanos) -> Pass {
        match try_enter(gate, now) {
            Entry::Go(pass) => pass,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_server_that_says_nothing_is_not_limited() {
        let mut gate = Gate::default();
        let passes: Vec<Pass> = (0..100).map(|_| enter(&mut gate, at(0))).collect();
        for pass in passes {
            gate.answered(pass, at(1), None);
        }
        enter(&mut gate, at(1));
    }

    #[test]
    fn what_is_available_is_sent_and_no_more() {
        let mut gate = Gate::default();
        let first = enter(&mut gate, at(0));
        gate.answered(first, at(0), Some((2, at(60))));
        enter(&mut gate, at(1));
        enter(&mut gate, at(1));
        assert_eq!(try_enter(&mut gate, at(1)), Entry::At(at(60)));
    }

    #[test]
    fn those_on_their_way_are_counted_in() {
        let mut gate = Gate::default();
        let first = enter(&mut gate, at(0));
        for _ in 0..3 {
            enter(&mut gate, at(0));
        }
        gate.answered(first, at(0), Some((4, at(60))));
        enter(&mut gate, at(0));
        assert_eq!(try_enter(&mut gate, at(0)), Entry::At(at(60)));
    }

    #[test]
    fn when_the_time_is_over_one_asks_for_all() {
        let mut gate = Gate::default();
        enter(&mut gate, at(0));
        gate.refused(at(0), at(10));
        assert_eq!(try_enter(&mut gate, at(9)), Entry::At(at(10)));
        let probe = enter(&mut gate, at(10));
        assert_eq!(try_enter(&mut gate, at(10)), Entry::Later);
        gate.answered(probe, at(10), Some((4, at(60))));
        for _ in 0..4 {
            enter(&mut gate, at(10));
        }
        assert_eq!(try_enter(&mut gate, at(10)), Entry::At(at(70)));
    }

    #[test]
    fn an_overtaken_answer_does_not_raise_the_budget() {
        let mut gate = Gate::default();
        let (one, two) = (enter(&mut gate, at(0)), enter(&mut gate, at(0)));
        gate.answered(two, at(0), Some((3, at(60))));
        gate.answered(one, at(0), Some((4, at(60))));
        // Two were left when the second was answered, with one on its way.
        for _ in 0..2 {
            enter(&mut gate, at(0));
        }
        assert_eq!(try_enter(&mut gate, at(0)), Entry::At(at(60)));
    }

    #[test]
    fn the_queue_is_kept_in_order() {
        let mut gate = Gate::default();
        let (one, two) = (gate.enqueue(), gate.enqueue());
        assert_eq!(gate.enter(two, at(0), Waker::noop()), Entry::Later);
        assert!(matches!(gate.enter(one, at(0), Waker::noop()), Entry::Go(_)));
        assert!(matches!(gate.enter(two, at(0), Waker::noop()), Entry::Go(_)));
        assert!(!gate.is_idle(at(0)));
        gate.abandoned();
        gate.abandoned();
        assert!(gate.is_idle(at(0)));
    }
}
