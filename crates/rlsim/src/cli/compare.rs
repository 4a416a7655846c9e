//! `rlsim compare`: read, replay, print, write.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ratelimit_core::Quota;
use serde::Deserialize;

use super::args::{ByArg, CompareArgs, EngineArg, PolicyArgs};
use super::engines::Keyed;
#[cfg(not(feature = "png"))]
use super::left_out;
use super::{output, progress, words};
use crate::chart;
use crate::cli::Output;
use crate::compare::Comparison;
use crate::error::{Error, Result};
use crate::replay::{By, NamedPolicy, default_policies, parse_named, unique_names};
use crate::report::{self, Report};
use crate::trace::{self, Input, Trace};

/// What an export holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Svg,
    Json,
    Csv,
    Markdown,
    Html,
    #[cfg(feature = "png")]
    Png,
}

impl Kind {
    /// Whether it shows a chart, so that none is written besides.
    fn is_picture(self) -> bool {
        !matches!(self, Kind::Json | Kind::Csv | Kind::Markdown)
    }
}

/// Where an export goes.
enum Target {
    Stdout,
    File(Output),
}

/// Runs the command: outputs are opened before the trace is read, and written after everything has been computed.
pub(super) fn run(args: Box<CompareArgs>, words: &[OsString]) -> Result<()> {
    let args = *args;
    let policies = policies(&args.policies)?;
    let names: Vec<&str> = policies.iter().map(|named| named.name.as_str()).collect();
    let assertions =
        args.assert.iter().map(|text| report::Assertion::parse(text, &names)).collect::<Result<Vec<_>>>()?;
    let (inputs, mut options) = args.trace.into_parts();
    let exports = args.export.iter().map(|path| open_export(path)).collect::<Result<Vec<_>>>()?;
    let default_chart = default_chart(&exports, args.no_chart, &inputs);
    let bar = progress::bar();
    if let Some((on_progress, _)) = &bar {
        options.progress = Some(on_progress.clone());
    }
    let trace = trace::load(&inputs, &options);
    if let Some((_, bar)) = bar {
        bar.finish_and_clear();
    }
    let trace = trace?;
    tell(&trace, &policies);
    let comparison = Comparison {
        policies,
        by: match args.by {
            ByArg::Client => By::Client,
            ByArg::Global => By::Global,
        },
        threads: args.threads.unwrap_or_else(cores),
        details: !assertions.is_empty()
            || exports.iter().any(|(kind, _)| matches!(kind, Kind::Json | Kind::Csv | Kind::Html)),
        command: words::that_decide(words),
    };
    let report = match args.engine {
        EngineArg::Flat => comparison.run(&trace),
        EngineArg::Keyed => comparison.run_through(&trace, |policy| Ok(Keyed::new(policy, trace.names.len())))?,
        EngineArg::Redis => through_redis(&comparison, &trace, &args.redis)?,
    };
    if !exports.iter().any(|(_, target)| matches!(target, Target::Stdout)) {
        output::print(&report::table(&report))?;
    }
    for (kind, target) in exports {
        write(target, &render(kind, &report)?)?;
    }
    if let Some(chart) = default_chart {
        write(Target::File(chart), &render(Kind::Svg, &report)?)?;
    }
    hold(&assertions, &report)
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

/// All outputs are written by now; every condition that does not hold is said, not only the first.
fn hold(assertions: &[report::Assertion], report: &Report) -> Result<()> {
    let mut broken = Vec::new();
    for assertion in assertions {
        match assertion.check(report) {
            Err(Error::Assertion(message)) => broken.push(message),
            other => other?,
        }
    }
    if broken.is_empty() { Ok(()) } else { Err(Error::Assertion(broken.join("\n"))) }
}

fn cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// The policies that the options mean, in the order typed: `--policy` first, then the files.
pub(super) fn policies(args: &PolicyArgs) -> Result<Vec<NamedPolicy>> {
    if args.policy.is_empty() && args.policies.is_empty() {
        let quota = match args.limit {
            Some(quota) => quota,
            None => Quota::per(100, Duration::from_secs(60)).map_err(|error| Error::usage(error.to_string()))?,
        };
        return default_policies(quota, args.burst);
    }
    if args.limit.is_some() || args.burst.is_some() {
        return Err(Error::usage(
            "--limit and --burst are for the five default policies; with --policy or --policies the quota stands in the \
             policy text, such as --policy token-bucket:100/1m,burst=20",
        ));
    }
    let mut parsed = args.policy.iter().map(|text| parse_named(text)).collect::<Result<Vec<_>>>()?;
    for path in &args.policies {
        for entry in read_policies(path)? {
            let (named, policy) =
                parse_named(&entry.policy).map_err(|error| Error::usage(format!("{}: {error}", path.display())))?;
            parsed.push((entry.name.or(named), policy));
        }
    }
    unique_names(parsed)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    policy: Vec<PolicyEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyEntry {
    name: Option<String>,
    policy: String,
}

fn read_policies(path: &Path) -> Result<Vec<PolicyEntry>> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::failed(format!("{}: {error}", path.display())))?;
    let file: PolicyFile = toml::from_str(&text).map_err(|error| {
        Error::failed(format!(
            "{}: {error}expected tables such as\n  [[policy]]\n  name = \"login\"\n  policy = \"token-bucket:5/1m\"",
            path.display()
        ))
    })?;
    Ok(file.policy)
}

