//! Sliding counter: the units of the current aligned window, and those of the one before it weighed by the share of it
//! that the trailing window overlaps.

use super::{Model, Use, give_back, record, sum};
use crate::spec::RuleSpec;

/// Keeps every use of the recorded window and of the one before it.
#[derive(Debug, Clone)]
pub struct SlidingCounterModel {
    limit: u64,
    window: u64,
    /// Number of the recorded window: that of the last charge or migration; it holds while anything of it or of the
    /// one before is used.
    recorded: u128,
    uses: Vec<Use>,
}

impl SlidingCounterModel {
    /// A client that has used nothing.
    pub fn new(rule: &RuleSpec) -> Self {
        SlidingCounterModel { limit: rule.limit, window: rule.window, recorded: 0, uses: Vec::new() }
    }

    fn index(&self, at: u128) -> u128 {
        at / u128::from(self.window)
    }

    fn units_in(&self, index: u128) -> u128 {
        sum(self.uses.iter().filter(|used| self.index(used.at.into()) == index))
    }

    /// The estimate at `at` as a fraction over W: whole units of this window, and the numerator of the weighed rest.
    /// The rest is below 2^128, since both factors are below 2^64.
    fn estimate(&self, at: u128) -> (u128, u128) {
        let (effective, window) = (self.effective(at), u128::from(self.window));
        let current = self.index(effective);
        let previous = current.checked_sub(1).map_or(0, |index| self.units_in(index));
        (self.units_in(current), previous * (window - effective % window))
    }

    /// Time moves on to the window that holds `at`: what is older than the window before it is closed for good.
    fn roll(&mut self, at: u64) -> u64 {
        let effective = self.effective(at.into());
        self.recorded = self.index(effective);
        let (window, recorded) = (u128::from(self.window), self.recorded);
        self.uses.retain(|used| u128::from(used.at) / window + 1 >= recorded);
        // Not later than `at` or a window that was recorded before.
        u64::try_from(effective).unwrap_or(u64::MAX)
    }

    /// Windows of the same length go on; otherwise the estimate is used in the new window.
    #[must_use]
    pub fn migrated(&self, to: &RuleSpec, now: u64) -> Self {
        let mut next = SlidingCounterModel::new(to);
        if self.is_fresh(now.into()) {
            return next;
        }
        if self.window == to.window {
            next.recorded = self.recorded;
            next.uses.clone_from(&self.uses);
            next.roll(now);
            return next;
        }
        let at = u64::try_from(self.effective(now.into())).unwrap_or(u64::MAX);
        next.charge(at, self.used(now));
        next
    }
}

impl Model for SlidingCounterModel {
    fn capacity(&self) -> u64 {
        self.limit
    }

    /// The start of the recorded window holds time up.
    fn effective(&self, at: u128) -> u128 {
        if self.uses.is_empty() { at } else { at.max(self.recorded * u128::from(self.window)) }
    }

    fn fits(&self, at: u128, cost: u64) -> bool {
        let (whole, rest) = self.estimate(at);
        whole + rest / u128::from(self.window) + u128::from(cost) <= self.limit.into()
    }

    /// The estimate is rounded down, so that less than one unit does not count.
    fn is_fresh(&self, at: u128) -> bool {
        let (whole, rest) = self.estimate(at);
        whole == 0 && rest < self.window.into()
    }

    fn used(&self, at: u64) -> u64 {
        let (whole, rest) = self.estimate(at.into());
        u64::try_from(whole + rest / u128::from(self.window)).unwrap_or(u64::MAX)
    }

    fn charge(&mut self, at: u64, cost: u64) {
        if cost > 0 {
            let effective = self.roll(at);
            let kept = self.units_in(self.recorded);
            record(&mut self.uses, effective, cost, kept);
        }
    }

    fn refund(&mut self, cost: u64) {
        give_back(&mut self.uses, cost);
    }
}
