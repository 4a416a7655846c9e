//! `rlsim inspect`: read, look, print, write.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::export::{Exports, Kind};
use super::words;
use super::{output, progress};
use crate::error::{Error, Result};
use crate::generate::units::Span;
use crate::trace::{self, Answers, TraceArgs};
use crate::{chart, inspect};

/// Options of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// The trace and how to read it.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// The window that a limit is sought for, such as 10s or 1h
    #[arg(long, value_name = "WINDOW", default_value = "1m")]
    pub window: Span,
    /// Column that holds the status of the answer, by name or number, to count those with 429 and 503
    /// [default: found by its usual names]
    #[arg(long, value_name = "COLUMN")]
    pub status_column: Option<String>,
    /// Write a file too, its kind by its ending: .svg (the traffic) .json .md ; `-` is JSON on stdout; repeatable
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub export: Vec<PathBuf>,
}

/// Runs the command.
pub(super) fn run(args: InspectArgs, words: &[OsString]) -> Result<()> {
    let files = Exports::open(&args.export, &[Kind::Svg, Kind::Json, Kind::Markdown], &args.trace.trace)?;
    let window = args.window.0;
    if window == 0 {
        return Err(Error::usage("--window 0s: expected at least 1 ns"));
    }
    let (inputs, mut options) = args.trace.into_parts();
    let answers = Answers::from_arg(args.status_column.as_deref());
    options.answers = answers.clone();
    let trace = load(&inputs, options)?;
    for note in &trace.facts.notes {
        output::talk(&format!("note: {note}"));
    }
    let refused = inspect::refused(&trace, &answers);
    let inspection = inspect::inspect(&trace, window, refused, words::that_decide(words));
    if !files.take_stdout() {
        output::print(&inspect::text(&inspection))?;
    }
    files.write(|kind| match kind {
        Kind::Svg => chart::traffic(&inspect::traffic(&trace, window)),
        Kind::Markdown => Ok(inspect::markdown(&inspection)),
        _ => inspect::json(&inspection),
    })
}

/// Reads a trace with a progress bar.
pub(super) fn load(inputs: &[trace::Input], options: trace::ReadOptions) -> Result<trace::Trace> {
    progress::shown(options, |options| trace::load(inputs, options))
}
