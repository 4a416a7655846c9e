//! `rlsim compare`: read, replay, print, write.

use std::ffi::{OsStr, OsString};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use ratelimit_core::Rule;

use super::args::{ByArg, CompareArgs, EngineArg};
use super::engines::Keyed;
use super::export::{Exports, Kind};
use super::policies::policies;
use super::{output, progress, told, words};
use crate::chart;
use crate::client::{self, ClientView};
use crate::compare::Comparison;
use crate::error::{Error, Result};
use crate::inspect;
use crate::metrics::Depth;
use crate::replay::By;
use crate::report::{self, Report};
use crate::trace::wording::{agreeing, ending};
use crate::trace::{self, Input, Trace};

/// Kinds that `compare` writes.
const KINDS: [Kind; 9] = [
    Kind::Svg,
    Kind::Html,
    Kind::Json,
    Kind::Csv,
    Kind::Markdown,
    Kind::Envelope,
    Kind::Raster,
    Kind::Ranked,
    Kind::Client,
];
/// Kinds that show a chart, so that none is written besides.
const PICTURES: [Kind; 6] = [Kind::Svg, Kind::Html, Kind::Envelope, Kind::Raster, Kind::Ranked, Kind::Client];
/// Kinds that hold more numbers than the table does.
const DETAILED: [Kind; 6] = [Kind::Json, Kind::Csv, Kind::Html, Kind::Envelope, Kind::Raster, Kind::Ranked];
/// Kinds that show one client.
const OF_A_CLIENT: [Kind; 2] = [Kind::Client, Kind::Html];
/// Numbers that need all events at once.
const NOT_STREAMED: [&str; 6] =
    ["over_limit_time", "delay_ns.p50", "delay_ns.p95", "delay_ns.p99", "retry.", "memory."];

/// Runs the command: outputs are opened before the trace is read, and written after everything has been computed.
pub(super) fn run(args: Box<CompareArgs>, words: &[OsString]) -> Result<()> {
    let args = *args;
    let stdin = |paths: &[PathBuf]| paths.iter().any(|path| path.as_os_str() == "-");
    if stdin(&args.trace.trace) && stdin(&args.policies.policies) {
        return Err(Error::usage(
            "--trace - and --policies -: standard input can be read once; expected a file for one",
        ));
    }
    let (policies, by) = policies(&args.policies, args.by)?;
    let names: Vec<&str> = policies.iter().map(|named| named.name.as_str()).collect();
    let assertions =
        args.assert.iter().map(|text| report::Assertion::parse(text, &names)).collect::<Result<Vec<_>>>()?;
    let read = [&args.trace.trace[..], &args.policies.policies].concat();
    let (inputs, mut options) = args.trace.into_parts();
    options.threads = args.threads;
    let mut exports = Exports::open(&args.export, &KINDS, &read)?;
    if args.stream {
        refuse_what_needs_all_events(&exports, &assertions, args.client.as_deref())?;
    } else if !args.no_chart && !exports.has(&PICTURES) {
        let charts = [(Kind::Svg, "compare")].into_iter().chain(args.client.as_ref().map(|_| (Kind::Client, "client")));
        for (kind, what) in charts {
            exports.add_unasked(kind, &default_chart_path(&inputs, what), &read, &mut std::io::stderr());
        }
    } else if let Some(client) = args.client.as_ref().filter(|_| !exports.has(&OF_A_CLIENT)) {
        return Err(Error::usage(format!(
            "--client {}: nothing that is written shows the client, expected --export client:FILE.svg or --export FILE.html",
            client.display()
        )));
    }
    let by = match by {
        ByArg::Client => By::Client,
        ByArg::Global => By::Global,
    };
    let comparison = Comparison {
        policies,
        by,
        threads: args.threads.unwrap_or_else(cores),
        depth: depth(&exports, &assertions),
        command: words::that_decide(words),
    };
    let rules = comparison.policies.iter().flat_map(|named| named.policy.rules());
    let windows: Vec<u64> = rules.filter_map(Rule::quota).map(|quota| quota.window().get()).collect();
    let (report, view) = if args.stream {
        let (report, facts) = progress::shown(options, |options| comparison.run_stream(&inputs, options))?;
        told::tell(&facts, report.meta.trace.clients, &windows);
        told::warn_of_unreadable(&facts);
        (report, None)
    } else {
        let mut trace = progress::shown(options, |options| trace::load(&inputs, options))?;
        trace.facts.notes.extend(inspect::concentration(&trace, windows.iter().copied()));
        let chosen = args.client.as_deref().map(|name| client::find(&trace, name)).transpose()?;
        told::tell(&trace.facts, trace.names.len() as u64, &windows);
        told::warn_of_unreadable(&trace.facts);
        let report = match args.engine {
            EngineArg::Flat => comparison.run(&trace),
            EngineArg::Keyed => comparison.run_through(&trace, |policy| Ok(Keyed::new(policy, trace.names.len())))?,
            EngineArg::Redis => through_redis(&comparison, &trace, &args.redis)?,
        };
        let shown = chosen.or_else(|| exports.has(&[Kind::Client]).then(|| report::hardest_hit(&report)).flatten());
        let view = shown.map(|client| client::follow(&trace, &comparison.policies, by, client));
        (report, view)
    };
    hint_at_never(&report);
    if !exports.take_stdout() {
        output::print(&report::table(&report))?;
    }
    exports.write(|kind| render(kind, &report, view.as_ref()))?;
    hold(&assertions, &args.assert, &report)
}

