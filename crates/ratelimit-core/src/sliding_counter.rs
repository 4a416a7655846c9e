//! Sliding window counter: two counters, and an estimate of the units in the trailing window.
//!
//! Units are counted per aligned window, as in the fixed window, but the previous window's count still weighs in with
//! the share of it that the trailing window overlaps, as if its units had been spread evenly:
//!
//! ```text
//!      prev            cur
//! ──────────────┼──────────────┼──▶ t        estimate = floor(prev * (W - elapsed) / W) + cur
//!        [ trailing W  │ ]
//!                      └ now, `elapsed` after the edge
//! ```
//!
//! Choose it for millions of clients when the limit should nearly hold in every window. Do not choose it where the
//! limit must hold exactly: units that came late in the previous window are weighed as if they had come evenly.
//!
//! Source: the Cloudflare post "How we built rate limiting capable of scaling to millions of domains" (2017), whose
//! estimate is rounded down as here.
//!
//! # Guarantee
//!
//! At most `L + ceil(L*(T-1)/W)` units in a span `1 <= T <= W`, in nanoseconds. Take a span that meets windows k and
//! k+1, whose last admitted instant lies `e` after the edge between them. All of window k's count p, with `p <= L`, may
//! lie inside the span; the last admission at `e` had `floor(p*(W-e)/W) + cur <= L`, hence
//! `p + cur <= L + p - floor(p*(W-e)/W) = L + ceil(p*e/W) <= L + ceil(L*e/W)`, and `e <= T-1` since something of window
//! k lies before the edge. Reached by L units 1 ns before an edge, then every unit at the first instant at which it
//! fits. Checked in the conformance crate (`bounds`).
//!
//! # Rounding
//!
//! The estimate rounds down, as its inventors have it: less than one unit, in favour of the client. Waits are exact:
//! the first elapsed time at which `floor(p*(W-e)/W) <= a` is `W + 1 - ceil((a+1)*W/p)`, or 0 if `p <= a`.
//!
//! # Complexity
//!
//! O(1) time, at most two divisions a decision; 24 bytes a client.
//!
//! # Charge, refund, migration
//!
//! Debt fades as ordinary use does: it counts in full in its window, with its weight in the next, and not after that.
//! A refund takes from the current count first, then from the previous one. A migration to the same window keeps both
//! counts; to another window it keeps the estimate as use of the new window that holds `now`.

use core::time::Duration;

use crate::{Algorithm, Decision, Nanos, Quota, QuotaError};

/// At most L units in the trailing window W, by estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlidingCounter {
    quota: Quota,
}

/// What a sliding counter keeps: 24 bytes.
///
/// Invariant: `cur == 0 && prev == 0` if and only if nothing is used, and then `start` is 0 too, so that a state with
/// nothing used records no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SlidingCounterState {
    /// Start of the current window, in nanoseconds: a multiple of W.
    start: u64,
    /// Units used in the current window.
    cur: u64,
    /// Units used in the window before it.
    prev: u64,
}

impl SlidingCounterState {
    fn is_unused(&self) -> bool {
        self.cur == 0 && self.prev == 0
    }
}

impl SlidingCounter {
    /// At most `limit` units per `window`, by estimate.
    ///
    /// # Errors
    /// See [`Quota::per`].
    pub const fn per(limit: u64, window: Duration) -> Result<Self, QuotaError> {
        match Quota::per(limit, window) {
            Ok(quota) => Ok(Self::new(quota)),
            Err(error) => Err(error),
        }
    }

    /// The sliding counter of a quota that is valid already.
    pub const fn new(quota: Quota) -> Self {
        SlidingCounter { quota }
    }

    /// The limit and the window.
    pub const fn quota(&self) -> Quota {
        self.quota
    }

    #[inline]
    fn window(&self) -> u64 {
        self.quota.window().get()
    }

    /// The two counters as they stand at `now`.
    #[inline]
    fn rolled(&self, state: &SlidingCounterState, now: u64) -> SlidingCounterState {
        let window = self.window();
        if state.is_unused() {
            return SlidingCounterState { start: now - now % window, cur: 0, prev: 0 };
        }
        // Law 5: a clock before the recorded start still counts in the recorded window.
        if now < state.start || now - state.start < window {
            return *state;
        }
        let past_end = now - state.start - window;
        if past_end < window {
            // `start + window <= now`, so it cannot overflow.
            SlidingCounterState { start: state.start + window, cur: 0, prev: state.cur }
        } else {
            SlidingCounterState { start: now - now % window, cur: 0, prev: 0 }
        }
    }

    /// Units of the previous window that still count `elapsed` after the edge: `floor(prev * (W - elapsed) / W)`.
    #[inline]
    fn carried(&self, prev: u64, elapsed: u64) -> u64 {
        if prev == 0 {
            return 0;
        }
        let window = self.window();
        let share = window - elapsed;
        match prev.checked_mul(share) {
            Some(product) => product / window,
            // At most `prev`, since `share <= window`.
            None => (u128::from(prev) * u128::from(share) / u128::from(window)) as u64,
        }
    }

