//! What the methods around `decide` promise.

use proptest::prelude::*;

use super::{QUARTER, on_traces};
use crate::check::check;
use crate::spec::{Kind, PolicySpec};
use crate::strategy::{Family, continuations, policy, traces};
use crate::subject::Subject;
use crate::trace::Call;

/// `peek` is `decide` on a copy: it answers the same, and changes nothing.
///
/// # Panics
/// With a counterexample.
pub fn peek_is_decide<S: Subject>(subject: &S, family: Family) {
    if !subject.domain().can.peek {
        return;
    }
    on_traces(subject, family, "proptest-regressions/peek.txt", |trace| {
        let (Some(mut peeking), Some(mut plain)) = (trace.replay(subject, 0), trace.replay(subject, 0)) else {
            return Ok(());
        };
        for op in &trace.ops {
            let Call::Decide(cost) = op.call else {
                op.run(&mut peeking);
                op.run(&mut plain);
                continue;
            };
            peeking.peek(op.at, 0);
            peeking.peek(op.at, 1);
            let answer = plain.decide(op.at, cost);
            prop_assert_eq!(peeking.peek(op.at, cost), answer, "{:?} of {:?}", op, trace);
            prop_assert_eq!(peeking.decide(op.at, cost), answer, "after peeks, {:?} of {:?}", op, trace);
        }
        Ok(())
    });
}

/// `admit` is `decide` of which only "allowed or not" is told: it answers the same, and leaves the same behind.
///
/// # Panics
/// With a counterexample.
pub fn admit_is_decide<S: Subject>(subject: &S, family: Family) {
    on_traces(subject, family, "proptest-regressions/admit.txt", |trace| {
        let (Some(mut brief), Some(mut full)) = (trace.replay(subject, 0), trace.replay(subject, 0)) else {
            return Ok(());
        };
        for (i, op) in trace.ops.iter().enumerate() {
            match op.call {
                Call::Decide(cost) if i % 2 == 0 => {
                    let allowed = full.decide(op.at, cost).is_allowed();
                    prop_assert_eq!(brief.admit(op.at, cost), allowed, "{:?} of {:?}", op, trace);
                }
                _ => prop_assert_eq!(op.run(&mut brief), op.run(&mut full), "after it, {:?} of {:?}", op, trace),
            }
        }
        Ok(())
    });
}

/// Right after its charge a refund is exact: from that instant on the state answers as if the charge had never been.
///
/// # Panics
/// With a counterexample.
pub fn refund_undoes_its_charge<S: Subject>(subject: &S, family: Family) {
    let domain = subject.domain();
    if !domain.can.refund || !family.is_within(&domain) {
        return;
    }
    let strategy = (traces(domain, family), continuations(domain, family), any::<u64>(), 0..=9_u64);
    check("proptest-regressions/refund.txt", QUARTER, &strategy, |(trace, then, any_cost, small)| {
        let calls = trace.ops.len();
        let (now, policy) = (trace.time_after(calls), trace.policy_after(calls));
        for cost in [small, any_cost.min(domain.most_units)] {
            let (Some(mut undone), Some(mut never)) = (trace.replay(subject, calls), trace.replay(subject, calls))
            else {
                return Ok(());
            };
            // A charge may saturate; an admission cannot.
            if !undone.decide(now, cost).is_allowed() {
                continue;
            }
            undone.refund(now, cost);
            for op in then.from(policy, now) {
                prop_assert_eq!(
                    op.run(&mut undone),
                    op.run(&mut never),
                    "{} units undone at {}: {:?}",
                    cost,
                    now,
                    trace
                );
            }
        }
        Ok(())
    });
}

/// What was used stays used by a migration of one rule to another, in whole units and neither more nor less. Between
/// sliding logs every instant is kept, so that a shorter window counts fewer of them.
///
/// # Panics
/// With a counterexample.
pub fn migration_keeps_what_was_used<S: Subject>(subject: &S, family: Family) {
    let domain = subject.domain();
    if !(domain.can.migrate && domain.can.used && family.is_within(&domain)) {
        return;
    }
    let strategy = (traces(domain, family), policy(domain, family));
    let is_one_limit = |policy: &PolicySpec| policy.0.len() == 1 && policy.0[0].kind != Kind::Unlimited;
    check("proptest-regressions/migrate.txt", QUARTER, &strategy, |(trace, to)| {
        let calls = trace.ops.len();
        let now = trace.time_after(calls);
        let Some(mut client) = trace.replay(subject, calls) else { return Ok(()) };
        let from = trace.policy_after(calls);
        if !is_one_limit(&to) || !is_one_limit(from) {
            return Ok(());
        }
        let before = client.used(now);
        client.migrate(&to, now);
        let after = client.used(now);
        let is_log = |policy: &PolicySpec| policy.0[0].kind == Kind::SlidingLog;
        let may_expire = is_log(&to) && is_log(from) && to.0[0].window < from.0[0].window;
        prop_assert!(
            after == before || (may_expire && after < before),
            "{before} used became {after} by {to:?} after {trace:?}"
        );
        Ok(())
    });
}