/// Requests that no wait would help are seldom meant.
fn hint_at_never(report: &Report) {
    let Some(policy) = report.policies.iter().rev().max_by_key(|policy| policy.requests.never) else { return };
    let never = policy.requests.never;
    if never > 0 {
        output::talk(&format!(
            "note: never: {} request{} {} more at once than {} can ever admit, however long one waits; a larger limit or burst \
             admits such requests, and --cost-column says where costs are read",
            report::count(never),
            ending(never),
            agreeing(never, "costs", "cost"),
            policy.name,
        ));
    }
}

/// How much has to be measured for what is wanted.
fn depth(exports: &Exports, assertions: &[report::Assertion]) -> Depth {
    if !assertions.is_empty() || exports.has(&DETAILED) {
        Depth::Everything
    } else if exports.has(&PICTURES) {
        Depth::Pictures
    } else {
        Depth::Table
    }
}

/// A stream keeps no events: what needs them is said before anything is read.
fn refuse_what_needs_all_events(
    exports: &Exports,
    assertions: &[report::Assertion],
    client: Option<&OsStr>,
) -> Result<()> {
    if let Some(client) = client {
        return Err(Error::usage(format!(
            "--client {}: a picture of a client needs all its events at once, and --stream keeps none: leave out --stream",
            client.display()
        )));
    }
    if exports.has(&PICTURES) {
        return Err(Error::usage(
            "--export of a picture or a page needs all events at once, and --stream keeps none: expected a name that ends in \
             .json, .csv or .md, or leave out --stream",
        ));
    }
    let refused = |key: &str| {
        NOT_STREAMED.iter().any(|name| if name.ends_with('.') { key.starts_with(name) } else { key == *name })
    };
    match assertions.iter().find(|assertion| refused(assertion.key())) {
        Some(assertion) => Err(Error::usage(format!(
            "--assert: {} needs all events at once, and --stream keeps none: leave out --stream",
            assertion.key()
        ))),
        None => Ok(()),
    }
}

#[cfg(feature = "redis")]
fn through_redis(comparison: &Comparison, trace: &Trace, url: &str) -> Result<Report> {
    if trace.at.iter().any(|at| !at.is_multiple_of(1000)) {
        output::talk("note: the trace has stamps finer than the microseconds in which Redis decides: they are cut");
    }
    comparison.run_through(trace, |policy| super::redis_engine::Redis::new(policy, url))
}

#[cfg(not(feature = "redis"))]
fn through_redis(_: &Comparison, _: &Trace, _: &str) -> Result<Report> {
    Err(super::left_out::error("--engine redis", "redis"))
}

/// All outputs are written by now; of every condition it is said whether it holds, not only of the first.
fn hold(assertions: &[report::Assertion], texts: &[String], report: &Report) -> Result<()> {
    let mut broken = Vec::new();
    for (assertion, text) in assertions.iter().zip(texts) {
        match assertion.check(report) {
            Err(Error::Assertion(message)) => broken.push(message),
            other => {
                other?;
                output::talk(&format!("holds: {}", text.trim()));
            }
        }
    }
    if broken.is_empty() { Ok(()) } else { Err(Error::Assertion(broken.join("\n"))) }
}

fn cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// The chart that is written without being asked for: `burst-compare.svg` for `traces/burst.csv`, `stdin-compare.svg` for `-`.
fn default_chart_path(inputs: &[Input], what: &str) -> PathBuf {
    let stem = match inputs.first() {
        Some(Input::File(path)) => {
            let compressed = path.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
            let path = if compressed { path.with_extension("") } else { path.clone() };
            path.file_stem().unwrap_or(path.as_os_str()).to_owned()
        }
        Some(Input::Stdin) | None => OsString::from("stdin"),
    };
    let mut name = stem;
    name.push(format!("-{what}.svg"));
    PathBuf::from(name)
}

fn render(kind: Kind, report: &Report, view: Option<&ClientView>) -> Result<String> {
    let lacking =
        |chart: &str, needs: &str| Error::failed(format!("--export {chart}:FILE: there is nothing to draw, {needs}"));
    match kind {
        Kind::Json => report::json(report),
        Kind::Csv => report::csv(report),
        Kind::Markdown => Ok(report::markdown(report)),
        Kind::Html => Ok(report::html(report, &chart::all(report, view)?)),
        Kind::Envelope => chart::envelope(report).ok_or_else(|| lacking("envelope", "nothing was let through"))?,
        Kind::Raster => chart::raster(report).ok_or_else(|| lacking("raster", "the trace has no requests"))?,
        Kind::Ranked => chart::ranked(report).ok_or_else(|| {
            lacking(
                "ranked",
                "expected two clients or more, each with a limit of its own (--by client), and a policy with one limit",
            )
        })?,
        Kind::Client => view.map(chart::client).ok_or_else(|| lacking("client", "the trace has no requests"))?,
        Kind::Svg | Kind::Toml => chart::comparison(&chart::ComparisonChart::of(report)),
    }
}
