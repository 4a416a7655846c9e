//! Law 7: a fresh state and a forgotten client are the same.

use proptest::prelude::*;
use ratelimit_core::Decision;

use super::{QUARTER, after};
use crate::check::check;
use crate::strategy::{Family, continuations, traces};
use crate::subject::{Subject, Ticked};

/// From the instant on at which a client is fresh, it is answered like one that has used nothing.
///
/// # Panics
/// With a counterexample.
pub fn law_7<S: Subject>(subject: &S, family: Family) {
    let domain = subject.domain();
    if !family.is_within(&domain) {
        return;
    }
    let strategy = (traces(domain, family), continuations(domain, family));
    check("proptest-regressions/law_7.txt", QUARTER, &strategy, |(trace, then)| {
        let calls = trace.ops.len();
        let (now, policy) = (trace.time_after(calls), trace.policy_after(calls));
        let Some(mut used) = trace.replay(subject, calls) else { return Ok(()) };
        let Decision::Allowed { reset_after, .. } = used.decide(now, 0) else { return Ok(()) };
        let Some(from) = after(now, reset_after).filter(|from| *from <= domain.latest) else {
            return Ok(());
        };
        let Some(mut forgotten) = Ticked::new(subject, policy) else { return Ok(()) };
        for op in then.from(policy, from) {
            if domain.can.used {
                prop_assert_eq!(used.used(op.at), forgotten.used(op.at), "used before {:?} after {:?}", op, trace);
            }
            prop_assert_eq!(op.run(&mut used), op.run(&mut forgotten), "{:?}, fresh from {}: {:?}", op, from, trace);
        }
        Ok(())
    });
}
