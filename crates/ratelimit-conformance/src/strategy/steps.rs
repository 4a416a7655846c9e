//! Steps relative to the story so far, and their resolution.

use proptest::prelude::*;
use ratelimit_core::{Decision, Nanos};

use super::quotas::{Family, policy};
use crate::model::{Model, PolicyModel};
use crate::spec::{Kind, PolicySpec, RuleSpec};
use crate::subject::Domain;
use crate::trace::{Call, Op, Trace};

/// One call, relative to the story so far.
#[derive(Debug, Clone)]
pub(super) struct Step {
    gap: Gap,
    act: Act,
}

#[derive(Debug, Clone)]
enum Act {
    Decide(Cost),
    Charge(Cost),
    Refund(Cost),
    Migrate(PolicySpec),
    /// To the same policy with limits and bursts that are larger by this, or smaller.
    Requota(i8),
}

/// When, seen from the call before.
#[derive(Debug, Clone)]
enum Gap {
    Later(u64),
    Earlier(u64),
    /// So many sixteenths of the window.
    Sixteenths(u64),
    /// To the window edge so many edges on, and an offset from it.
    Edge(u64, i8),
    /// To the instant at which the last denial promised success, and an offset from it.
    Retry(i8),
    /// To the instant at which the last answer promised a fresh state, and an offset from it.
    Reset(i8),
    Anywhere(u64),
}

#[derive(Debug, Clone)]
enum Cost {
    Exactly(u64),
    /// The capacity and an offset.
    Capacity(i8),
    /// What the last answer said remains, and an offset.
    Remaining(i8),
    /// So many eighths of the capacity.
    Eighths(u64),
}

fn offset() -> std::ops::RangeInclusive<i8> {
    -1..=1
}

fn gap() -> BoxedStrategy<Gap> {
    prop_oneof![
        3 => Just(Gap::Later(0)),
        5 => (1..=4_u64).prop_map(Gap::Later),
        2 => (1..=40_u64).prop_map(Gap::Later),
        2 => (1..=6_u64).prop_map(Gap::Earlier),
        4 => (0..=40_u64).prop_map(Gap::Sixteenths),
        4 => (0..=3_u64, offset()).prop_map(|(edges, by)| Gap::Edge(edges, by)),
        4 => offset().prop_map(Gap::Retry),
        3 => offset().prop_map(Gap::Reset),
        1 => any::<u64>().prop_map(Gap::Anywhere),
        // Where products of time and rate reach the end of 64 bits.
        1 => (56..=63_u32).prop_map(|bits| Gap::Later(1 << bits)),
    ]
    .boxed()
}

fn cost() -> BoxedStrategy<Cost> {
    prop_oneof![
        6 => Just(Cost::Exactly(1)),
        3 => (0..=6_u64).prop_map(Cost::Exactly),
        2 => offset().prop_map(Cost::Capacity),
        3 => offset().prop_map(Cost::Remaining),
        2 => (0..=9_u64).prop_map(Cost::Eighths),
        1 => any::<u64>().prop_map(Cost::Exactly),
    ]
    .boxed()
}

/// A request.
pub(super) fn request() -> BoxedStrategy<Step> {
    (gap(), cost()).prop_map(|(gap, cost)| Step { gap, act: Act::Decide(cost) }).boxed()
}

/// A request of few units soon after the one before it, and sometimes a large one later.
pub(super) fn crowding_request() -> BoxedStrategy<Step> {
    let gap = prop_oneof![12 => (1..=3_u64).prop_map(Gap::Later), 1 => (10..=30_u64).prop_map(Gap::Later)];
    let cost = prop_oneof![8 => (1..=2_u64).prop_map(Cost::Exactly), 1 => (4..=7_u64).prop_map(Cost::Eighths)];
    (gap, cost).prop_map(|(gap, cost)| Step { gap, act: Act::Decide(cost) }).boxed()
}

