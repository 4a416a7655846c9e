//! The form of `limiters.json` and `seeds.json`.

use serde::Deserialize;

/// A sequence of events on one limiter.
#[derive(Debug, Deserialize)]
pub(super) struct Vector {
    pub(super) id: String,
    #[serde(default)]
    pub(super) source: String,
    pub(super) algorithm: String,
    pub(super) config: Config,
    pub(super) events: Vec<Event>,
}

/// The parameters, in the words of the source.
#[derive(Debug, Deserialize)]
pub(super) struct Config {
    pub(super) rate_per_s: Option<f64>,
    pub(super) burst: Option<u64>,
    pub(super) capacity: Option<u64>,
    pub(super) refill: Option<u64>,
    pub(super) period_ms: Option<u64>,
    /// Tokens to begin with.
    pub(super) initial: Option<u64>,
    pub(super) started_at_ms: Option<u64>,
    pub(super) limit: Option<u64>,
    pub(super) window_ms: Option<u64>,
    pub(super) emission_ms: Option<u64>,
    pub(super) max_burst: Option<u64>,
    pub(super) burst_excess: Option<u64>,
    /// Idle credit of a pacer.
    pub(super) slack: Option<u64>,
    pub(super) limits: Option<Vec<Config>>,
}

/// One event and what is expected of it. Fields that an operation does not have are absent.
#[derive(Debug, Deserialize)]
pub(super) struct Event {
    pub(super) t_ms: i64,
    pub(super) cost: i64,
    pub(super) op: Option<String>,
    pub(super) expect: Expect,
    pub(super) n: Option<u64>,
    pub(super) every_ms: Option<u64>,
    pub(super) until_ms: Option<u64>,
    pub(super) gap_ms: Option<u64>,
    pub(super) max_wait_ms: Option<u64>,
    pub(super) deadline_ms: Option<u64>,
    pub(super) cancelled_before: Option<bool>,
    pub(super) cancel_at_ms: Option<u64>,
    pub(super) rate_per_s: Option<f64>,
    pub(super) name: Option<String>,
    pub(super) of: Option<String>,
}

/// What the source asserts. Absent is not asserted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "fields of operations that we do not have are named, so that no other can slip in unread")]
pub(super) struct Expect {
    pub(super) allowed: Option<bool>,
    pub(super) never: Option<bool>,
    pub(super) error: Option<String>,
    pub(super) remaining: Option<i64>,
    pub(super) remaining_before: Option<i64>,
    pub(super) used: Option<u64>,
    pub(super) count: Option<u64>,
    pub(super) granted: Option<u64>,
    pub(super) retry_after_ms: Option<u64>,
    pub(super) retry_after_min_ms: Option<u64>,
    pub(super) denied_retry_after_max_ms: Option<u64>,
    pub(super) retry_at_ms: Option<u64>,
    pub(super) reset_after_ms: Option<u64>,
    pub(super) reset_at_ms: Option<u64>,
    pub(super) tol_ms: Option<u64>,
    pub(super) act_at_ms: Option<u64>,
    pub(super) slept_ms: Option<u64>,
    pub(super) overflow_wait_ms: Option<u64>,
    pub(super) total_ms: Option<u64>,
    pub(super) allowed_count: Option<u64>,
    pub(super) allowed_count_min: Option<u64>,
    pub(super) allowed_count_max: Option<u64>,
    pub(super) denied_count: Option<u64>,
    // Of operations that we do not have.
    pending: Option<bool>,
    denied_by: Option<u64>,
    count_at: Option<serde_json::Value>,
}
