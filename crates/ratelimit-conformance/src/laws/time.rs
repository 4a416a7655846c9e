//! Law 5: time may step back.

use proptest::prelude::*;
use ratelimit_core::{Decision, Nanos};

use super::QUARTER;
use crate::check::check;
use crate::model::{Model, PolicyModel};
use crate::strategy::{Family, traces};
use crate::subject::Subject;

/// For one state, what is allowed at t is allowed at every later t; and before the time that the state records, the
/// answer is that of the recorded time, with the durations longer by the difference.
///
/// # Panics
/// With a counterexample.
pub fn law_5<S: Subject>(subject: &S, family: Family) {
    let domain = subject.domain();
    if !family.is_within(&domain) {
        return;
    }
    let cost = prop_oneof![3 => 1..=8_u64, 1 => any::<u64>()];
    let strategy = (traces(domain, family), any::<u64>(), 0..=40_u64, cost);
    check("proptest-regressions/law_5.txt", QUARTER, &strategy, |(trace, any_time, near, cost)| {
        let (calls, cost) = (trace.ops.len(), cost.min(domain.most_units));
        let mut model = PolicyModel::new(&trace.policy);
        for op in &trace.ops {
            op.run_model(&mut model);
        }
        let now = trace.time_after(calls);
        // The time that the state records is where a call at 0 takes effect.
        let recorded = u64::try_from(model.effective(0)).unwrap_or(u64::MAX);
        let mut times: Vec<u64> = [any_time, now.saturating_sub(near), now, now.saturating_add(near), recorded]
            .map(|at| at.min(domain.latest))
            .into_iter()
            .filter(|at| domain.can.step_back || *at >= now)
            .collect();
        times.sort_unstable();
        let answer_at = |at: u64| trace.replay(subject, calls).map(|mut client| client.decide(at, cost));
        let answers: Option<Vec<Decision>> = times.iter().map(|at| answer_at(*at)).collect();
        let Some(answers) = answers else { return Ok(()) };
        let first = answers.iter().position(Decision::is_allowed).unwrap_or(answers.len());
        let is_monotone = answers[first..].iter().all(Decision::is_allowed);
        prop_assert!(is_monotone, "cost {cost} at {times:?}: {answers:?} after {trace:?}");
        if trace.policy_after(calls).0.len() > 1 || !domain.can.step_back {
            return Ok(());
        }
        let Some(at_recorded) = answer_at(recorded.min(domain.latest)) else { return Ok(()) };
        for (at, answer) in times.iter().zip(&answers).filter(|(at, _)| **at < recorded) {
            prop_assert_eq!(*answer, later(at_recorded, recorded - at), "cost {} at {} after {:?}", cost, at, trace);
        }
        Ok(())
    });
}

/// An answer seen from an instant that is earlier by `behind`. What takes no time there takes none here, unless it is
/// ahead.
fn later(answer: Decision, behind: u64) -> Decision {
    let longer = |duration: Nanos| duration.saturating_add(Nanos::new(behind));
    match answer {
        Decision::Allowed { remaining, reset_after, delay } => Decision::Allowed {
            remaining,
            reset_after: if reset_after == Nanos::ZERO { reset_after } else { longer(reset_after) },
            delay: if delay == Nanos::ZERO { delay } else { longer(delay) },
        },
        Decision::Denied { retry_after, remaining, reset_after } => {
            Decision::Denied { retry_after: longer(retry_after), remaining, reset_after: longer(reset_after) }
        }
        never @ Decision::Never { .. } => never,
    }
}
