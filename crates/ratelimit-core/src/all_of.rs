//! Several limits at once, all or nothing: "10 per second *and* 1000 per hour".
//!
//! Each limit is peeked before any is charged, so that a request which one of them refuses costs nothing in the others.
//! The answers are combined so that they stay exact:
//!
//! | asked | combined |
//! |---|---|
//! | never, if any is never | the smallest capacity |
//! | `retry_after` | the latest: what is allowed at t is allowed later too (law 5), so at the latest all allow |
//! | `remaining` | the smallest |
//! | `reset_after`, `delay` | the latest |
//!
//! The number of limits is part of the type, and nothing is allocated.
//!
//! ```
//! use core::time::Duration;
//! use ratelimit_core::{Algorithm, AllOf, Nanos, TokenBucket};
//!
//! let per_second = TokenBucket::per(10, Duration::from_secs(1))?;
//! let per_hour = TokenBucket::per(1000, Duration::from_secs(3600))?;
//! let both = AllOf::new([per_second, per_hour]);
//! let mut alice = both.fresh();
//! assert!(both.decide(&mut alice, Nanos::ZERO, 10).is_allowed());
//! assert!(!both.decide(&mut alice, Nanos::ZERO, 1).is_allowed());
//! # Ok::<(), ratelimit_core::QuotaError>(())
//! ```

use crate::{Algorithm, Decision, Nanos};

/// N limits that must all allow. Different algorithms go together as [`Rule`](crate::Rule)s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AllOf<A, const N: usize> {
    limits: [A; N],
}

impl<A: Algorithm, const N: usize> AllOf<A, N> {
    /// All of these limits. With none, everything is allowed.
    pub const fn new(limits: [A; N]) -> Self {
        AllOf { limits }
    }

    /// The limits, in the order given.
    pub const fn limits(&self) -> &[A; N] {
        &self.limits
    }

    /// The combined answer with nothing charged; `peeks` are the answers of the limits to `cost`.
    fn combine(&self, state: &[A::State; N], now: Nanos, peeks: &[Decision; N]) -> Decision {
        let mut answer = Combined::default();
        for ((limit, part), decision) in self.limits.iter().zip(state).zip(peeks) {
            answer.add(*decision, || limit.peek(part, now, 0));
        }
        answer.decision()
    }
}

/// Answers so far.
struct Combined {
    capacity: Option<u64>,
    retry_after: Option<Nanos>,
    /// What remains, and the time to fresh, if all is charged.
    charged: (u64, Nanos),
    /// The same if nothing is.
    uncharged: (u64, Nanos),
    delay: Nanos,
}

impl Default for Combined {
    fn default() -> Self {
        let everything = (u64::MAX, Nanos::ZERO);
        Combined { capacity: None, retry_after: None, charged: everything, uncharged: everything, delay: Nanos::ZERO }
    }
}

impl Combined {
    /// Adds one limit's answer; `idle` is what that limit says with nothing asked.
    fn add(&mut self, decision: Decision, idle: impl FnOnce() -> Decision) {
        match decision {
            Decision::Never { capacity } => self.capacity = Some(self.capacity.map_or(capacity, |c| c.min(capacity))),
            Decision::Denied { retry_after, remaining, reset_after } => {
                self.retry_after = self.retry_after.max(Some(retry_after));
                self.uncharged = tighter(self.uncharged, remaining, reset_after);
            }
            Decision::Allowed { remaining, reset_after, delay } => {
                self.charged = tighter(self.charged, remaining, reset_after);
                self.delay = self.delay.max(delay);
                if let Decision::Allowed { remaining, reset_after, .. } = idle() {
                    self.uncharged = tighter(self.uncharged, remaining, reset_after);
                }
            }
        }
    }

    fn decision(self) -> Decision {
        if let Some(capacity) = self.capacity {
            return Decision::Never { capacity };
        }
        if let Some(retry_after) = self.retry_after {
            let (remaining, reset_after) = self.uncharged;
            return Decision::Denied { retry_after, remaining, reset_after };
        }
        let (remaining, reset_after) = self.charged;
        Decision::Allowed { remaining, reset_after, delay: self.delay }
    }
}

