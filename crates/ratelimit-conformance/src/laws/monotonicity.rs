//! Law 8: more asked is not more likely allowed, and more permitted does not admit less.

use proptest::prelude::*;

use super::QUARTER;
use crate::check::check;
use crate::spec::PolicySpec;
use crate::strategy::{Family, policy, small_rule, traces, unit_requests};
use crate::subject::{Domain, Subject};
use crate::trace::Trace;

/// A larger cost never turns a denial into an admission; with unit costs, a larger burst or limit never admits less of
/// a trace.
///
/// # Panics
/// With a counterexample.
pub fn law_8<S: Subject>(subject: &S, family: Family) {
    let domain = subject.domain();
    if !family.is_within(&domain) {
        return;
    }
    larger_costs(subject, family);
    let small = match family {
        Family::Only(kind) => small_rule(domain, kind).prop_map(PolicySpec::from).boxed(),
        Family::AllOf => {
            prop::collection::vec(any_small_rule(domain), 2..=domain.most_rules).prop_map(PolicySpec).boxed()
        }
        Family::Policy => policy(domain, family),
    };
    let more = (0..4_usize, any::<bool>(), 1..=4_u64);
    let strategy = (unit_requests(domain, small), more);
    check("proptest-regressions/law_8_quotas.txt", QUARTER, &strategy, |(trace, (rule, limit, by))| {
        let larger = Trace { policy: raised(&trace.policy, rule, limit, by, domain.most_units), ..trace.clone() };
        let (Some(mut tight), Some(mut loose)) = (trace.replay(subject, 0), larger.replay(subject, 0)) else {
            return Ok(());
        };
        let mut lead = 0_i64;
        for op in &trace.ops {
            let admits = |answer: Option<ratelimit_core::Decision>| i64::from(answer.is_some_and(|a| a.is_allowed()));
            lead += admits(op.run(&mut loose)) - admits(op.run(&mut tight));
            prop_assert!(lead >= 0, "{:?} admits less, by {:?}, than {:?}", larger.policy, op, trace);
        }
        Ok(())
    });
}

fn any_small_rule(domain: Domain) -> BoxedStrategy<crate::spec::RuleSpec> {
    prop::sample::select(domain.kinds).prop_flat_map(move |kind| small_rule(domain, kind)).boxed()
}

/// The policy with one rule's limit, or its burst, raised.
fn raised(policy: &PolicySpec, rule: usize, limit: bool, by: u64, most: u64) -> PolicySpec {
    let mut raised = policy.clone();
    let index = rule % raised.0.len();
    let rule = &mut raised.0[index];
    if rule.kind.is_bucket() && !limit {
        rule.burst = rule.burst.saturating_add(by).min(most);
    } else {
        rule.limit = rule.limit.saturating_add(by).min(most);
        if !rule.kind.is_bucket() {
            rule.burst = rule.limit;
        }
    }
    raised
}

fn larger_costs<S: Subject>(subject: &S, family: Family) {
    let domain = subject.domain();
    let strategy = (traces(domain, family), any::<u64>(), 1..=4_u64);
    check("proptest-regressions/law_8_costs.txt", QUARTER, &strategy, |(trace, any_cost, more)| {
        let calls = trace.ops.len();
        let now = trace.time_after(calls);
        let capacity = trace.policy_after(calls).capacity();
        let mut costs = [1, more, capacity / 2, capacity, capacity.saturating_add(more), any_cost];
        costs.sort_unstable();
        let mut refused = None;
        for cost in costs.into_iter().filter(|cost| (1..=domain.most_units).contains(cost)) {
            let Some(mut client) = trace.replay(subject, calls) else { return Ok(()) };
            let allowed = client.decide(now, cost).is_allowed();
            prop_assert!(!(allowed && refused.is_some()), "{cost} passes, {refused:?} does not, after {trace:?}");
            if !allowed {
                refused = Some(cost);
            }
        }
        Ok(())
    });
}