/// `FILE.csv` by its ending, `-` for JSON on stdout, `csv:-` for another kind there.
fn open_export(path: &Path) -> Result<(Kind, Target)> {
    let text = path.to_string_lossy();
    let on_stdout = if text == "-" { Some("json") } else { text.strip_suffix(":-") };
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let kind = match on_stdout.or(ending.as_deref()) {
        Some("svg") => Kind::Svg,
        Some("json") => Kind::Json,
        Some("csv") => Kind::Csv,
        Some("md") => Kind::Markdown,
        Some("html") => Kind::Html,
        #[cfg(feature = "png")]
        Some("png") => Kind::Png,
        #[cfg(not(feature = "png"))]
        Some("png") => return Err(left_out::error("--export of a PNG", "png")),
        _ => {
            return Err(Error::usage(format!(
                "--export {text}: the kind of file is not known, expected a name that ends in .svg, .png, .html, .json, .csv or \
                 .md, or `-` for JSON on stdout (`csv:-` for CSV there)"
            )));
        }
    };
    let target = if on_stdout.is_some() { Target::Stdout } else { Target::File(Output::create(path)?) };
    Ok((kind, target))
}

/// The chart that is written without being asked for, unless a picture is, or the folder cannot be written.
fn default_chart(exports: &[(Kind, Target)], no_chart: bool, inputs: &[Input]) -> Option<Output> {
    if no_chart || exports.iter().any(|(kind, _)| kind.is_picture()) {
        return None;
    }
    let path = default_chart_path(inputs);
    match Output::create(&path) {
        Ok(chart) => Some(chart),
        Err(error) => {
            output::talk(&format!(
                "rlsim: no chart: {error} (--export FILE.svg writes it elsewhere, --no-chart leaves it)"
            ));
            None
        }
    }
}

/// `burst-compare.svg` for `traces/burst.csv`, `stdin-compare.svg` for `-`.
fn default_chart_path(inputs: &[Input]) -> PathBuf {
    let stem = match inputs.first() {
        Some(Input::File(path)) => {
            let compressed = path.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
            let path = if compressed { path.with_extension("") } else { path.clone() };
            path.file_stem().unwrap_or(path.as_os_str()).to_owned()
        }
        Some(Input::Stdin) | None => OsString::from("stdin"),
    };
    let mut name = stem;
    name.push("-compare.svg");
    PathBuf::from(name)
}

fn render(kind: Kind, report: &Report) -> Result<Vec<u8>> {
    let text = match kind {
        Kind::Svg => chart::comparison(&chart::ComparisonChart::of(report))?,
        Kind::Json => report::json(report)?,
        Kind::Csv => report::csv(report)?,
        Kind::Markdown => report::markdown(report),
        Kind::Html => report::html(report, &chart::all(report)?),
        #[cfg(feature = "png")]
        Kind::Png => return chart::png(&chart::comparison(&chart::ComparisonChart::of(report))?),
    };
    Ok(text.into_bytes())
}

fn write(target: Target, content: &[u8]) -> Result<()> {
    match target {
        Target::Stdout => output::print(content),
        Target::File(file) => {
            let path = file.path().display().to_string();
            file.write(content)?;
            output::talk(&format!("wrote {path}"));
            Ok(())
        }
    }
}

/// What a person should know about the trace before trusting the numbers.
fn tell(trace: &Trace, policies: &[NamedPolicy]) {
    let facts = &trace.facts;
    output::talk(&format!(
        "read {} rows ({}): {} events, {} bad, {} blank, {} skipped; {}",
        report::count(facts.rows),
        facts.format,
        report::count(facts.events),
        report::count(facts.bad),
        report::count(facts.blank),
        report::count(facts.skipped),
        match trace.names.len() as u64 {
            1 => "1 client".to_owned(),
            clients => format!("{} clients", report::count(clients)),
        },
    ));
    for note in &facts.notes {
        output::talk(&format!("note: {note}"));
    }
    let coarse = policies
        .iter()
        .filter_map(NamedPolicy::quota)
        .map(|quota| quota.window().get())
        .find(|window| *window < facts.resolution_ns);
    if let Some(window) = coarse {
        output::talk(&format!(
            "note: the window of {} is shorter than the clock of the trace, which ticks every {}: bursts within a tick are \
             an artefact; choose a longer window",
            report::duration(window),
            report::duration(facts.resolution_ns)
        ));
    }
}