fn tighter((remaining, reset_after): (u64, Nanos), other: u64, reset: Nanos) -> (u64, Nanos) {
    (remaining.min(other), reset_after.max(reset))
}

impl<A: Algorithm, const N: usize> Algorithm for AllOf<A, N> {
    type State = [A::State; N];

    fn fresh(&self) -> Self::State {
        core::array::from_fn(|i| self.limits[i].fresh())
    }

    fn capacity(&self) -> u64 {
        self.limits.iter().map(Algorithm::capacity).min().unwrap_or(u64::MAX)
    }

    fn decide(&self, state: &mut Self::State, now: Nanos, cost: u64) -> Decision {
        let peeks = core::array::from_fn(|i| self.limits[i].peek(&state[i], now, cost));
        let decision = self.combine(state, now, &peeks);
        if decision.is_allowed() {
            for (limit, part) in self.limits.iter().zip(state) {
                limit.decide(part, now, cost);
            }
        }
        decision
    }

    fn peek(&self, state: &Self::State, now: Nanos, cost: u64) -> Decision {
        let peeks = core::array::from_fn(|i| self.limits[i].peek(&state[i], now, cost));
        self.combine(state, now, &peeks)
    }

    fn charge(&self, state: &mut Self::State, now: Nanos, cost: u64) {
        for (limit, part) in self.limits.iter().zip(state) {
            limit.charge(part, now, cost);
        }
    }

    fn refund(&self, state: &mut Self::State, cost: u64) {
        for (limit, part) in self.limits.iter().zip(state) {
            limit.refund(part, cost);
        }
    }

    /// The most that any of the limits has in use.
    fn used(&self, state: &Self::State, now: Nanos) -> u64 {
        self.limits.iter().zip(state).map(|(limit, part)| limit.used(part, now)).max().unwrap_or(0)
    }

    fn is_fresh(&self, state: &Self::State, now: Nanos) -> bool {
        self.limits.iter().zip(state).all(|(limit, part)| limit.is_fresh(part, now))
    }

    /// Limit by limit, in their order.
    fn migrate(&self, old: &Self, state: &Self::State, now: Nanos) -> Self::State {
        core::array::from_fn(|i| self.limits[i].migrate(&old.limits[i], &state[i], now))
    }

    fn state_bytes(&self, state: &Self::State) -> usize {
        self.limits.iter().zip(state).map(|(limit, part)| limit.state_bytes(part)).sum()
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::TokenBucket;
    use crate::rows::{Row::*, check};

    const SECOND: u64 = 1_000_000_000;

    fn per(limit: u64, secs: u64) -> TokenBucket {
        TokenBucket::per(limit, Duration::from_secs(secs)).unwrap()
    }

    #[test]
    fn a_refusal_by_one_charges_none() {
        check(
            &AllOf::new([per(2, 1), per(3, 60)]),
            &[
                Allow { at: 0, cost: 2, remaining: 0, reset: 40 * SECOND },
                Deny { at: 0, cost: 1, retry: SECOND / 2, remaining: 0 },
                Allow { at: SECOND, cost: 1, remaining: 0, reset: 59 * SECOND },
                // The first has room for one again, the second not: neither is charged.
                Deny { at: 2 * SECOND, cost: 1, retry: 18 * SECOND, remaining: 0 },
                Never { at: 2 * SECOND, cost: 3, capacity: 2 },
                Never { at: 2 * SECOND, cost: 9, capacity: 2 },
            ],
        );
    }

    #[test]
    fn remaining_of_a_denial_is_what_all_would_allow() {
        check(
            &AllOf::new([per(5, 1), per(8, 60)]),
            &[
                Allow { at: 0, cost: 4, remaining: 1, reset: 30 * SECOND },
                Deny { at: 0, cost: 3, retry: SECOND * 2 / 5, remaining: 1 },
            ],
        );
    }
}
