//! The comparison in words, as a table, as JSON and as numbers for the chart.

use serde_json::{Value, json};

use super::compare::Compared;
use super::outcome::{Outcome, Recovery};
use super::scenario::{Scenario, Trigger, What};
use crate::chart::{TimelineChart, TimelinePanel, timeline};
use crate::error::Result;
use crate::report::{count, duration};
use crate::sim::export::{Findings, pretty};
use crate::sim::stats::Estimate;
use crate::sim::table::{aligned, capital};

/// The name and version of the JSON's shape; `docs/storms.md` describes it.
const SCHEMA: &str = "rlsim.storm/1";

/// Everything there is to say about a comparison.
pub(super) fn findings(name: &str, scenario: &Scenario, seed: u64, compared: &[Compared]) -> Result<Findings> {
    let finding = finding(scenario, compared);
    let trigger = scenario.trigger.as_ref().map(sentence);
    let text = format!(
        "{}\n{finding}\n\n{}\n{}",
        scenario.question,
        table(scenario, compared),
        legend(scenario, seed, compared, trigger.as_deref()),
    );
    let json = pretty(&json(name, scenario, seed, compared, &finding))?;
    let svg = timeline(&picture(&finding, scenario, compared))?;
    Ok(Findings { text, json, svg })
}

/// The sentence that says what was found: the variant that does worst beside the one that does best for the first group
/// of clients.
fn finding(scenario: &Scenario, compared: &[Compared]) -> String {
    let closed = scenario.clients.iter().any(|group| group.think().is_some());
    let attempts = |variant: &Compared| Estimate::of(&variant.each(Outcome::amplification)).mean;
    // In a closed loop a slow server gets fewer requests, so that their share says little.
    let served = |variant: &Compared| {
        let each = if closed {
            variant.each(|outcome| outcome.goodput(scenario.duration()))
        } else {
            variant.each(|outcome| outcome.group_share(0))
        };
        Estimate::of(&each).mean
    };
    let most = compared.iter().map(served).fold(0.0, f64::max);
    let stuck = |variant: &Compared| variant.first().recovery == Recovery::Never;
    // Less than 1 % apart is as good; then fewer attempts are better.
    let rank = |variant: &&Compared| (stuck(variant), served(variant) < 0.99 * most, attempts(variant));
    let by_attempts =
        |a: &(bool, bool, f64), b: &(bool, bool, f64)| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2));
    let best = compared.iter().min_by(|a, b| by_attempts(&rank(a), &rank(b)));
    let worst = compared.iter().max_by(|a, b| {
        let (a, b) = (*a, *b);
        let apart = (served(a) - served(b)).abs() > 0.01 * most;
        let by_served = if apart { served(b).total_cmp(&served(a)) } else { attempts(a).total_cmp(&attempts(b)) };
        stuck(a).cmp(&stuck(b)).then(by_served)
    });
    let (Some(best), Some(worst)) = (best, worst) else { return String::new() };
    let say = |variant: &Compared| {
        let down = if stuck(variant) { ", and the server never recovers" } else { "" };
        let served = match &scenario.clients[..] {
            _ if closed => format!("{} requests served a second", number(served(variant))),
            [first, _, ..] => format!("{} of the requests of {} served", percent(served(variant)), first.name),
            _ => format!("{} of the requests served", percent(served(variant))),
        };
        format!("{}: {served}, {} attempts for each{down}.", capital(&variant.name), number(attempts(variant)))
    };
    if compared.len() < 2 {
        return say(best);
    }
    format!("{} {}", say(worst), say(best))
}

fn table(scenario: &Scenario, compared: &[Compared]) -> String {
    let mut headings = vec!["", "served"];
    let several = scenario.clients.len() > 1;
    if several {
        headings.extend(scenario.clients.iter().map(|group| group.name.as_str()));
    }
    headings.extend(["goodput", "attempts each", "first try", "wait p50", "wait p99", "gave up", "herd"]);
    if scenario.trigger.is_some() {
        headings.push("recovers after");
    }
    let rows: Vec<_> = compared.iter().map(|variant| row(scenario, variant, several)).collect();
    aligned(&headings, &rows)
}

