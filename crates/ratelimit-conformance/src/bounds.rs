//! Law 9: the bound of each algorithm holds on every trace, and a constructed trace reaches it.
//!
//! T is the last minus the first admitted instant, at effective times, without refunds or charges.

mod reached;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use ratelimit_core::Decision;

pub use reached::law_9_reached;

use crate::check::check;
use crate::model::{Model, PolicyModel};
use crate::spec::{Kind, PolicySpec, RuleSpec};
use crate::strategy::{Family, requests, small_rule, unit_requests};
use crate::subject::{Domain, Subject, Ticked};
use crate::trace::{Call, Trace};

/// The most units that the rule admits within a span of `span` ticks; for spans longer than the design states, by the
/// same arguments.
pub fn most_admitted(rule: &RuleSpec, span: u64) -> u128 {
    let [limit, window, burst, span] = [rule.limit, rule.window, rule.burst, span].map(u128::from);
    match rule.kind {
        Kind::Unlimited => u128::MAX,
        // It is covered by floor(T / W) + 1 half-open windows.
        Kind::SlidingLog => limit * (span / window + 1),
        Kind::SlidingCounter if span == 0 => limit,
        Kind::SlidingCounter if span <= window => limit + (limit * (span - 1)).div_ceil(window),
        // A span of T meets at most ceil(T / W) + 1 aligned windows, and each brings at most L.
        Kind::SlidingCounter | Kind::FixedWindow => limit * (span.div_ceil(window) + 1),
        Kind::TokenBucket | Kind::LeakyBucket => burst + limit * span / window,
    }
}

/// The most unit requests that a leaky bucket releases in a half-open span of `span` ticks.
pub fn most_released(rule: &RuleSpec, span: u64) -> u128 {
    (u128::from(rule.limit) * u128::from(span)).div_ceil(rule.window.into())
}

/// The longest wait of a request from its effective time.
pub fn longest_wait(rule: &RuleSpec, cost: u64) -> u128 {
    (u128::from(rule.burst - cost) * u128::from(rule.window)).div_ceil(rule.limit.into())
}

/// The bound of every rule holds on random traces.
///
/// # Panics
/// With a counterexample.
pub fn law_9_holds<S: Subject>(subject: &S, family: Family) {
    let domain = subject.domain();
    if !family.is_within(&domain) {
        return;
    }
    let policies = small_policies(domain, family);
    check("proptest-regressions/law_9.txt", 4, &requests(domain, policies.clone()), |trace| holds(subject, &trace));
    check("proptest-regressions/law_9_units.txt", 4, &unit_requests(domain, policies), |trace| {
        holds(subject, &trace)?;
        releases_are_spaced(subject, &trace)
    });
}

fn small_policies(domain: Domain, family: Family) -> BoxedStrategy<PolicySpec> {
    let any_rule = prop::sample::select(domain.kinds).prop_flat_map(move |kind| small_rule(domain, kind));
    match family {
        Family::Only(kind) => small_rule(domain, kind).prop_map(PolicySpec::from).boxed(),
        Family::AllOf => prop::collection::vec(any_rule, 2..=domain.most_rules).prop_map(PolicySpec).boxed(),
        Family::Policy => prop::collection::vec(any_rule, 1..=domain.most_rules).prop_map(PolicySpec).boxed(),
    }
}

/// An admitted request.
struct Admission {
    /// When it was asked for.
    at: u64,
    units: u64,
    delay: u64,
    /// When it took effect for each rule.
    effective: Vec<u64>,
}

/// What is admitted of a trace of requests, or `None` where the policy is refused.
fn admissions<S: Subject>(subject: &S, trace: &Trace) -> Option<Vec<Admission>> {
    let mut client = Ticked::new(subject, &trace.policy)?;
    let mut model = PolicyModel::new(&trace.policy);
    let mut admitted = Vec::new();
    for op in &trace.ops {
        let Call::Decide(cost) = op.call else { continue };
        let effective = model.rules().iter().map(|rule| rule.effective(op.at.into()));
        let effective = effective.map(|at| u64::try_from(at).unwrap_or(u64::MAX)).collect();
        if let Decision::Allowed { delay, .. } = client.decide(op.at, cost)
            && cost > 0
        {
            model.charge(op.at, cost);
            admitted.push(Admission { at: op.at, units: cost, delay: delay.get(), effective });
        }
    }
    Some(admitted)
}

fn holds<S: Subject>(subject: &S, trace: &Trace) -> TestCaseResult {
    let Some(admitted) = admissions(subject, trace) else { return Ok(()) };
    for (i, rule) in trace.policy.0.iter().enumerate() {
        let mut instants: Vec<(u64, u64)> = admitted.iter().map(|one| (one.effective[i], one.units)).collect();
        instants.sort_unstable();
        for (first, (start, _)) in instants.iter().enumerate() {
            let mut units = 0_u128;
            for (end, more) in &instants[first..] {
                units += u128::from(*more);
                let most = most_admitted(rule, end - start);
                prop_assert!(units <= most, "{units} > {most} units in {start}..={end} of {rule:?}: {trace:?}");
            }
        }
    }
    Ok(())
}

/// The leaky bucket's releases, at unit costs, and its waits.
fn releases_are_spaced<S: Subject>(subject: &S, trace: &Trace) -> TestCaseResult {
    let [rule] = trace.policy.0[..] else { return Ok(()) };
    if rule.kind != Kind::LeakyBucket {
        return Ok(());
    }
    let Some(admitted) = admissions(subject, trace) else { return Ok(()) };
    let released = |one: &Admission| u128::from(one.at) + u128::from(one.delay);
    for (i, first) in admitted.iter().enumerate() {
        let wait = released(first).saturating_sub(first.effective[0].into());
        prop_assert!(wait <= longest_wait(&rule, first.units), "waits {wait}: {trace:?}");
        for (count, last) in admitted[i..].iter().enumerate() {
            let span = released(last).checked_sub(released(first));
            prop_assert!(span.is_some(), "first come, first served: {trace:?}");
            // Both ends belong to the half-open span that is longer by one tick.
            let Some(span) = span.and_then(|span| u64::try_from(span + 1).ok()) else { continue };
            let most = most_released(&rule, span);
            prop_assert!((count as u128) < most, "{} > {most} released in {span}: {trace:?}", count + 1);
        }
    }
    Ok(())
}
