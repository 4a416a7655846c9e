//! Limiters of services as engines of a replay.

use ratelimit_core::{Decision, Nanos, Policy};
use ratelimit_store::{Exact, KeyedLimiter, ManualClock};

use crate::error::Result;
use crate::replay::Decider;

/// The in-memory store, with exact keys and room for all clients of a trace.
pub(super) struct Keyed(KeyedLimiter<Policy, Exact, ManualClock>);

impl Keyed {
    pub(super) fn new(policy: &Policy, clients: usize) -> Self {
        // The clock is never read: the trace tells the time.
        let clock = ManualClock::new(Nanos::ZERO);
        Keyed(KeyedLimiter::builder(*policy).max_clients(clients.max(1)).exact_keys().clock(clock).build())
    }
}

impl Decider for Keyed {
    fn decide(&mut self, client: &[u8], now: Nanos, cost: u64) -> Result<Decision> {
        Ok(self.0.check_n_at(client, now, cost))
    }
}
