//! Token bucket: start with B tokens, gain L per W up to B, and spend `cost` tokens a request.
//!
//! After a pause up to B units pass at once, and in the long run no more than L per W. There is no timer: the level is
//! computed from the elapsed time whenever a request comes.
//!
//! ```text
//! tokens
//!  B ┤────╮       ╭──     idle: full, and never fuller
//!    │    │     ╱
//!    │    │   ╱           refill at L/W
//!  0 ┤    ╰─╱
//!    └─────────────────▶ t
//!         burst of B
//! ```
//!
//! Choose it for APIs whose clients come in bursts: it is the usual choice. Do not choose it where no window may ever
//! hold more than L: within W after a full burst, nearly B + L units can pass.
//!
//! Source: the meter of ITU-T I.371 and RFC 2697; in the form "time of the last charge, and level" as in
//! golang.org/x/time/rate.
//!
//! # State
//!
//! [`BucketState`]: the level of *used* tokens (`B - tokens`) and when it was recorded, 24 bytes. Nothing used is the
//! full bucket.
//!
//! # Guarantee
//!
//! At most `B + floor(L*T/W)` units in a span T: the level is within 0 and B; it rises by every admitted unit and falls
//! by L/W a nanosecond at most, so the units admitted in T are at most what it fell plus B. Reached by B units at
//! once and then each unit at the instant it becomes available: at every T if no refill is lost at the brim, that is if
//! `L' + W' - 1 <= B*W'` for the reduced fraction L'/W' (B >= 2 is enough while L <= W). Checked in the conformance crate
//! (`bounds`).
//!
//! # Rounding
//!
//! None in the level, which is an integer number of parts (see the source of `bucket.rs`). Waits round up to whole
//! nanoseconds. With B = 1 and a fractional W/L the full bucket itself loses the part of a nanosecond by which a token
//! is late, as the definition has it; with B >= 2 nothing drifts.
//!
//! # Complexity
//!
//! O(1) time in 64 bits while `B * W / gcd(L, W)` is below 2^62, in 128 bits otherwise; 24 bytes a client.
//!
//! # Charge, refund, migration
//!
//! Debt is a level above B, and drains at the same rate. A refund lowers the level, to zero at most. A migration converts
//! the level to the new parts, rounded up.

use core::time::Duration;

use crate::bucket::Bucket;
use crate::{Algorithm, BucketState, Decision, Nanos, Quota, QuotaError};

/// B units at once, L per W in the long run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenBucket {
    bucket: Bucket,
}

impl TokenBucket {
    /// Gains `limit` tokens per `window`, and holds as many: see [`burst`](Self::burst) for another capacity.
    ///
    /// # Errors
    /// See [`Quota::per`].
    pub const fn per(limit: u64, window: Duration) -> Result<Self, QuotaError> {
        match Quota::per(limit, window) {
            Ok(quota) => Ok(Self::new(quota)),
            Err(error) => Err(error),
        }
    }

    /// The token bucket of a quota that is valid already, with B = L.
    pub const fn new(quota: Quota) -> Self {
        TokenBucket { bucket: Bucket::new(quota) }
    }