/// Any call that the domain has; migrations stay within the family.
pub(super) fn step(domain: Domain, family: Family) -> BoxedStrategy<Step> {
    let can = domain.can;
    let mut acts = vec![(12, cost().prop_map(Act::Decide).boxed())];
    if can.charge {
        acts.push((1, cost().prop_map(Act::Charge).boxed()));
    }
    if can.refund {
        acts.push((2, cost().prop_map(Act::Refund).boxed()));
    }
    if can.migrate {
        acts.push((1, policy(domain, family).prop_map(Act::Migrate).boxed()));
        acts.push((1, (-3..=3_i8).prop_map(Act::Requota).boxed()));
    }
    (gap(), prop::strategy::Union::new_weighted(acts)).prop_map(|(gap, act)| Step { gap, act }).boxed()
}

/// The story so far.
struct Story {
    domain: Domain,
    policy: PolicySpec,
    model: PolicyModel,
    now: u64,
    last: Option<Decision>,
}

/// Plain numbers for steps: the model tells the story.
pub(super) fn resolve(domain: Domain, policy: PolicySpec, start: u64, steps: &[Step]) -> Trace {
    let model = PolicyModel::new(&policy);
    let mut story = Story { domain, policy: policy.clone(), model, now: start, last: None };
    let ops = steps.iter().map(|step| story.tell(step)).collect();
    Trace { policy, ops }
}

/// The same windows with other numbers of units.
fn requota(policy: &PolicySpec, by: i8, most: u64) -> PolicySpec {
    let changed = |units: u64| units.saturating_add_signed(by.into()).clamp(1, most);
    let rules = policy.0.iter().map(|rule| match rule.kind {
        Kind::Unlimited => *rule,
        _ => RuleSpec { limit: changed(rule.limit), burst: changed(rule.burst), ..*rule },
    });
    PolicySpec(rules.collect())
}

impl Story {
    fn tell(&mut self, step: &Step) -> Op {
        let at = self.time(&step.gap).min(self.domain.latest);
        self.now = if self.domain.can.step_back { at } else { at.max(self.now) };
        let call = match &step.act {
            Act::Decide(cost) => Call::Decide(self.cost(cost)),
            Act::Charge(cost) => Call::Charge(self.cost(cost)),
            Act::Refund(cost) => Call::Refund(self.cost(cost)),
            Act::Migrate(to) => self.migrate(to.clone()),
            Act::Requota(by) => self.migrate(requota(&self.policy, *by, self.domain.most_units)),
        };
        let op = Op { at: self.now, call };
        self.last = op.run_model(&mut self.model).or(self.last);
        op
    }

    fn migrate(&mut self, to: PolicySpec) -> Call {
        self.policy.clone_from(&to);
        Call::Migrate(to)
    }

    fn time(&self, gap: &Gap) -> u64 {
        let window = self.policy.0[0].window;
        let shifted = |wait: u64, by: i8| self.now.saturating_add(wait).saturating_add_signed(by.into());
        match *gap {
            Gap::Later(by) => self.now.saturating_add(by),
            Gap::Earlier(by) => self.now.saturating_sub(by),
            Gap::Sixteenths(count) => self.now.saturating_add((window / 16).saturating_mul(count)),
            Gap::Edge(count, by) => {
                let edge = (self.now / window).saturating_add(count).saturating_mul(window);
                edge.saturating_add_signed(by.into())
            }
            Gap::Retry(by) => shifted(self.last.and_then(|last| last.retry_after()).map_or(0, Nanos::get), by),
            Gap::Reset(by) => match self.last {
                Some(Decision::Allowed { reset_after, .. } | Decision::Denied { reset_after, .. }) => {
                    shifted(reset_after.get(), by)
                }
                _ => self.now,
            },
            Gap::Anywhere(at) => at,
        }
    }

    fn cost(&self, cost: &Cost) -> u64 {
        let capacity = self.model.capacity();
        let units = match *cost {
            Cost::Exactly(units) => units,
            Cost::Capacity(by) => capacity.saturating_add_signed(by.into()),
            Cost::Remaining(by) => self.model.remaining(self.now).saturating_add_signed(by.into()),
            Cost::Eighths(count) => (capacity / 8).saturating_mul(count),
        };
        units.min(self.domain.most_units)
    }
}
