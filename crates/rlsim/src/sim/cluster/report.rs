//! The comparison in words, as a table, as JSON and as numbers for the chart.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::arrivals::Arrival;
use super::compare::Compared;
use super::exact::Exact;
use super::outcome::Outcome;
use super::strategy::Strategy;
use super::world::Cluster;
use crate::chart::{TimelineChart, TimelinePanel, timeline};
use crate::error::Result;
use crate::inspect::counted;
use crate::report::{count, duration};
use crate::sim::export::{Findings, pretty};
use crate::sim::table::{aligned, capital};

/// The name and version of the JSON's shape; `docs/clusters.md` describes it.
const SCHEMA: &str = "rlsim.cluster/1";

/// Everything there is to say about a comparison.
pub(super) fn findings(
    cluster: &Cluster,
    origin: &str,
    arrivals: &[Arrival],
    exact: &Exact,
    compared: &[Compared],
) -> Result<Findings> {
    let finding = finding(cluster, exact, compared);
    let text =
        format!("{finding}\n\n{}\n{}", table(exact, compared), legend(cluster, origin, arrivals, exact, compared));
    let json = pretty(&json(cluster, origin, arrivals, exact, compared, &finding))?;
    let svg = timeline(&picture(&finding, cluster, compared))?;
    Ok(Findings { text, json, svg })
}

/// The sentence that says what was found: who lets most through (or, if nobody exceeds the limit, who refuses most
/// needlessly), and who keeps the limit at what price.
fn finding(cluster: &Cluster, exact: &Exact, compared: &[Compared]) -> String {
    let over = |this: &&Compared| this.outcome.overshoot >= 1.05;
    let own = compared.iter().find(|this| this.strategy == Strategy::OwnLimit);
    let most = compared.iter().max_by(|a, b| a.outcome.overshoot.total_cmp(&b.outcome.overshoot));
    let strictest = compared.iter().max_by_key(|this| this.outcome.needless);
    let Some(worst) = own.or(most).filter(over).or(strictest) else { return String::new() };
    if compared.iter().all(|this| this.outcome.excess == 0 && this.outcome.needless == 0) {
        return format!(
            "No strategy differs from one exact limiter of {}, which lets {} through.",
            cluster.policy,
            counted(exact.units, "unit")
        );
    }
    let how = capital(&phrase(worst.strategy));
    let do_it = |one: &str, several: &str| match cluster.servers {
        1 => format!("1 server {one}"),
        servers => format!("{servers} servers {several}"),
    };
    let mut text = if over(&worst) {
        let through = do_it("lets through", "let through");
        format!("{how}: {through} {} what {} may", times(worst.outcome.overshoot), cluster.policy)
    } else {
        let needless = percent(worst.outcome.needless, exact.units);
        format!("{how}: {} {needless} of what {} lets through", do_it("refuses", "refuse"), cluster.policy)
    };
    let good = |this: &&Compared| {
        let Outcome { overshoot, needless, .. } = this.outcome;
        // Within ten percent of the limit, and at most a hundredth of what may pass refused.
        overshoot < 1.1 && needless.saturating_mul(100) <= exact.units && this.strategy != worst.strategy
    };
    let cheapest = compared.iter().filter(good).min_by_key(|this| this.outcome.store_operations);
    if let Some(cheapest) = cheapest {
        let outcome = &cheapest.outcome;
        let _ = write!(
            text,
            ". {}: {}, with {} store operations a second and {} of needless refusals",
            capital(&phrase(cheapest.strategy)),
            times(outcome.overshoot),
            rate(outcome),
            percent(outcome.needless, exact.units),
        );
    }
    text + "."
}

fn phrase(strategy: Strategy) -> String {
    match strategy {
        Strategy::OwnLimit => "each with the whole limit".into(),
        Strategy::SplitLimit => "each with its part of the limit".into(),
        Strategy::SharedStore => "with a shared store".into(),
        Strategy::ReadThenWrite => "with a store that is read, then written".into(),
        Strategy::SubKeys(keys) => format!("with a store and {keys} sub-keys"),
        Strategy::Leases(_) => "with leases".into(),
        Strategy::Sync(interval) => format!("told of each other every {}", duration(interval)),
    }
}

fn table(exact: &Exact, compared: &[Compared]) -> String {
    let exposure = compared.iter().any(|this| this.outcome.exposure.is_some());
    let mut headings = vec![
        "",
        "admitted",
        "peak/exact",
        "excess",
        "needless",
        "store ops/s",
        "hottest slot",
        "added p50",
        "added p99",
    ];
    if exposure {
        headings.push("while down");
    }
    let dash = || "-".to_owned();
    let mut first = vec!["one exact limiter".to_owned(), exact.units.to_string(), times(1.0)];
    first.extend([0, 0].map(|zero: u64| zero.to_string()));
    first.extend((0..4 + usize::from(exposure)).map(|_| dash()));
    let row = |this: &Compared| {
        let outcome = &this.outcome;
        let store = |text: String| if outcome.store_operations == 0 { dash() } else { text };
        let mut cells = vec![
            this.strategy.to_string(),
            outcome.units.to_string(),
            times(outcome.overshoot),
            outcome.excess.to_string(),
            outcome.needless.to_string(),
            store(rate(outcome)),
            store(format!("{}/s", outcome.hottest)),
            added(outcome.latency[0]),
            added(outcome.latency[1]),
        ];
        if exposure {
            cells.push(outcome.exposure.map_or_else(dash, |units| format!("{units:+}")));
        }
        cells
    };
    let rows: Vec<_> = std::iter::once(first).chain(compared.iter().map(row)).collect();
    aligned(&headings, &rows)
}

