//! Asynchronous sync over its interval and the number of servers: how much more gets through the later the news comes.

use serde_json::{Value, json};

use super::arrivals::Arrival;
use super::exact::Exact;
use super::outcome::Outcome;
use super::strategy::Strategy;
use super::world::{Cluster, run};
use crate::chart::{LinesChart, LinesPanel, lines};
use crate::error::Result;
use crate::generate::units::Span;
use crate::inspect::counted;
use crate::report::duration;
use crate::sim::export::{Findings, pretty};
use crate::sim::parallel;
use crate::sim::table::aligned;

const MS: u64 = 1_000_000;
/// Intervals, in nanoseconds.
const INTERVALS: [u64; 7] = [10 * MS, 30 * MS, 100 * MS, 300 * MS, 1000 * MS, 3000 * MS, 10_000 * MS];
/// Numbers of servers.
pub(super) const SERVERS: [usize; 4] = [2, 5, 10, 20];

/// Runs every interval with every number of servers, and says what came of it.
pub(super) fn findings(cluster: &Cluster, arrivals: &[Arrival], exact: &Exact, threads: usize) -> Result<Findings> {
    let cells: Vec<_> = SERVERS.iter().flat_map(|&n| INTERVALS.map(|interval| (n, interval))).collect();
    let outcomes = parallel::map(&cells, threads, |&(servers, interval)| {
        run(&Cluster { servers, ..cluster.clone() }, Strategy::Sync(interval), arrivals, exact)
    });
    let rows: Vec<&[Outcome]> = outcomes.chunks(INTERVALS.len()).collect();
    let finding = finding(&rows);
    let text = format!(
        "{finding}\n\n{}\n{}, {} for each client; cells: most let through in any window, as a multiple of the exact\n\
         limiter's, and needless refusals in percent of what may pass. One row an interval between messages, one column a\n\
         number of servers.\n",
        table(&rows, exact),
        counted(arrivals.len() as u64, "request"),
        cluster.policy
    );
    let json = pretty(&json(cluster, &rows, exact, &finding))?;
    let svg = lines(&picture(&finding, &rows, exact))?;
    Ok(Findings { text, json, svg })
}

fn finding(rows: &[&[Outcome]]) -> String {
    let (Some(row), Some(&servers)) = (rows.last(), SERVERS.last()) else { return String::new() };
    let (Some(first), Some(last)) = (row.first(), row.last()) else { return String::new() };
    format!(
        "{servers} servers that hear of each other every {} let {:.1}x through; every {}, {:.1}x",
        duration(INTERVALS[0]),
        first.overshoot,
        duration(INTERVALS[INTERVALS.len() - 1]),
        last.overshoot
    )
}

/// Needless refusals in thousandths of a percent of what may pass.
fn needless(outcome: &Outcome, exact: &Exact) -> u64 {
    let exact = u128::from(exact.units.max(1));
    u64::try_from(u128::from(outcome.needless) * 100_000 / exact).unwrap_or(u64::MAX)
}

fn table(rows: &[&[Outcome]], exact: &Exact) -> String {
    let names: Vec<String> = SERVERS.iter().map(|n| format!("{n} servers")).collect();
    let headings: Vec<&str> = std::iter::once("interval").chain(names.iter().map(String::as_str)).collect();
    let cell = |outcome: &Outcome| format!("{:.1}x {:>2} %", outcome.overshoot, needless(outcome, exact) / 1000);
    let line = |(step, interval): (usize, &u64)| {
        std::iter::once(Span(*interval).to_string()).chain(rows.iter().map(|row| cell(&row[step]))).collect()
    };
    aligned(&headings, &INTERVALS.iter().enumerate().map(line).collect::<Vec<_>>())
}

fn picture(finding: &str, rows: &[&[Outcome]], exact: &Exact) -> LinesChart {
    let values = |number: &dyn Fn(&Outcome) -> u64| rows.iter().map(|row| row.iter().map(number).collect()).collect();
    LinesChart {
        title: finding.to_owned(),
        caption: "interval between messages of a server".into(),
        steps: INTERVALS.map(duration).to_vec(),
        series: SERVERS.iter().map(|n| format!("{n} servers")).collect(),
        panels: vec![
            LinesPanel {
                title: "most let through in any window, as a multiple of one exact limiter".into(),
                unit: "x",
                values: values(&|outcome| thousandths(outcome.overshoot)),
            },
            LinesPanel {
                title: "needless refusals, in percent of what may pass".into(),
                unit: " %",
                values: values(&|outcome| needless(outcome, exact)),
            },
        ],
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive ratio for a picture")]
fn thousandths(ratio: f64) -> u64 {
    (ratio * 1000.0) as u64
}

fn json(cluster: &Cluster, rows: &[&[Outcome]], exact: &Exact, finding: &str) -> Value {
    let cell = |(&servers, row): (&usize, &&[Outcome])| -> Vec<Value> {
        let entry = |(&interval, outcome): (&u64, &Outcome)| {
            json!({
                "servers": servers, "interval_ns": interval, "overshoot": outcome.overshoot,
                "excess_units": outcome.excess, "needless_denials": outcome.needless,
                "store_operations": outcome.store_operations, "messages": outcome.messages,
            })
        };
        INTERVALS.iter().zip(row.iter()).map(entry).collect()
    };
    let cells: Vec<Value> = SERVERS.iter().zip(rows).flat_map(cell).collect();
    json!({
        "schema": "rlsim.cluster-sweep/1",
        "meta": { "version": env!("CARGO_PKG_VERSION"), "policy": cluster.policy.to_string(), "seed": cluster.seed },
        "finding": finding,
        "exact": { "units": exact.units, "peak_units": exact.peak },
        "cells": cells,
    })
}
