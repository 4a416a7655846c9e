//! The same limiter in its several forms (an algorithm, a rule, a policy, several limits) answers the same.

use proptest::prelude::*;
use ratelimit_conformance::spec::{Kind, PolicySpec, RuleSpec};
use ratelimit_conformance::strategy::{Family, rule, traces};
use ratelimit_conformance::subject::Domain;
use ratelimit_conformance::trace::{Call, Trace};
use ratelimit_core::{Algorithm, AllOf, Decision, LeakyBucket, Nanos, Policy, Quota, Rule, TokenBucket};

const TICK: Nanos = Nanos::new(1);

/// What an algorithm answers to the calls of a trace, migrations left aside.
fn answers<A: Algorithm>(policy: &A, trace: &Trace) -> Vec<(Decision, u64, bool)> {
    let mut state = policy.fresh();
    let mut answers = Vec::new();
    for op in &trace.ops {
        let at = Nanos::new(op.at);
        match op.call {
            Call::Decide(cost) => {
                let decision = policy.decide(&mut state, at, cost);
                answers.push((decision, policy.used(&state, at), policy.is_fresh(&state, at)));
            }
            Call::Charge(cost) => policy.charge(&mut state, at, cost),
            Call::Refund(cost) => policy.refund(&mut state, cost),
            Call::Migrate(_) => {}
        }
    }
    answers
}

fn quota(rule: &RuleSpec) -> Quota {
    Quota::per_nanos(rule.limit, Nanos::new(rule.window)).unwrap()
}

fn token(rule: &RuleSpec) -> TokenBucket {
    TokenBucket::new(quota(rule)).burst(rule.burst).unwrap()
}

fn leaky(rule: &RuleSpec) -> LeakyBucket {
    LeakyBucket::new(quota(rule)).burst(rule.burst).unwrap()
}

fn no_persistence() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(no_persistence())]

    #[test]
    fn one_rule_is_its_algorithm(trace in traces(Domain::FULL, Family::Policy)) {
        let policy = trace.policy.policy(TICK).unwrap();
        prop_assert_eq!(policy.capacity(), trace.policy.capacity());
        for spec in &trace.policy.0 {
            let rule: Rule = spec.rule(TICK).unwrap();
            let expected = answers(&Policy::from(rule), &trace);
            prop_assert_eq!(&answers(&rule, &trace), &expected);
            prop_assert_eq!(&answers(&AllOf::new([rule]), &trace), &expected);
            // Said twice, it is still the same limit.
            prop_assert_eq!(&answers(&AllOf::new([rule, rule]), &trace), &expected);
            match rule {
                Rule::Unlimited => prop_assert_eq!(&answers(&ratelimit_core::Unlimited, &trace), &expected),
                Rule::FixedWindow(policy) => prop_assert_eq!(&answers(&policy, &trace), &expected),
                Rule::SlidingLog(policy) => prop_assert_eq!(&answers(&policy, &trace), &expected),
                Rule::SlidingCounter(policy) => prop_assert_eq!(&answers(&policy, &trace), &expected),
                Rule::TokenBucket(policy) => prop_assert_eq!(&answers(&policy, &trace), &expected),
                Rule::LeakyBucket(policy) => prop_assert_eq!(&answers(&policy, &trace), &expected),
            }
        }
    }

    #[test]
    fn several_of_one_algorithm_are_a_policy(
        first in rule(Domain::FULL, Kind::TokenBucket),
        second in rule(Domain::FULL, Kind::TokenBucket),
        trace in traces(Domain::FULL, Family::Only(Kind::TokenBucket)),
    ) {
        let policy = |kind| {
            let of_kind = [first, second].map(|rule| RuleSpec { kind, ..rule });
            PolicySpec(of_kind.to_vec()).policy(TICK).unwrap()
        };
        let buckets = AllOf::new([token(&first), token(&second)]);
        prop_assert_eq!(buckets.capacity(), first.burst.min(second.burst));
        prop_assert_eq!(answers(&buckets, &trace), answers(&policy(Kind::TokenBucket), &trace));
        let queues = AllOf::new([leaky(&first), leaky(&second)]);
        prop_assert_eq!(answers(&queues, &trace), answers(&policy(Kind::LeakyBucket), &trace));
    }

    /// Text, too, is a form: what is written is read as the same policy.
    #[test]
    fn a_policy_survives_its_text(trace in traces(Domain::FULL, Family::Policy)) {
        let policy = trace.policy.policy(TICK).unwrap();
        prop_assert_eq!(policy.to_string().parse::<Policy>(), Ok(policy));
    }
}

#[test]
fn no_limit_is_unlimited() {
    let none: AllOf<TokenBucket, 0> = AllOf::new([]);
    let answer = none.decide(&mut none.fresh(), Nanos::MAX, u64::MAX);
    assert_eq!(answer, Decision::Allowed { remaining: u64::MAX, reset_after: Nanos::ZERO, delay: Nanos::ZERO });
}