fn added(latency: u64) -> String {
    if latency == 0 { "0".into() } else { duration(latency) }
}

fn legend(cluster: &Cluster, origin: &str, arrivals: &[Arrival], exact: &Exact, compared: &[Compared]) -> String {
    let span = compared.first().map_or(0, |this| this.outcome.span);
    let mut text = format!(
        "{} in {} ({origin}); {} for each client over {}; routing {}; messages take {}; seed {}.\n\
         peak/exact: most let through in any window, as a multiple of the exact limiter's {};\n\
         excess, needless: units more and fewer than it admits, window by window; added: time until the decision",
        counted(arrivals.len() as u64, "request"),
        duration(span),
        cluster.policy,
        servers(cluster.servers),
        cluster.routing,
        cluster.delay,
        cluster.seed,
        count(exact.peak),
    );
    if cluster.faults.store_down.is_some() {
        text += ";\nwhile down: units more (or fewer) than the exact limiter's while the store was down";
    }
    text + ".\n"
}

fn picture(finding: &str, cluster: &Cluster, compared: &[Compared]) -> TimelineChart {
    let panel = |this: &Compared| TimelinePanel {
        title: this.strategy.to_string(),
        summary: format!(
            "{} in any window, {} needless refusals, {} store operations a second",
            times(this.outcome.overshoot),
            count(this.outcome.needless),
            rate(&this.outcome)
        ),
        all: Vec::new(),
        through: this.outcome.series.clone(),
        reference: this.outcome.exact_series.clone(),
    };
    TimelineChart {
        title: finding.to_owned(),
        legend: ["", "let through a second", "by one exact limiter"].map(String::from),
        bin_ns: compared.first().map_or(1, |this| this.outcome.bin_ns),
        scale_to_reference: true,
        shaded: cluster.faults.when(),
        panels: compared.iter().map(panel).collect(),
    }
}

fn json(
    cluster: &Cluster,
    origin: &str,
    arrivals: &[Arrival],
    exact: &Exact,
    compared: &[Compared],
    finding: &str,
) -> Value {
    json!({
        "schema": SCHEMA,
        "meta": {
            "version": env!("CARGO_PKG_VERSION"), "servers": cluster.servers, "policy": cluster.policy.to_string(),
            "routing": cluster.routing.to_string(), "delay": cluster.delay.to_string(), "seed": cluster.seed,
            "requests": arrivals.len(), "origin": origin,
        },
        "finding": finding,
        "exact": { "units": exact.units, "peak_units": exact.peak },
        "strategies": compared.iter().map(strategy_json).collect::<Vec<_>>(),
    })
}

fn strategy_json(this: &Compared) -> Value {
    let outcome = &this.outcome;
    json!({
        "strategy": this.strategy.to_string(),
        "units": outcome.units, "peak_units": outcome.peak, "overshoot": outcome.overshoot,
        "excess_units": outcome.excess, "needless_denials": outcome.needless, "efficiency": outcome.efficiency,
        "store_operations": outcome.store_operations, "messages": outcome.messages,
        "store_operations_per_second": outcome.per_second(outcome.store_operations),
        "messages_per_second": outcome.per_second(outcome.messages), "hottest_slot_per_second": outcome.hottest,
        "added_latency_ns": { "p50": outcome.latency[0], "p99": outcome.latency[1] },
        "events": outcome.events,
        "exposure_units": outcome.exposure.and_then(|units| i64::try_from(units).ok()),
        "series": { "bin_ns": outcome.bin_ns, "units": outcome.series, "exact_units": outcome.exact_series },
    })
}

/// Store operations a second.
fn rate(outcome: &Outcome) -> String {
    in_digits(outcome.per_second(outcome.store_operations))
}

/// Whole numbers from ten on, two digits below, and never 0 for what is more than nothing.
fn in_digits(rate: f64) -> String {
    match rate {
        rate if rate == 0.0 || rate >= 9.95 => format!("{rate:.0}"),
        rate if rate >= 0.995 => format!("{rate:.1}"),
        rate if rate >= 0.0995 => format!("{rate:.2}"),
        rate if rate >= 0.000_95 => format!("{rate:.3}"),
        _ => "<0.001".into(),
    }
}

/// `10.0x`.
fn times(overshoot: f64) -> String {
    format!("{overshoot:.1}x")
}

fn percent(part: u64, whole: u64) -> String {
    let tenths = u128::from(part) * 1000 / u128::from(whole.max(1));
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn servers(number: usize) -> String {
    counted(number as u64, "server")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_rates_keep_their_digits() {
        let shown = [0.0, 0.000_1, 0.001, 0.033_45, 0.1, 0.5, 0.999, 3.25, 9.96, 487.6].map(in_digits);
        assert_eq!(shown, ["0", "<0.001", "0.001", "0.033", "0.10", "0.50", "1.0", "3.2", "10", "488"]);
    }
}
