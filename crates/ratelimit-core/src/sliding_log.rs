//! Sliding log: remember every admitted unit, and count those in the trailing window. Exact.
//!
//! The instants of all admitted units of the last W are kept. A request passes while they and its cost are at most L:
//!
//! ```text
//!        (now - W, now]
//!   x  (  x xx    x   x ]         an entry on the open end no longer counts
//! ─────┼────────────────┼──▶ t
//!   now - W            now
//! ```
//!
//! Choose it when the limit must hold in every window and L is small, or as the yardstick for the others. Do not
//! choose it for large limits: the memory of a client grows with what it was admitted.
//!
//! Source: the textbook definition; it needs an allocator, and is the only algorithm here that does.
//!
//! # Guarantee
//!
//! At most L units in any span shorter than W: the newest admission in such a span saw all the others in its trailing
//! window, and all of them together were at most L. Reached by L units at once. Checked in the conformance crate
//! (`bounds`).
//!
//! # Rounding
//!
//! None: entries are integers and are compared as such.
//!
//! # Complexity
//!
//! Amortised O(1) to charge (an entry is dropped once), O(log n) to decide; 16 bytes an entry, with one entry for each
//! distinct admitted instant, so at most L entries without debt. Nothing is allocated up front, and room that is no
//! longer needed is given back.
//!
//! # Charge, refund, migration
//!
//! A charge forgets what has expired at its instant, for good. Debt is entries like any others and leaves with them. A
//! refund takes from the newest entries. A migration keeps every instant that still counts, and they are counted in the
//! new window.

use alloc::collections::VecDeque;
use core::time::Duration;

use crate::{Algorithm, Decision, Nanos, Quota, QuotaError};

/// At most L units in every trailing window W.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlidingLog {
    quota: Quota,
}

/// What a sliding log keeps: an entry for each distinct admitted instant.
///
/// Invariant: instants strictly increase, cumulative units (modulo 2^64) too, and the units of all entries together fit
/// into `u64`, so that a wrapping difference of two cumulative numbers is the true number of units between them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(try_from = "RecordedLog"))]
pub struct SlidingLogState {
    entries: VecDeque<Entry>,
    /// The cumulative number before the first entry.
    base: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Entry {
    /// When, in nanoseconds.
    at: u64,
    /// Units up to and including this instant, modulo 2^64.
    cumulative: u64,
}

/// A state as it is read, before it has been looked at.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
#[serde(rename = "SlidingLogState")]
struct RecordedLog {
    entries: VecDeque<Entry>,
    base: u64,
}

/// Only what keeps the invariant is accepted.
#[cfg(feature = "serde")]
impl TryFrom<RecordedLog> for SlidingLogState {
    type Error = &'static str;

    fn try_from(read: RecordedLog) -> Result<Self, Self::Error> {
        let (mut last, mut before, mut total) = (None, read.base, 0_u64);
        for entry in &read.entries {
            if last.is_some_and(|last| entry.at <= last) {
                return Err("the instants of a sliding log do not increase");
            }
            let units = entry.cumulative.wrapping_sub(before);
            total = total.checked_add(units).ok_or("the units of a sliding log are more than 18446744073709551615")?;
            if units == 0 {
                return Err("an entry of a sliding log has no units");
            }
            (last, before) = (Some(entry.at), entry.cumulative);
        }
        Ok(SlidingLogState { entries: read.entries, base: read.base })
    }
}

impl SlidingLogState {
    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// The effective time: law 5 has the newest entry hold it up.
    #[inline]
    fn effective(&self, now: u64) -> u64 {
        self.entries.back().map_or(now, |newest| now.max(newest.at))
    }

    /// The cumulative number before entry `i`.
    fn before(&self, i: usize) -> u64 {
        if i == 0 { self.base } else { self.entries[i - 1].cumulative }
    }

    /// Index of the first entry that still counts at the effective time `at`.
    #[inline]
    fn first_counted(&self, at: u64, window: u64) -> usize {
        // Every entry is at most `at`, which is the newest or later.
        match self.entries.front() {
            Some(oldest) if at - oldest.at >= window => self.entries.partition_point(|entry| at - entry.at >= window),
            _ => 0,
        }
    }

