//! Fixed window: the units whose instants lie in the same aligned window as now.

use super::{Model, Use, give_back, record, sum};
use crate::spec::RuleSpec;

/// Keeps every use of the window that was charged last; that charge closed all earlier windows for good.
#[derive(Debug, Clone)]
pub struct FixedWindowModel {
    limit: u64,
    window: u64,
    uses: Vec<Use>,
}

impl FixedWindowModel {
    /// A client that has used nothing.
    pub fn new(rule: &RuleSpec) -> Self {
        FixedWindowModel { limit: rule.limit, window: rule.window, uses: Vec::new() }
    }

    /// The number of the window that holds `at`.
    fn index(&self, at: u128) -> u128 {
        at / u128::from(self.window)
    }

    fn count(&self, at: u128) -> u128 {
        let current = self.index(self.effective(at));
        sum(self.uses.iter().filter(|used| self.index(used.at.into()) == current))
    }

    /// What was used in the current window is used in the new one that holds the same instant.
    #[must_use]
    pub fn migrated(&self, to: &RuleSpec, now: u64) -> Self {
        let mut next = FixedWindowModel::new(to);
        let at = u64::try_from(self.effective(now.into())).unwrap_or(u64::MAX);
        next.charge(at, self.used(now));
        next
    }
}

impl Model for FixedWindowModel {
    fn capacity(&self) -> u64 {
        self.limit
    }

    /// The start of the recorded window holds time up.
    fn effective(&self, at: u128) -> u128 {
        let start = self.uses.last().map_or(0, |used| self.index(used.at.into()) * u128::from(self.window));
        at.max(start)
    }

    fn fits(&self, at: u128, cost: u64) -> bool {
        self.count(at) + u128::from(cost) <= self.limit.into()
    }

    fn is_fresh(&self, at: u128) -> bool {
        self.count(at) == 0
    }

    fn used(&self, at: u64) -> u64 {
        u64::try_from(self.count(at.into())).unwrap_or(u64::MAX)
    }

    fn charge(&mut self, at: u64, cost: u64) {
        if cost == 0 {
            return;
        }
        let effective = self.effective(at.into());
        let (window, current) = (u128::from(self.window), self.index(effective));
        self.uses.retain(|used| u128::from(used.at) / window == current);
        // Not later than `at` or an instant recorded before.
        let effective = u64::try_from(effective).unwrap_or(u64::MAX);
        let kept = sum(self.uses.iter());
        record(&mut self.uses, effective, cost, kept);
    }

    fn refund(&mut self, cost: u64) {
        give_back(&mut self.uses, cost);
    }
}
