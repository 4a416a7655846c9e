//! Laws 2 to 4: the numbers of an answer are exact.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use ratelimit_core::Decision;

use super::{after, on_traces, remaining};
use crate::strategy::Family;
use crate::subject::Subject;
use crate::trace::{Call, Trace};

/// `retry_after` is exact: alone, the same cost is allowed at `now + retry_after` and not one tick earlier.
///
/// # Panics
/// With a counterexample.
pub fn law_2<S: Subject>(subject: &S, family: Family) {
    let latest = subject.domain().latest;
    each_answer(subject, family, "proptest-regressions/law_2.txt", |trace, calls, cost, answer| {
        let Decision::Denied { retry_after, .. } = answer else { return Ok(()) };
        let (now, wait) = (trace.time_after(calls), retry_after.get());
        prop_assert!(wait > 0, "a denial that may be retried at once: call {calls} of {trace:?}");
        let allowed_at =
            |at: u64| trace.replay(subject, calls).is_none_or(|mut client| client.decide(at, cost).is_allowed());
        if let Some(at) = after(now, retry_after).filter(|at| *at <= latest) {
            prop_assert!(allowed_at(at), "denied at now + {wait}: call {calls} of {trace:?}");
        }
        if let Some(at) = now.checked_add(wait - 1).filter(|at| *at <= latest) {
            prop_assert!(!allowed_at(at), "allowed before now + {wait}: call {calls} of {trace:?}");
        }
        Ok(())
    });
}

/// `remaining` is exact: that many units would be allowed now, and one more would not. Of one rule it is the capacity
/// less what is used.
///
/// # Panics
/// With a counterexample.
pub fn law_3<S: Subject>(subject: &S, family: Family) {
    let domain = subject.domain();
    let most = domain.most_units;
    each_answer(subject, family, "proptest-regressions/law_3.txt", |trace, calls, _, answer| {
        if matches!(answer, Decision::Never { .. }) {
            return Ok(());
        }
        let (now, left) = (trace.time_after(calls), remaining(answer));
        let allowed =
            |cost: u64| trace.replay(subject, calls).is_none_or(|mut client| client.decide(now, cost).is_allowed());
        prop_assert!(left > most || allowed(left), "{left} are not allowed: after call {calls} of {trace:?}");
        let policy = trace.policy_after(calls);
        if domain.can.used && policy.0.len() == 1 {
            let used = trace.replay(subject, calls).map_or(0, |mut client| client.used(now));
            let unused = policy.capacity().saturating_sub(used);
            prop_assert_eq!(left, unused, "{} used after call {} of {:?}", used, calls, trace);
        }
        if let Some(more) = left.checked_add(1).filter(|more| *more <= most) {
            prop_assert!(!allowed(more), "{more} are allowed: after call {calls} of {trace:?}");
        }
        Ok(())
    });
}

/// `reset_after` is exact: after it the state is fresh, and one tick earlier it is not. A fresh state has all of its
/// capacity left; one that is not has not, unless it is that of several limits, the largest of which may have no say.
///
/// # Panics
/// With a counterexample.
pub fn law_4<S: Subject>(subject: &S, family: Family) {
    let domain = subject.domain();
    each_answer(subject, family, "proptest-regressions/law_4.txt", |trace, calls, _, answer| {
        let (Decision::Allowed { reset_after, .. } | Decision::Denied { reset_after, .. }) = answer else {
            return Ok(());
        };
        let (now, wait) = (trace.time_after(calls), reset_after.get());
        let policy = trace.policy_after(calls);
        let (capacity, is_single) = (policy.capacity(), policy.0.len() == 1);
        let is_fresh = |at: u64| {
            let mut client = trace.replay(subject, calls)?;
            let says = domain.can.is_fresh.then(|| client.is_fresh(at));
            Some((remaining(client.decide(at, 0)) == capacity, says))
        };
        if let Some((full, says)) = after(now, reset_after).filter(|at| *at <= domain.latest).and_then(is_fresh) {
            prop_assert!(full && says != Some(false), "not fresh after {wait}: after call {calls} of {trace:?}");
        }
        if wait == 0 {
            return Ok(());
        }
        if let Some((full, says)) = now.checked_add(wait - 1).filter(|at| *at <= domain.latest).and_then(is_fresh) {
            prop_assert!(
                !(full && is_single) && says != Some(true),
                "fresh before {wait}: after call {calls} of {trace:?}"
            );
        }
        Ok(())
    });
}

/// Runs `property` on each answer of arbitrary traces, with the number of calls up to and with it, and its cost.
fn each_answer<S: Subject>(
    subject: &S,
    family: Family,
    regressions: &'static str,
    property: impl Fn(&Trace, usize, u64, Decision) -> TestCaseResult,
) {
    on_traces(subject, family, regressions, |trace| {
        let Some(mut client) = trace.replay(subject, 0) else { return Ok(()) };
        for (i, op) in trace.ops.iter().enumerate() {
            if let (Some(answer), Call::Decide(cost)) = (op.run(&mut client), &op.call) {
                property(trace, i + 1, *cost, answer)?;
            }
        }
        Ok(())
    });
}
