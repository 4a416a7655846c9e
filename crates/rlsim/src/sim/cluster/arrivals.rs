//! The requests that a cluster gets, in time order.

use std::path::PathBuf;

use clap::Parser;

use crate::error::{Error, Result};
use crate::generate::GenerateArgs;
use crate::trace::{Input, ReadOptions, Trace, load};

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
/// When the words are not understood.
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
    some(arrivals.collect(), &format!("--pattern \"{text}\""))
}

/// The requests of recorded traces.
///
/// # Errors
/// When they cannot be read.
pub fn of_traces(paths: &[PathBuf]) -> Result<Vec<Arrival>> {
    let inputs: Vec<_> = paths.iter().cloned().map(Input::from_arg).collect();
    let trace: Trace = load(&inputs, &ReadOptions::default())?;
    let arrivals = trace.at.iter().zip(&trace.client).enumerate();
    let arrivals = arrivals.map(|(i, (&at, &client))| Arrival { at, client, cost: trace.cost.get(i) });
    some(arrivals.collect(), "the trace")
}

fn some(arrivals: Vec<Arrival>, origin: &str) -> Result<Vec<Arrival>> {
    if arrivals.is_empty() {
        return Err(Error::failed(format!(
            "{origin} has no requests; a longer --duration or a higher rate gives some"
        )));
    }
    Ok(arrivals)
}
