//! The two numbers that every dialect sends: how much is available, and within which time no more than that.
//!
//! The ratio of the two never promises more than the policy's rate (a fresh hourly bucket must not say 999 in 4 s):
//!
//! ```text
//! time = max(time to the next unit, available * window / limit)
//! ```
//!
//! A policy that refused says the time of `Retry-After`, and of what is available no more than its rate yields in that
//! time: a client that was refused 61 units of 60 is not told to take 60 at once.

use ratelimit_core::{Decision, Nanos};

use crate::rate::Rate;

/// What the backend says of one policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    /// The answer of this policy alone to the request.
    pub(crate) decision: Decision,
    /// Units that would be allowed after this answer.
    pub(crate) remaining: u64,
    /// Time until one unit more would be; zero where all of them are there.
    pub(crate) next_unit: Nanos,
}

/// What the fields say of one policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level {
    /// Which of the layer's policies this is.
    pub(crate) policy: usize,
    /// Units that the request takes of it.
    pub(crate) cost: u64,
    pub(crate) available: u64,
    /// Within this time no more than `available` can be used.
    pub(crate) time: Nanos,
    /// The answer of this policy alone.
    pub(crate) decision: Decision,
    /// Whether anybody has told the two numbers. The fields say nothing of a policy of which they are not known.
    pub(crate) known: bool,
}

impl Level {
    /// Of a policy that has decided, and does not say what is there.
    pub(crate) fn unknown(policy: usize, cost: u64, decision: Decision) -> Level {
        Level { policy, cost, available: 0, time: Nanos::ZERO, decision, known: false }
    }

    #[inline]
    pub(crate) fn new(policy: usize, rate: Rate, cost: u64, view: &View) -> Level {
        let Decision::Denied { retry_after, .. } = view.decision else {
            let time = view.next_unit.max(rate.time_up(view.remaining));
            return Level { policy, cost, available: view.remaining, time, decision: view.decision, known: true };
        };
        let seconds = retry_seconds(retry_after);
        let available = view.remaining.min(rate.yield_of(seconds));
        Level { policy, cost, available, time: retry_after, decision: view.decision, known: true }
    }

    /// Whole seconds, rounded up; where the policy refused, those of `Retry-After`.
    #[inline]
    pub(crate) fn seconds(&self) -> u64 {
        match self.decision {
            Decision::Denied { retry_after, .. } => retry_seconds(retry_after),
            _ => self.time.as_secs_ceil(),
        }
    }

    pub(crate) fn refused(&self) -> bool {
        !self.decision.is_allowed()
    }
}

/// What `Retry-After` says: whole seconds, rounded up, at least 1.
pub(crate) fn retry_seconds(retry_after: Nanos) -> u64 {
    retry_after.as_secs_ceil().max(1)
}

/// The policy that is described where only one can be: after a refusal the one that refused (for ever, or the longest),
/// otherwise the one with the least available (of those the one with the longest time).
#[inline]
pub(crate) fn described(levels: &[Level]) -> usize {
    if levels.len() <= 1 {
        return 0;
    }
    let rank = |level: &Level| match level.decision {
        Decision::Never { capacity } => (0, capacity, u64::MAX - level.time.get()),
        Decision::Denied { retry_after, .. } => (1, u64::MAX - retry_after.get(), 0),
        Decision::Allowed { .. } => (2, level.available, u64::MAX - level.time.get()),
    };
    levels.iter().enumerate().min_by_key(|(_, level)| rank(level)).map_or(0, |(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn allowed(remaining: u64, next_secs: u64) -> View {
        let decision = Decision::Allowed { remaining, reset_after: Nanos::ZERO, delay: Nanos::ZERO };
        View { decision, remaining, next_unit: Nanos::from_secs(next_secs) }
    }

    fn denied(remaining: u64, retry: u64) -> View {
        let retry_after = Nanos::new(retry);
        let decision = Decision::Denied { retry_after, remaining, reset_after: Nanos::ZERO };
        View { decision, remaining, next_unit: retry_after }
    }

    fn of(rate: Rate, view: &View) -> Level {
        Level::new(0, rate, 1, view)
    }

    fn quota(text: &str) -> Rate {
        Rate::of(text.parse().unwrap())
    }

    #[test]
    fn a_fresh_hourly_bucket_does_not_promise_all_of_it_in_seconds() {
        let level = of(quota("1000/h"), &allowed(999, 4));
        assert_eq!((level.available, level.seconds()), (999, 3597));
    }

    #[test]
    fn a_refusal_says_the_wait_and_never_zero() {
        for (retry, seconds) in [(1, 1), (SECOND, 1), (SECOND + 1, 2), (50 * SECOND, 50)] {
            assert_eq!(of(quota("5/1m"), &denied(0, retry)).seconds(), seconds);
        }
    }

    #[test]
    fn what_a_refusal_offers_is_what_the_rate_yields_in_the_wait() {
        let level = of(quota("100/1m"), &denied(60, SECOND));
        assert_eq!((level.available, level.seconds()), (1, 1));
        let level = of(quota("18446744073709551615/1ns"), &denied(60, u64::MAX));
        assert_eq!(level.available, 60);
    }

    #[test]
    fn the_one_that_refused_is_described_even_if_another_has_less() {
        let both = |a: &View, b: &View| described(&[of(quota("2/1s"), a), of(quota("50/1m"), b)]);
        assert_eq!(both(&denied(1, SECOND), &allowed(0, 60)), 0);
        assert_eq!(both(&denied(0, SECOND), &denied(0, 2 * SECOND)), 1);
        assert_eq!(both(&allowed(3, 1), &allowed(2, 1)), 1);
        assert_eq!(both(&allowed(2, 1), &allowed(2, 60)), 1);
    }
}
