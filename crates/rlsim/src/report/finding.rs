//! The finding: what a comparison shows, in a sentence.

use super::Report;
use super::format::{count, duration, policy_title, quota, ratio};
use crate::metrics::{ClientTally, PolicyNumbers};
use std::cmp::Ordering;

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
    let times = |policy: &PolicyNumbers| policy.peak.as_ref().and_then(|peak| peak.overshoot).unwrap_or(0.0);
    let span = |policy: &PolicyNumbers| policy.peak.as_ref().and_then(peak_span).unwrap_or(u64::MAX);
    policies.iter().filter(over).reduce(|a, b| {
        let worse = times(b).total_cmp(&times(a)).then(span(a).cmp(&span(b)));
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
    let several = policy.details.by_client && policy.clients.total > 1;
    let unit_costs = policy.units.offered == policy.requests.offered;
    let units = count(peak.units);
    let deed = match (several, unit_costs) {
        (true, true) => format!("let one client make {units} {}", plural(peak.units, "request")),
        (true, false) => format!("let one client use {units} {}", plural(peak.units, "unit")),
        (false, true) => format!("let {units} {} through", plural(peak.units, "request")),
        (false, false) => format!("let {units} {} through", plural(peak.units, "unit")),
    };
    let times = times(peak.units, limit, peak.overshoot.unwrap_or(0.0));
    format!("{} {deed} {span}, {times} its limit of {}", policy_title(policy), quota(limit, window))
}

/// `twice`, `1.45 times`, `3 more than`: never more than happened.
fn times(units: u64, limit: u64, overshoot: f64) -> String {
    let over = units.saturating_sub(limit);
    // Up to a twentieth above, the number says more than the ratio.
    if over <= limit / 20 {
        return format!("{} more than", count(over));
    }
    match (ratio(overshoot).as_str(), units.cmp(&limit.saturating_mul(2))) {
        ("2.00", Ordering::Equal) => "twice".into(),
        ("2.00", Ordering::Less) => "nearly twice".into(),
        ("2.00", Ordering::Greater) => "just over twice".into(),
        (ratio, _) => format!("{} times", ratio.strip_suffix(".00").unwrap_or(ratio)),
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
        Some(policy) if limited().all(|other| rejected(other) == rejected(policy)) => {
            format!("Every policy kept within {bound} and rejected {}", rejected(policy))
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

/// The client of which a policy refused most, or else the one that asked most: an index into the report's names, the first
/// of equals.
pub fn hardest_hit(report: &Report) -> Option<u32> {
    let tallies = report.policies.iter().flat_map(|policy| &policy.details.clients);
    let rank = |tally: &&ClientTally| (tally.denied + tally.never, tally.offered(), std::cmp::Reverse(tally.client));
    tallies.filter(|tally| tally.offered() > 0).max_by_key(rank).map(|tally| tally.client)
}

fn rejected(policy: &PolicyNumbers) -> String {
    let rejected = policy.requests.denied + policy.requests.never;
    format!("{} of {} {}", count(rejected), count(policy.requests.offered), plural(policy.requests.offered, "request"))
}

fn plural(number: u64, word: &str) -> String {
    if number == 1 { word.to_string() } else { format!("{word}s") }
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::testing::{five, report};

    const SECOND: u64 = 1_000_000_000;

    fn of(events: &[(u64, u32, u64)], policies: &[String]) -> [String; 2] {
        let report = report(events, policies);
        [headline(&report.policies), finding(&report.policies)]
    }

    #[test]
    fn the_burst_of_the_tutorial() {
        let burst: Vec<_> = (0..200).map(|i| (if i < 100 { 59_900_000_000 } else { 60_100_000_000 }, 0, 1)).collect();
        let [title, sentence] = of(&burst, &five("100/1m"));
        assert_eq!(title, "Fixed window let 200 requests through in 0.2 s, twice its limit of 100 per minute");
        assert_eq!(sentence, format!("{title}; sliding log never exceeded it and rejected 100 of 200 requests."));
    }

    #[test]
    fn several_clients_and_costs_are_said() {
        let events = [(9 * SECOND, 0, 4), (9 * SECOND, 1, 1), (10 * SECOND, 0, 5)];
        let [title, _] = of(&events, &five("5/10s")[..1]);
        assert_eq!(title, "Fixed window let one client use 9 units in 1 s, 1.80 times its limit of 5 per 10 s");
    }

    #[test]
    fn nothing_over_the_limit() {
        assert_eq!(
            of(&[(0, 0, 1)], &five("5/10s"))[1],
            "No policy rejected anything: this traffic stays within the limit of 5 per 10 s."
        );
        let [title, _] = of(&[(0, 0, 1), (0, 0, 1)], &five("1/10s")[..2]);
        assert_eq!(title, "Every policy kept within the limit of 1 per 10 s and rejected 1 of 2 requests");
        let [title, _] = of(
            &[(0, 0, 1), (0, 0, 1), (9 * SECOND, 0, 1), (10 * SECOND, 0, 1)],
            &["fixed-window:2/10s".into(), "token-bucket:2/10s,burst=1".into()],
        );
        assert_eq!(
            title,
            "Every policy kept within the limit of 2 per 10 s; token bucket rejected most, 2 of 4 requests"
        );
        let [title, _] = of(&[(0, 0, 1)], &["unlimited".into()]);
        assert_eq!(title, "Unlimited admitted 1 of 1 requests");
    }

    #[test]
    fn a_multiple_is_never_more_than_it_was() {
        assert_eq!(times(1997, 1000, 1.997), "nearly twice");
        assert_eq!(times(2003, 1000, 2.003), "just over twice");
        assert_eq!(times(300, 100, 3.0), "3 times");
        assert_eq!(times(101, 100, 1.01), "1 more than");
    }
}
