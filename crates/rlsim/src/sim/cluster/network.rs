//! Messages between servers and the store: they take time, and some get lost.

use std::fmt;
use std::str::FromStr;

use super::faults::Faults;
use super::ledger::Ledger;
use crate::generate::random::Draws;
use crate::generate::units::Span;
use crate::sim::queue::Queue;

/// How long a message takes, one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delay {
    /// Always the same, in nanoseconds.
    Constant(u64),
    /// Half of this for certain, the other half as the mean of an exponential distribution.
    Random(u64),
}

impl FromStr for Delay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("constant:") {
            Some(rest) => rest.parse().map(|Span(nanos)| Delay::Constant(nanos)),
            None => text.parse().map(|Span(nanos)| Delay::Random(nanos)),
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Delay::Constant(nanos) => write!(f, "constant:{}", Span(nanos)),
            Delay::Random(nanos) => write!(f, "{}", Span(nanos)),
        }
    }
}

/// Something that happens at its time.
#[derive(Debug)]
pub(super) enum Event<M> {
    /// The next request comes.
    Arrive,
    /// A message, or a server's own alarm, reaches its goal.
    Message(M),
}

/// What a strategy can do besides deciding: send messages, and answer requests.
pub(super) struct Network<M> {
    pub(super) queue: Queue<Event<M>>,
    pub(super) ledger: Ledger,
    pub(super) faults: Faults,
    pub(super) servers: usize,
    delay: Delay,
    draws: Draws,
}

impl<M> Network<M> {
    pub(super) fn new(servers: usize, delay: Delay, faults: Faults, ledger: Ledger, draws: Draws) -> Self {
        Network { queue: Queue::new(), ledger, faults, servers, delay, draws }
    }

    pub(super) fn now(&self) -> u64 {
        self.queue.now()
    }

    /// The time on a server's own clock.
    pub(super) fn clock(&self, server: usize) -> u64 {
        self.now().saturating_add(self.faults.ahead(server, self.servers))
    }

    /// How long the next message takes.
    fn travel(&mut self) -> u64 {
        match self.delay {
            Delay::Constant(nanos) => nanos,
            Delay::Random(nanos) => (nanos / 2).saturating_add(self.draws.exponential_of(nanos - nanos / 2)),
        }
    }

    /// Sends a message; when it will arrive, or `None` when it will not, because it is lost or the store is down now.
    pub(super) fn send(&mut self, message: M) -> Option<u64> {
        self.ledger.message();
        let lost = self.faults.lost > 0 && self.draws.below(100) < u64::from(self.faults.lost);
        if lost || self.faults.store_is_down(self.now()) {
            return None;
        }
        let travel = self.travel();
        self.queue.after(travel, Event::Message(message));
        Some(self.now().saturating_add(travel))
    }

    /// When a server that asks the store now stops waiting for the answer.
    pub(super) fn deadline(&self) -> u64 {
        self.now().saturating_add(self.faults.timeout.0)
    }

    /// Whether nobody waits any more for what was asked with this deadline. An answer at the deadline itself is in time.
    pub(super) fn is_late(&self, deadline: u64) -> bool {
        self.now() > deadline
    }

    /// Sends a message of a call to the store that is waited for until `deadline`; if it arrives later or never, the server
    /// hears `timed_out` at the deadline. Either way the message goes out: a store does its work for a caller who has gone.
    /// Of a call that is late already nobody hears anything.
    pub(super) fn call(&mut self, message: M, deadline: u64, timed_out: M) {
        let late = self.is_late(deadline);
        let arrives = self.send(message);
        if !late && arrives.is_none_or(|at| at > deadline) {
            self.queue.at(deadline, Event::Message(timed_out));
        }
    }

    /// Lets a server hear its own `message` after `delay` nanoseconds.
    pub(super) fn alarm(&mut self, delay: u64, message: M) {
        self.queue.after(delay, Event::Message(message));
    }
}
