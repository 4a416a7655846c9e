//! The numbers of one policy: one entry of the report's `policies`, key for key in the order they are written.

use super::clients::ClientTally;
use super::memory::Memory;
use super::raster::RasterRow;
use serde::Serialize;

/// What a policy is called and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Its unique name in the report, such as `fixed-window` or `login`.
    pub name: String,
    /// Its text, such as `fixed-window:100/1m`.
    pub policy: String,
    /// Its algorithm, such as `fixed-window`; `a+b` for several.
    pub algorithm: String,
}

/// All numbers of one policy. `None` (null) is a number without meaning for this policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyNumbers {
    /// Its unique name in the report.
    pub name: String,
    /// Its text.
    pub policy: String,
    /// Its algorithm.
    pub algorithm: String,
    /// The limit L, in units.
    pub limit: Option<u64>,
    /// The window W, in nanoseconds.
    pub window_ns: Option<u64>,
    /// The burst B, in units.
    pub burst: Option<u64>,
    /// Requests by answer.
    pub requests: Requests,
    /// Units offered and admitted.
    pub units: Units,
    /// The densest window of W.
    pub peak: Option<Peak>,
    /// The densest window of W/100.
    pub instant: Option<Instant>,
    /// The share of the trace's span in which some trailing window holds more than L.
    pub over_limit_time: Option<f64>,
    /// Requests admitted that a strict window over the policy's own history would refuse.
    pub over_limit_accepts: Option<u64>,
    /// Requests denied that it would admit.
    pub needless_denials: Option<u64>,
    /// Requests denied, or made when 90 % of the limit was used.
    pub contested: Option<u64>,
    /// Units admitted / units that the sliding log admits.
    pub efficiency: Option<f64>,
    /// Waiting of admitted requests.
    pub delay_ns: Option<Delay>,
    /// Clients by what they got.
    pub clients: Clients,
    /// Jain's index over admitted / max-min fair share.
    pub fairness: Option<f64>,
    /// Bytes of state a client.
    pub state_bytes: Option<u64>,
    /// Most units in any window of each length, as `[nanoseconds, units]`.
    pub envelope: Option<Vec<(u64, u64)>>,
    /// Units over time; measured only for reports that show it.
    pub series: Option<Series>,
    /// Requests still waiting when the trace ends.
    pub waiting: Waiting,
    /// What denials promise; measured only for reports that show it.
    pub retry: Option<Retry>,
    /// The client refused most often, `None` when nobody was.
    pub most_affected: Option<Affected>,
    /// The largest share of the admitted units that one client got.
    pub largest_share: Option<f64>,
    /// What the states of all clients take at the peak; measured only for reports that show it.
    pub memory: Option<Memory>,
    /// What pictures and tables of clients need; not part of the JSON report.
    #[serde(skip)]
    pub details: Details,
}

/// Requests by answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Requests {
    /// All.
    pub offered: u64,
    /// Admitted.
    pub allowed: u64,
    /// Refused for now.
    pub denied: u64,
    /// Refused for good.
    pub never: u64,
}

/// Units asked for and admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Units {
    /// Asked for.
    pub offered: u64,
    /// Admitted.
    pub allowed: u64,
}

/// The densest window of length W.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Peak {
    /// Units in it.
    pub units: u64,
    /// Units / L.
    pub overshoot: Option<f64>,
    /// Its first release, `None` when nothing was admitted.
    pub start_ns: Option<u64>,
    /// Its last release.
    pub end_ns: Option<u64>,
    /// Whose it is, `None` under a shared limit and for a trace without names.
    pub client: Option<String>,
}

/// The densest window of length W/100.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Instant {
    /// Units in it.
    pub units: u64,
    /// Units / L.
    pub overshoot: Option<f64>,
    /// Its length in nanoseconds.
    pub span_ns: u64,
}

/// Waiting of admitted requests in nanoseconds, by nearest rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Delay {
    /// Median; measured only where everything is.
    pub p50: Option<u64>,
    /// 95th percentile; measured only where everything is.
    pub p95: Option<u64>,
    /// 99th percentile; measured only where everything is.
    pub p99: Option<u64>,
    /// Longest.
    pub max: u64,
}

/// Requests that wait for their turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// Admitted but not yet released when the trace ends.
    pub queued_at_end: u64,
}

/// What denials promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Retry {
    /// The most clients that are told to come back at the same instant.
    pub herd: u64,
    /// That instant, the first of equals.
    pub herd_at_ns: Option<u64>,
    /// Denials after whose promised instant the same client came back with a cost no larger.
    pub tested: u64,
    /// Those of them where the first such request was admitted.
    pub kept: u64,
}

/// A client that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Affected {
    /// Its name, `None` in a trace without names.
    pub client: Option<String>,
    /// Requests it made.
    pub offered: u64,
    /// Requests of it that were denied or refused for good.
    pub rejected: u64,
}

/// Clients by what they got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Clients {
    /// In the trace.
    pub total: u64,
    /// With at least one denial.
    pub limited: u64,
    /// With nothing admitted.
    pub starved: u64,
}

/// Units over time in bins of equal width.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Series {
    /// The edge at which the first bin starts.
    pub start_ns: u64,
    /// The width of a bin.
    pub bin_ns: u64,
    /// Units released in each bin.
    pub allowed: Vec<u64>,
    /// Units denied in each bin, at arrival.
    pub denied: Vec<u64>,
    /// Units refused for good in each bin; left out when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub never: Vec<u64>,
    /// Units released after the last bin; left out when there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub later: u64,
}

/// What is not in the JSON report.
#[derive(Debug, Clone, PartialEq)]
pub struct Details {
    /// Whether each client is limited on its own.
    pub by_client: bool,
    /// The trailing window shown: W, or the one that all policies of the report share.
    pub window_ns: u64,
    /// The densest window of that length; without an overshoot where the policy has no single limit.
    pub peak: Peak,
    /// The trailing window over time.
    pub trailing: Trailing,
    /// What each client got, by index.
    pub clients: Vec<ClientTally>,
    /// Requests of the busiest clients over time, where asked for.
    pub raster: Vec<RasterRow>,
}

/// The units in the trailing window over time: smallest and largest in each column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trailing {
    /// Where the first column starts.
    pub start_ns: u64,
    /// The width of a column.
    pub column_ns: u64,
    /// What some client holds throughout each column.
    pub lo: Vec<u64>,
    /// The most that any client holds in each column.
    pub hi: Vec<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(units: &u64) -> bool {
    *units == 0
}

/// `a / b`, `None` when there is no such number.
#[expect(clippy::cast_precision_loss, reason = "a ratio for people, computed exactly up to here")]
pub(super) fn ratio(a: u128, b: u128) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}
