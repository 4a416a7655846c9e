//! Models chosen at run time, and several at once: a cost fits if it fits all of them.

use super::{FixedWindowModel, LeakyBucketModel, Model, SlidingCounterModel, SlidingLogModel, TokenBucketModel};
use crate::spec::{Kind, PolicySpec, RuleSpec};

/// The model of one rule.
#[derive(Debug, Clone)]
pub enum RuleModel {
    /// Everything is allowed.
    Unlimited,
    /// See [`FixedWindowModel`].
    FixedWindow(FixedWindowModel),
    /// See [`SlidingLogModel`].
    SlidingLog(SlidingLogModel),
    /// See [`SlidingCounterModel`].
    SlidingCounter(SlidingCounterModel),
    /// See [`TokenBucketModel`].
    TokenBucket(TokenBucketModel),
    /// See [`LeakyBucketModel`].
    LeakyBucket(LeakyBucketModel),
}

/// Calls a method of whichever model it is.
macro_rules! each {
    ($model:expr, |$m:ident| $call:expr, $unlimited:expr) => {
        match $model {
            RuleModel::Unlimited => $unlimited,
            RuleModel::FixedWindow($m) => $call,
            RuleModel::SlidingLog($m) => $call,
            RuleModel::SlidingCounter($m) => $call,
            RuleModel::TokenBucket($m) => $call,
            RuleModel::LeakyBucket($m) => $call,
        }
    };
}

impl RuleModel {
    /// A client that has used nothing.
    pub fn new(rule: &RuleSpec) -> Self {
        match rule.kind {
            Kind::Unlimited => RuleModel::Unlimited,
            Kind::FixedWindow => RuleModel::FixedWindow(FixedWindowModel::new(rule)),
            Kind::SlidingLog => RuleModel::SlidingLog(SlidingLogModel::new(rule)),
            Kind::SlidingCounter => RuleModel::SlidingCounter(SlidingCounterModel::new(rule)),
            Kind::TokenBucket => RuleModel::TokenBucket(TokenBucketModel::new(rule)),
            Kind::LeakyBucket => RuleModel::LeakyBucket(LeakyBucketModel::new(rule)),
        }
    }

    /// The same algorithm migrates as it does; to another one, the units in use are charged at `now`.
    #[must_use]
    pub fn migrated(&self, to: &RuleSpec, now: u64) -> Self {
        match (self, to.kind) {
            (RuleModel::FixedWindow(old), Kind::FixedWindow) => RuleModel::FixedWindow(old.migrated(to, now)),
            (RuleModel::SlidingLog(old), Kind::SlidingLog) => RuleModel::SlidingLog(old.migrated(to, now)),
            (RuleModel::SlidingCounter(old), Kind::SlidingCounter) => RuleModel::SlidingCounter(old.migrated(to, now)),
            (RuleModel::TokenBucket(old), Kind::TokenBucket) => RuleModel::TokenBucket(old.migrated(to, now)),
            (RuleModel::LeakyBucket(old), Kind::LeakyBucket) => RuleModel::LeakyBucket(old.migrated(to, now)),
            _ => {
                let mut next = RuleModel::new(to);
                next.charge(now, self.used(now));
                next
            }
        }
    }
}

impl Model for RuleModel {
    fn capacity(&self) -> u64 {
        each!(self, |m| m.capacity(), u64::MAX)
    }

    fn effective(&self, at: u128) -> u128 {
        each!(self, |m| m.effective(at), at)
    }

    fn fits(&self, at: u128, cost: u64) -> bool {
        each!(self, |m| m.fits(at, cost), true)
    }

    fn is_turn(&self, at: u128) -> bool {
        each!(self, |m| m.is_turn(at), true)
    }

    fn is_fresh(&self, at: u128) -> bool {
        each!(self, |m| m.is_fresh(at), true)
    }

    fn used(&self, at: u64) -> u64 {
        each!(self, |m| m.used(at), 0)
    }

    fn charge(&mut self, at: u64, cost: u64) {
        each!(self, |m| m.charge(at, cost), ());
    }

    fn refund(&mut self, cost: u64) {
        each!(self, |m| m.refund(cost), ());
    }
}

/// The model of a policy: all or nothing.
#[derive(Debug, Clone)]
pub struct PolicyModel {
    rules: Vec<RuleModel>,
}

impl PolicyModel {
    /// A client that has used nothing.
    pub fn new(policy: &PolicySpec) -> Self {
        PolicyModel { rules: policy.0.iter().map(RuleModel::new).collect() }
    }

    /// The models of the rules.
    pub fn rules(&self) -> &[RuleModel] {
        &self.rules
    }

    /// Rule by rule; a rule with no counterpart starts with the most that the old ones have in use.
    #[must_use]
    pub fn migrated(&self, to: &PolicySpec, now: u64) -> Self {
        let charged = |rule: &RuleSpec| {
            let mut next = RuleModel::new(rule);
            next.charge(now, self.used(now));
            next
        };
        let counterpart = |(i, rule): (usize, &RuleSpec)| {
            self.rules.get(i).map_or_else(|| charged(rule), |old| old.migrated(rule, now))
        };
        PolicyModel { rules: to.0.iter().enumerate().map(counterpart).collect() }
    }
}

impl Model for PolicyModel {
    fn capacity(&self) -> u64 {
        self.rules.iter().map(Model::capacity).min().unwrap_or(u64::MAX)
    }

    fn effective(&self, at: u128) -> u128 {
        self.rules.iter().map(|rule| rule.effective(at)).max().unwrap_or(at)
    }

    fn fits(&self, at: u128, cost: u64) -> bool {
        self.rules.iter().all(|rule| rule.fits(at, cost))
    }

    fn is_turn(&self, at: u128) -> bool {
        self.rules.iter().all(|rule| rule.is_turn(at))
    }

    fn is_fresh(&self, at: u128) -> bool {
        self.rules.iter().all(|rule| rule.is_fresh(at))
    }

    fn used(&self, at: u64) -> u64 {
        self.rules.iter().map(|rule| rule.used(at)).max().unwrap_or(0)
    }

    fn charge(&mut self, at: u64, cost: u64) {
        for rule in &mut self.rules {
            rule.charge(at, cost);
        }
    }

    fn refund(&mut self, cost: u64) {
        for rule in &mut self.rules {
            rule.refund(cost);
        }
    }
}