    /// The same rate with a capacity of `burst` tokens.
    ///
    /// # Errors
    /// A burst of 0.
    pub const fn burst(self, burst: u64) -> Result<Self, QuotaError> {
        match self.bucket.burst(burst) {
            Ok(bucket) => Ok(TokenBucket { bucket }),
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

impl Algorithm for TokenBucket {
    type State = BucketState;

    fn fresh(&self) -> BucketState {
        BucketState::default()
    }

    fn capacity(&self) -> u64 {
        self.bucket.capacity()
    }

    #[inline]
    fn decide(&self, state: &mut BucketState, now: Nanos, cost: u64) -> Decision {
        self.bucket.decide::<false>(state, now, cost)
    }

    #[inline]
    fn admit(&self, state: &mut BucketState, now: Nanos, cost: u64) -> bool {
        // The compiler leaves out what this does not ask for: the division of `remaining`.
        self.bucket.decide::<false>(state, now, cost).is_allowed()
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
    const MS: u64 = 1_000_000;

    fn one_per_second(burst: u64) -> TokenBucket {
        TokenBucket::per(1, Duration::from_secs(1)).unwrap().burst(burst).unwrap()
    }

    #[test]
    fn burst_then_rate() {
        check(
            &one_per_second(3),
            &[
                Allow { at: 0, cost: 1, remaining: 2, reset: SECOND },
                Allow { at: 0, cost: 1, remaining: 1, reset: 2 * SECOND },
                Allow { at: 0, cost: 1, remaining: 0, reset: 3 * SECOND },
                Deny { at: 0, cost: 1, retry: SECOND, remaining: 0 },
                Deny { at: 500 * MS, cost: 1, retry: 500 * MS, remaining: 0 },
                Deny { at: SECOND - 1, cost: 1, retry: 1, remaining: 0 },
                Allow { at: SECOND, cost: 1, remaining: 0, reset: 3 * SECOND },
            ],
        );
    }

    #[test]
    fn cost_zero_is_free_and_too_much_is_never() {
        check(
            &one_per_second(10),
            &[
                Never { at: 0, cost: 11, capacity: 10 },
                Allow { at: 0, cost: 10, remaining: 0, reset: 10 * SECOND },
                Allow { at: 0, cost: 0, remaining: 0, reset: 10 * SECOND },
                Never { at: 0, cost: u64::MAX, capacity: 10 },
                Deny { at: 0, cost: 4, retry: 4 * SECOND, remaining: 0 },
                Allow { at: 3600 * SECOND, cost: 1, remaining: 9, reset: SECOND },
            ],
        );
    }

    #[test]
    fn a_clock_that_steps_back_mints_nothing() {
        check(
            &one_per_second(10),
            &[
                Allow { at: 130 * SECOND, cost: 1, remaining: 9, reset: SECOND },
                Allow { at: 115 * SECOND, cost: 1, remaining: 8, reset: 17 * SECOND },
                Allow { at: 130 * SECOND, cost: 8, remaining: 0, reset: 10 * SECOND },
                Deny { at: 115 * SECOND, cost: 1, retry: 16 * SECOND, remaining: 0 },
            ],
        );
    }

    #[test]
    fn a_rate_that_divides_nothing_keeps_its_remainders() {
        // 3 per 10 ns: a unit takes 3 1/3 ns.
        let policy = TokenBucket::per(3, Duration::from_nanos(10)).unwrap().burst(2).unwrap();
        check(
            &policy,
            &[
                Allow { at: 0, cost: 2, remaining: 0, reset: 7 },
                Deny { at: 3, cost: 1, retry: 1, remaining: 0 },
                Allow { at: 4, cost: 1, remaining: 0, reset: 6 },
                Allow { at: 7, cost: 1, remaining: 0, reset: 7 },
                Allow { at: 10, cost: 1, remaining: 0, reset: 7 },
            ],
        );
    }

    #[test]
    fn debt_is_worked_off_at_the_rate() {
        check(
            &one_per_second(2),
            &[
                Charge { at: 0, cost: 5 },
                Deny { at: 0, cost: 1, retry: 4 * SECOND, remaining: 0 },
                Allow { at: 0, cost: 0, remaining: 0, reset: 5 * SECOND },
                Refund { cost: 4 },
                Allow { at: 0, cost: 1, remaining: 0, reset: 2 * SECOND },
                Refund { cost: 9 },
                Allow { at: 0, cost: 2, remaining: 0, reset: 2 * SECOND },
            ],
        );
    }

    #[test]
    fn extreme_quotas_are_answered() {
        let policy = TokenBucket::per(u64::MAX, Duration::from_nanos(u64::MAX - 1)).unwrap();
        check(
            &policy,
            &[
                Allow { at: 0, cost: u64::MAX, remaining: 0, reset: u64::MAX - 1 },
                Deny { at: 0, cost: u64::MAX, retry: u64::MAX - 1, remaining: 0 },
                Allow { at: u64::MAX, cost: u64::MAX, remaining: 0, reset: u64::MAX - 1 },
            ],
        );
        let slow = TokenBucket::per(1, Duration::from_nanos(u64::MAX)).unwrap().burst(u64::MAX).unwrap();
        check(
            &slow,
            &[
                Allow { at: 5, cost: u64::MAX, remaining: 0, reset: u64::MAX },
                Deny { at: u64::MAX, cost: u64::MAX, retry: u64::MAX, remaining: 0 },
                Deny { at: u64::MAX, cost: 1, retry: 5, remaining: 0 },
            ],
        );
    }
}
