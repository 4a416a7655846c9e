//! Inspection: is this trace fit for choosing a limit? A trace in, numbers and findings out.
//!
//! Each kind of number is one file; `findings` says what they mean and what to do about it. Every number is exact; a
//! ratio becomes a float in the last step. Linear in the events, but for sorts of clients.

mod clients;
mod densest;
mod findings;
mod gaps;
mod moment;
mod rates;
mod refused;
mod stamps;
pub(crate) mod text;
mod traffic;

pub use clients::{Client, Clients};
pub use densest::{Densest, densest};
pub(crate) use findings::unreadable;
pub use findings::{Finding, Severity};
pub use gaps::Gaps;
pub(crate) use moment::moment;
pub use rates::{Peak, Rate};
pub use refused::{Refused, refused};
use serde::Serialize;
pub use stamps::{CoarserStep, Concentrated, Stamps};
pub use text::{markdown, text};
pub use traffic::{Traffic, traffic};

use crate::compare::trace_meta;
use crate::error::{Error, Result};
use crate::replay::Grouped;
use crate::report::TraceMeta;
use crate::trace::Trace;

/// The name and version of the JSON report's shape.
pub const SCHEMA: &str = "rlsim.inspect/1";

const SECOND: u64 = 1_000_000_000;

/// Everything that `inspect` found out, in the order in which it is written as JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspection {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Where the numbers come from.
    pub meta: InspectMeta,
    /// The worst severity found: what the trace is good for.
    pub fitness: Fitness,
    /// What was found and what to do about it, what matters most first.
    pub findings: Vec<Finding>,
    /// The window that a limit is sought for, in nanoseconds.
    pub window_ns: u64,
    /// Last minus first event, in nanoseconds.
    pub span_ns: u64,
    /// Times between neighbouring events.
    pub gaps: Gaps,
    /// What the stamps look like.
    pub stamps: Stamps,
    /// Traffic in a second, a minute and the window, shortest first.
    pub rates: Vec<Rate>,
    /// Who it comes from.
    pub clients: Clients,
    /// Requests already refused in it; `None` where the input does not say.
    pub refused: Option<Refused>,
}

/// Where the numbers come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InspectMeta {
    /// The version of the program.
    pub version: String,
    /// The command that gives this report again, word by word.
    pub command: Vec<String>,
    /// The trace.
    pub trace: TraceMeta,
}

/// What a trace is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fitness {
    /// Nothing speaks against it.
    Fit,
    /// Usable, with the warnings in mind.
    Care,
    /// A limit chosen from it has no ground.
    Unfit,
}

/// A warning where the stamps of a trace fall into a small part of each turn of a clock, and a turn is longer than the shortest of
/// these windows.
pub(crate) fn concentration(trace: &Trace, windows: impl Iterator<Item = u64>) -> Option<String> {
    let shortest = windows.min()?;
    let odd = stamps::suspected(&trace.at, trace.facts.resolution_ns).filter(|odd| shortest < odd.turn_ns)?;
    let (found, advice) = findings::concentration(odd);
    Some(format!("{found}; {advice}"))
}

impl Inspection {
    /// What speaks against a limit chosen from the trace. Too few clients are no matter for one on all of them together.
    pub(crate) fn serious(&self, global: bool) -> impl Iterator<Item = &Finding> {
        let about_clients = |finding: &Finding| matches!(finding.code, "one-client" | "few-clients");
        let serious = |finding: &&Finding| finding.severity >= Severity::Warning;
        self.findings.iter().filter(serious).filter(move |finding| !(global && about_clients(finding)))
    }
}

/// Inspects a trace for limits in windows of `window_ns` (at least 1).
pub fn inspect(trace: &Trace, window_ns: u64, refused: Option<Refused>, command: Vec<String>) -> Inspection {
    let grouped = Grouped::new(trace);
    let meta = InspectMeta { version: env!("CARGO_PKG_VERSION").to_owned(), command, trace: trace_meta(trace) };
    let mut windows = vec![SECOND, 60 * SECOND, window_ns.max(1)];
    windows.sort_unstable();
    windows.dedup();
    let mut inspection = Inspection {
        schema: SCHEMA,
        fitness: Fitness::Fit,
        findings: Vec::new(),
        window_ns: window_ns.max(1),
        span_ns: meta.trace.end_ns - meta.trace.start_ns,
        gaps: gaps::gaps(&trace.at),
        stamps: stamps::stamps(&trace.at, meta.trace.resolution_ns),
        rates: windows.into_iter().map(|window| rates::rate(trace, &grouped, window)).collect(),
        clients: clients::clients(trace, &grouped),
        refused,
        meta,
    };
    inspection.findings = findings::findings(&inspection);
    inspection.fitness = match inspection.findings.iter().map(|finding| finding.severity).max() {
        Some(Severity::Unfit) => Fitness::Unfit,
        Some(Severity::Warning) => Fitness::Care,
        Some(Severity::Note) | None => Fitness::Fit,
    };
    inspection
}

/// The inspection as JSON with a final newline.
///
/// # Errors
/// [`Error::Failed`] if it cannot be written, which does not happen for numbers and text.
pub fn json(inspection: &Inspection) -> Result<String> {
    let mut text = serde_json::to_string_pretty(inspection)
        .map_err(|error| Error::failed(format!("cannot write the inspection as JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}

/// `a / b`, `None` when there is no such number.
#[expect(clippy::cast_precision_loss, reason = "a ratio for people, computed exactly up to here")]
pub(crate) fn ratio(a: u128, b: u128) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

/// A number of things for people: `1 client`, `12 345 clients`.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", crate::report::count(number), if number == 1 { "" } else { "s" })
}

/// A share for people: `12.3 %`, and never 0 for what is more than nothing.
pub(crate) fn percent(share: f64) -> String {
    let shown = match share * 100.0 {
        percent if percent > 0.0 && percent < 0.01 => return "<0.01 %".into(),
        percent if percent < 1.0 => format!("{percent:.2}"),
        percent if percent < 99.95 => format!("{percent:.1}"),
        percent => format!("{percent:.2}"),
    };
    let short = if shown.contains('.') { shown.trim_end_matches('0').trim_end_matches('.') } else { &shown };
    format!("{short} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_for_people() {
        assert_eq!(
            [0.0, 0.000_01, 0.001, 0.123_4, 0.999, 0.999_6, 1.0].map(percent),
            ["0 %", "<0.01 %", "0.1 %", "12.3 %", "99.9 %", "99.96 %", "100 %"]
        );
    }
}
