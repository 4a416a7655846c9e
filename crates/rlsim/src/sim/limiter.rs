//! A policy in front of a simulated service: one state a client, or one for all.

use ratelimit_core::{Algorithm, Decision, Nanos, Policy, PolicyState};
use serde::Deserialize;

/// What shares one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// Every client has its own.
    #[default]
    Client,
    /// All clients share one.
    Global,
}

/// A policy with the states of clients that are numbered from zero.
#[derive(Debug, Clone)]
pub struct Limiter {
    policy: Policy,
    by: By,
    states: Vec<PolicyState>,
}

impl Limiter {
    /// All clients fresh.
    pub fn new(policy: Policy, by: By) -> Self {
        Limiter { policy, by, states: Vec::new() }
    }

    /// Decides one request of `cost` units of `client` at `now`.
    pub fn decide(&mut self, client: u32, now: u64, cost: u64) -> Decision {
        let index = self.index(client);
        self.policy.decide(&mut self.states[index], Nanos::new(now), cost)
    }

    /// Gives back units of `client`, the newest charge first.
    pub fn refund(&mut self, client: u32, cost: u64) {
        let index = self.index(client);
        self.policy.refund(&mut self.states[index], cost);
    }

    /// Where the state of `client` is; it is made when it is first asked for.
    fn index(&mut self, client: u32) -> usize {
        let index = match self.by {
            By::Client => client as usize,
            By::Global => 0,
        };
        if self.states.len() <= index {
            self.states.resize(index + 1, self.policy.fresh());
        }
        index
    }

    /// Puts another policy in force: what was used stays used.
    pub fn change(&mut self, policy: Policy, now: u64) {
        for state in &mut self.states {
            *state = policy.migrate(&self.policy, state, Nanos::new(now));
        }
        self.policy = policy;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(limiter: &mut Limiter, client: u32, now: u64) -> bool {
        limiter.decide(client, now, 1).is_allowed()
    }

    #[test]
    fn a_limit_is_shared_or_it_is_not() {
        let policy = "fixed-window:2/1s".parse().unwrap();
        let mut own = Limiter::new(policy, By::Client);
        assert_eq!(
            [0, 0, 0, 7, 7, 7].map(|client| allowed(&mut own, client, 0)),
            [true, true, false, true, true, false]
        );
        let mut shared = Limiter::new(policy, By::Global);
        assert_eq!([0, 7, 1].map(|client| allowed(&mut shared, client, 0)), [true, true, false]);
    }

    #[test]
    fn a_change_keeps_what_was_used() {
        let mut limiter = Limiter::new("fixed-window:10/1s".parse().unwrap(), By::Global);
        assert!((0..5).all(|_| allowed(&mut limiter, 0, 0)));
        limiter.change("fixed-window:6/1s".parse().unwrap(), 1);
        assert!(allowed(&mut limiter, 0, 2));
        assert!(!allowed(&mut limiter, 0, 3));
    }
}
