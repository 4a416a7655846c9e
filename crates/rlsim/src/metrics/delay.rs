//! How long admitted requests wait for their release: exact percentiles by nearest rank.

use super::numbers::Delay;
use crate::replay::{History, Verdict};

/// All delays that are not zero (eight bytes each; only the leaky bucket has any) and the number that are.
#[derive(Debug, Default)]
pub(super) struct Delays {
    /// The last event of the trace, in nanoseconds.
    end: u64,
    queued_at_end: u64,
    none: u64,
    /// How many are not zero, and the longest of them.
    delayed: u64,
    longest: u64,
    /// Whether percentiles are wanted, so that all delays are kept.
    kept: bool,
    some: Vec<u64>,
}

impl Delays {
    pub(super) fn new(end: u64, percentiles: bool) -> Self {
        Delays { end, kept: percentiles, ..Delays::default() }
    }

    pub(super) fn observe(&mut self, history: &History<'_>) {
        for (at, verdict) in history.at.iter().zip(history.verdict) {
            match *verdict {
                Verdict::Allowed { delay: 0 } => self.none += 1,
                Verdict::Allowed { delay } => {
                    self.delayed += 1;
                    self.longest = self.longest.max(delay);
                    if self.kept {
                        self.some.push(delay);
                    }
                    self.queued_at_end += u64::from(at.saturating_add(delay) > self.end);
                }
                Verdict::Denied { .. } | Verdict::Never => {}
            }
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.none += other.none;
        self.delayed += other.delayed;
        self.longest = self.longest.max(other.longest);
        self.queued_at_end += other.queued_at_end;
        self.some.extend(other.some);
    }

    /// Requests admitted but not yet released when the trace ends.
    pub(super) fn queued_at_end(&self) -> u64 {
        self.queued_at_end
    }

    /// `None` when nothing was admitted.
    pub(super) fn finish(mut self) -> Option<Delay> {
        let total = self.none + self.delayed;
        (total > 0).then(|| Delay {
            p50: self.percentile(total, 50),
            p95: self.percentile(total, 95),
            p99: self.percentile(total, 99),
            max: self.longest,
        })
    }

    /// The smallest delay that at least `percent` of all admitted requests do not exceed.
    fn percentile(&mut self, total: u64, percent: u64) -> Option<u64> {
        let rank = (u128::from(total) * u128::from(percent)).div_ceil(100);
        let Some(index) = rank.checked_sub(u128::from(self.none) + 1) else { return Some(0) };
        let index = usize::try_from(index).ok().filter(|&index| index < self.some.len())?;
        Some(*self.some.select_nth_unstable(index).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::{CostColumn, Subject};

    fn of(delays: &[u64], percentiles: bool) -> Delays {
        let verdict: Vec<Verdict> = delays.iter().map(|&delay| Verdict::Allowed { delay }).collect();
        let mut found = Delays::new(u64::MAX, percentiles);
        let at = vec![0; delays.len()];
        found.observe(&History { at: &at, cost: CostColumn::Unit, subject: Subject::One(0), verdict: &verdict });
        found
    }

    #[test]
    fn without_percentiles_the_longest_is_still_known() {
        let found = of(&[0, 0, 5, 3], false).finish().expect("something was admitted");
        assert_eq!((found.p50, found.p95, found.max), (Some(0), None, 5));
    }

    #[test]
    fn nearest_rank_counts_those_without_delay() {
        let delays = Delays { none: 90, ..of(&[10, 9, 8, 7, 6, 5, 4, 3, 2, 1], true) };
        let found = delays.finish().expect("something was admitted");
        assert_eq!((found.p50, found.p95, found.p99, found.max), (Some(0), Some(5), Some(9), 10));
    }

    #[test]
    fn one_admission_is_every_percentile_and_none_is_no_number() {
        let found = of(&[7], true).finish().expect("something was admitted");
        assert_eq!((found.p50, found.p95, found.p99, found.max), (Some(7), Some(7), Some(7), 7));
        assert!(Delays::default().finish().is_none());
    }
}
