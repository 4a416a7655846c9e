//! Strategies for quotas and traces. Steps are drawn relative to the story so far (the next window edge, the instant
//! that the last answer promised, what remains), since that is where limiters break; the model resolves them to plain
//! numbers.

mod quotas;
mod steps;

use proptest::prelude::*;

pub use quotas::{Family, policy, rule, small_rule};

use crate::spec::{Kind, PolicySpec, RuleSpec};
use crate::subject::Domain;
use crate::trace::{Call, Op, Trace};
use steps::{Step, resolve, step};

/// Traces of the family with all calls that the domain has.
pub fn traces(domain: Domain, family: Family) -> BoxedStrategy<Trace> {
    let steps = prop::collection::vec(step(domain, family), 1..30);
    (policy(domain, family), start(domain), steps)
        .prop_map(move |(policy, start, steps)| resolve(domain, policy, start, &steps))
        .boxed()
}

/// Traces of requests alone.
pub fn requests(domain: Domain, policies: BoxedStrategy<PolicySpec>) -> BoxedStrategy<Trace> {
    let steps = prop::collection::vec(steps::request(), 1..40);
    (policies, start(domain), steps)
        .prop_map(move |(policy, start, steps)| resolve(domain, policy, start, &steps))
        .boxed()
}

/// Many requests within a window, so that much has to be remembered, and large ones when a part of it has expired.
pub fn crowds(domain: Domain, kind: Kind) -> BoxedStrategy<Trace> {
    let quota = (8..=24_u64.min(domain.most_units).max(8), 20..=60_u64.min(domain.longest_window).max(20));
    let steps = prop::collection::vec(steps::crowding_request(), 20..60);
    (quota, steps)
        .prop_map(move |((limit, window), steps)| {
            resolve(domain, PolicySpec::from(RuleSpec::new(kind, limit, window)), 0, &steps)
        })
        .boxed()
}

/// Requests of one unit each, with gaps that make sense for small windows.
pub fn unit_requests(domain: Domain, policies: BoxedStrategy<PolicySpec>) -> BoxedStrategy<Trace> {
    requests(domain, policies)
        .prop_map(|mut trace| {
            for op in &mut trace.ops {
                if let Call::Decide(cost) = &mut op.call {
                    *cost = 1;
                }
            }
            trace
        })
        .boxed()
}

/// What a client does at or after an instant: calls to be continued with, resolved when the instant is known.
pub fn continuations(domain: Domain, family: Family) -> BoxedStrategy<Continuation> {
    prop::collection::vec(step(domain, family), 1..12).prop_map(move |steps| Continuation { domain, steps }).boxed()
}

/// Calls at or after an instant that is not known yet.
#[derive(Debug, Clone)]
pub struct Continuation {
    domain: Domain,
    steps: Vec<Step>,
}

impl Continuation {
    /// The calls, none of them before `from`.
    pub(crate) fn from(&self, policy: &PolicySpec, from: u64) -> Vec<Op> {
        let mut ops = resolve(self.domain, policy.clone(), from, &self.steps).ops;
        for op in &mut ops {
            op.at = op.at.max(from);
        }
        ops
    }
}

/// First instants: near zero, near the end, anywhere.
fn start(domain: Domain) -> BoxedStrategy<u64> {
    let latest = domain.latest;
    prop_oneof![
        3 => 0..=20_u64.min(latest),
        2 => 0..=latest,
        1 => (0..=20_u64).prop_map(move |before| latest.saturating_sub(before)),
    ]
    .boxed()
}
