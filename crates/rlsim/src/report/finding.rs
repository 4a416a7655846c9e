//! The finding: what a comparison shows, in a sentence.

use super::format::{count, duration, policy_title, quota};
use crate::metrics::PolicyNumbers;

/// The finding as a title: the policy that let most through at once, against its own limit.
pub fn headline(policies: &[PolicyNumbers]) -> String {
    match worst(policies) {
        Some(worst) => overshoot(worst),
        None => within(policies),
    }
}

/// The finding as a sentence or two: the title, and who kept to the limit at what price.
pub fn finding(policies: &[PolicyNumbers]) -> String {
    let title = headline(policies);
    let price = worst(policies).and_then(|worst| strictest(policies, worst));
    match price {
        Some(policy) => format!(
            "{title}; {} never exceeded it and rejected {}.",
            lower_first(&policy_title(policy)),
            rejected(policy)
        ),
        None => format!("{title}."),
    }
}

/// The policy with the largest peak relative to its limit, if that is above the limit. The first one of equals.
fn worst(policies: &[PolicyNumbers]) -> Option<&PolicyNumbers> {
    let over =
        |policy: &&PolicyNumbers| policy.peak.as_ref().zip(policy.limit).is_some_and(|(p, limit)| p.units > limit);
    let ratio = |policy: &PolicyNumbers| policy.peak.as_ref().and_then(|peak| peak.overshoot).unwrap_or(0.0);
    let span = |policy: &PolicyNumbers| policy.peak.as_ref().and_then(peak_span).unwrap_or(u64::MAX);
    policies.iter().filter(over).reduce(|a, b| {
        let worse = ratio(b).total_cmp(&ratio(a)).then(span(a).cmp(&span(b)));
        if worse.is_gt() { b } else { a }
    })
}

/// The time from the first to the last release of a peak.
pub(super) fn peak_span(peak: &crate::metrics::Peak) -> Option<u64> {
    peak.end_ns.zip(peak.start_ns).map(|(end, start)| end - start)
}

fn overshoot(policy: &PolicyNumbers) -> String {
    let (Some(peak), Some(limit), Some(window)) = (&policy.peak, policy.limit, policy.window_ns) else {
        return String::new();
    };
    let span = match peak_span(peak) {
        Some(0) | None => "at one instant".to_string(),
        Some(span) => format!("in {}", duration(span)),
    };
    let whom = if policy.details.by_client && policy.clients.total > 1 { " for one client" } else { "" };
    let times = times(peak.units, limit);
    let what = what(policy);
    format!(
        "{} let {} {what} through {span}{whom}, {times} its limit of {}",
        policy_title(policy),
        count(peak.units),
        quota(limit, window)
    )
}

/// `twice`, `1.45 times`. Rounded down, so that a title never claims more than happened.
fn times(units: u64, limit: u64) -> String {
    let hundredths = u128::from(units) * 100 / u128::from(limit.max(1));
    match (hundredths / 100, hundredths % 100) {
        (2, 0) => "twice".into(),
        (1, 0) => format!("{} more than", count(units - limit)),
        (whole, 0) => format!("{whole} times"),
        (whole, part) => format!("{whole}.{part:02}").trim_end_matches('0').to_string() + " times",
    }
}

fn within(policies: &[PolicyNumbers]) -> String {
    let limited = || policies.iter().filter(|policy| policy.peak.is_some());
    let quotas: Vec<_> = limited().filter_map(|policy| policy.limit.zip(policy.window_ns)).collect();
    let Some(&(limit, window)) = quotas.first() else {
        return match policies.first() {
            Some(policy) => format!(
                "{} admitted {} of {} requests",
                policy_title(policy),
                count(policy.requests.allowed),
                count(policy.requests.offered)
            ),
            None => "No policy was compared".into(),
        };
    };
    let same = quotas.iter().all(|&quota| quota == (limit, window));
    let bound = if same { format!("the limit of {}", quota(limit, window)) } else { "its limit".into() };
    let strictest = limited()
        .max_by_key(|policy| (policy.requests.denied + policy.requests.never, std::cmp::Reverse(&policy.name)));
    match strictest.filter(|policy| policy.requests.denied + policy.requests.never > 0) {
        None => format!("No policy rejected anything: this traffic stays within {bound}"),
        Some(policy) if quotas.len() == 1 => {
            format!("{} kept within {bound} and rejected {}", policy_title(policy), rejected(policy))
        }
        Some(policy) => format!(
            "Every policy kept within {bound}; {} rejected most, {}",
            lower_first(&policy_title(policy)),
            rejected(policy)
        ),
    }
}

/// The policy of the same quota that kept to it and rejected least.
fn strictest<'a>(policies: &'a [PolicyNumbers], worst: &PolicyNumbers) -> Option<&'a PolicyNumbers> {
    policies
        .iter()
        .filter(|policy| policy.limit == worst.limit && policy.window_ns == worst.window_ns)
        .filter(|policy| policy.peak.as_ref().zip(policy.limit).is_some_and(|(peak, limit)| peak.units <= limit))
        .min_by_key(|policy| (policy.algorithm != "sliding-log", policy.requests.denied))
}

fn rejected(policy: &PolicyNumbers) -> String {
    let rejected = policy.requests.denied + policy.requests.never;
    format!("{} of {} requests", count(rejected), count(policy.requests.offered))
}

/// What passed, in words: units where costs differ from one.
fn what(policy: &PolicyNumbers) -> &'static str {
    if policy.units.offered == policy.requests.offered { "requests" } else { "units" }
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}
