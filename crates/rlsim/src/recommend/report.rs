//! What `recommend` found out, key for key in the order it is written as JSON.

use serde::Serialize;

use super::burstiness::Burstiness;
use super::check::Check;
use super::fit::Parameters;
use super::promise::Promise;
use crate::inspect::Finding;
use crate::report::TraceMeta;
use crate::sweep::Measured;

/// The recommendation, in the order in which it is written as JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommendation {
    /// Always [`SCHEMA`](super::SCHEMA).
    pub schema: &'static str,
    /// Where the numbers come from.
    pub meta: RecommendMeta,
    /// What is promised.
    pub promise: Promise,
    /// `client` or `global`.
    pub by: &'static str,
    /// The window in nanoseconds.
    pub window_ns: u64,
    /// How the trace was split.
    pub split: Split,
    /// The answer of each algorithm, in the order of every table. Without an answer an algorithm is left out.
    pub answers: Vec<Answer>,
    /// The index of the answer that is recommended.
    pub recommended: usize,
    /// What the recommended algorithm needs for other shares of clients on the whole trace, and what that costs.
    pub levels: Vec<Level>,
    /// The burst that a bucket needs at each rate, on the whole trace.
    pub curve: Curve,
    /// What speaks against trusting the trace.
    pub warnings: Vec<Finding>,
    /// Whether the trace names no clients, so that all of its requests count as those of one.
    #[serde(skip)]
    pub(super) nameless: bool,
}

/// Where the numbers come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecommendMeta {
    /// The version of the program.
    pub version: String,
    /// The command that gives this report again, word by word.
    pub command: Vec<String>,
    /// The trace.
    pub trace: TraceMeta,
}

/// The first part of a trace and the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Split {
    /// The first instant of the rest; `None` where all of the trace was fitted on.
    pub at_ns: Option<u64>,
    /// The part that was fitted on.
    pub fit: Extent,
    /// The part that the answer was checked on.
    pub rest: Option<Extent>,
}

/// The size of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Extent {
    /// Requests.
    pub requests: u64,
    /// Clients.
    pub clients: u64,
    /// Last minus first event, in nanoseconds.
    pub span_ns: u64,
}

/// One algorithm's answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The algorithm.
    pub algorithm: &'static str,
    /// The policy that is advised: the fitted one where it holds on the rest and on the whole trace, else the one fitted on
    /// the whole trace.
    pub policy: String,
    /// Its parameters.
    #[serde(flatten)]
    pub parameters: Parameters,
    /// The policy that was fitted on the first part.
    pub fitted: String,
    /// The most units that the fitted policy lets through in any window: what the choice goes by, so that the rest stays
    /// unseen.
    #[serde(skip)]
    pub(super) fitted_bound: u64,
    /// What the fitted policy did on the rest; `None` where all of the trace was fitted on.
    pub check: Option<Check>,
    /// The most units that the advised policy lets through in any window, whatever comes: for one client, or for all under a
    /// global limit.
    pub most_in_a_window: u64,
    /// What the advised policy does on the whole trace.
    pub measured: Measured,
    /// Requests refused / requests offered, on the whole trace.
    pub refused_share: f64,
    /// What the fitted policy did on the whole trace (without an attack), which is the promise itself; `None` where all of
    /// it was fitted on.
    pub whole: Option<Check>,
}

impl Answer {
    /// Whether the advised policy is the one that was fitted on the first part, and keeps the promise on the rest and on
    /// the whole trace. Otherwise nothing unseen confirms it.
    pub fn is_confirmed(&self) -> bool {
        self.check.zip(self.whole).is_some_and(|(rest, whole)| rest.holds && whole.holds)
    }
}

/// One share of clients kept, and its price.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Level {
    /// The share of clients that are never limited, in millionths.
    pub kept_millionths: u64,
    /// The policy.
    pub policy: String,
    /// The most units that it lets one client have in any window, whatever comes.
    pub most_in_a_window: u64,
    /// What it does on the whole trace.
    pub measured: Measured,
}

/// The burstiness curves of the whole trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Curve {
    /// Rates in units per window.
    pub rates: Vec<u64>,
    /// For each of [`LEVELS`](super::LEVELS) (100 % alone under a global limit) the burst at each rate.
    pub levels: Vec<CurveLevel>,
    /// The curve of 100 % for all rates.
    pub exact: Burstiness,
}

/// The bursts that keep one share of clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CurveLevel {
    /// The share of clients that are never limited, in millionths.
    pub kept_millionths: u64,
    /// The burst at each rate of the curve, in units.
    pub bursts: Vec<u64>,
}
