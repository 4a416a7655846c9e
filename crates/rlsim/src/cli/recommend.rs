//! `rlsim recommend`: a promise in, a policy out.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use ratelimit_core::Quota;

use super::export::{Exports, Kind};
use super::sweep::{cores, unique};
use super::words;
use super::{inspect, output};
use crate::error::{Error, Result};
use crate::generate::units::{Span, parse_threads};
use crate::recommend::promise::{Interval, parse_percentile, parse_share};
use crate::recommend::{self, Promise, Task};
use crate::sweep::Algorithm;
use crate::trace::{Answers, Trace, TraceArgs};
use crate::{chart, inspect as inspection};

/// Options of `recommend`.
#[derive(Debug, Args)]
pub struct RecommendArgs {
    /// The trace and how to read it.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// The promise.
    #[command(flatten)]
    pub promise: PromiseArgs,
    /// The window of the limits; with --service-at-most its own window [default: 1m]
    #[arg(long, value_name = "WINDOW", conflicts_with = "service_at_most")]
    pub window: Option<Span>,
    /// Answer for these algorithms only, several joined by commas [default: all five]
    #[arg(long, value_enum, value_name = "NAME", value_delimiter = ',')]
    pub algorithm: Vec<Algorithm>,
    /// The first part of the events to fit on; the rest checks the answer. 100% checks nothing
    #[arg(long, value_name = "SHARE", value_parser = parse_fit, default_value = "70%")]
    pub fit: u64,
    /// Column that holds the status of the answer, by name or number, to see whether the trace is already limited
    /// [default: found by its usual names]
    #[arg(long, value_name = "COLUMN")]
    pub status_column: Option<String>,
    /// Write a file too, its kind by its ending: .toml (for compare --policies) .svg (the burstiness curve) .json ; `-` is JSON
    /// on stdout, `toml:-` TOML there; repeatable
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub export: Vec<PathBuf>,
    /// Threads to use; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<NonZeroUsize>,
}

/// What is promised: one of these.
#[derive(Debug, Args)]
#[command(next_help_heading = "Promise")]
#[group(multiple = false)]
pub struct PromiseArgs {
    /// At most this share of the clients is ever limited [default: 0.1%]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub limited_clients: Option<u64>,
    /// No client whose largest demand in a window is at most this percentile of all clients' is ever refused, such as p99
    #[arg(long, value_name = "PERCENTILE", value_parser = parse_percentile)]
    pub keep_clients_below: Option<u64>,
    /// All clients together never get more than this through in any window, such as 500/1s
    #[arg(long, value_name = "QUOTA", value_parser = parse_quota)]
    pub service_at_most: Option<Quota>,
    /// Reject what comes in this interval and keep the rest: FROM..TO, each a time from the first event such as 90m, or a
    /// date such as 2015-05-17T10:05:00Z
    #[arg(long, value_name = "FROM..TO")]
    pub attack: Option<Interval>,
}

fn parse_fit(text: &str) -> std::result::Result<u64, String> {
    match parse_share(text)? {
        0 => Err("expected a part to fit on: more than 0%, such as 70%; 100% fits on the whole trace".into()),
        share => Ok(share),
    }
}

fn parse_quota(text: &str) -> std::result::Result<Quota, String> {
    text.parse().map_err(|error: ratelimit_core::PolicyError| format!("{error}; expected UNITS/WINDOW, such as 500/1s"))
}

/// Runs the command.
pub(super) fn run(args: RecommendArgs, words: &[OsString]) -> Result<()> {
    let files = Exports::open(&args.export, &[Kind::Toml, Kind::Svg, Kind::Json], &args.trace.trace)?;
    let service = args.promise.service_at_most.map(|quota| quota.window().get());
    let window_ns = service.or(args.window.map(|window| window.0)).unwrap_or(60_000_000_000);
    if window_ns == 0 {
        return Err(Error::usage("--window 0: expected at least 1 ns"));
    }
    let (inputs, mut options) = args.trace.into_parts();
    let answers = Answers::from_arg(args.status_column.as_deref());
    options.answers = answers.clone();
    let trace = inspect::load(&inputs, options)?;
    for note in &trace.facts.notes {
        output::talk(&format!("note: {note}"));
    }
    let task = Task {
        promise: promise(&args.promise, &trace)?,
        window_ns,
        algorithms: if args.algorithm.is_empty() { Algorithm::ALL.to_vec() } else { unique(&args.algorithm) },
        fit_millionths: args.fit,
        threads: args.threads.unwrap_or_else(cores),
        command: words::that_decide(words),
    };
    let refused = inspection::refused(&trace, &answers);
    let looked_at = inspection::inspect(&trace, window_ns, refused, Vec::new());
    let recommendation = recommend::recommend(&trace, &task, &looked_at)?;
    if !files.take_stdout() {
        output::print(&recommend::text(&recommendation))?;
    }
    if !files.has(&[Kind::Toml]) {
        output::talk("note: --export limits.toml keeps the policy; rlsim compare --policies limits.toml replays it");
    }
    files.write(|kind| match kind {
        Kind::Toml => Ok(recommend::toml(&recommendation)),
        Kind::Svg => chart::burst_curve(&recommendation),
        _ => recommend::json(&recommendation),
    })
}

/// The promise that was typed, or the default one.
fn promise(args: &PromiseArgs, trace: &Trace) -> Result<Promise> {
    if let Some(interval) = &args.attack {
        let (from_ns, until_ns) = interval.resolve(trace.at.first().copied().unwrap_or(0))?;
        return Ok(Promise::Attack { from_ns, until_ns });
    }
    if let Some(quota) = args.service_at_most {
        return Ok(Promise::ServiceAtMost { units: quota.limit(), window_ns: quota.window().get() });
    }
    if let Some(millionths) = args.keep_clients_below {
        return Ok(Promise::KeepClientsBelow { millionths });
    }
    Ok(Promise::LimitedClients { millionths: args.limited_clients.unwrap_or(1_000) })
}
