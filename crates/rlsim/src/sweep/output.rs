//! A sweep as text: a table for people, CSV and JSON for programs.

use std::fmt::Write as _;

use super::{Curve, Point, Sweep};
use crate::error::{Error, Result};
use crate::inspect::percent;
use crate::inspect::text::aligned;
use crate::report::{duration, ratio};

/// The sweep as aligned text, one line a policy, and the knees in words below.
pub fn table(sweep: &Sweep) -> String {
    let heading = ["policy", "refused", "", "limited", "starved", "peak", "wait", ""];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for (index, point) in sweep.points.iter().enumerate() {
        let knee = sweep.curves.iter().any(|curve| curve.knee == Some(index));
        let found = &point.measured;
        rows.push(vec![
            point.policy.clone(),
            found.refused().to_string(),
            percent(point.refused_share),
            format!("{} of {}", found.limited, found.clients),
            found.starved.to_string(),
            format!("{} ({}x)", found.peak, ratio(point.overshoot)),
            if found.longest_wait_ns > 0 { duration(found.longest_wait_ns) } else { "-".into() },
            if knee { "<- knee".into() } else { String::new() },
        ]);
    }
    let mut text = aligned(&rows);
    let knees = knees(sweep);
    if !knees.is_empty() {
        text.push('\n');
    }
    for knee in knees {
        let _ = writeln!(text, "{knee}");
    }
    text
}

/// The knees, in a sentence each.
pub(crate) fn knees(sweep: &Sweep) -> Vec<String> {
    sweep.curves.iter().filter_map(|curve| sentence(sweep, curve)).collect()
}

/// Where a curve bends, and what its next point costs and saves: a bend alone is no reason to stop there.
fn sentence(sweep: &Sweep, curve: &Curve) -> Option<String> {
    let index = curve.knee?;
    let knee = sweep.points.get(index)?;
    let mut text = format!(
        "knee: {} refuses {} of the requests and lets through at most {} in any {}: the curve bends here",
        knee.policy,
        percent(knee.refused_share),
        knee.measured.peak,
        duration(knee.window_ns)
    );
    let next = curve.points.iter().skip_while(|point| **point != index).nth(1);
    if let Some(next) = next.and_then(|next| sweep.points.get(*next)) {
        let (policy, refused) = (&next.policy, percent(next.refused_share));
        let _ = write!(text, "; its next point, {policy}, refuses {refused} and lets {} through", next.measured.peak);
    }
    Some(text)
}

/// How a point fills a column of the CSV.
type Fill = fn(&Point) -> String;

const COLUMNS: [(&str, Fill); 20] = [
    ("policy", |p| p.policy.clone()),
    ("algorithm", |p| p.algorithm.to_owned()),
    ("limit", |p| p.limit.to_string()),
    ("limit_as", |p| p.limit_as.clone()),
    ("window_ns", |p| p.window_ns.to_string()),
    ("burst", |p| p.burst.map_or_else(String::new, |burst| burst.to_string())),
    ("burst_as", |p| p.burst_as.clone().unwrap_or_default()),
    ("offered", |p| p.measured.offered.to_string()),
    ("allowed", |p| p.measured.allowed.to_string()),
    ("denied", |p| p.measured.denied.to_string()),
    ("never", |p| p.measured.never.to_string()),
    ("units_offered", |p| p.measured.units_offered.to_string()),
    ("units_allowed", |p| p.measured.units_allowed.to_string()),
    ("clients", |p| p.measured.clients.to_string()),
    ("limited", |p| p.measured.limited.to_string()),
    ("starved", |p| p.measured.starved.to_string()),
    ("peak", |p| p.measured.peak.to_string()),
    ("longest_wait_ns", |p| p.measured.longest_wait_ns.to_string()),
    ("refused_share", |p| p.refused_share.to_string()),
    ("overshoot", |p| p.overshoot.to_string()),
];

/// The sweep as CSV with a header, one line a policy.
///
/// # Errors
/// [`Error::Failed`] if it cannot be written, which does not happen in memory.
pub fn csv(sweep: &Sweep) -> Result<String> {
    let failed = |error: &dyn std::fmt::Display| Error::failed(format!("cannot write the sweep as CSV: {error}"));
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS.map(|(heading, _)| heading)).map_err(|error| failed(&error))?;
    for point in &sweep.points {
        writer.write_record(COLUMNS.map(|(_, fill)| fill(point))).map_err(|error| failed(&error))?;
    }
    let bytes = writer.into_inner().map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| failed(&error))
}

/// The sweep as JSON with a final newline.
///
/// # Errors
/// [`Error::Failed`] if it cannot be written, which does not happen for numbers and text.
pub fn json(sweep: &Sweep) -> Result<String> {
    let mut text = serde_json::to_string_pretty(sweep)
        .map_err(|error| Error::failed(format!("cannot write the sweep as JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}
