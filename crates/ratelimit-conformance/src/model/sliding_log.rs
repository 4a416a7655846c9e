//! Sliding log: the units admitted less than W ago.

use super::{Model, Use, give_back, record, sum};
use crate::spec::RuleSpec;

/// Keeps every use that had not expired at the last charge.
#[derive(Debug, Clone)]
pub struct SlidingLogModel {
    limit: u64,
    window: u64,
    uses: Vec<Use>,
}

impl SlidingLogModel {
    /// A client that has used nothing.
    pub fn new(rule: &RuleSpec) -> Self {
        SlidingLogModel { limit: rule.limit, window: rule.window, uses: Vec::new() }
    }

    /// The half-open window: a use at s counts at t if and only if t - s < W.
    fn counts(used: &Use, at: u128, window: u64) -> bool {
        at - u128::from(used.at) < window.into()
    }

    fn in_window(&self, at: u128) -> u128 {
        let effective = self.effective(at);
        sum(self.uses.iter().filter(|used| Self::counts(used, effective, self.window)))
    }

    /// Every use that still counts keeps its instant.
    #[must_use]
    pub fn migrated(&self, to: &RuleSpec, now: u64) -> Self {
        let effective = self.effective(now.into());
        let uses = self.uses.iter().filter(|used| Self::counts(used, effective, self.window)).copied().collect();
        SlidingLogModel { uses, ..SlidingLogModel::new(to) }
    }
}

impl Model for SlidingLogModel {
    fn capacity(&self) -> u64 {
        self.limit
    }

    /// The newest use holds time up.
    fn effective(&self, at: u128) -> u128 {
        self.uses.last().map_or(at, |used| at.max(used.at.into()))
    }

    fn fits(&self, at: u128, cost: u64) -> bool {
        self.in_window(at) + u128::from(cost) <= self.limit.into()
    }

    fn is_fresh(&self, at: u128) -> bool {
        self.in_window(at) == 0
    }

    fn used(&self, at: u64) -> u64 {
        u64::try_from(self.in_window(at.into())).unwrap_or(u64::MAX)
    }

    fn charge(&mut self, at: u64, cost: u64) {
        if cost == 0 {
            return;
        }
        let (effective, window) = (self.effective(at.into()), self.window);
        self.uses.retain(|used| Self::counts(used, effective, window));
        let kept = sum(self.uses.iter());
        // Not later than `at` or an instant recorded before.
        record(&mut self.uses, u64::try_from(effective).unwrap_or(u64::MAX), cost, kept);
    }

    fn refund(&mut self, cost: u64) {
        give_back(&mut self.uses, cost);
    }
}
