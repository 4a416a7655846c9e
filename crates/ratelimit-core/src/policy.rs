//! Policies chosen at run time, and their text.
//!
//! ```text
//! policy = rule ("+" rule)*            all must allow; at most 4
//! rule   = NAME ":" LIMIT "/" WINDOW ("," "burst=" B)?   |  "unlimited"
//! NAME   = fixed-window | sliding-log | sliding-counter | token-bucket | leaky-bucket
//! WINDOW = whole number and unit: ns us ms s m h d; the number may be left out ("1000/h")
//! ```
//!
//! ```
//! use ratelimit_core::Policy;
//!
//! let policy: Policy = "token-bucket:100/1m,burst=20 + fixed-window:1000/h".parse()?;
//! assert_eq!(policy.to_string(), "token-bucket:100/1m,burst=20+fixed-window:1000/1h");
//! let error = "token-bucket:100/1x".parse::<Policy>().unwrap_err();
//! assert_eq!(error.position(), 18);
//! # Ok::<(), ratelimit_core::PolicyError>(())
//! ```

mod rule;
mod text;

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::fmt;
use core::str::FromStr;

pub use rule::{Rule, RuleState};
pub use text::{Expected, PolicyError};

use crate::{Algorithm, AllOf, Decision, Nanos};

/// The most rules that one policy can hold.
pub const MAX_RULES: usize = 4;

/// Shorter lists are filled up with [`Rule::Unlimited`], which changes no answer.
type Several = AllOf<Rule, MAX_RULES>;

/// One rule, or several that must all allow, chosen at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Policy {
    rules: [Rule; MAX_RULES],
    len: usize,
}

/// What a [`Policy`] keeps for one client.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PolicyState {
    /// Of a policy with one rule.
    One(RuleState),
    /// Of a policy with several, which lie apart so that the states of one-rule policies stay small.
    #[cfg(feature = "alloc")]
    Several(Box<[RuleState; MAX_RULES]>),
    /// Of a policy with several.
    #[cfg(not(feature = "alloc"))]
    Several([RuleState; MAX_RULES]),
}

impl Policy {
    /// All of these rules must allow. `None` with no rule, or with more than [`MAX_RULES`].
    pub fn all_of(rules: &[Rule]) -> Option<Policy> {
        if rules.is_empty() || rules.len() > MAX_RULES {
            return None;
        }
        let filled = core::array::from_fn(|i| rules.get(i).copied().unwrap_or(Rule::Unlimited));
        Some(Policy { rules: filled, len: rules.len() })
    }

    /// The rules, in the order given; at least one.
    pub fn rules(&self) -> &[Rule] {
        &self.rules[..self.len]
    }

    fn several(&self) -> Several {
        AllOf::new(self.rules)
    }

    /// Runs `one` on a lone rule and `several` otherwise. A state that another policy made is of the wrong form where
    /// the number of rules differs: `None`, and it counts as fresh.
    fn with<'a, R>(
        &self,
        state: &'a mut PolicyState,
        one: impl FnOnce(&Rule, &'a mut RuleState) -> R,
        several: impl FnOnce(&Several, &'a mut [RuleState; MAX_RULES]) -> R,
    ) -> Option<R> {
        match state {
            PolicyState::One(part) if self.len == 1 => Some(one(&self.rules[0], part)),
            PolicyState::Several(parts) if self.len > 1 => Some(several(&self.several(), parts)),
            _ => None,
        }
    }

    /// As [`with`](Self::with), for reading.
    fn read<R>(
        &self,
        state: &PolicyState,
        one: impl FnOnce(&Rule, &RuleState) -> R,
        several: impl FnOnce(&Several, &[RuleState; MAX_RULES]) -> R,
    ) -> R {
        match state {
            PolicyState::One(part) if self.len == 1 => one(&self.rules[0], part),
            PolicyState::Several(parts) if self.len > 1 => several(&self.several(), parts),
            _ => self.read(&self.fresh(), one, several),
        }
    }
}

impl From<Rule> for Policy {
    fn from(rule: Rule) -> Policy {
        let mut rules = [Rule::Unlimited; MAX_RULES];
        rules[0] = rule;
        Policy { rules, len: 1 }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, rule) in self.rules().iter().enumerate() {
            if i > 0 {
                f.write_str("+")?;
            }
            write!(f, "{rule}")?;
        }
        Ok(())
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Policy, PolicyError> {
        text::parse(text)
    }
}

impl Algorithm for Policy {
    type State = PolicyState;

