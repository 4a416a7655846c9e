//! Fixed window: count in the current calendar window, and start from zero at its edge.
//!
//! Time is cut into windows aligned to multiples of W. Units are counted in the window that holds the request, and a
//! request passes while the count stays within L. At the edge all is forgotten at once:
//!
//! ```text
//!            L units |  L units            2L units within 1 ns, both windows within their limit
//! ───────────────────┼───────────────────┼──────▶ t
//!         window k   |   window k+1
//! ```
//!
//! Choose it when the promise itself is per calendar window ("1000 calls a day, reset at midnight"), or when one
//! counter is all that can be kept. Do not choose it to protect a service: the edge lets the double through.
//!
//! Source: the counter with an expiry that every tutorial begins with, here with windows aligned to the clock as in
//! nginx-like gateways and calendar quotas.
//!
//! # Guarantee
//!
//! At most `2L` units in any span of 1 ns or more that is shorter than W, since such a span meets at most two windows
//! and each admits at most L; within a single instant, L. Reached by L units 1 ns before an edge and L on it. Checked
//! in the conformance crate (`bounds`).
//!
//! # Rounding
//!
//! None: counts and instants are integers.
//!
//! # Complexity
//!
//! O(1) time, one division when a window begins and none inside it; 16 bytes a client.
//!
//! # Charge, refund, migration
//!
//! Debt (a charge beyond L) lasts until the window's edge and is forgiven there, as all use is. A refund takes from the
//! count of the window that the state records; once that window is over there is nothing left to give back. A
//! migration carries the count into the new window that holds `now`.

use core::time::Duration;

use crate::{Algorithm, Decision, Nanos, Quota, QuotaError};

/// At most L units in each window aligned to W.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FixedWindow {
    quota: Quota,
}

/// What a fixed window keeps: 16 bytes.
///
/// Invariant: `count == 0` if and only if the client has used nothing in the recorded window, and then `start` is 0
/// too, so that a state with nothing used records no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FixedWindowState {
    /// Start of the window that is counted, in nanoseconds: a multiple of W.
    start: u64,
    /// Units used in it; more than L is debt.
    count: u64,
}

impl FixedWindow {
    /// At most `limit` units per `window`.
    ///
    /// # Errors
    /// See [`Quota::per`].
    pub const fn per(limit: u64, window: Duration) -> Result<Self, QuotaError> {
        match Quota::per(limit, window) {
            Ok(quota) => Ok(Self::new(quota)),
            Err(error) => Err(error),
        }
    }

    /// The fixed window of a quota that is valid already.
    pub const fn new(quota: Quota) -> Self {
        FixedWindow { quota }
    }

    /// The limit and the window.
    pub const fn quota(&self) -> Quota {
        self.quota
    }

    /// The window that counts at `now`: its start, and the units used in it.
    #[inline]
    fn window_at(&self, state: &FixedWindowState, now: u64) -> FixedWindowState {
        let window = self.quota.window().get();
        // Law 5: a clock before the recorded start still counts in the recorded window.
        if state.count > 0 && (now < state.start || now - state.start < window) {
            *state
        } else {
            FixedWindowState { start: now - now % window, count: 0 }
        }
    }

    /// From `now` to the end of the window that began at `start`.
    #[inline]
    fn until_end(&self, start: u64, now: u64) -> Nanos {
        let window = self.quota.window().get();
        // Where the window has begun, `now - start < window`.
        Nanos::new(if now >= start { window - (now - start) } else { window.saturating_add(start - now) })
    }
}

impl Algorithm for FixedWindow {
    type State = FixedWindowState;

    fn fresh(&self) -> FixedWindowState {
        FixedWindowState::default()
    }

    fn capacity(&self) -> u64 {
        self.quota.limit()
    }

    #[inline]
    fn decide(&self, state: &mut FixedWindowState, now: Nanos, cost: u64) -> Decision {
        let limit = self.quota.limit();
        if cost > limit {
            return Decision::Never { capacity: limit };
        }
        let current = self.window_at(state, now.get());
        let room = limit.saturating_sub(current.count);
        let end = self.until_end(current.start, now.get());
        if cost == 0 {
            let reset_after = if current.count == 0 { Nanos::ZERO } else { end };
            return Decision::Allowed { remaining: room, reset_after, delay: Nanos::ZERO };
        }
        if cost > room {
            return Decision::Denied { retry_after: end, remaining: room, reset_after: end };
        }
        // `cost <= limit - count`, so the sum is at most the limit.
        *state = FixedWindowState { start: current.start, count: current.count + cost };
        Decision::Allowed { remaining: room - cost, reset_after: end, delay: Nanos::ZERO }
    }

