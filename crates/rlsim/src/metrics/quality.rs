//! Decision quality: each decision against the policy's own admitted history under a strict window.
//!
//! The judge is not a second run of the sliding log: that one diverges after its first difference and from then on
//! compares two different histories. Here the question at each request is only: had this policy, by what it really
//! admitted in `(t - W, t]`, room for it? Arrival times count, since that is when the decision is made.

use crate::replay::{History, Verdict};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Quality {
    /// Admitted although used + cost > L.
    pub(super) over_limit_accepts: u64,
    /// Denied although used + cost <= L.
    pub(super) needless_denials: u64,
    /// Denied, or asked when at least 90 % of L was used.
    pub(super) contested: u64,
}

impl Quality {
    /// Judges a history. Linear, two pointers.
    pub(super) fn observe(&mut self, history: &History<'_>, limit: u64, window: u64) {
        let limit = u128::from(limit);
        let (mut oldest, mut used) = (0, 0_u128);
        for now in history.iter() {
            while now.at - history.at[oldest] >= window {
                used -= admitted_units(history, oldest);
                oldest += 1;
            }
            let after = used + u128::from(now.cost);
            let mut contested = used * 10 >= limit * 9;
            match now.verdict {
                Verdict::Allowed { .. } => {
                    // Cost 0 takes nothing and is always allowed.
                    self.over_limit_accepts += u64::from(after > limit && now.cost > 0);
                    used = after;
                }
                Verdict::Denied { .. } => {
                    self.needless_denials += u64::from(after <= limit);
                    contested = true;
                }
                Verdict::Never => {}
            }
            self.contested += u64::from(contested);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.over_limit_accepts += other.over_limit_accepts;
        self.needless_denials += other.needless_denials;
        self.contested += other.contested;
    }
}

fn admitted_units(history: &History<'_>, i: usize) -> u128 {
    let outcome = history.get(i);
    match outcome.verdict {
        Verdict::Allowed { .. } => u128::from(outcome.cost),
        Verdict::Denied { .. } | Verdict::Never => 0,
    }
}