fn row(scenario: &Scenario, variant: &Compared, several: bool) -> Vec<String> {
    let estimate = |number: &dyn Fn(&Outcome) -> f64| Estimate::of(&variant.each(number));
    let share = |number: &dyn Fn(&Outcome) -> f64| with_margin(estimate(number), percent);
    let time = |index: usize| with_margin(estimate(&|outcome| float(outcome.wait[index])), nanos);
    let mut cells = vec![variant.name.clone(), share(&Outcome::served_share)];
    if several {
        let group = |index: usize| share(&|outcome: &Outcome| outcome.group_share(index));
        cells.extend((0..scenario.clients.len()).map(group));
    }
    cells.extend([
        with_margin(estimate(&|outcome| outcome.goodput(scenario.duration())), |rate| format!("{}/s", number(rate))),
        with_margin(estimate(&Outcome::amplification), number),
        share(&Outcome::first_try_share),
        time(0),
        time(2),
        with_margin(estimate(&|outcome| float(outcome.gave_up)), whole),
        with_margin(estimate(&|outcome| float(outcome.herd)), whole),
    ]);
    if scenario.trigger.is_some() {
        cells.push(recovery(variant));
    }
    cells
}

/// `2.5 s`, `never`, or over several seeds `never in 3 of 5`.
fn recovery(variant: &Compared) -> String {
    let times: Vec<f64> = variant
        .outcomes
        .iter()
        .filter_map(|outcome| match outcome.recovery {
            Recovery::After(time) => Some(float(time)),
            Recovery::Never | Recovery::NoTrigger => None,
        })
        .collect();
    let (all, never) = (variant.outcomes.len(), variant.outcomes.len() - times.len());
    match never {
        0 => with_margin(Estimate::of(&times), nanos),
        never if never == all => "never".into(),
        never => format!("never in {never} of {all}"),
    }
}

fn legend(scenario: &Scenario, seed: u64, compared: &[Compared], trigger: Option<&str>) -> String {
    let first = compared.first().map(Compared::first);
    let requests = first.map_or(0, |outcome| outcome.requests);
    let trigger = trigger.map_or_else(String::new, |trigger| format!("; {trigger}"));
    let seeds = match compared.first().map_or(0, |variant| variant.outcomes.len()) {
        0 | 1 => format!("seed {seed}"),
        n => format!("mean of {n} seeds from {seed}, with 95 % confidence"),
    };
    let recovers = match scenario.trigger {
        Some(_) => "; recovers after: until 90 % of the earlier goodput is back for good",
        None => "",
    };
    format!(
        "{} requests in {}{trigger}; {seeds}.\n\
         attempts each: attempts for one request; wait: from a request's beginning to its result;\n\
         herd: the most retries within one millisecond{recovers}.\n",
        count(requests),
        duration(scenario.duration()),
    )
}

fn sentence(trigger: &Trigger) -> String {
    let what = match trigger.what {
        What::Outage => "an outage".to_owned(),
        What::Slowdown => format!("{} times slower service", trigger.times.unwrap_or(1)),
        What::FlashCrowd => "a flash crowd".to_owned(),
        What::LimitCut => "a lower limit".to_owned(),
    };
    format!("{what} from {} to {}", duration(trigger.from()), duration(trigger.to()))
}

fn picture(finding: &str, scenario: &Scenario, compared: &[Compared]) -> TimelineChart {
    let panel = |variant: &Compared| {
        let outcome = variant.first();
        // What is left to do long after the last new request is a thin tail.
        let shown = usize::try_from(scenario.duration() / outcome.bin_ns).unwrap_or(usize::MAX).saturating_mul(23) / 20;
        let recovered = match outcome.recovery {
            Recovery::NoTrigger => String::new(),
            Recovery::After(0) => ", back at once".into(),
            Recovery::After(time) => format!(", back after {}", duration(time)),
            Recovery::Never => ", never back".into(),
        };
        TimelinePanel {
            title: variant.name.clone(),
            summary: format!(
                "{} served, {} attempts each, median wait {}{recovered}",
                percent(outcome.served_share()),
                number(outcome.amplification()),
                duration(outcome.wait[0])
            ),
            all: outcome.bins.iter().take(shown).map(|bin| bin.attempts).collect(),
            through: outcome.bins.iter().take(shown).map(|bin| bin.served).collect(),
            reference: outcome.bins.iter().take(shown).map(|bin| bin.began).collect(),
        }
    };
    TimelineChart {
        title: finding.to_owned(),
        legend: ["attempts a second", "served", "new requests"].map(String::from),
        bin_ns: compared.first().map_or(1, |variant| variant.first().bin_ns),
        scale_to_reference: false,
        shaded: scenario.trigger.as_ref().map(|trigger| (trigger.from(), trigger.to(), sentence(trigger))),
        panels: compared.iter().map(panel).collect(),
    }
}

