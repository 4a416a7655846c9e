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
    some: Vec<u64>,
}

impl Delays {
    pub(super) fn new(end: u64) -> Self {
        Delays { end, ..Delays::default() }
    }

    pub(super) fn observe(&mut self, history: &History<'_>) {
        for (at, verdict) in history.at.iter().zip(history.verdict) {
            match *verdict {
                Verdict::Allowed { delay: 0 } => self.none += 1,
                Verdict::Allowed { delay } => {
                    self.some.push(delay);
                    self.queued_at_end += u64::from(at.saturating_add(delay) > self.end);
                }
                Verdict::Denied { .. } | Verdict::Never => {}
            }
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.none += other.none;
        self.queued_at_end += other.queued_at_end;
        self.some.extend(other.some);
    }

    /// Requests admitted but not yet released when the trace ends.
    pub(super) fn queued_at_end(&self) -> u64 {
        self.queued_at_end
    }

    /// `None` when nothing was admitted.
    pub(super) fn finish(mut self) -> Option<Delay> {
        let total = self.none + self.some.len() as u64;
        (total > 0).then(|| Delay {
            p50: self.percentile(total, 50),
            p95: self.percentile(total, 95),
            p99: self.percentile(total, 99),
            max: self.some.iter().copied().max().unwrap_or(0),
        })
    }

    /// The smallest delay that at least `percent` of all admitted requests do not exceed.
    fn percentile(&mut self, total: u64, percent: u64) -> u64 {
        let rank = (u128::from(total) * u128::from(percent)).div_ceil(100);
        let Some(index) = rank.checked_sub(u128::from(self.none) + 1) else { return 0 };
        // rank <= total, so index < some.len(), which is a usize.
        let index = usize::try_from(index).unwrap_or(usize::MAX).min(self.some.len() - 1);
        *self.some.select_nth_unstable(index).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank_counts_those_without_delay() {
        let delays = Delays { none: 90, some: (1..=10).rev().collect(), ..Delays::default() };
        let found = delays.finish().expect("something was admitted");
        assert_eq!((found.p50, found.p95, found.p99, found.max), (0, 5, 9, 10));
    }

    #[test]
    fn one_admission_is_every_percentile_and_none_is_no_number() {
        let found = Delays { some: vec![7], ..Delays::default() }.finish().expect("something was admitted");
        assert_eq!((found.p50, found.p95, found.p99, found.max), (7, 7, 7, 7));
        assert!(Delays::default().finish().is_none());
    }
}
