//! The requests that a cluster gets, in time order.

use std::io::Write;
use std::path::PathBuf;

use clap::Parser;

use crate::error::{Error, Result};
use crate::generate::GenerateArgs;
use crate::report::{count, duration};
use crate::trace::{Between, Input, ReadOptions, Trace, load};

/// Requests that are simulated at most: they are kept in memory, and a strategy takes up to five events for each.
pub const MOST_REQUESTS: usize = 3_000_000;
/// From here on a clock is coarse for messages of milliseconds.
const COARSE: u64 = 100_000_000;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When, in nanoseconds.
    pub at: u64,
    /// Who, from zero.
    pub client: u32,
    /// Units.
    pub cost: u64,
}

/// The requests of a pattern: the words that `rlsim generate` would be given.
///
/// # Errors
/// When the words are not understood, or give no requests or too many.
pub fn of_pattern(text: &str, seed: u64) -> Result<Vec<Arrival>> {
    #[derive(Parser)]
    #[command(no_binary_name = true, disable_help_flag = true)]
    struct Words {
        #[command(flatten)]
        generate: GenerateArgs,
    }
    let words = Words::try_parse_from(text.split_whitespace()).map_err(|error| {
        let line = error.to_string();
        let line = line.lines().next().unwrap_or_default().replace("error: ", "");
        Error::usage(format!(
            "in --pattern \"{text}\": {line}; expected what rlsim generate takes, such as \"poisson --rate 500/s\""
        ))
    })?;
    let generate = GenerateArgs { seed, ..words.generate };
    let arrivals = generate.events()?.map(|row| Arrival { at: row.at, client: row.client, cost: row.cost });
    some(arrivals, &format!("--pattern \"{text}\""), "a lower --rate, a shorter --duration or --rows gives fewer")
}

/// The requests of recorded traces that come in these times. What a person should know of them is said on `talk`.
///
/// # Errors
/// When they cannot be read, or hold too many requests.
pub fn of_traces(paths: &[PathBuf], between: &Between, talk: &mut dyn Write) -> Result<Vec<Arrival>> {
    let inputs: Vec<_> = paths.iter().cloned().map(Input::from_arg).collect();
    let trace: Trace = load(&inputs, &ReadOptions { between: between.clone(), ..ReadOptions::default() })?;
    for note in notes(&trace) {
        // Nothing is lost when nobody listens.
        let _ = writeln!(talk, "note: {note}");
    }
    let arrivals = trace.at.iter().zip(&trace.client).enumerate();
    let arrivals = arrivals.map(|(i, (&at, &client))| Arrival { at, client, cost: trace.cost.get(i) });
    some(arrivals, "the trace", "--from and --until take a part of it")
}

fn notes(trace: &Trace) -> Vec<String> {
    let facts = &trace.facts;
    let mut notes = facts.notes.clone();
    if facts.resolution_ns >= COARSE {
        notes.push(format!(
            "the clock of the trace ticks every {}: all requests within a tick come at once here",
            duration(facts.resolution_ns)
        ));
    }
    notes
}

fn some(arrivals: impl Iterator<Item = Arrival>, origin: &str, fewer: &str) -> Result<Vec<Arrival>> {
    let arrivals: Vec<Arrival> = arrivals.take(MOST_REQUESTS + 1).collect();
    if arrivals.is_empty() {
        return Err(Error::failed(format!(
            "{origin} has no requests; a longer --duration or a higher rate gives some"
        )));
    }
    if arrivals.len() > MOST_REQUESTS {
        return Err(Error::usage(format!(
            "{origin} has more than {} requests, too many to simulate; {fewer}",
            count(MOST_REQUESTS as u64)
        )));
    }
    Ok(arrivals)
}
