//! One algorithm chosen at run time: an enum, no boxes.

use core::fmt;

#[cfg(feature = "alloc")]
use crate::sliding_log::{SlidingLog, SlidingLogState};
use crate::{
    Algorithm, BucketState, Decision, FixedWindow, FixedWindowState, LeakyBucket, Nanos, Quota, SlidingCounter,
    SlidingCounterState, TokenBucket, Unlimited,
};

/// One of the algorithms with its quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Everything is allowed.
    Unlimited,
    /// See [`FixedWindow`].
    FixedWindow(FixedWindow),
    /// See [`SlidingLog`].
    #[cfg(feature = "alloc")]
    SlidingLog(SlidingLog),
    /// See [`SlidingCounter`].
    SlidingCounter(SlidingCounter),
    /// See [`TokenBucket`].
    TokenBucket(TokenBucket),
    /// See [`LeakyBucket`].
    LeakyBucket(LeakyBucket),
}

/// What a [`Rule`] keeps for one client.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RuleState {
    /// Of [`Rule::Unlimited`].
    Unlimited(()),
    /// Of [`Rule::FixedWindow`].
    FixedWindow(FixedWindowState),
    /// Of [`Rule::SlidingLog`].
    #[cfg(feature = "alloc")]
    SlidingLog(SlidingLogState),
    /// Of [`Rule::SlidingCounter`].
    SlidingCounter(SlidingCounterState),
    /// Of [`Rule::TokenBucket`].
    TokenBucket(BucketState),
    /// Of [`Rule::LeakyBucket`].
    LeakyBucket(BucketState),
}

/// Calls one method on whichever algorithm the rule is, with its own state. A state of another kind counts as fresh:
/// `$mismatch` says what to do then.
macro_rules! dispatch {
    ($rule:expr, $state:expr, |$algorithm:ident, $part:ident| $call:expr, $mismatch:expr) => {
        match ($rule, $state) {
            (Rule::Unlimited, RuleState::Unlimited($part)) => {
                let $algorithm = &Unlimited;
                $call
            }
            (Rule::FixedWindow($algorithm), RuleState::FixedWindow($part)) => $call,
            #[cfg(feature = "alloc")]
            (Rule::SlidingLog($algorithm), RuleState::SlidingLog($part)) => $call,
            (Rule::SlidingCounter($algorithm), RuleState::SlidingCounter($part)) => $call,
            (Rule::TokenBucket($algorithm), RuleState::TokenBucket($part)) => $call,
            (Rule::LeakyBucket($algorithm), RuleState::LeakyBucket($part)) => $call,
            _ => $mismatch,
        }
    };
}

impl Rule {
    /// The algorithm's name in policy text and reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Rule::Unlimited => "unlimited",
            Rule::FixedWindow(_) => "fixed-window",
            #[cfg(feature = "alloc")]
            Rule::SlidingLog(_) => "sliding-log",
            Rule::SlidingCounter(_) => "sliding-counter",
            Rule::TokenBucket(_) => "token-bucket",
            Rule::LeakyBucket(_) => "leaky-bucket",
        }
    }

    /// The limit and the window; `None` for [`Rule::Unlimited`].
    pub const fn quota(&self) -> Option<Quota> {
        match self {
            Rule::Unlimited => None,
            Rule::FixedWindow(policy) => Some(policy.quota()),
            #[cfg(feature = "alloc")]
            Rule::SlidingLog(policy) => Some(policy.quota()),
            Rule::SlidingCounter(policy) => Some(policy.quota()),
            Rule::TokenBucket(policy) => Some(policy.quota()),
            Rule::LeakyBucket(policy) => Some(policy.quota()),
        }
    }

    /// The burst of a bucket; `None` for the others.
    pub fn burst(&self) -> Option<u64> {
        match self {
            Rule::TokenBucket(policy) => Some(policy.capacity()),
            Rule::LeakyBucket(policy) => Some(policy.capacity()),
            _ => None,
        }
    }

    /// The burst of a bucket if it differs from the limit.
    fn own_burst(&self) -> Option<u64> {
        match self {
            Rule::TokenBucket(policy) => policy.own_burst(),
            Rule::LeakyBucket(policy) => policy.own_burst(),
            _ => None,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        if let Some(quota) = self.quota() {
            write!(f, ":{quota}")?;
        }
        if let Some(burst) = self.own_burst() {
            write!(f, ",burst={burst}")?;
        }
        Ok(())
    }
}

impl Algorithm for Rule {
    type State = RuleState;

