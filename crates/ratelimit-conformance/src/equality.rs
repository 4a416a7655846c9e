//! The implementation equals the model on whole traces: every field of every answer.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::check::check;
use crate::model::{Model, PolicyModel};
use crate::strategy::{Family, crowds, traces};
use crate::subject::{Subject, Ticked};
use crate::trace::{Call, Trace};

/// Every answer on arbitrary traces equals the model's.
///
/// # Panics
/// With the counterexample, where it does not.
pub fn equals_model<S: Subject>(subject: &S, family: Family) {
    let domain = subject.domain();
    if !family.is_within(&domain) {
        return;
    }
    check("proptest-regressions/equals_model.txt", 1, &traces(domain, family), |trace| {
        trace_equals_model(subject, &trace)
    });
    if let Family::Only(kind) = family {
        check("proptest-regressions/equals_model_crowds.txt", 4, &crowds(domain, kind), |trace| {
            trace_equals_model(subject, &trace)
        });
    }
}

/// One trace: the answers to its calls, and, after each, what can be asked without a change.
///
/// # Errors
/// The first answer that differs.
pub fn trace_equals_model<S: Subject>(subject: &S, trace: &Trace) -> TestCaseResult {
    let can = subject.domain().can;
    let Some(mut client) = Ticked::new(subject, &trace.policy) else { return Ok(()) };
    let mut model = PolicyModel::new(&trace.policy);
    for (i, op) in trace.ops.iter().enumerate() {
        let told = || format!("call {i}, {op:?}, of {trace:?}");
        let expected = op.run_model(&mut model).map(|answer| client.saturated(answer));
        if let (true, Call::Decide(cost)) = (can.peek, &op.call) {
            prop_assert_eq!(Some(client.peek(op.at, *cost)), expected, "peek before {}", told());
        }
        prop_assert_eq!(op.run(&mut client), expected, "{}", told());
        if can.used {
            prop_assert_eq!(client.used(op.at), model.used(op.at), "used after {}", told());
        }
        if can.is_fresh {
            prop_assert_eq!(client.is_fresh(op.at), model.is_fresh(op.at.into()), "is_fresh after {}", told());
        }
    }
    Ok(())
}
