//! Sweeps: one policy after another over a grid of limits, windows and bursts, on one trace read once.
//!
//! ```text
//! grid (what to try) -> measure (replay on all cores) -> curve (trade-off and knee) -> output (table, CSV, JSON)
//! ```

mod curve;
mod grid;
mod measure;
mod output;

use std::num::NonZeroUsize;

use ratelimit_core::{FixedWindow, LeakyBucket, Nanos, Policy, Quota, Rule, SlidingCounter, SlidingLog, TokenBucket};
use serde::Serialize;

pub use curve::Curve;
pub(crate) use curve::{frontier, knee};
pub use grid::{Amount, Amounts, Yardstick};
pub use measure::{Measured, measure};
pub(crate) use output::knees;
pub use output::{csv, json, table};

use crate::compare::trace_meta;
use crate::error::{Error, Result};
use crate::inspect::densest;
use crate::replay::{By, Grouped};
use crate::report::TraceMeta;
use crate::trace::{Costs, Trace};

/// The name and version of the JSON report's shape.
pub const SCHEMA: &str = "rlsim.sweep/1";

/// The most policies one sweep replays.
const MOST_POLICIES: usize = 5_000;

/// An algorithm to sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Algorithm {
    /// Counts in aligned windows
    FixedWindow,
    /// An exact trailing window
    SlidingLog,
    /// An estimate of it from two counters
    SlidingCounter,
    /// A rate with a burst
    TokenBucket,
    /// A queue drained at a rate
    LeakyBucket,
}

impl Algorithm {
    /// All five, in the order of every table.
    pub const ALL: [Algorithm; 5] = [
        Algorithm::FixedWindow,
        Algorithm::SlidingLog,
        Algorithm::SlidingCounter,
        Algorithm::TokenBucket,
        Algorithm::LeakyBucket,
    ];

    /// Its name in policy text and reports.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::FixedWindow => "fixed-window",
            Algorithm::SlidingLog => "sliding-log",
            Algorithm::SlidingCounter => "sliding-counter",
            Algorithm::TokenBucket => "token-bucket",
            Algorithm::LeakyBucket => "leaky-bucket",
        }
    }

    /// Whether a burst is a parameter of it.
    pub fn has_burst(self) -> bool {
        matches!(self, Algorithm::TokenBucket | Algorithm::LeakyBucket)
    }

    /// Its policy. The burst is for the buckets; `None` is the limit.
    ///
    /// # Errors
    /// A limit, a window or a burst of 0.
    pub fn policy(self, limit: u64, window_ns: u64, burst: Option<u64>) -> Result<Policy> {
        let mistaken = |error: ratelimit_core::QuotaError| Error::usage(format!("{}: {error}", self.name()));
        let quota = Quota::per_nanos(limit, Nanos::new(window_ns)).map_err(mistaken)?;
        let burst = burst.unwrap_or(limit);
        let rule = match self {
            Algorithm::FixedWindow => Rule::FixedWindow(FixedWindow::new(quota)),
            Algorithm::SlidingLog => Rule::SlidingLog(SlidingLog::new(quota)),
            Algorithm::SlidingCounter => Rule::SlidingCounter(SlidingCounter::new(quota)),
            Algorithm::TokenBucket => Rule::TokenBucket(TokenBucket::new(quota).burst(burst).map_err(mistaken)?),
            Algorithm::LeakyBucket => Rule::LeakyBucket(LeakyBucket::new(quota).burst(burst).map_err(mistaken)?),
        };
        Ok(rule.into())
    }
}

/// What to sweep over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// The algorithms.
    pub algorithms: Vec<Algorithm>,
    /// The windows in nanoseconds.
    pub windows_ns: Vec<u64>,
    /// The limits.
    pub limits: Amounts,
    /// The bursts of the buckets; `None` is the limit itself.
    pub bursts: Option<Amounts>,
    /// What is limited.
    pub by: By,
}