fn json(name: &str, scenario: &Scenario, seed: u64, compared: &[Compared], finding: &str) -> Value {
    let variant = |variant: &Compared| {
        let outcomes: Vec<_> = variant.outcomes.iter().map(|outcome| outcome_json(scenario, outcome)).collect();
        json!({ "name": variant.name, "outcomes": outcomes })
    };
    let trigger = scenario.trigger.as_ref().map(|trigger| json!({ "from_ns": trigger.from(), "to_ns": trigger.to() }));
    json!({
        "schema": SCHEMA,
        "meta": {
            "version": env!("CARGO_PKG_VERSION"), "scenario": name, "question": scenario.question, "seed": seed,
            "duration_ns": scenario.duration(), "trigger": trigger,
        },
        "finding": finding,
        "variants": compared.iter().map(variant).collect::<Vec<_>>(),
    })
}

fn outcome_json(scenario: &Scenario, outcome: &Outcome) -> Value {
    let ends = outcome.ends;
    let groups = scenario.clients.iter().zip(&outcome.groups);
    let groups: Vec<_> = groups
        .map(|(group, tally)| json!({ "name": group.name, "requests": tally.requests, "served": tally.served }))
        .collect();
    let [p50, p95, p99, max] = outcome.wait;
    let recovery = match outcome.recovery {
        Recovery::NoTrigger => Value::Null,
        Recovery::After(time) => json!(time),
        Recovery::Never => json!("never"),
    };
    json!({
        "requests": outcome.requests, "attempts": outcome.attempts, "served": ends.served,
        "withheld": outcome.withheld, "gave_up": outcome.gave_up, "in_flight": outcome.in_flight, "first_try": outcome.first_try,
        "events": outcome.events, "amplification": outcome.amplification(), "wasted": outcome.wasted, "herd": outcome.herd,
        "attempts_ended": {
            "served": ends.served, "limited": ends.limited, "never": ends.never, "queue_full": ends.full,
            "failed": ends.failed, "timed_out": ends.timed_out,
        },
        "wait_ns": { "p50": p50, "p95": p95, "p99": p99, "max": max },
        "recovery_ns": recovery,
        "groups": groups,
        "series": {
            "bin_ns": outcome.bin_ns,
            "began": outcome.bins.iter().map(|bin| bin.began).collect::<Vec<_>>(),
            "attempts": outcome.bins.iter().map(|bin| bin.attempts).collect::<Vec<_>>(),
            "served": outcome.bins.iter().map(|bin| bin.served).collect::<Vec<_>>(),
        },
    })
}

fn with_margin(estimate: Estimate, show: impl Fn(f64) -> String) -> String {
    if estimate.margin > 0.0 {
        format!("{} ±{}", show(estimate.mean), show(estimate.margin))
    } else {
        show(estimate.mean)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a number for a report")]
fn float(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a duration for a report, not negative")]
fn nanos(time: f64) -> String {
    if time < 1.0 { "0".into() } else { duration(time as u64) }
}

/// `1.8`, `35`.
fn number(value: f64) -> String {
    if value < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

/// `100 %`, `99.9 %`, `61 %`: never rounded up to all, or down to nothing.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 1.0 || (99.0..100.0).contains(&percent) {
        let cut = (percent * 10.0).floor() / 10.0;
        return format!("{cut:.1} %");
    }
    format!("{percent:.0} %")
}
