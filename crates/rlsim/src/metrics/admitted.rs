//! The admitted part of a history, by release time, and the steps of its trailing window.

use crate::replay::{CostColumn, History, Verdict};

/// Units released to the service at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Admission {
    /// Release time in nanoseconds.
    pub(super) at: u64,
    /// Units, never zero.
    pub(super) cost: u64,
}

/// Fills `into` with the admitted units of `history` in order of release. Requests of cost 0 use nothing and are left out.
pub(super) fn collect(history: &History<'_>, into: &mut Vec<Admission>) {
    into.clear();
    match history.cost {
        CostColumn::Unit => {
            for (&at, verdict) in history.at.iter().zip(history.verdict) {
                if let Verdict::Allowed { delay } = *verdict {
                    into.push(Admission { at: at.saturating_add(delay), cost: 1 });
                }
            }
        }
        CostColumn::Each(costs) => {
            for ((&at, &cost), verdict) in history.at.iter().zip(costs).zip(history.verdict) {
                if let Verdict::Allowed { delay } = *verdict
                    && cost > 0
                {
                    into.push(Admission { at: at.saturating_add(delay), cost });
                }
            }
        }
    }
    // A queue is first in, first out, so this is nearly always sorted already; every pass below needs it to be.
    if !into.is_sorted_by_key(|admission| admission.at) {
        into.sort_by_key(|admission| admission.at);
    }
}

/// Fills `into` with all units asked for, at their arrival, whatever became of them.
pub(super) fn collect_offered(history: &History<'_>, into: &mut Vec<Admission>) {
    into.clear();
    let asked = history.iter().filter(|outcome| outcome.cost > 0);
    into.extend(asked.map(|outcome| Admission { at: outcome.at, cost: outcome.cost }));
}

/// A stretch of time `[from, until)` in which the trailing window holds the same units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    /// First instant, in nanoseconds.
    pub(super) from: u64,
    /// First instant after it, in nanoseconds.
    pub(super) until: u64,
    /// Units in the window `(t - W, t]` for each `t` of the stretch.
    pub(super) units: u128,
    /// The oldest release in the window at `from`; meaningless without units.
    pub(super) oldest: u64,
    /// Whether the stretch begins with a release (otherwise only with units that left the window).
    pub(super) rises: bool,
}

/// Calls `each` with every segment from the first release until the window is empty for good, in time order.
///
/// A release at `s` counts at `t` iff `t - s < window` (half-open, as everywhere). Linear: each release enters once and
/// leaves once. An exit beyond the last `u64` nanosecond never happens.
pub(super) fn segments(admitted: &[Admission], window: u64, mut each: impl FnMut(Segment)) {
    let (mut next, mut oldest, mut units) = (0, 0, 0_u128);
    while oldest < admitted.len() {
        let leaves = admitted.get(oldest).and_then(|first| first.at.checked_add(window));
        let enters = admitted.get(next).map(|first| first.at);
        // Nothing is in the window when `oldest == next`: the next release is then the next change.
        let from = match (enters, leaves) {
            (Some(enters), _) if oldest == next => enters,
            (Some(enters), Some(leaves)) => enters.min(leaves),
            (Some(enters), None) => enters,
            (None, Some(leaves)) => leaves,
            (None, None) => return,
        };
        let before = next;
        while let Some(admission) = admitted.get(next).filter(|admission| admission.at <= from) {
            units += u128::from(admission.cost);
            next += 1;
        }
        while oldest < next && from - admitted[oldest].at >= window {
            units -= u128::from(admitted[oldest].cost);
            oldest += 1;
        }
        let first = admitted.get(oldest).map_or(u64::MAX, |first| first.at);
        let exit = if oldest == next { u64::MAX } else { first.saturating_add(window) };
        let until = admitted.get(next).map_or(exit, |entry| entry.at.min(exit));
        if oldest < next || next < admitted.len() {
            each(Segment { from, until, units, oldest: first, rises: next > before });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(times: &[u64], window: u64) -> Vec<(u64, u64, u128)> {
        let admitted: Vec<_> = times.iter().map(|&at| Admission { at, cost: 1 }).collect();
        let mut found = Vec::new();
        segments(&admitted, window, |segment| found.push((segment.from, segment.until, segment.units)));
        found
    }

    #[test]
    fn a_release_counts_until_just_before_one_window_later() {
        assert_eq!(steps(&[5, 8], 10), [(5, 8, 1), (8, 15, 2), (15, 18, 1)]);
    }

    #[test]
    fn a_release_at_the_instant_another_leaves_replaces_it() {
        assert_eq!(steps(&[5, 15], 10), [(5, 15, 1), (15, 25, 1)]);
    }

    #[test]
    fn ties_enter_together_and_a_gap_is_a_segment_of_nothing() {
        assert_eq!(steps(&[5, 5, 40], 10), [(5, 15, 2), (15, 40, 0), (40, 50, 1)]);
    }

    #[test]
    fn a_window_that_ends_after_all_time_never_empties() {
        let last = u64::MAX;
        assert_eq!(steps(&[last - 1], 10), [(last - 1, last, 1)]);
        assert_eq!(steps(&[last], 10), [(last, last, 1)]);
        assert_eq!(steps(&[], 10), []);
    }
}
