//! Leaky bucket: a queue that is worked off at L/W, seen by the instant at which it will be empty.

use num_bigint::BigInt;

use super::token_bucket::div_ceil;
use super::{Model, gcd};
use crate::spec::RuleSpec;

/// The instant at which the queue will be empty, as an exact fraction. All such fractions have the denominator L.
#[derive(Debug, Clone)]
pub struct LeakyBucketModel {
    rule: RuleSpec,
    /// The end of the queue's work times L, and the instant of the last arrival. `None` is an empty queue.
    busy: Option<(BigInt, u64)>,
}

impl LeakyBucketModel {
    /// A client that has used nothing.
    pub fn new(rule: &RuleSpec) -> Self {
        LeakyBucketModel { rule: *rule, busy: None }
    }

    /// The work that is left: units times W, which is ticks times L.
    fn work(&self, at: u128) -> BigInt {
        let Some((end, _)) = &self.busy else { return BigInt::ZERO };
        (end - BigInt::from(self.effective(at)) * self.rule.limit).max(BigInt::ZERO)
    }

    /// Work that `units` bring.
    fn work_of(&self, units: u64) -> BigInt {
        BigInt::from(units) * self.rule.window
    }

    fn keep(&mut self, work: BigInt, at: u64) {
        // A queue saturates at 2^128 - 1 parts, of which a unit has W / gcd(L, W).
        let work = work.min(BigInt::from(u128::MAX) * gcd(self.rule.limit, self.rule.window));
        self.busy = (work > BigInt::ZERO).then(|| (BigInt::from(at) * self.rule.limit + work, at));
    }

    /// What was queued stays queued, rounded up to the parts in which the new bucket counts.
    #[must_use]
    pub fn migrated(&self, to: &RuleSpec, now: u64) -> Self {
        let mut next = LeakyBucketModel::new(to);
        let divisor = gcd(to.limit, to.window);
        let parts = div_ceil(self.work(now.into()) * (to.window / divisor), self.rule.window);
        next.keep(parts * divisor, u64::try_from(self.effective(now.into())).unwrap_or(u64::MAX));
        next
    }
}

impl Model for LeakyBucketModel {
    fn capacity(&self) -> u64 {
        self.rule.burst
    }

    /// The last arrival holds time up.
    fn effective(&self, at: u128) -> u128 {
        self.busy.as_ref().map_or(at, |(_, last)| at.max((*last).into()))
    }

    fn fits(&self, at: u128, cost: u64) -> bool {
        self.work(at) + self.work_of(cost) <= self.work_of(self.rule.burst)
    }

    fn is_turn(&self, at: u128) -> bool {
        self.work(at) == BigInt::ZERO
    }

    fn is_fresh(&self, at: u128) -> bool {
        self.work(at) == BigInt::ZERO
    }

    fn used(&self, at: u64) -> u64 {
        u64::try_from(div_ceil(self.work(at.into()), self.rule.window)).unwrap_or(u64::MAX)
    }

    fn charge(&mut self, at: u64, cost: u64) {
        if cost > 0 {
            let work = self.work(at.into()) + self.work_of(cost);
            let effective = u64::try_from(self.effective(at.into())).unwrap_or(u64::MAX);
            self.keep(work, effective);
        }
    }

    fn refund(&mut self, cost: u64) {
        if let Some((_, last)) = self.busy {
            let work = self.work(last.into()) - self.work_of(cost);
            self.keep(work, last);
        }
    }
}