    fn fresh(&self) -> RuleState {
        match self {
            Rule::Unlimited => RuleState::Unlimited(()),
            Rule::FixedWindow(policy) => RuleState::FixedWindow(policy.fresh()),
            #[cfg(feature = "alloc")]
            Rule::SlidingLog(policy) => RuleState::SlidingLog(policy.fresh()),
            Rule::SlidingCounter(policy) => RuleState::SlidingCounter(policy.fresh()),
            Rule::TokenBucket(policy) => RuleState::TokenBucket(policy.fresh()),
            Rule::LeakyBucket(policy) => RuleState::LeakyBucket(policy.fresh()),
        }
    }

    fn capacity(&self) -> u64 {
        match self {
            Rule::Unlimited => Unlimited.capacity(),
            Rule::FixedWindow(policy) => policy.capacity(),
            #[cfg(feature = "alloc")]
            Rule::SlidingLog(policy) => policy.capacity(),
            Rule::SlidingCounter(policy) => policy.capacity(),
            Rule::TokenBucket(policy) => policy.capacity(),
            Rule::LeakyBucket(policy) => policy.capacity(),
        }
    }

    fn decide(&self, state: &mut RuleState, now: Nanos, cost: u64) -> Decision {
        dispatch!(self, &mut *state, |algorithm, part| algorithm.decide(part, now, cost), {
            let mut fresh = self.fresh();
            let decision = self.decide(&mut fresh, now, cost);
            // Law 1: nothing but an admission replaces what is there.
            if cost > 0 && decision.is_allowed() {
                *state = fresh;
            }
            decision
        })
    }

    fn admit(&self, state: &mut RuleState, now: Nanos, cost: u64) -> bool {
        dispatch!(self, &mut *state, |algorithm, part| algorithm.admit(part, now, cost), {
            self.decide(state, now, cost).is_allowed()
        })
    }

    fn peek(&self, state: &RuleState, now: Nanos, cost: u64) -> Decision {
        dispatch!(self, state, |algorithm, part| algorithm.peek(part, now, cost), self.peek(&self.fresh(), now, cost))
    }

    fn charge(&self, state: &mut RuleState, now: Nanos, cost: u64) {
        dispatch!(self, &mut *state, |algorithm, part| algorithm.charge(part, now, cost), {
            if cost > 0 {
                *state = self.fresh();
                self.charge(state, now, cost);
            }
        });
    }

    fn refund(&self, state: &mut RuleState, cost: u64) {
        dispatch!(self, &mut *state, |algorithm, part| algorithm.refund(part, cost), {});
    }

    fn used(&self, state: &RuleState, now: Nanos) -> u64 {
        dispatch!(self, state, |algorithm, part| algorithm.used(part, now), 0)
    }

    fn is_fresh(&self, state: &RuleState, now: Nanos) -> bool {
        dispatch!(self, state, |algorithm, part| algorithm.is_fresh(part, now), true)
    }

    /// The same algorithm migrates as it does; to another one the units in use are carried over as a charge at `now`.
    fn migrate(&self, old: &Self, state: &RuleState, now: Nanos) -> RuleState {
        match (self, old, state) {
            (Rule::FixedWindow(new), Rule::FixedWindow(old), RuleState::FixedWindow(part)) => {
                RuleState::FixedWindow(new.migrate(old, part, now))
            }
            #[cfg(feature = "alloc")]
            (Rule::SlidingLog(new), Rule::SlidingLog(old), RuleState::SlidingLog(part)) => {
                RuleState::SlidingLog(new.migrate(old, part, now))
            }
            (Rule::SlidingCounter(new), Rule::SlidingCounter(old), RuleState::SlidingCounter(part)) => {
                RuleState::SlidingCounter(new.migrate(old, part, now))
            }
            (Rule::TokenBucket(new), Rule::TokenBucket(old), RuleState::TokenBucket(part)) => {
                RuleState::TokenBucket(new.migrate(old, part, now))
            }
            (Rule::LeakyBucket(new), Rule::LeakyBucket(old), RuleState::LeakyBucket(part)) => {
                RuleState::LeakyBucket(new.migrate(old, part, now))
            }
            _ => {
                let mut next = self.fresh();
                self.charge(&mut next, now, old.used(state, now));
                next
            }
        }
    }

    fn state_bytes(&self, state: &RuleState) -> usize {
        let apart = dispatch!(self, state, |algorithm, part| algorithm.state_bytes(part) - size_of_val(part), 0);
        size_of::<RuleState>() + apart
    }
}
