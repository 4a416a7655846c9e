//! What can be typed.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ratelimit_core::Quota;
use serde::Deserialize;

use super::inspect::InspectArgs;
use super::recommend::RecommendArgs;
use super::sweep::SweepArgs;
use crate::generate::GenerateArgs;
use crate::generate::units::{parse_threads, whole};
use crate::sim::cluster::ClusterArgs;
use crate::sim::storm::StormArgs;
use crate::trace::TraceArgs;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed: a file, a column, the trace, or a path that cannot be written
  2  a mistake on the command line: an option, a limit, the text of a policy
  3  an --assert did not hold";

/// Replay traffic through every rate-limiting algorithm, and see what each would have allowed and rejected
#[derive(Debug, Parser)]
#[command(name = "rlsim", version, about, max_term_width = 120, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Replay a trace through several policies: a table, a chart, and files of other kinds
    Compare(Box<CompareArgs>),
    /// Look at a trace: is it fit for choosing a limit, and what should be known about it?
    Inspect(Box<InspectArgs>),
    /// Try a grid of limits, windows and bursts: what each refuses, what it lets through, and where the trade-off bends
    Sweep(Box<SweepArgs>),
    /// Turn a promise into a limit: fitted on the first part of a trace, checked on the rest, ready to use
    Recommend(Box<RecommendArgs>),
    /// Make a trace as CSV on standard output, from a pattern and a seed
    Generate(Box<GenerateArgs>),
    /// Simulate many servers that share one limit, and compare how they do it
    Cluster(Box<ClusterArgs>),
    /// Simulate clients that retry against a server, and compare how they do it
    Storm(Box<StormArgs>),
    /// Serve a limited API with a page that shows the limiter at work (feature `serve`)
    #[cfg(feature = "serve")]
    Serve(crate::serve::ServeArgs),
    /// Serve a limited API with a page that shows the limiter at work (not in this build: it says how to get it)
    #[cfg(not(feature = "serve"))]
    #[command(disable_help_flag = true)]
    Serve(NotBuilt),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    Man,
}

/// Options of a command that this build leaves out: anything goes, so that the answer is how to build it.
#[cfg(not(feature = "serve"))]
#[derive(Debug, Args)]
pub struct NotBuilt {
    /// Its options.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub words: Vec<String>,
}

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ByArg {
    /// Each client on its own
    Client,
    /// All clients together
    Global,
}

/// What decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EngineArg {
    /// The algorithms on flat arrays, client by client
    Flat,
    /// The store of a service, event by event: the same report, but for `state_bytes`
    Keyed,
    /// The scripts of the shared limiter, on the Redis of --redis: the same report, but for `state_bytes`, for stamps in
    /// whole microseconds
    Redis,
}

/// Shells that completions are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// Bash
    Bash,
    /// Elvish
    Elvish,
    /// Fish
    Fish,
    /// Powershell
    Powershell,
    /// Zsh
    Zsh,
}

impl Shell {
    pub(super) fn generator(self) -> clap_complete::Shell {
        match self {
            Shell::Bash => clap_complete::Shell::Bash,
            Shell::Elvish => clap_complete::Shell::Elvish,
            Shell::Fish => clap_complete::Shell::Fish,
            Shell::Powershell => clap_complete::Shell::PowerShell,
            Shell::Zsh => clap_complete::Shell::Zsh,
        }
    }
}

/// Options of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The trace and how to read it.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// The policies.
    #[command(flatten)]
    pub policies: PolicyArgs,
    /// What is limited [default: client, or what a file of --policies says]
    #[arg(long, value_enum)]
    pub by: Option<ByArg>,
    /// What decides
    #[arg(long, value_enum, default_value = "flat")]
    pub engine: EngineArg,
    /// The server of --engine redis
    #[arg(long, value_name = "URL", default_value = "redis://127.0.0.1:6379")]
    pub redis: String,
    /// Decide while reading, and keep no event: for sorted input of any length. The same numbers, but for those that need
    /// all events at once, which are left out; no chart
    #[arg(long, conflicts_with_all = ["engine", "redis"])]
    pub stream: bool,
    /// Write a file too, its kind by its ending: .svg .png .html .json .csv .md, or by a word before it: csv:FILE, and
    /// for further charts envelope:FILE.svg raster:FILE.svg ranked:FILE.svg client:FILE.svg (or .png); `-` is stdout
    /// instead of the table, JSON unless a word says otherwise, as in `csv:-`; repeatable
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub export: Vec<PathBuf>,
    /// Draw what each policy keeps for this client over time, and what becomes of its requests: as a chart of its own
    /// beside the comparison, as client:FILE, and in a page [default for client:FILE: the client refused most]
    #[arg(long, value_name = "NAME")]
    pub client: Option<OsString>,
    /// Write no chart
    #[arg(long)]
    pub no_chart: bool,
    /// End with exit code 3 unless this holds of the report's numbers, such as 'fixed-window.peak.overshoot <= 1.1'
    /// (keys as in the JSON report; < <= == != >= >); repeatable
    #[arg(long, value_name = "EXPR")]
    pub assert: Vec<String>,
    /// Threads to use; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<NonZeroUsize>,
}

/// Which policies are compared.
#[derive(Debug, Args)]
pub struct PolicyArgs {
    /// The quota of the five algorithms, as LIMIT/WINDOW: 100/1m, 5/10s, 1000/h, 3/250ms [default: 100/1m]
    #[arg(long, value_name = "QUOTA", value_parser = parse_quota, allow_hyphen_values = true)]
    pub limit: Option<Quota>,
    /// The burst of the token bucket, and the queue of the leaky bucket [default: the limit]
    #[arg(long, value_name = "UNITS", value_parser = parse_units, allow_hyphen_values = true)]
    pub burst: Option<u64>,
    /// Compare these policies instead of the five: NAME:LIMIT/WINDOW[,burst=B], joined by `+` where all must allow,
    /// with a name before it as in login=token-bucket:5/1m; repeatable
    #[arg(long, value_name = "POLICY")]
    pub policy: Vec<String>,
    /// Compare the policies of a TOML file: [[policy]] tables with `policy` and, if wanted, `name`, and before them, if
    /// wanted, by = "global"; `-` is standard input; repeatable
    #[arg(long, value_name = "FILE")]
    pub policies: Vec<PathBuf>,
}

fn parse_units(text: &str) -> Result<u64, String> {
    // What 0 means is said with the algorithm.
    whole(text, 0, u64::MAX).map_err(|_| "expected a whole number of units, 1 or more".into())
}

fn parse_quota(text: &str) -> Result<Quota, String> {
    text.parse().map_err(|error: ratelimit_core::PolicyError| {
        format!("{error}; expected LIMIT/WINDOW, such as --limit 100/1m or --limit 5/10s")
    })
}
