//! `rlsim sweep`: read once, try every policy of a grid, print, write.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::args::ByArg;
use super::export::{Exports, Kind};
use super::words;
use super::{inspect, output, told};
use crate::chart;
use crate::error::{Error, Result};
use crate::generate::units::{Span, parse_threads};
use crate::inspect::{self as inspection, Finding};
use crate::replay::By;
use crate::sweep::{self, Algorithm, Amounts, Grid};
use crate::trace::{Trace, TraceArgs};

/// Options of `sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// The trace and how to read it.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Limits: `50,100,200`, `50..500 step 50`, multiples of the busiest client's mean rate `0.5x..2x step 0.25x`, shares of
    /// the most that any client asks for in a window `0.5p..1p step 0.1p`, or `auto`; with a window in the same word
    /// (`50..500 step 50/1m`) instead of --window
    #[arg(long, value_name = "LIMITS", default_value = "auto")]
    pub limit: String,
    /// Windows, such as 1s,10s,1m [default: 1m]
    #[arg(long, value_name = "WINDOW", value_delimiter = ',')]
    pub window: Vec<Span>,
    /// Bursts of the buckets, as for --limit; `0.25x,0.5x,1x` are multiples of the limit [default: the limit]
    #[arg(long, value_name = "BURSTS")]
    pub burst: Option<Amounts>,
    /// Algorithms, several joined by commas [default: all five]
    #[arg(long, value_enum, value_name = "NAME", value_delimiter = ',')]
    pub algorithm: Vec<Algorithm>,
    /// What is limited
    #[arg(long, value_enum, default_value = "client")]
    pub by: ByArg,
    /// Write a file too, its kind by its ending: .svg (heat map and trade-off) .json .csv ; `-` is JSON on stdout,
    /// `csv:-` CSV there; repeatable
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub export: Vec<PathBuf>,
    /// Threads to use; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<NonZeroUsize>,
}

/// Runs the command.
pub(super) fn run(args: SweepArgs, words: &[OsString]) -> Result<()> {
    let grid = grid(&args)?;
    let files = Exports::open(&args.export, &[Kind::Svg, Kind::Json, Kind::Csv], &args.trace.trace)?;
    let (inputs, options) = args.trace.into_parts();
    let trace = inspect::load(&inputs, options)?;
    told::tell(&trace.facts, trace.names.len() as u64, &grid.windows_ns);
    warnings(&trace, &grid).iter().for_each(told::warn);
    let sweep = sweep::sweep(&trace, &grid, args.threads.unwrap_or_else(cores), words::that_decide(words))?;
    if !files.take_stdout() {
        output::print(&sweep::table(&sweep))?;
    }
    files.write(|kind| match kind {
        Kind::Svg => chart::sweep(&sweep),
        Kind::Csv => sweep::csv(&sweep),
        _ => sweep::json(&sweep),
    })
}

/// What speaks against a limit from this trace in the shortest and in the longest window of the grid, each once.
fn warnings(trace: &Trace, grid: &Grid) -> Vec<Finding> {
    let windows = grid.windows_ns.iter().min().into_iter().chain(grid.windows_ns.iter().max());
    let mut warnings: Vec<Finding> = Vec::new();
    for window in windows {
        for finding in inspection::inspect(trace, *window, None, Vec::new()).serious(grid.by == By::Global) {
            if !warnings.iter().any(|known| known.code == finding.code) {
                warnings.push(finding.clone());
            }
        }
    }
    warnings
}

pub(super) fn cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// What was typed, as what it means.
fn grid(args: &SweepArgs) -> Result<Grid> {
    let usage = |option: &str, error: String| Error::usage(format!("{option}: {error}"));
    let (limits, in_quota) = match args.limit.split_once('/') {
        Some((limits, window)) => {
            // `1000/h` is 1000 per one hour, as in a policy.
            let counted = window.starts_with(|c: char| c.is_ascii_digit());
            let window = if counted { window.to_owned() } else { format!("1{window}") };
            (limits, Some(window.parse::<Span>().map_err(|error| usage("--limit", error))?))
        }
        None => (args.limit.as_str(), None),
    };
    let windows = match (in_quota, args.window.is_empty()) {
        (Some(_), false) => {
            return Err(Error::usage("the window is given twice: in --limit and with --window, expected one of them"));
        }
        (Some(window), true) => vec![window],
        (None, true) => vec![Span(60_000_000_000)],
        (None, false) => args.window.clone(),
    };
    if windows.iter().any(|window| window.0 == 0) {
        return Err(Error::usage("--window 0: expected at least 1 ns"));
    }
    let mut windows_ns: Vec<u64> = Vec::new();
    windows_ns.extend(windows.iter().map(|window| window.0));
    windows_ns.dedup();
    Ok(Grid {
        algorithms: if args.algorithm.is_empty() { Algorithm::ALL.to_vec() } else { unique(&args.algorithm) },
        windows_ns,
        limits: limits.parse().map_err(|error| usage("--limit", error))?,
        bursts: args.burst.clone(),
        by: match args.by {
            ByArg::Client => By::Client,
            ByArg::Global => By::Global,
        },
    })
}

/// Each algorithm once, in the order typed.
pub(super) fn unique(typed: &[Algorithm]) -> Vec<Algorithm> {
    let mut unique = Vec::new();
    for algorithm in typed {
        if !unique.contains(algorithm) {
            unique.push(*algorithm);
        }
    }
    unique
}
