//! The comparison as CSV: one line a policy, columns named like the keys of the JSON report.

use super::Report;
use crate::error::{Error, Result};
use crate::metrics::PolicyNumbers;

/// How a policy fills a column.
type Fill = fn(&PolicyNumbers) -> String;

/// All scalar keys of the report. What has no meaning for a policy is empty.
const COLUMNS: [(&str, Fill); 46] = [
    ("name", |p| p.name.clone()),
    ("policy", |p| p.policy.clone()),
    ("algorithm", |p| p.algorithm.clone()),
    ("limit", |p| cell(p.limit)),
    ("window_ns", |p| cell(p.window_ns)),
    ("burst", |p| cell(p.burst)),
    ("requests.offered", |p| p.requests.offered.to_string()),
    ("requests.allowed", |p| p.requests.allowed.to_string()),
    ("requests.denied", |p| p.requests.denied.to_string()),
    ("requests.never", |p| p.requests.never.to_string()),
    ("units.offered", |p| p.units.offered.to_string()),
    ("units.allowed", |p| p.units.allowed.to_string()),
    ("peak.units", |p| cell(p.peak.as_ref().map(|peak| peak.units))),
    ("peak.overshoot", |p| cell(p.peak.as_ref().and_then(|peak| peak.overshoot))),
    ("peak.start_ns", |p| cell(p.peak.as_ref().and_then(|peak| peak.start_ns))),
    ("peak.end_ns", |p| cell(p.peak.as_ref().and_then(|peak| peak.end_ns))),
    ("peak.client", |p| cell(p.peak.as_ref().and_then(|peak| peak.client.clone()))),
    ("instant.units", |p| cell(p.instant.map(|instant| instant.units))),
    ("instant.overshoot", |p| cell(p.instant.and_then(|instant| instant.overshoot))),
    ("instant.span_ns", |p| cell(p.instant.map(|instant| instant.span_ns))),
    ("over_limit_time", |p| cell(p.over_limit_time)),
    ("over_limit_accepts", |p| cell(p.over_limit_accepts)),
    ("needless_denials", |p| cell(p.needless_denials)),
    ("contested", |p| cell(p.contested)),
    ("efficiency", |p| cell(p.efficiency)),
    ("delay_ns.p50", |p| cell(p.delay_ns.and_then(|delay| delay.p50))),
    ("delay_ns.p95", |p| cell(p.delay_ns.and_then(|delay| delay.p95))),
    ("delay_ns.p99", |p| cell(p.delay_ns.and_then(|delay| delay.p99))),
    ("delay_ns.max", |p| cell(p.delay_ns.map(|delay| delay.max))),
    ("clients.total", |p| p.clients.total.to_string()),
    ("clients.limited", |p| p.clients.limited.to_string()),
    ("clients.starved", |p| p.clients.starved.to_string()),
    ("fairness", |p| cell(p.fairness)),
    ("state_bytes", |p| cell(p.state_bytes)),
    ("waiting.queued_at_end", |p| p.waiting.queued_at_end.to_string()),
    ("retry.herd", |p| cell(p.retry.map(|retry| retry.herd))),
    ("retry.herd_at_ns", |p| cell(p.retry.and_then(|retry| retry.herd_at_ns))),
    ("retry.tested", |p| cell(p.retry.map(|retry| retry.tested))),
    ("retry.kept", |p| cell(p.retry.map(|retry| retry.kept))),
    ("most_affected.client", |p| cell(p.most_affected.as_ref().and_then(|affected| affected.client.clone()))),
    ("most_affected.offered", |p| cell(p.most_affected.as_ref().map(|affected| affected.offered))),
    ("most_affected.rejected", |p| cell(p.most_affected.as_ref().map(|affected| affected.rejected))),
    ("largest_share", |p| cell(p.largest_share)),
    ("memory.peak_bytes", |p| cell(p.memory.map(|memory| memory.peak_bytes))),
    ("memory.states", |p| cell(p.memory.map(|memory| memory.states))),
    ("memory.at_ns", |p| cell(p.memory.map(|memory| memory.at_ns))),
];

/// Keys of a policy's entry that are numbers.
pub(super) fn number_keys() -> impl Iterator<Item = &'static str> {
    const WORDS: [&str; 5] = ["name", "policy", "algorithm", "peak.client", "most_affected.client"];
    COLUMNS.iter().map(|(key, _)| *key).filter(|key| !WORDS.contains(key))
}

/// The comparison as CSV with a header.
pub fn csv(report: &Report) -> Result<String> {
    let failed = |error: &dyn std::fmt::Display| Error::failed(format!("cannot write the report as CSV: {error}"));
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS.map(|(heading, _)| heading)).map_err(|error| failed(&error))?;
    for policy in &report.policies {
        writer.write_record(COLUMNS.map(|(_, fill)| fill(policy))).map_err(|error| failed(&error))?;
    }
    let bytes = writer.into_inner().map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| failed(&error))
}

fn cell<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
