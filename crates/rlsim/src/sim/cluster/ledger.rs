//! Writes down every answer, and what it cost.

use ratelimit_core::Decision;

use super::arrivals::Arrival;

/// Bins of load: one second each.
const SECOND: u64 = 1_000_000_000;

/// The answer to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// When it was given, in nanoseconds.
    pub at: u64,
    /// Whether the request passes.
    pub allowed: bool,
    /// How long a leaky bucket holds it back after that, in nanoseconds.
    pub delay: u64,
}

impl Answer {
    /// A decision that takes effect at `at`.
    pub(super) fn new(at: u64, decision: Decision) -> Self {
        let delay = match decision {
            Decision::Allowed { delay, .. } => delay.get(),
            Decision::Denied { .. } | Decision::Never { .. } => 0,
        };
        Answer { at, allowed: decision.is_allowed(), delay }
    }
}

/// Answers by request, and counts of what they took.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) answers: Vec<Option<Answer>>,
    pub(super) messages: u64,
    pub(super) store_operations: u64,
    /// Operations of each slot in the current second, and the most any had in one second.
    slots: Vec<(u64, u64)>,
    pub(super) hottest: u64,
}

impl Ledger {
    pub(super) fn new(arrivals: &[Arrival]) -> Self {
        Ledger { answers: vec![None; arrivals.len()], messages: 0, store_operations: 0, slots: Vec::new(), hottest: 0 }
    }

    /// Answers a request, once.
    pub(super) fn answer(&mut self, request: usize, answer: Answer) {
        debug_assert!(self.answers[request].is_none(), "request {request} is answered once");
        self.answers[request] = Some(answer);
    }

    pub(super) fn message(&mut self) {
        self.messages += 1;
    }

    /// The store does something on one of its slots.
    pub(super) fn store_operation(&mut self, slot: usize, now: u64) {
        self.store_operations += 1;
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, (0, 0));
        }
        let (second, count) = &mut self.slots[slot];
        if *second == now / SECOND {
            *count += 1;
        } else {
            (*second, *count) = (now / SECOND, 1);
        }
        self.hottest = self.hottest.max(*count);
    }
}
