//! Leaky bucket as a queue: admit up to B units of backlog, and release them at L per W.
//!
//! A request that fits joins the queue and is told its `delay`: the time until the backlog ahead of it has drained.
//! What is behind the queue sees a smooth stream; the clients see waiting instead of refusals.
//!
//! ```text
//!  arrivals  xxxxxx      x          (B units of backlog at most)
//!  releases  x  x  x  x  x  x       (one every W/L)
//! ─────────────────────────────▶ t
//! ```
//!
//! Choose it where the service behind must never see a burst, and its clients can wait. Do not choose it where latency
//! counts more than smoothness. As a *meter* (admit or refuse, no delay) it admits exactly what the token bucket admits;
//! that is a law in the conformance crate and not a second algorithm.
//!
//! Source: Turner, "New directions in communications" (1986), in the queue form of traffic shaping; nginx `limit_req`
//! without `nodelay`.
//!
//! # State
//!
//! [`BucketState`]: the backlog and when it was recorded, 24 bytes.
//!
//! # Guarantee
//!
//! At unit costs at most `ceil(L*T/W)` units are released in a half-open span of length T, since releases are at least
//! W/L apart before they are rounded up to whole nanoseconds. A request waits at most `ceil((B - cost) * W / L)` from its
//! effective time, since what is ahead of it is at most `B - cost` units. Both are reached by B units at once. Checked in the
//! conformance crate (`bounds`).
//!
//! # Rounding
//!
//! None in the backlog; delays and waits round up to whole nanoseconds.
//!
//! # Complexity
//!
//! As the token bucket: O(1) time, 24 bytes a client.
//!
//! # Charge, refund, migration
//!
//! A charge joins the queue whatever its length (debt is a longer queue), a refund shortens it, to nothing at most;
//! requests that were told their delay keep it. A migration converts the backlog to the new parts, rounded up.

use core::time::Duration;

use crate::bucket::Bucket;
use crate::{Algorithm, BucketState, Decision, Nanos, Quota, QuotaError};

/// A queue of B units that drains at L per W.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeakyBucket {
    bucket: Bucket,
}

impl LeakyBucket {
    /// Releases `limit` units per `window`, with a queue of as many: see [`burst`](Self::burst) for another length.
    ///
    /// # Errors
    /// See [`Quota::per`].
    pub const fn per(limit: u64, window: Duration) -> Result<Self, QuotaError> {
        match Quota::per(limit, window) {
            Ok(quota) => Ok(Self::new(quota)),
            Err(error) => Err(error),
        }
    }

    /// The leaky bucket of a quota that is valid already, with B = L.
    pub const fn new(quota: Quota) -> Self {
        LeakyBucket { bucket: Bucket::new(quota) }
    }

    /// The same rate with a queue of `burst` units.
    ///
    /// # Errors
    /// A burst of 0.
    pub const fn burst(self, burst: u64) -> Result<Self, QuotaError> {
        match self.bucket.burst(burst) {
            Ok(bucket) => Ok(LeakyBucket { bucket }),
            Err(error) => Err(error),
        }
    }

    /// The limit and the window.
    pub const fn quota(&self) -> Quota {
        self.bucket.quota()
    }

    /// B, when it was set to something other than L.
    pub fn own_burst(&self) -> Option<u64> {
        self.bucket.own_burst()
    }
}

impl Algorithm for LeakyBucket {
    type State = BucketState;

    fn fresh(&self) -> BucketState {
        BucketState::default()
    }

    fn capacity(&self) -> u64 {
        self.bucket.capacity()
    }

    #[inline]
    fn decide(&self, state: &mut BucketState, now: Nanos, cost: u64) -> Decision {
        self.bucket.decide::<true>(state, now, cost)
    }

    #[inline]
    fn admit(&self, state: &mut BucketState, now: Nanos, cost: u64) -> bool {
        // The compiler leaves out what this does not ask for: the division of `remaining`.
        self.bucket.decide::<true>(state, now, cost).is_allowed()
    }

    fn charge(&self, state: &mut BucketState, now: Nanos, cost: u64) {
        self.bucket.charge(state, now, cost);
    }

    fn refund(&self, state: &mut BucketState, cost: u64) {
        self.bucket.refund(state, cost);
    }

    fn used(&self, state: &BucketState, now: Nanos) -> u64 {
        self.bucket.used(state, now)
    }

    fn is_fresh(&self, state: &BucketState, now: Nanos) -> bool {
        self.bucket.is_fresh(state, now)
    }

    fn migrate(&self, old: &Self, state: &BucketState, now: Nanos) -> BucketState {
        self.bucket.migrate(&old.bucket, state, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{Row::*, check};

    const SECOND: u64 = 1_000_000_000;

    fn one_per_second(burst: u64) -> LeakyBucket {
        LeakyBucket::per(1, Duration::from_secs(1)).unwrap().burst(burst).unwrap()
    }

    #[test]
    fn a_burst_is_queued_and_spaced_out() {
        check(
            &one_per_second(3),
            &[
                Allow { at: 0, cost: 1, remaining: 2, reset: SECOND },
                Delay { at: 0, cost: 1, delay: SECOND, remaining: 1, reset: 2 * SECOND },
                Delay { at: 0, cost: 1, delay: 2 * SECOND, remaining: 0, reset: 3 * SECOND },
                Deny { at: 0, cost: 1, retry: SECOND, remaining: 0 },
                Delay { at: SECOND, cost: 1, delay: 2 * SECOND, remaining: 0, reset: 3 * SECOND },
                Allow { at: 9 * SECOND, cost: 2, remaining: 1, reset: 2 * SECOND },
            ],
        );
    }

    #[test]
    fn cost_zero_never_waits() {
        check(
            &one_per_second(3),
            &[
                Allow { at: 0, cost: 3, remaining: 0, reset: 3 * SECOND },
                Allow { at: 0, cost: 0, remaining: 0, reset: 3 * SECOND },
                Never { at: 0, cost: 4, capacity: 3 },
            ],
        );
    }

    #[test]
    fn a_clock_that_steps_back_waits_for_the_same_instant() {
        check(
            &one_per_second(3),
            &[
                Allow { at: 10 * SECOND, cost: 1, remaining: 2, reset: SECOND },
                Delay { at: 8 * SECOND, cost: 1, delay: 3 * SECOND, remaining: 1, reset: 4 * SECOND },
                Delay { at: 10 * SECOND, cost: 1, delay: 2 * SECOND, remaining: 0, reset: 3 * SECOND },
            ],
        );
    }

    #[test]
    fn debt_is_a_longer_queue() {
        check(
            &one_per_second(2),
            &[
                Charge { at: 0, cost: 5 },
                Deny { at: 0, cost: 1, retry: 4 * SECOND, remaining: 0 },
                Delay { at: 4 * SECOND, cost: 1, delay: SECOND, remaining: 0, reset: 2 * SECOND },
            ],
        );
    }
}
