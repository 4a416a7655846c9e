//! Law 1: refusals are free.

use proptest::prelude::*;
use ratelimit_core::{Decision, Nanos};

use super::on_traces;
use crate::strategy::Family;
use crate::subject::{Subject, Ticked};
use crate::trace::{Call, Op};

/// A denial or a `Never` changes nothing. So does cost 0, which is always allowed, without delay: without those calls
/// all other answers are the same.
///
/// # Panics
/// With a counterexample.
pub fn law_1<S: Subject>(subject: &S, family: Family) {
    on_traces(subject, family, "proptest-regressions/law_1.txt", |trace| {
        let Some(mut with_all) = Ticked::new(subject, &trace.policy) else { return Ok(()) };
        let answers: Vec<_> = trace.ops.iter().map(|op| op.run(&mut with_all)).collect();
        let Some(mut without) = Ticked::new(subject, &trace.policy) else { return Ok(()) };
        for (op, answer) in trace.ops.iter().zip(&answers) {
            if let (Call::Decide(0), Some(answer)) = (&op.call, answer) {
                prop_assert!(matches!(answer, Decision::Allowed { delay: Nanos::ZERO, .. }), "cost 0: {answer:?}");
            }
            let is_free = answer.is_some_and(|answer| !answer.is_allowed())
                || matches!(op.call, Call::Decide(0) | Call::Charge(0) | Call::Refund(0));
            if !is_free {
                prop_assert_eq!(op.run(&mut without), *answer, "{:?} of {:?}", op, trace);
            }
        }
        let end = trace.ops.last().map_or(0, |op| op.at);
        for cost in [0, 1, trace.policy_after(trace.ops.len()).capacity()] {
            let last = Op::decide(end, cost);
            prop_assert_eq!(last.run(&mut without), last.run(&mut with_all), "at the end of {:?}", trace);
        }
        Ok(())
    });
}
