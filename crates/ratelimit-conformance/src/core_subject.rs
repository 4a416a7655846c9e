//! The adapter of the core itself.

use ratelimit_core::{Algorithm, Decision, Nanos, Policy, PolicyState};

use crate::subject::{Client, Domain, Subject};

/// The core, through [`Policy`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Core;

/// A policy and a state.
#[derive(Debug, Clone)]
pub struct CoreClient {
    policy: Policy,
    state: PolicyState,
}

impl Subject for Core {
    type Client = CoreClient;

    fn domain(&self) -> Domain {
        Domain::FULL
    }

    fn client(&self, policy: &Policy) -> Option<CoreClient> {
        Some(CoreClient { policy: *policy, state: policy.fresh() })
    }
}

impl Client for CoreClient {
    fn decide(&mut self, now: Nanos, cost: u64) -> Decision {
        self.policy.decide(&mut self.state, now, cost)
    }

    fn admit(&mut self, now: Nanos, cost: u64) -> bool {
        self.policy.admit(&mut self.state, now, cost)
    }

    fn peek(&mut self, now: Nanos, cost: u64) -> Decision {
        self.policy.peek(&self.state, now, cost)
    }

    fn charge(&mut self, now: Nanos, cost: u64) {
        self.policy.charge(&mut self.state, now, cost);
    }

    fn refund(&mut self, _now: Nanos, cost: u64) {
        self.policy.refund(&mut self.state, cost);
    }

    fn used(&mut self, now: Nanos) -> u64 {
        self.policy.used(&self.state, now)
    }

    fn is_fresh(&mut self, now: Nanos) -> bool {
        self.policy.is_fresh(&self.state, now)
    }

    fn migrate(&mut self, to: &Policy, now: Nanos) {
        self.state = to.migrate(&self.policy, &self.state, now);
        self.policy = *to;
    }
}
