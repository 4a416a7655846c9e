//! What denials promise: whether coming back when told is worth it, and how many are told the same instant.

use super::numbers::Retry;
use crate::replay::{History, Verdict};

/// The accumulator: 16 bytes a denial, so it is kept only where asked for.
#[derive(Debug, Default)]
pub(super) struct Promises {
    tested: u64,
    kept: u64,
    /// When who is told to come back.
    told: Vec<(u64, u32)>,
}

impl Promises {
    /// Takes in a history. A binary search for each denial.
    pub(super) fn observe(&mut self, history: &History<'_>) {
        for (i, denied) in history.iter().enumerate() {
            let Verdict::Denied { retry_after } = denied.verdict else { continue };
            let Some(promised) = denied.at.checked_add(retry_after) else { continue };
            if self.told.last() != Some(&(promised, denied.client)) {
                self.told.push((promised, denied.client));
            }
            let later = i + 1 + history.at[i + 1..].partition_point(|at| *at < promised);
            if later < history.len() {
                let next = history.get(later);
                // A larger request was promised nothing.
                if next.cost <= denied.cost {
                    self.tested += 1;
                    self.kept += u64::from(next.release().is_some());
                }
            }
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.tested += other.tested;
        self.kept += other.kept;
        self.told.extend(other.told);
    }

    pub(super) fn finish(mut self) -> Retry {
        self.told.sort_unstable();
        self.told.dedup();
        let herds = self.told.chunk_by(|a, b| a.0 == b.0);
        // The first of equally large herds.
        let largest = herds.map(|herd| (herd.len() as u64, herd[0].0)).reduce(|a, b| if b.0 > a.0 { b } else { a });
        Retry {
            herd: largest.map_or(0, |(clients, _)| clients),
            herd_at_ns: largest.map(|(_, at)| at),
            tested: self.tested,
            kept: self.kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::{CostColumn, Subject};

    #[test]
    fn a_herd_is_clients_told_one_instant_and_a_promise_is_tested_by_the_next_request_after_it() {
        const YES: Verdict = Verdict::Allowed { delay: 0 };
        let mut promises = Promises::default();
        let no = |retry_after| Verdict::Denied { retry_after };
        let at = [0, 10, 20, 55, 100, 130];
        let verdict = [YES, no(90), no(80), no(70), YES, no(1)];
        let cost = CostColumn::Unit;
        promises.observe(&History { at: &at, cost, subject: Subject::One(7), verdict: &verdict });
        promises.observe(&History { at: &[30], cost, subject: Subject::One(8), verdict: &[no(70)] });
        let found = promises.finish();
        // 10, 20 and 30 are told 100, by two clients; 55 is told 125. The requests at 100 and 130 put that to the test.
        assert_eq!(found, Retry { herd: 2, herd_at_ns: Some(100), tested: 3, kept: 2 });
    }
}