/// The result, in the order in which it is written as JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sweep {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Where the numbers come from.
    pub meta: SweepMeta,
    /// `client` or `global`.
    pub by: &'static str,
    /// One entry a policy tried: by algorithm, window, burst and limit, each in the order typed.
    pub points: Vec<Point>,
    /// The trade-off of each algorithm and window.
    pub curves: Vec<Curve>,
}

/// Where the numbers come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SweepMeta {
    /// The version of the program.
    pub version: String,
    /// The command that gives this report again, word by word.
    pub command: Vec<String>,
    /// The trace.
    pub trace: TraceMeta,
}

/// One policy tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// Its text, which `compare --policy` takes.
    pub policy: String,
    /// Its algorithm.
    pub algorithm: &'static str,
    /// The limit in units.
    pub limit: u64,
    /// The limit as typed, such as `0.5x`.
    pub limit_as: String,
    /// The window in nanoseconds.
    pub window_ns: u64,
    /// The burst in units, for a bucket.
    pub burst: Option<u64>,
    /// The burst as typed.
    pub burst_as: Option<String>,
    /// What it did.
    #[serde(flatten)]
    pub measured: Measured,
    /// Requests refused / requests offered.
    pub refused_share: f64,
    /// The peak / the limit.
    pub overshoot: f64,
}

/// Runs a sweep. The result does not depend on the number of threads.
///
/// # Errors
/// [`Error::Usage`] when the grid is too large, or a multiple has nothing to be a multiple of.
pub fn sweep(trace: &Trace, grid: &Grid, threads: NonZeroUsize, command: Vec<String>) -> Result<Sweep> {
    let mut points = planned(trace, grid)?;
    let mut policies: Vec<(Policy, u64)> = Vec::new();
    let mut places = Vec::with_capacity(points.len());
    for (point, policy) in &points {
        let wanted = (*policy, point.window_ns);
        let place = policies.iter().position(|known| *known == wanted).unwrap_or(policies.len());
        if place == policies.len() {
            policies.push(wanted);
        }
        places.push(place);
    }
    let measured = measure(trace, grid.by, &policies, (0, 0), threads);
    for ((point, _), place) in points.iter_mut().zip(places) {
        let found = measured[place];
        point.measured = found;
        point.refused_share = crate::inspect::ratio(found.refused().into(), found.offered.into()).unwrap_or(0.0);
        point.overshoot = crate::inspect::ratio(found.peak.into(), point.limit.into()).unwrap_or(0.0);
    }
    let points: Vec<Point> = points.into_iter().map(|(point, _)| point).collect();
    let meta = SweepMeta { version: env!("CARGO_PKG_VERSION").to_owned(), command, trace: trace_meta(trace) };
    let by = if grid.by == By::Client { "client" } else { "global" };
    Ok(Sweep { schema: SCHEMA, meta, by, curves: curves(grid, &points), points })
}

/// All points of a grid, not measured yet.
fn planned(trace: &Trace, grid: &Grid) -> Result<Vec<(Point, Policy)>> {
    let limit = [None];
    let bursts: Vec<Option<Amount>> = match &grid.bursts {
        Some(bursts) => bursts.values().iter().copied().map(Some).collect(),
        None => limit.to_vec(),
    };
    let count = grid.algorithms.len() * grid.windows_ns.len() * grid.limits.values().len() * bursts.len();
    if count > MOST_POLICIES {
        return Err(Error::usage(format!(
            "a grid of {count} policies, expected at most {MOST_POLICIES}: take larger steps"
        )));
    }
    let mut points = Vec::with_capacity(count);
    let yardsticks = yardsticks(trace, grid)?;
    let limits = distinct(grid.limits.values(), &yardsticks);
    for algorithm in &grid.algorithms {
        for yardstick in &yardsticks {
            for burst in if algorithm.has_burst() { &bursts[..] } else { &limit[..] } {
                for amount in &limits {
                    points.push(point(*algorithm, yardstick, *amount, *burst)?);
                }
            }
        }
    }
    Ok(points)
}