    /// The entry whose expiry, with all before it from `first` on, frees `excess` units; at most what they hold.
    fn last_to_expire(&self, first: usize, excess: u64) -> usize {
        let base = self.before(first);
        // Entries before `first` hold wrapped differences, so the search begins at `first`.
        let (mut low, mut high) = (first, self.entries.len() - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.entries[middle].cumulative.wrapping_sub(base) >= excess {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// Units in entries from `first` on.
    #[inline]
    fn units_from(&self, first: usize) -> u64 {
        self.entries.back().map_or(0, |newest| newest.cumulative.wrapping_sub(self.before(first)))
    }

    /// Drops the entries before `first`, and gives room back when most of it is empty.
    fn forget_before(&mut self, first: usize) {
        self.base = self.before(first);
        self.entries.drain(..first);
        // Halving at a quarter full keeps this amortised constant.
        if self.entries.capacity() > 8 && self.entries.len() < self.entries.capacity() / 4 {
            self.entries.shrink_to(self.entries.capacity() / 2);
        }
    }

    /// Records `cost` units, at least 1, at the effective time `at`.
    fn record(&mut self, at: u64, cost: u64, window: u64) {
        self.forget_before(self.first_counted(at, window));
        let kept = self.units_from(0);
        let cost = cost.min(u64::MAX - kept);
        if cost == 0 {
            return;
        }
        let cumulative = self.before(self.entries.len()).wrapping_add(cost);
        match self.entries.back_mut() {
            Some(newest) if newest.at == at => newest.cumulative = cumulative,
            _ => self.entries.push_back(Entry { at, cumulative }),
        }
    }
}

impl SlidingLog {
    /// At most `limit` units in every trailing `window`.
    ///
    /// # Errors
    /// See [`Quota::per`].
    pub const fn per(limit: u64, window: Duration) -> Result<Self, QuotaError> {
        match Quota::per(limit, window) {
            Ok(quota) => Ok(Self::new(quota)),
            Err(error) => Err(error),
        }
    }

    /// The sliding log of a quota that is valid already.
    pub const fn new(quota: Quota) -> Self {
        SlidingLog { quota }
    }

    /// The limit and the window.
    pub const fn quota(&self) -> Quota {
        self.quota
    }

    #[inline]
    fn window(&self) -> u64 {
        self.quota.window().get()
    }

    /// The answer, with nothing recorded (an allowed cost is taken off what remains already).
    #[inline]
    fn assess(&self, state: &SlidingLogState, now: u64, cost: u64) -> Decision {
        let limit = self.quota.limit();
        if cost > limit {
            return Decision::Never { capacity: limit };
        }
        let effective = state.effective(now);
        let first = state.first_counted(effective, self.window());
        let used = state.units_from(first);
        let room = limit.saturating_sub(used);
        if cost > room {
            return Decision::Denied {
                retry_after: self.until_expired(state, state.last_to_expire(first, used - (limit - cost)), now),
                remaining: room,
                reset_after: self.until_expired(state, state.entries.len() - 1, now),
            };
        }
        let reset_after = if cost > 0 {
            Nanos::saturating_from(u128::from(effective - now) + u128::from(self.window()))
        } else if used > 0 {
            self.until_expired(state, state.entries.len() - 1, now)
        } else {
            Nanos::ZERO
        };
        Decision::Allowed { remaining: room - cost, reset_after, delay: Nanos::ZERO }
    }

    /// From `now` until entry `i` no longer counts.
    fn until_expired(&self, state: &SlidingLogState, i: usize, now: u64) -> Nanos {
        let expiry = u128::from(state.entries[i].at) + u128::from(self.window());
        Nanos::saturating_from(expiry.saturating_sub(u128::from(now)))
    }
}

impl Algorithm for SlidingLog {
    type State = SlidingLogState;

    fn fresh(&self) -> SlidingLogState {
        SlidingLogState::default()
    }

    fn capacity(&self) -> u64 {
        self.quota.limit()
    }

    #[inline]
    fn decide(&self, state: &mut SlidingLogState, now: Nanos, cost: u64) -> Decision {
        let decision = self.assess(state, now.get(), cost);
        if cost > 0 && decision.is_allowed() {
            state.record(state.effective(now.get()), cost, self.window());
        }
        decision
    }

    #[inline]
    fn peek(&self, state: &SlidingLogState, now: Nanos, cost: u64) -> Decision {
        self.assess(state, now.get(), cost)
    }

    fn charge(&self, state: &mut SlidingLogState, now: Nanos, cost: u64) {
        if cost > 0 {
            state.record(state.effective(now.get()), cost, self.window());
        }
    }

    fn refund(&self, state: &mut SlidingLogState, cost: u64) {
        let mut left = cost;
        while let Some(newest) = state.entries.pop_back() {
            let units = newest.cumulative.wrapping_sub(state.before(state.entries.len()));
            if units > left {
                let cumulative = newest.cumulative.wrapping_sub(left);
                state.entries.push_back(Entry { at: newest.at, cumulative });
                return;
            }
            left -= units;
        }
        state.base = 0;
    }

    fn used(&self, state: &SlidingLogState, now: Nanos) -> u64 {
        state.units_from(state.first_counted(state.effective(now.get()), self.window()))
    }

    fn is_fresh(&self, state: &SlidingLogState, now: Nanos) -> bool {
        self.used(state, now) == 0
    }

    fn migrate(&self, old: &Self, state: &SlidingLogState, now: Nanos) -> SlidingLogState {
        let mut kept = state.clone();
        kept.forget_before(state.first_counted(state.effective(now.get()), old.window()));
        if kept.entries.is_empty() {
            kept.base = 0;
        }
        kept
    }

    fn state_bytes(&self, state: &SlidingLogState) -> usize {
        size_of::<SlidingLogState>() + state.entries.len() * size_of::<Entry>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{Row::*, check};

    const SECOND: u64 = 1_000_000_000;

    fn ten_per_hundred() -> SlidingLog {
        SlidingLog::per(10, Duration::from_nanos(100)).unwrap()
    }

    #[test]
    fn the_window_is_half_open() {
        check(
            &ten_per_hundred(),
            &[
                Allow { at: 9, cost: 10, remaining: 0, reset: 100 },
                Deny { at: 101, cost: 10, retry: 8, remaining: 0 },
                Deny { at: 108, cost: 1, retry: 1, remaining: 0 },
                Allow { at: 109, cost: 10, remaining: 0, reset: 100 },
            ],
        );
    }

    #[test]
    fn a_large_cost_waits_for_the_entries_that_free_enough() {
        check(
            &ten_per_hundred(),
            &[
                Allow { at: 0, cost: 3, remaining: 7, reset: 100 },
                Allow { at: 20, cost: 3, remaining: 4, reset: 100 },
                Allow { at: 40, cost: 3, remaining: 1, reset: 100 },
                Deny { at: 50, cost: 2, retry: 50, remaining: 1 },
                Deny { at: 50, cost: 5, retry: 70, remaining: 1 },
                Deny { at: 50, cost: 10, retry: 90, remaining: 1 },
                Never { at: 300, cost: 1000, capacity: 10 },
                Allow { at: 50, cost: 0, remaining: 1, reset: 90 },
                Allow { at: 50, cost: 1, remaining: 0, reset: 100 },
            ],
        );
    }

    #[test]
    fn a_clock_that_steps_back_counts_at_the_newest_entry() {
        check(
            &ten_per_hundred(),
            &[
                Allow { at: 500, cost: 9, remaining: 1, reset: 100 },
                Allow { at: 10, cost: 1, remaining: 0, reset: 590 },
                Deny { at: 10, cost: 1, retry: 590, remaining: 0 },
                Allow { at: 600, cost: 10, remaining: 0, reset: 100 },
            ],
        );
    }

    #[test]
    fn equal_instants_are_one_entry_and_expired_ones_are_dropped() {
        let policy = SlidingLog::per(1_000_000_000_000, Duration::from_secs(1)).unwrap();
        let mut state = policy.fresh();
        assert_eq!(policy.state_bytes(&state), 40);
        for _ in 0..1000 {
            policy.decide(&mut state, Nanos::new(7), 1);
        }
        assert_eq!(state.entries(), 1);
        for i in 0..1000 {
            policy.decide(&mut state, Nanos::new(8 + i), 1);
        }
        assert_eq!(state.entries(), 1001);
        policy.decide(&mut state, Nanos::new(3 * SECOND), 1);
        assert_eq!(state.entries(), 1);
        for i in 0..20 {
            policy.decide(&mut state, Nanos::from_secs(5 + i), 1);
        }
        assert!(state.entries.capacity() <= 16, "room is given back: {}", state.entries.capacity());
    }

    #[test]
    fn refund_takes_the_newest_first() {
        check(
            &ten_per_hundred(),
            &[
                Allow { at: 0, cost: 4, remaining: 6, reset: 100 },
                Allow { at: 50, cost: 4, remaining: 2, reset: 100 },
                Refund { cost: 5 },
                Allow { at: 50, cost: 0, remaining: 7, reset: 50 },
                Charge { at: 50, cost: u64::MAX },
                Deny { at: 50, cost: 1, retry: 100, remaining: 0 },
                Refund { cost: u64::MAX },
                Allow { at: 50, cost: 0, remaining: 10, reset: 0 },
            ],
        );
    }

    #[test]
    fn extreme_times_are_answered() {
        check(
            &SlidingLog::per(1, Duration::from_nanos(u64::MAX)).unwrap(),
            &[
                Allow { at: 0, cost: 1, remaining: 0, reset: u64::MAX },
                Deny { at: u64::MAX - 1, cost: 1, retry: 1, remaining: 0 },
                Allow { at: u64::MAX, cost: 1, remaining: 0, reset: u64::MAX },
                Deny { at: 0, cost: 1, retry: u64::MAX, remaining: 0 },
            ],
        );
    }
}
