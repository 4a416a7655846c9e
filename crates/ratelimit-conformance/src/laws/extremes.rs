//! Law 6: no input panics, overflows or wraps.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::check::check;
use crate::equality::trace_equals_model;
use crate::strategy::{Family, policy};
use crate::subject::{Domain, Subject};
use crate::trace::{Call, Op, Trace};

/// Every number may be any number: all calls are answered, as the model answers, whose arithmetic has no largest number.
///
/// # Panics
/// With a counterexample, or because the implementation does.
pub fn law_6<S: Subject>(subject: &S, family: Family) {
    let domain = subject.domain();
    if !family.is_within(&domain) {
        return;
    }
    let strategy = (policy(domain, family), prop::collection::vec(op(domain, family), 1..16));
    check("proptest-regressions/law_6.txt", 2, &strategy, |(policy, mut ops)| -> TestCaseResult {
        if !domain.can.step_back {
            ops.sort_by_key(|op| op.at);
        }
        trace_equals_model(subject, &Trace { policy, ops })
    });
}

/// The ends of the range, their neighbours, and anything between.
fn extreme(most: u64) -> BoxedStrategy<u64> {
    prop_oneof![
        2 => 0..=2_u64.min(most),
        2 => most.saturating_sub(2)..=most,
        1 => (most / 2).saturating_sub(1)..=most / 2 + 1,
        1 => 0..=most,
    ]
    .boxed()
}

fn op(domain: Domain, family: Family) -> BoxedStrategy<Op> {
    let units = move || extreme(domain.most_units);
    let mut calls = vec![(6, units().prop_map(Call::Decide).boxed())];
    if domain.can.charge {
        calls.push((3, units().prop_map(Call::Charge).boxed()));
    }
    if domain.can.refund {
        calls.push((2, units().prop_map(Call::Refund).boxed()));
    }
    if domain.can.migrate {
        calls.push((1, policy(domain, family).prop_map(Call::Migrate).boxed()));
    }
    (extreme(domain.latest), prop::strategy::Union::new_weighted(calls)).prop_map(|(at, call)| Op { at, call }).boxed()
}
