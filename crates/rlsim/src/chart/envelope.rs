//! The burst envelope: the most let through in any window of each length, a line a policy.
//!
//! Where a line is level from the left, that many passed at one instant; a strict window stays under (W, L) for every
//! length up to W.

use super::curves::{Axis, Curve, Plot, curve_ink, plot};
use super::ink::Ink;
use super::scale::{decade_ticks, duration_ticks};
use crate::error::Result;
use crate::report::{Report, duration, policy_title, quota, short_count};
use std::fmt::Write as _;

/// Lengths beyond this many windows are left to the JSON report: there every policy follows its rate.
const MOST_WINDOWS: u64 = 10;

/// The chart as SVG text, `None` where no envelope was measured.
pub fn envelope(report: &Report) -> Option<Result<String>> {
    let mut curves: Vec<Curve> = Vec::new();
    let longest = report.policies.iter().filter_map(|policy| policy.window_ns).max();
    let shown = |envelope: &[(u64, u64)]| -> Vec<(u64, u64)> {
        let last = longest.map_or(u64::MAX, |window| window.saturating_mul(MOST_WINDOWS));
        envelope.iter().copied().filter(|&(length, units)| length <= last && units > 0).collect()
    };
    if let Some(offered) = &report.offered {
        curves.push(Curve { name: "asked for".into(), ink: Ink::Asked, points: shown(&offered.envelope) });
    }
    for (i, policy) in report.policies.iter().enumerate() {
        let points = shown(policy.envelope.as_deref()?);
        curves.push(Curve { name: policy_title(policy), ink: curve_ink(i), points });
    }
    curves.retain(|curve| !curve.points.is_empty());
    let mut marks: Vec<(u64, u64, String)> = Vec::new();
    for (limit, window) in report.policies.iter().filter_map(|policy| policy.limit.zip(policy.window_ns)) {
        let mark = (window, limit, format!("limit {}", quota(limit, window)));
        if !marks.contains(&mark) {
            marks.push(mark);
        }
    }
    let points = || {
        let marked = marks.iter().map(|(length, units, _)| (*length, *units));
        curves.iter().flat_map(|curve| curve.points.iter().copied()).chain(marked)
    };
    let lengths = (points().map(|p| p.0).min()?, points().map(|p| p.0).max()?);
    let units = (points().map(|p| p.1).min()?, points().map(|p| p.1).max()?);
    let whose = if report.policies.iter().any(|policy| policy.details.by_client && policy.clients.total > 1) {
        "one client got"
    } else {
        "got"
    };
    Some(plot(&Plot {
        id: "envelope",
        title: title(report),
        subtitle: format!("The most that {whose} through in any window of each length. Left end: at one instant."),
        description: description(report),
        x: Axis { ends: lengths, ticks: duration_ticks(lengths), caption: "length of the window".into() },
        y: Axis {
            ends: (units.0, units.1.max(units.0.saturating_mul(2))),
            ticks: decade_ticks((units.0, units.1.max(units.0.saturating_mul(2)))),
            caption: if report.meta.trace.units == report.meta.trace.events {
                "requests".into()
            } else {
                "units".into()
            },
        },
        curves,
        level: None,
        marks,
    }))
}

/// Who exceeds the limit in the shortest time.
fn title(report: &Report) -> String {
    let crossing = |policy: &&crate::metrics::PolicyNumbers| {
        let limit = policy.limit?;
        let window = policy.window_ns?;
        let over = policy.envelope.as_ref()?.iter().find(|&&(length, units)| units > limit && length <= window)?;
        Some(over.0)
    };
    let first = report.policies.iter().filter_map(|policy| Some((crossing(&policy)?, policy)));
    match first.min_by_key(|(length, _)| *length) {
        Some((length, policy)) => {
            format!("{} lets more than its limit through within {}", policy_title(policy), duration(length))
        }
        None => "No policy lets more than its limit through in any window".into(),
    }
}

fn description(report: &Report) -> String {
    let mut text = String::new();
    for policy in &report.policies {
        let envelope = policy.envelope.as_deref().unwrap_or_default();
        let _ = write!(text, "{}:", policy_title(policy));
        for (length, units) in envelope {
            let _ = write!(text, " {} in {},", short_count(*units), duration(*length));
        }
        text.pop();
        text.push_str(".\n");
    }
    text.trim_end().to_string()
}
