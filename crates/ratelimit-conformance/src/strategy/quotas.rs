//! Strategies for policies.

use proptest::prelude::*;

use crate::spec::{Kind, PolicySpec, RuleSpec};
use crate::subject::Domain;

/// What policies a test is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// One rule of this algorithm.
    Only(Kind),
    /// Two to four rules at once, of any algorithms.
    AllOf,
    /// Anything.
    Policy,
}

impl Family {
    /// Whether the implementation has it.
    pub fn is_within(self, domain: &Domain) -> bool {
        match self {
            Family::Only(kind) => domain.kinds.contains(&kind),
            Family::AllOf => domain.most_rules >= 2,
            Family::Policy => true,
        }
    }
}

/// Numbers at which representations end.
const EDGES: [u64; 12] = [
    (1 << 31) - 1,
    1 << 31,
    1 << 32,
    (1 << 32) + 1,
    (1 << 53) - 1,
    1 << 53,
    (1 << 62) - 1,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// Numbers from 1 to `most`: mostly small ones, at which stories unfold; the edges of representations; anything.
fn number(small: u64, most: u64) -> BoxedStrategy<u64> {
    prop_oneof![
        6 => 1..=small.min(most),
        2 => 1..=1000_u64.min(most),
        1 => prop::sample::select(&EDGES[..]).prop_map(move |edge| edge.min(most)),
        1 => 1..=most,
    ]
    .boxed()
}

/// Windows in ticks.
fn window(domain: Domain) -> BoxedStrategy<u64> {
    let ticks = move |seconds: u64| (seconds * 1_000_000_000 / domain.tick.get()).clamp(1, domain.longest_window);
    let usual = [1, 10, 60, 3600, 86_400, 30 * 86_400].map(ticks).to_vec();
    prop_oneof![3 => number(12, domain.longest_window), 1 => prop::sample::select(usual)].boxed()
}

/// Any rule of the algorithm.
pub fn rule(domain: Domain, kind: Kind) -> BoxedStrategy<RuleSpec> {
    let burst = prop::option::of(number(8, domain.most_units));
    (number(6, domain.most_units), window(domain), burst)
        .prop_map(move |(limit, window, burst)| {
            let rule = RuleSpec::new(kind, limit, window);
            burst.map_or(rule, |burst| rule.with_burst(burst))
        })
        .boxed()
}

/// A rule with a limit of a few units and a window of a few ticks, at which every span can be looked at.
pub fn small_rule(domain: Domain, kind: Kind) -> BoxedStrategy<RuleSpec> {
    let most = domain.most_units;
    (1..=8_u64.min(most), 1..=20_u64.min(domain.longest_window), 1..=8_u64.min(most))
        .prop_map(move |(limit, window, burst)| RuleSpec::new(kind, limit, window).with_burst(burst))
        .boxed()
}

/// Policies of the family.
pub fn policy(domain: Domain, family: Family) -> BoxedStrategy<PolicySpec> {
    let any_rule = move || prop::sample::select(domain.kinds).prop_flat_map(move |kind| rule(domain, kind));
    let with_null = move || prop_oneof![9 => any_rule(), 1 => Just(RuleSpec::UNLIMITED)];
    match family {
        Family::Only(kind) => rule(domain, kind).prop_map(PolicySpec::from).boxed(),
        Family::AllOf => prop::collection::vec(with_null(), 2..=domain.most_rules.max(2)).prop_map(PolicySpec).boxed(),
        Family::Policy if domain.most_rules < 2 => any_rule().prop_map(PolicySpec::from).boxed(),
        Family::Policy => prop_oneof![with_null().prop_map(PolicySpec::from), policy(domain, Family::AllOf)].boxed(),
    }
}
