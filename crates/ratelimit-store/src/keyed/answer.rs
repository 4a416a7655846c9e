//! How much of a decision is asked for: all of it, or whether the request passes.

use ratelimit_core::{Algorithm, Decision, Nanos};

/// What a caller is told.
pub(super) trait Answer: Copy {
    /// Decides, and charges what is allowed.
    fn of<P: Algorithm>(policy: &P, state: &mut P::State, at: Nanos, cost: u64) -> Self;

    /// The answer to a caller whose `now` is not after the time `at` of the decision: its durations count from there.
    fn seen_from(self, now: Nanos, at: Nanos) -> Self;

    fn is_allowed(self) -> bool;

    /// Whether no wait helps.
    fn is_never(self) -> bool;
}

impl Answer for Decision {
    #[inline]
    fn of<P: Algorithm>(policy: &P, state: &mut P::State, at: Nanos, cost: u64) -> Self {
        policy.decide(state, at, cost)
    }

    #[inline]
    fn seen_from(self, now: Nanos, at: Nanos) -> Self {
        let behind = at.saturating_sub(now);
        if behind == Nanos::ZERO {
            return self;
        }
        let later = |duration: Nanos| if duration == Nanos::ZERO { duration } else { duration.saturating_add(behind) };
        match self {
            Decision::Allowed { remaining, reset_after, delay } => {
                Decision::Allowed { remaining, reset_after: later(reset_after), delay: later(delay) }
            }
            Decision::Denied { retry_after, remaining, reset_after } => {
                Decision::Denied { retry_after: later(retry_after), remaining, reset_after: later(reset_after) }
            }
            Decision::Never { capacity } => Decision::Never { capacity },
        }
    }

    #[inline]
    fn is_allowed(self) -> bool {
        Decision::is_allowed(&self)
    }

    #[inline]
    fn is_never(self) -> bool {
        matches!(self, Decision::Never { .. })
    }
}

/// Yes, no, or never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Brief {
    Allowed,
    Denied,
    Never,
}

impl Answer for Brief {
    #[inline]
    fn of<P: Algorithm>(policy: &P, state: &mut P::State, at: Nanos, cost: u64) -> Self {
        if policy.admit(state, at, cost) {
            Brief::Allowed
        } else if cost > policy.capacity() {
            Brief::Never
        } else {
            Brief::Denied
        }
    }

    #[inline]
    fn seen_from(self, _now: Nanos, _at: Nanos) -> Self {
        self
    }

    #[inline]
    fn is_allowed(self) -> bool {
        self == Brief::Allowed
    }

    #[inline]
    fn is_never(self) -> bool {
        self == Brief::Never
    }
}
