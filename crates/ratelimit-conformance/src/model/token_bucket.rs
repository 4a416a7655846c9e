//! Token bucket: starts with B tokens, gains L/W a tick up to B, and loses the cost of what it admits.

use num_bigint::BigInt;

use super::{Model, gcd};
use crate::spec::RuleSpec;

/// The tokens as an exact fraction. All fractions have the denominator W, unreduced.
#[derive(Debug, Clone)]
pub struct TokenBucketModel {
    rule: RuleSpec,
    /// Tokens times W after the last charge, and its instant. `None` is a full bucket.
    spent: Option<(BigInt, u64)>,
}

impl TokenBucketModel {
    /// A client that has used nothing.
    pub fn new(rule: &RuleSpec) -> Self {
        TokenBucketModel { rule: *rule, spent: None }
    }

    /// So many whole tokens, times W.
    fn whole(&self, tokens: u64) -> BigInt {
        BigInt::from(tokens) * self.rule.window
    }

    fn full(&self) -> BigInt {
        self.whole(self.rule.burst)
    }

    /// Tokens times W.
    fn tokens(&self, at: u128) -> BigInt {
        let Some((tokens, last)) = &self.spent else { return self.full() };
        let gained = BigInt::from(self.effective(at) - u128::from(*last)) * self.rule.limit;
        (tokens + gained).min(self.full())
    }

    fn keep(&mut self, tokens: BigInt, at: u64) {
        // Debt saturates at 2^128 - 1 parts, of which a unit has W / gcd(L, W).
        let most = BigInt::from(u128::MAX) * gcd(self.rule.limit, self.rule.window);
        let tokens = tokens.max(self.full() - most);
        self.spent = (tokens < self.full()).then_some((tokens, at));
    }

    /// What was used stays used, rounded up to the parts in which the new bucket counts.
    #[must_use]
    pub fn migrated(&self, to: &RuleSpec, now: u64) -> Self {
        let mut next = TokenBucketModel::new(to);
        let used = self.full() - self.tokens(now.into());
        let divisor = gcd(to.limit, to.window);
        let parts = div_ceil(used * (to.window / divisor), self.rule.window);
        let at = u64::try_from(self.effective(now.into())).unwrap_or(u64::MAX);
        next.keep(next.full() - parts * divisor, at);
        next
    }
}

/// `ceil(number / divisor)` of a number that is not negative.
pub(super) fn div_ceil(number: BigInt, divisor: u64) -> BigInt {
    (number + (divisor - 1)) / divisor
}

impl Model for TokenBucketModel {
    fn capacity(&self) -> u64 {
        self.rule.burst
    }

    /// The last charge holds time up.
    fn effective(&self, at: u128) -> u128 {
        self.spent.as_ref().map_or(at, |(_, last)| at.max((*last).into()))
    }

    fn fits(&self, at: u128, cost: u64) -> bool {
        self.tokens(at) >= self.whole(cost)
    }

    fn is_fresh(&self, at: u128) -> bool {
        self.tokens(at) == self.full()
    }

    fn used(&self, at: u64) -> u64 {
        let used = self.full() - self.tokens(at.into());
        u64::try_from(div_ceil(used, self.rule.window)).unwrap_or(u64::MAX)
    }

    fn charge(&mut self, at: u64, cost: u64) {
        if cost > 0 {
            let tokens = self.tokens(at.into()) - self.whole(cost);
            let effective = u64::try_from(self.effective(at.into())).unwrap_or(u64::MAX);
            self.keep(tokens, effective);
        }
    }

    fn refund(&mut self, cost: u64) {
        if let Some((tokens, last)) = self.spent.take() {
            self.keep(tokens + self.whole(cost), last);
        }
    }
}