    /// Units that count at `now`. Saturation changes no decision: a sum beyond `u64::MAX` leaves no room either way.
    #[inline]
    fn estimate(&self, current: &SlidingCounterState, now: u64) -> u64 {
        self.carried(current.prev, now.saturating_sub(current.start)).saturating_add(current.cur)
    }

    /// The first elapsed time, in `0..=W`, at which at most `room` of the previous window's `prev` units count.
    #[inline]
    fn first_with_room(&self, prev: u64, room: u64) -> u64 {
        if prev <= room {
            return 0;
        }
        let window = self.window();
        // `room < prev`, so `room + 1` cannot overflow, and the quotient is in `1..=window`.
        let still_counted = match (room + 1).checked_mul(window) {
            Some(product) => product.div_ceil(prev),
            None => (u128::from(room + 1) * u128::from(window)).div_ceil(u128::from(prev)) as u64,
        };
        window - (still_counted - 1)
    }

    /// Charges `cost`, which is within the limit, if it is within the room: the window as it is then, and the room before.
    #[inline]
    fn take(&self, state: &mut SlidingCounterState, now: u64, cost: u64) -> (SlidingCounterState, u64) {
        let mut current = self.rolled(state, now);
        let room = self.quota.limit().saturating_sub(self.estimate(&current, now));
        if cost > 0 && cost <= room {
            // `cur + cost <= limit`, by the comparison.
            current.cur += cost;
            *state = current;
        }
        (current, room)
    }

    /// From `now` to the instant at which nothing of `current` counts any more.
    #[inline]
    fn until_fresh(&self, current: &SlidingCounterState, now: u64) -> Nanos {
        let from_start = if current.cur > 0 {
            u128::from(self.window()) + u128::from(self.first_with_room(current.cur, 0))
        } else {
            u128::from(self.first_with_room(current.prev, 0))
        };
        since(current.start, from_start, now)
    }

    /// From `now` to the first instant at which `cost`, which is within the limit, fits.
    fn until_room(&self, current: &SlidingCounterState, now: u64, cost: u64) -> Nanos {
        let room = self.quota.limit() - cost;
        let from_start = match room.checked_sub(current.cur) {
            // In this window, when enough of the previous one has faded (at its end at the latest).
            Some(beside_cur) => u128::from(self.first_with_room(current.prev, beside_cur)),
            // In the next window, when enough of this one has faded.
            None => u128::from(self.window()) + u128::from(self.first_with_room(current.cur, room)),
        };
        since(current.start, from_start, now)
    }
}

/// From `now` to `from_start` after `start`, both in nanoseconds; zero if that has passed.
#[inline]
fn since(start: u64, from_start: u128, now: u64) -> Nanos {
    Nanos::saturating_from((u128::from(start) + from_start).saturating_sub(u128::from(now)))
}

impl Algorithm for SlidingCounter {
    type State = SlidingCounterState;

    fn fresh(&self) -> SlidingCounterState {
        SlidingCounterState::default()
    }

    fn capacity(&self) -> u64 {
        self.quota.limit()
    }

    #[inline]
    fn decide(&self, state: &mut SlidingCounterState, now: Nanos, cost: u64) -> Decision {
        let limit = self.quota.limit();
        if cost > limit {
            return Decision::Never { capacity: limit };
        }
        let now = now.get();
        let (current, room) = self.take(state, now, cost);
        if cost > room {
            return Decision::Denied {
                retry_after: self.until_room(&current, now, cost),
                remaining: room,
                reset_after: self.until_fresh(&current, now),
            };
        }
        Decision::Allowed { remaining: room - cost, reset_after: self.until_fresh(&current, now), delay: Nanos::ZERO }
    }

    #[inline]
    fn admit(&self, state: &mut SlidingCounterState, now: Nanos, cost: u64) -> bool {
        cost <= self.quota.limit() && cost <= self.take(state, now.get(), cost).1
    }

    fn charge(&self, state: &mut SlidingCounterState, now: Nanos, cost: u64) {
        if cost > 0 {
            let current = self.rolled(state, now.get());
            *state = SlidingCounterState { cur: current.cur.saturating_add(cost), ..current };
        }
    }

    fn refund(&self, state: &mut SlidingCounterState, cost: u64) {
        let older = cost.saturating_sub(state.cur);
        state.cur = state.cur.saturating_sub(cost);
        state.prev = state.prev.saturating_sub(older);
        if state.is_unused() {
            *state = SlidingCounterState::default();
        }
    }

    /// The estimate, rounded down as in decisions.
    fn used(&self, state: &SlidingCounterState, now: Nanos) -> u64 {
        self.estimate(&self.rolled(state, now.get()), now.get())
    }

    fn is_fresh(&self, state: &SlidingCounterState, now: Nanos) -> bool {
        let current = self.rolled(state, now.get());
        current.is_unused() || self.until_fresh(&current, now.get()) == Nanos::ZERO
    }