    fn charge(&self, state: &mut FixedWindowState, now: Nanos, cost: u64) {
        if cost > 0 {
            let current = self.window_at(state, now.get());
            *state = FixedWindowState { start: current.start, count: current.count.saturating_add(cost) };
        }
    }

    fn refund(&self, state: &mut FixedWindowState, cost: u64) {
        state.count = state.count.saturating_sub(cost);
        if state.count == 0 {
            *state = FixedWindowState::default();
        }
    }

    fn used(&self, state: &FixedWindowState, now: Nanos) -> u64 {
        self.window_at(state, now.get()).count
    }

    fn is_fresh(&self, state: &FixedWindowState, now: Nanos) -> bool {
        self.window_at(state, now.get()).count == 0
    }

    fn migrate(&self, old: &Self, state: &FixedWindowState, now: Nanos) -> FixedWindowState {
        let current = old.window_at(state, now.get());
        if current.count == 0 {
            return FixedWindowState::default();
        }
        let effective = now.get().max(current.start);
        FixedWindowState { start: effective - effective % self.quota.window().get(), count: current.count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{Row::*, check};

    const SECOND: u64 = 1_000_000_000;

    fn five_per_ten_seconds() -> FixedWindow {
        FixedWindow::per(5, Duration::from_secs(10)).unwrap()
    }

    #[test]
    fn the_edge_lets_the_double_through() {
        check(
            &five_per_ten_seconds(),
            &[
                Allow { at: 9 * SECOND, cost: 5, remaining: 0, reset: SECOND },
                Deny { at: 9 * SECOND, cost: 1, retry: SECOND, remaining: 0 },
                Deny { at: 10 * SECOND - 1, cost: 1, retry: 1, remaining: 0 },
                Allow { at: 10 * SECOND, cost: 5, remaining: 0, reset: 10 * SECOND },
            ],
        );
    }

    #[test]
    fn cost_zero_is_free_and_too_much_is_never() {
        check(
            &five_per_ten_seconds(),
            &[
                Allow { at: 3, cost: 0, remaining: 5, reset: 0 },
                Never { at: 3, cost: 6, capacity: 5 },
                Allow { at: 3, cost: 5, remaining: 0, reset: 10 * SECOND - 3 },
                Allow { at: 3, cost: 0, remaining: 0, reset: 10 * SECOND - 3 },
                Never { at: 3, cost: u64::MAX, capacity: 5 },
            ],
        );
    }

    #[test]
    fn a_clock_that_steps_back_counts_in_the_recorded_window() {
        check(
            &five_per_ten_seconds(),
            &[
                Allow { at: 20 * SECOND, cost: 4, remaining: 1, reset: 10 * SECOND },
                Allow { at: 5 * SECOND, cost: 1, remaining: 0, reset: 25 * SECOND },
                Deny { at: 0, cost: 1, retry: 30 * SECOND, remaining: 0 },
            ],
        );
    }

    #[test]
    fn extreme_times_are_answered() {
        check(
            &FixedWindow::per(1, Duration::from_nanos(u64::MAX)).unwrap(),
            &[
                Allow { at: 0, cost: 1, remaining: 0, reset: u64::MAX },
                Deny { at: u64::MAX - 1, cost: 1, retry: 1, remaining: 0 },
                Allow { at: u64::MAX, cost: 1, remaining: 0, reset: u64::MAX },
                Deny { at: 0, cost: 1, retry: u64::MAX, remaining: 0 },
            ],
        );
    }

    #[test]
    fn debt_and_refund_live_in_their_window() {
        check(
            &five_per_ten_seconds(),
            &[
                Charge { at: SECOND, cost: 12 },
                Deny { at: SECOND, cost: 1, retry: 9 * SECOND, remaining: 0 },
                Refund { cost: 8 },
                Allow { at: SECOND, cost: 1, remaining: 0, reset: 9 * SECOND },
                Allow { at: 10 * SECOND, cost: 2, remaining: 3, reset: 10 * SECOND },
                Refund { cost: 100 },
                Allow { at: 10 * SECOND, cost: 5, remaining: 0, reset: 10 * SECOND },
            ],
        );
    }
}