/// Without those that are the same limit as an earlier one at every window: multiples of little traffic round to the same
/// units.
fn distinct(amounts: &[Amount], yardsticks: &[Yardstick]) -> Vec<Amount> {
    let mut seen: Vec<Vec<u64>> = Vec::new();
    let mut kept = Vec::new();
    for amount in amounts {
        let limits: Vec<u64> = yardsticks.iter().map(|yardstick| yardstick.limit(*amount)).collect();
        if !seen.contains(&limits) {
            seen.push(limits);
            kept.push(*amount);
        }
    }
    kept
}

fn point(
    algorithm: Algorithm,
    yardstick: &Yardstick,
    amount: Amount,
    burst_as: Option<Amount>,
) -> Result<(Point, Policy)> {
    let limit = yardstick.limit(amount);
    let burst = burst_as.map(|burst| yardstick.burst(burst, limit));
    let policy = algorithm.policy(limit, yardstick.window_ns, burst)?;
    let point = Point {
        policy: policy.to_string(),
        algorithm: algorithm.name(),
        limit,
        limit_as: amount.to_string(),
        window_ns: yardstick.window_ns,
        burst: algorithm.has_burst().then(|| burst.unwrap_or(limit)),
        burst_as: burst_as.map(|burst| burst.to_string()),
        measured: Measured::default(),
        refused_share: 0.0,
        overshoot: 0.0,
    };
    Ok((point, policy))
}

/// What multiples mean at each window; only measured where there are multiples.
fn yardsticks(trace: &Trace, grid: &Grid) -> Result<Vec<Yardstick>> {
    let amounts = || grid.limits.values().iter().chain(grid.bursts.iter().flat_map(Amounts::values));
    let grouped = Grouped::new(trace);
    let span_ns = trace.at.last().zip(trace.at.first()).map_or(0, |(last, first)| last - first);
    if span_ns == 0 && grid.limits.values().iter().any(|amount| matches!(amount, Amount::Mean(_))) {
        return Err(Error::usage(
            "--limit with `x`: all events of the trace have one stamp, so it has no rate; give the limits in units",
        ));
    }
    let sum = |cost: &Costs, range: std::ops::Range<usize>| match cost {
        Costs::Unit => range.len() as u64,
        Costs::Each(costs) => costs[range].iter().fold(0_u64, |sum, cost| sum.saturating_add(*cost)),
    };
    let all = 0..trace.at.len();
    let subjects = || grouped.starts.windows(2).map(|pair| pair[0]..pair[1]);
    let units = match grid.by {
        By::Global => sum(&trace.cost, all.clone()),
        By::Client => subjects().map(|range| sum(&grouped.cost, range)).max().unwrap_or(0),
    };
    let relative = amounts().any(|amount| matches!(amount, Amount::Peak(_)));
    let peak = |window: u64| match grid.by {
        _ if !relative => None,
        By::Global => densest(&trace.at, &trace.cost, all.clone(), window),
        By::Client => subjects()
            .filter_map(|range| densest(&grouped.at, &grouped.cost, range, window))
            .max_by_key(|found| found.units),
    };
    let yardstick = |&window_ns: &u64| {
        let peak = peak(window_ns).map_or(1, |found| found.units);
        Yardstick { units, span_ns: span_ns.max(1), window_ns, peak }
    };
    Ok(grid.windows_ns.iter().map(yardstick).collect())
}

fn curves(grid: &Grid, points: &[Point]) -> Vec<Curve> {
    let mut curves = Vec::new();
    for algorithm in &grid.algorithms {
        for window_ns in &grid.windows_ns {
            let mine: Vec<(usize, u64, u64)> = points
                .iter()
                .enumerate()
                .filter(|(_, point)| point.algorithm == algorithm.name() && point.window_ns == *window_ns)
                .map(|(index, point)| (index, point.measured.peak, point.measured.refused()))
                .collect();
            let frontier = curve::frontier(&mine);
            curves.push(Curve {
                algorithm: algorithm.name(),
                window_ns: *window_ns,
                points: frontier.iter().map(|point| point.0).collect(),
                knee: curve::shown_knee(&frontier),
            });
        }
    }
    curves
}
