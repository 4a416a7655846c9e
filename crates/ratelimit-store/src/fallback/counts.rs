//! How many answers came from where.

use std::sync::atomic::{AtomicU64, Ordering};

use super::answer::{Answer, Source};

/// What a [`Fallback`](super::Fallback) has answered so far, decisions and peeks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Answers of the shared limiter.
    pub shared: u64,
    /// Answers of the local limiter.
    pub local: u64,
    /// Admitted because the shared limiter was down.
    pub open: u64,
    /// Refused because the shared limiter was down.
    pub closed: u64,
    /// Calls to the shared limiter that failed or timed out.
    pub failures: u64,
    /// How often the breaker opened, failed probes included.
    pub opened: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    shared: AtomicU64,
    local: AtomicU64,
    open: AtomicU64,
    closed: AtomicU64,
    failures: AtomicU64,
    opened: AtomicU64,
}

impl Counters {
    /// Counts an answer on its way out.
    pub(super) fn answered(&self, answer: Answer) -> Answer {
        let counter = match answer.source {
            Source::Shared => &self.shared,
            Source::Local => &self.local,
            Source::Open => &self.open,
            Source::Closed => &self.closed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        answer
    }

    pub(super) fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn opened(&self) {
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            shared: read(&self.shared),
            local: read(&self.local),
            open: read(&self.open),
            closed: read(&self.closed),
            failures: read(&self.failures),
            opened: read(&self.opened),
        }
    }
}
