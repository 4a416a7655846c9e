//! `rlsim storm`: what can be typed.

use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;

use super::compare::compare;
use super::heat;
use super::report;
use super::retry::Mixture;
use super::scenario::Scenario;
use crate::cli::print_to;
use crate::error::{Error, Result};
use crate::generate::units::parse_threads;
use crate::sim::export::{ExportArgs, Targets};
use crate::sim::parallel;

/// Simulate clients that retry against a server, and compare how they do it
#[derive(Debug, Clone, Args)]
pub struct StormArgs {
    /// polite-queue, synchronized-retry, metastable, noisy-neighbour, top-of-the-hour, or a TOML file of one's own
    #[arg(default_value = "polite-queue")]
    pub scenario: String,
    /// Let all clients behave like this instead of comparing: at-once, fixed:1s, exponential:100ms..30s,full,
    /// retry-after,jitter, give-up, or shares such as "90% retry-after + 10% at-once"; repeatable
    #[arg(long, value_name = "BEHAVIOUR")]
    pub retry: Vec<Mixture>,
    /// Only these variants of the scenario, by name; repeatable
    #[arg(long, value_name = "NAME", conflicts_with = "retry")]
    pub only: Vec<String>,
    /// Instead: the time to recover over load and length of the trigger, for the first variant
    #[arg(long, conflicts_with = "replicates")]
    pub heat_map: bool,
    /// The seed of every random choice
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Run each variant with this many seeds and give 95 % confidence intervals
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub replicates: u32,
    /// Threads to use; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<NonZeroUsize>,
    /// Print the scenario as TOML and do nothing else: the place to start one's own
    #[arg(long)]
    pub print: bool,
    /// Files
    #[command(flatten)]
    pub export: ExportArgs,
}

impl StormArgs {
    /// Runs the scenario: the table to `out`, the chart `NAME-storm.svg` to the working directory, its name to `talk`.
    ///
    /// # Errors
    /// When the scenario cannot be read or something cannot be written.
    pub fn run(&self, out: &mut dyn Write, talk: &mut dyn Write) -> Result<()> {
        let (name, text) = load(&self.scenario)?;
        if self.print {
            return print_to(out, text.as_bytes());
        }
        let mut scenario = Scenario::parse(&text, &self.scenario)?;
        if !self.retry.is_empty() {
            scenario.compare_behaviours(&self.retry);
        }
        scenario.keep_variants(&self.only)?;
        let suffix = if self.heat_map { "map" } else { "storm" };
        let targets =
            Targets::open(&self.export, &format!("{name}-{suffix}.svg"), &[PathBuf::from(&self.scenario)], talk)?;
        let threads = self.threads.map_or_else(parallel::all_cores, NonZeroUsize::get);
        if self.heat_map {
            let (variant, scenario) = scenario.variants().swap_remove(0);
            return targets.write(&heat::findings(&scenario, &variant, self.seed, threads)?, out, talk);
        }
        let compared = compare(&scenario, self.seed, self.replicates, threads)?;
        let findings = report::findings(&name, &scenario, self.seed, &compared)?;
        targets.write(&findings, out, talk)
    }
}

/// The name and the text of a built-in scenario or a file.
fn load(scenario: &str) -> Result<(String, String)> {
    if let Some(text) = Scenario::built_in(scenario) {
        return Ok((scenario.to_owned(), text.to_owned()));
    }
    let path = Path::new(scenario);
    let text = fs::read_to_string(path).map_err(|error| {
        let known = Scenario::names().collect::<Vec<_>>().join(", ");
        let file = path.extension().is_some();
        let what = if file { format!("{scenario}: {error}") } else { format!("no scenario \"{scenario}\"") };
        Error::usage(format!("{what}; expected a TOML file or one of {known}"))
    })?;
    let name = path.file_stem().map_or_else(|| "own".into(), |stem| stem.to_string_lossy().into_owned());
    Ok((name, text))
}
