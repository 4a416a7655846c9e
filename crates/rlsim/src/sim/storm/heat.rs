//! Recovery over load and length of the trigger: where a server falls into a hole that it does not climb out of.

use serde_json::{Value, json};

use super::outcome::{Outcome, Recovery};
use super::scenario::Scenario;
use super::world::run;
use crate::chart::{GridCell, GridChart, grid};
use crate::error::{Error, Result};
use crate::report::duration;
use crate::sim::export::{Findings, pretty};
use crate::sim::parallel;
use crate::sim::table::aligned;

/// Speeds of the server: a request takes so many percent of the scenario's time.
const SERVICE: [u64; 6] = [50, 75, 88, 100, 112, 125];
/// Lengths of the trigger, in eighths of the scenario's.
const EIGHTHS: [u64; 6] = [1, 2, 4, 8, 16, 32];

/// Runs variant `name` on the whole grid, and says what came of it.
pub(super) fn findings(scenario: &Scenario, name: &str, seed: u64, threads: usize) -> Result<Findings> {
    let Some(trigger) = &scenario.trigger else {
        return Err(Error::usage("--heat-map: this scenario has no [trigger] to recover from"));
    };
    let length = trigger.to() - trigger.from();
    let lengths = EIGHTHS.map(|eighths| (length.saturating_mul(eighths) / 8).max(1));
    // A trigger leaves at least as much time to recover in as it took itself.
    let fits = |&length: &u64| trigger.from().saturating_add(length.saturating_mul(2)) <= scenario.duration();
    let lengths: Vec<u64> = lengths.into_iter().filter(fits).collect();
    let cells: Vec<_> =
        SERVICE.iter().flat_map(|&percent| lengths.iter().map(move |&length| (percent, length))).collect();
    let outcomes = parallel::map(&cells, threads, |&(percent, length)| {
        let mut changed = scenario.clone();
        changed.scale_service(percent);
        changed.set_trigger_length(length);
        run(&changed, seed)
    });
    let outcomes = outcomes.into_iter().collect::<Result<Vec<_>>>()?;
    let rows: Vec<_> = SERVICE.iter().copied().zip(outcomes.chunks(lengths.len().max(1))).collect();
    // Clients that wait for an answer ask less of a slower server, so all rows are measured by what the scenario's own asks.
    let own = rows.iter().find(|(percent, _)| *percent == 100).and_then(|(_, row)| row.first());
    let requests = own.map_or(0, |outcome| outcome.requests);
    let rows: Vec<Row<'_>> = rows.into_iter().map(|(percent, row)| (load(scenario, percent, requests), row)).collect();
    let map = Map { name, lengths: &lengths, rows: &rows };
    let json = pretty(&map.json(seed))?;
    Ok(Findings { text: map.text(), json, svg: grid(&map.picture())? })
}

/// What so many new requests ask of the server, in percent of what it can do.
fn load(scenario: &Scenario, percent: u64, requests: u64) -> u64 {
    let requests = u128::from(requests);
    let service = u128::from(scenario.server.service()) * u128::from(percent);
    let capacity = u128::from(scenario.server.workers) * u128::from(scenario.duration().max(1));
    u64::try_from(requests * service / capacity.max(1)).unwrap_or(u64::MAX)
}

/// A load in percent, and an outcome for each length of the trigger.
type Row<'a> = (u64, &'a [Outcome]);

struct Map<'a> {
    name: &'a str,
    lengths: &'a [u64],
    rows: &'a [Row<'a>],
}

impl Map<'_> {
    fn finding(&self) -> String {
        let stuck = |outcome: &&Outcome| outcome.recovery == Recovery::Never;
        let all: usize = self.rows.iter().map(|(_, row)| row.len()).sum();
        let never: usize = self.rows.iter().map(|(_, row)| row.iter().filter(stuck).count()).sum();
        let least = self.rows.iter().find(|(_, row)| row.iter().any(|outcome| stuck(&outcome)));
        match least {
            Some((load, _)) => format!(
                "\"{}\": in {never} of {all} cases the server never recovers, from a load of {load} % on",
                self.name
            ),
            None => format!("\"{}\": the server always recovers", self.name),
        }
    }

    fn text(&self) -> String {
        let lengths: Vec<String> = self.lengths.iter().map(|&length| duration(length)).collect();
        let headings: Vec<&str> = std::iter::once("load").chain(lengths.iter().map(String::as_str)).collect();
        let line = |(load, row): &Row<'_>| {
            std::iter::once(format!("{load} %")).chain(row.iter().map(|outcome| words(outcome.recovery))).collect()
        };
        let table = aligned(&headings, &self.rows.iter().map(line).collect::<Vec<_>>());
        format!(
            "{}.\n\n{table}\nTime to recover after the trigger; one row a load (new requests in percent of what the server can \
             do),\none column a length of the trigger.\n",
            self.finding()
        )
    }

    fn picture(&self) -> GridChart {
        let cell = |(outcome, &length): (&Outcome, &u64)| GridCell {
            text: words(outcome.recovery),
            badness: badness(outcome.recovery, length),
        };
        let row = |(load, row): &Row<'_>| (format!("{load} %"), row.iter().zip(self.lengths).map(cell).collect());
        GridChart {
            title: self.finding(),
            captions: ["time to recover after the trigger", "load", "length of the trigger"].map(String::from),
            columns: self.lengths.iter().map(|&length| duration(length)).collect(),
            rows: self.rows.iter().map(row).collect(),
        }
    }

    fn json(&self, seed: u64) -> Value {
        let cell = |load: u64, (outcome, &length): (&Outcome, &u64)| {
            let recovery = match outcome.recovery {
                Recovery::After(time) => json!(time),
                Recovery::Never => json!("never"),
                Recovery::NoTrigger => Value::Null,
            };
            json!({ "load_percent": load, "trigger_ns": length, "recovery_ns": recovery })
        };
        let cells: Vec<_> = self
            .rows
            .iter()
            .flat_map(|(load, row)| row.iter().zip(self.lengths).map(|pair| cell(*load, pair)))
            .collect();
        json!({ "schema": "rlsim.storm-map/1", "variant": self.name, "seed": seed, "finding": self.finding(), "cells": cells })
    }
}

fn words(recovery: Recovery) -> String {
    match recovery {
        Recovery::After(0) => "at once".into(),
        Recovery::After(time) => duration(time),
        Recovery::Never => "never".into(),
        Recovery::NoTrigger => "-".into(),
    }
}

/// In percent: nothing is at once, half is four times as long as the trigger and more, all is never.
fn badness(recovery: Recovery, length: u64) -> u8 {
    match recovery {
        Recovery::NoTrigger | Recovery::After(0) => 0,
        Recovery::After(time) => {
            let part = u128::from(time) * 38 / (4 * u128::from(length.max(1)));
            12 + u8::try_from(part.min(38)).unwrap_or(38)
        }
        Recovery::Never => 100,
    }
}
