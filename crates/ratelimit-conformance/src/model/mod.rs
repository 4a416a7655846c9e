//! Reference models: each algorithm straight from its definition, and slow on purpose.
//!
//! A model says only what the definition says: whether a cost fits at an instant, whether the state is fresh, whether
//! it is a queued request's turn. Every number of an answer (`remaining`, `retry_after`, `reset_after`, `delay`) is
//! then *found by search* for the first instant or the largest cost, so that no formula is shared with the core.
//!
//! Instants are `u128`, since an answer may look beyond the last instant of `u64`. Units of time are ticks: nothing
//! here knows how long one is.

mod fixed_window;
mod leaky_bucket;
mod policy;
mod sliding_counter;
mod sliding_log;
mod token_bucket;

use ratelimit_core::{Decision, Nanos};

pub use fixed_window::FixedWindowModel;
pub use leaky_bucket::LeakyBucketModel;
pub use policy::{PolicyModel, RuleModel};
pub use sliding_counter::SlidingCounterModel;
pub use sliding_log::SlidingLogModel;
pub use token_bucket::TokenBucketModel;

/// What a definition says of one client.
pub trait Model: Clone {
    /// The largest cost that can ever be allowed.
    fn capacity(&self) -> u64;

    /// The instant at which a call at `at` takes effect: law 5.
    fn effective(&self, at: u128) -> u128;

    /// Whether `cost`, at least 1 and within the capacity, would be allowed at `at`.
    fn fits(&self, at: u128, cost: u64) -> bool;

    /// Whether a request that is admitted now would be released by `at`.
    fn is_turn(&self, _at: u128) -> bool {
        true
    }

    /// Whether nothing that was used counts at `at` or later.
    fn is_fresh(&self, at: u128) -> bool;

    /// Units in use, as decisions count them.
    fn used(&self, at: u64) -> u64;

    /// Records `cost` units whatever the limit.
    fn charge(&mut self, at: u64, cost: u64);

    /// Gives back `cost` units, the newest first.
    fn refund(&mut self, cost: u64);

    /// The answer to one request, with nothing charged.
    fn peek(&self, now: u64, cost: u64) -> Decision {
        if cost > self.capacity() {
            return Decision::Never { capacity: self.capacity() };
        }
        if cost > 0 && !self.fits(now.into(), cost) {
            return Decision::Denied {
                retry_after: first_wait(now, |at| self.fits(at, cost)),
                remaining: self.remaining(now),
                reset_after: first_wait(now, |at| self.is_fresh(at)),
            };
        }
        let mut after = self.clone();
        after.charge(now, cost);
        Decision::Allowed {
            remaining: after.remaining(now),
            reset_after: first_wait(now, |at| after.is_fresh(at)),
            delay: if cost == 0 { Nanos::ZERO } else { first_wait(now, |at| self.is_turn(at)) },
        }
    }

    /// The largest cost that would be allowed at `now`.
    fn remaining(&self, now: u64) -> u64 {
        let fits = |cost| cost == 0 || self.fits(now.into(), cost);
        let (mut most, mut too_many) = (0, u128::from(self.capacity()) + 1);
        while most + 1 < too_many {
            let middle = u128::midpoint(most, too_many);
            // Below the capacity + 1, hence within `u64`.
            if fits(u64::try_from(middle).unwrap_or(u64::MAX)) { most = middle } else { too_many = middle }
        }
        u64::try_from(most).unwrap_or(u64::MAX)
    }

    /// The answer to one request, which is charged if it is allowed.
    fn decide(&mut self, now: u64, cost: u64) -> Decision {
        let answer = self.peek(now, cost);
        if answer.is_allowed() {
            self.charge(now, cost);
        }
        answer
    }
}

/// The shortest wait from `now` after which `holds`, which stays true once it is; the longest there is if it is longer.
pub(crate) fn first_wait(now: u64, holds: impl Fn(u128) -> bool) -> Nanos {
    let after = |wait: u64| holds(u128::from(now) + u128::from(wait));
    if after(0) {
        return Nanos::ZERO;
    }
    // Doubling first: most waits are short.
    let (mut too_short, mut enough) = (0, 1_u64);
    while !after(enough) {
        if enough == u64::MAX {
            return Nanos::MAX;
        }
        too_short = enough;
        enough = enough.saturating_mul(2);
    }
    while too_short + 1 < enough {
        let middle = u64::midpoint(too_short, enough);
        if after(middle) { enough = middle } else { too_short = middle }
    }
    Nanos::new(enough)
}

/// Units that were admitted or charged at one effective instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) at: u64,
    pub(crate) units: u64,
}

/// All units of some uses.
pub(crate) fn sum<'a>(uses: impl Iterator<Item = &'a Use>) -> u128 {
    uses.map(|used| u128::from(used.units)).sum()
}

/// Takes `cost` units off the newest uses.
pub(crate) fn give_back(uses: &mut Vec<Use>, mut cost: u64) {
    while let Some(newest) = uses.last_mut() {
        let given = newest.units.min(cost);
        newest.units -= given;
        cost -= given;
        if newest.units > 0 {
            return;
        }
        uses.pop();
    }
}

/// Adds a use, clipped so that all that is kept fits into `u64`.
pub(crate) fn record(uses: &mut Vec<Use>, at: u64, cost: u64, kept: u128) {
    let room = u128::from(u64::MAX) - kept;
    let units = u64::try_from(room.min(cost.into())).unwrap_or(u64::MAX);
    if units > 0 {
        uses.push(Use { at, units });
    }
}

pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