    fn migrate(&self, old: &Self, state: &SlidingCounterState, now: Nanos) -> SlidingCounterState {
        let current = old.rolled(state, now.get());
        if old.is_fresh(state, now) {
            return SlidingCounterState::default();
        }
        if old.window() == self.window() {
            return current;
        }
        let effective = now.get().max(current.start);
        SlidingCounterState { start: effective - effective % self.window(), cur: old.used(state, now), prev: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{Row::*, check};

    const SECOND: u64 = 1_000_000_000;
    const MS: u64 = 1_000_000;

    fn hundred_per_minute() -> SlidingCounter {
        SlidingCounter::per(100, Duration::from_secs(60)).unwrap()
    }

    #[test]
    fn the_edge_burst_is_weighed() {
        check(
            &hundred_per_minute(),
            &[
                // 100 units: the estimate falls to 0 once less than 1/100 of the window is left.
                Allow { at: 59_900 * MS, cost: 100, remaining: 0, reset: 100 * MS + 59_400 * MS + 1 },
                Deny { at: 59_900 * MS, cost: 1, retry: 100 * MS + 1, remaining: 0 },
                // On the edge all of them count; 1 ns later floor(100 * (W - 1) / W) = 99.
                Deny { at: 60 * SECOND, cost: 1, retry: 1, remaining: 0 },
                // That one unit counts until 1 ns into the window after this one.
                Allow { at: 60_100 * MS, cost: 1, remaining: 0, reset: 59_900 * MS + 1 },
            ],
        );
    }

    #[test]
    fn the_published_example() {
        // 100 at 0.9 s and 100 at 1.1 s, limit 100/s: 110 in all, as the formula says.
        let policy = SlidingCounter::per(100, Duration::from_secs(1)).unwrap();
        let mut state = policy.fresh();
        let mut allowed = 0;
        for at in [900 * MS, 1100 * MS] {
            for _ in 0..100 {
                allowed += u64::from(policy.decide(&mut state, Nanos::new(at), 1).is_allowed());
            }
        }
        assert_eq!(allowed, 110);
    }

    #[test]
    fn a_cost_that_waits_for_the_next_window() {
        let policy = SlidingCounter::per(10, Duration::from_nanos(100)).unwrap();
        check(
            &policy,
            &[
                Allow { at: 50, cost: 8, remaining: 2, reset: 50 + 88 },
                // 8 * (100 - e) / 100 must fall to 5: e = 26.
                Deny { at: 50, cost: 5, retry: 50 + 26, remaining: 2 },
                Allow { at: 126, cost: 5, remaining: 0, reset: 74 + 81 },
                Never { at: 126, cost: 11, capacity: 10 },
                Allow { at: 126, cost: 0, remaining: 0, reset: 74 + 81 },
            ],
        );
    }

    #[test]
    fn a_clock_that_steps_back_counts_in_the_recorded_window() {
        check(
            &SlidingCounter::per(10, Duration::from_nanos(100)).unwrap(),
            &[
                Allow { at: 250, cost: 10, remaining: 0, reset: 50 + 91 },
                Deny { at: 120, cost: 1, retry: 180 + 1, remaining: 0 },
                Allow { at: 301, cost: 1, remaining: 0, reset: 99 + 1 },
            ],
        );
    }

    #[test]
    fn extreme_times_and_quotas_are_answered() {
        check(
            &SlidingCounter::per(u64::MAX, Duration::from_nanos(u64::MAX)).unwrap(),
            &[
                Allow { at: u64::MAX - 1, cost: u64::MAX, remaining: 0, reset: u64::MAX },
                Deny { at: u64::MAX - 1, cost: u64::MAX, retry: u64::MAX, remaining: 0 },
                Deny { at: u64::MAX, cost: 1, retry: 1, remaining: 0 },
            ],
        );
    }

    #[test]
    fn what_is_used_is_what_decisions_count() {
        let policy = SlidingCounter::per(10, Duration::from_nanos(100)).unwrap();
        let mut state = policy.fresh();
        policy.decide(&mut state, Nanos::new(0), 2);
        // floor(2 * 50 / 100) = 1, and then floor(2 * 49 / 100) = 0.
        assert_eq!((policy.used(&state, Nanos::new(150)), policy.is_fresh(&state, Nanos::new(150))), (1, false));
        assert_eq!((policy.used(&state, Nanos::new(151)), policy.is_fresh(&state, Nanos::new(151))), (0, true));
        // The rest of 0.98 units counts as little beside new use.
        policy.decide(&mut state, Nanos::new(151), 3);
        assert_eq!(policy.used(&state, Nanos::new(151)), 3);
    }

    #[test]
    fn refund_takes_the_current_window_first() {
        check(
            &SlidingCounter::per(10, Duration::from_nanos(100)).unwrap(),
            &[
                Allow { at: 0, cost: 6, remaining: 4, reset: 100 + 84 },
                Allow { at: 100, cost: 3, remaining: 1, reset: 100 + 67 },
                Refund { cost: 4 },
                Allow { at: 100, cost: 0, remaining: 5, reset: 81 },
                Charge { at: 100, cost: 20 },
                Deny { at: 100, cost: 10, retry: 196, remaining: 0 },
            ],
        );
    }
}