    fn fresh(&self) -> PolicyState {
        if self.len == 1 { PolicyState::One(self.rules[0].fresh()) } else { several_state(self.several().fresh()) }
    }

    fn capacity(&self) -> u64 {
        self.rules().iter().map(Algorithm::capacity).min().unwrap_or(u64::MAX)
    }

    fn decide(&self, state: &mut PolicyState, now: Nanos, cost: u64) -> Decision {
        let decided = self.with(state, |a, s| a.decide(s, now, cost), |a, s| a.decide(s, now, cost));
        decided.unwrap_or_else(|| {
            let mut fresh = self.fresh();
            let decision = self.decide(&mut fresh, now, cost);
            // Law 1: nothing but an admission replaces what is there.
            if cost > 0 && decision.is_allowed() {
                *state = fresh;
            }
            decision
        })
    }

    fn admit(&self, state: &mut PolicyState, now: Nanos, cost: u64) -> bool {
        match state {
            PolicyState::One(part) if self.len == 1 => self.rules[0].admit(part, now, cost),
            _ => self.decide(state, now, cost).is_allowed(),
        }
    }

    fn peek(&self, state: &PolicyState, now: Nanos, cost: u64) -> Decision {
        self.read(state, |a, s| a.peek(s, now, cost), |a, s| a.peek(s, now, cost))
    }

    fn charge(&self, state: &mut PolicyState, now: Nanos, cost: u64) {
        let charged = self.with(state, |a, s| a.charge(s, now, cost), |a, s| a.charge(s, now, cost));
        if charged.is_none() && cost > 0 {
            *state = self.fresh();
            self.charge(state, now, cost);
        }
    }

    fn refund(&self, state: &mut PolicyState, cost: u64) {
        // Nothing of this policy is recorded in a state of another form.
        let _ = self.with(state, |a, s| a.refund(s, cost), |a, s| a.refund(s, cost));
    }

    fn used(&self, state: &PolicyState, now: Nanos) -> u64 {
        self.read(state, |a, s| a.used(s, now), |a, s| a.used(s, now))
    }

    fn is_fresh(&self, state: &PolicyState, now: Nanos) -> bool {
        self.read(state, |a, s| a.is_fresh(s, now), |a, s| a.is_fresh(s, now))
    }

    /// Rule by rule in their order; a rule with no counterpart at its place starts with the most that the old rules have
    /// in use.
    fn migrate(&self, old: &Self, state: &PolicyState, now: Nanos) -> PolicyState {
        let most_used = old.used(state, now);
        let old_part = |i: usize| match state {
            PolicyState::One(part) => (i == 0 && old.len == 1).then_some(part),
            PolicyState::Several(parts) => parts.get(i).filter(|_| old.len > 1),
        };
        let mut next = self.fresh();
        let parts: &mut [RuleState] = match &mut next {
            PolicyState::One(part) => core::slice::from_mut(part),
            PolicyState::Several(parts) => &mut parts[..],
        };
        for (i, (part, rule)) in parts.iter_mut().zip(self.rules()).enumerate() {
            match (old.rules().get(i), old_part(i)) {
                (Some(old_rule), Some(old_part)) => *part = rule.migrate(old_rule, old_part, now),
                _ => rule.charge(part, now, most_used),
            }
        }
        next
    }

    fn state_bytes(&self, state: &PolicyState) -> usize {
        let apart = self.read(
            state,
            |rule, part| rule.state_bytes(part) - size_of::<RuleState>(),
            |several, parts| if cfg!(feature = "alloc") { several.state_bytes(parts) } else { 0 },
        );
        size_of::<PolicyState>() + apart
    }
}

#[cfg(feature = "alloc")]
fn several_state(parts: [RuleState; MAX_RULES]) -> PolicyState {
    PolicyState::Several(Box::new(parts))
}

#[cfg(not(feature = "alloc"))]
fn several_state(parts: [RuleState; MAX_RULES]) -> PolicyState {
    PolicyState::Several(parts)
}
