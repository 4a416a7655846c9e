//! What goes wrong in a scenario.

use ratelimit_core::Policy;
use serde::Deserialize;

use super::Scenario;
use crate::generate::units::{Rate, Span};
use crate::sim::storm::typed::Typed;

/// Something that goes wrong from one time to another.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Trigger {
    /// What.
    pub what: What,
    pub(super) from: Typed<Span>,
    pub(super) to: Typed<Span>,
    /// Of a slowdown: how many times as long a request takes.
    pub times: Option<u32>,
    /// Of a flash crowd: how many requests of the first group come on top (open loop).
    pub(super) rate: Option<Typed<Rate>>,
    /// Of a flash crowd: how long clients think now (closed loop).
    pub(super) think: Option<Typed<Span>>,
    /// Of a limit cut: the policy that is in force.
    pub(super) limiter: Option<Typed<Policy>>,
}

/// Kinds of triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Every attempt fails at once.
    Outage,
    /// Requests take several times as long.
    Slowdown,
    /// More requests come.
    FlashCrowd,
    /// A stricter policy is in force.
    LimitCut,
}

impl Trigger {
    /// First instant, in nanoseconds.
    pub fn from(&self) -> u64 {
        self.from.0.0
    }

    /// First instant after it.
    pub fn to(&self) -> u64 {
        self.to.0.0
    }

    /// The thinking time in a flash crowd, in nanoseconds.
    pub fn think(&self) -> Option<u64> {
        self.think.map(|Typed(Span(think))| think)
    }

    /// The rate of a flash crowd.
    pub fn rate(&self) -> Option<Rate> {
        self.rate.map(|Typed(rate)| rate)
    }

    /// The policy of a limit cut.
    pub fn limiter(&self) -> Option<Policy> {
        self.limiter.map(|Typed(policy)| policy)
    }

    pub(super) fn check(&self, scenario: &Scenario) -> Result<(), String> {
        if self.from() >= self.to() || self.to() > scenario.duration() {
            return Err("[trigger] expected from < to, and to within the duration".into());
        }
        let missing = match self.what {
            What::Slowdown => self.times.is_none().then_some("slowdown needs `times`, such as 3"),
            What::FlashCrowd => {
                let none = self.rate.is_none() && self.think.is_none();
                none.then_some("flash-crowd needs `rate`, such as \"500/s\", or `think`, such as \"1s\"")
            }
            What::LimitCut if scenario.server.limiter.is_none() => Some("limit-cut needs a `limiter` in [server]"),
            What::LimitCut => self.limiter.is_none().then_some("limit-cut needs `limiter`, a policy"),
            What::Outage => None,
        };
        missing.map_or(Ok(()), |missing| Err(format!("[trigger] {missing}")))
    }
}
