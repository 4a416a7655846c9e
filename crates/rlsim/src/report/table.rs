//! The table on standard output.

use super::Report;
use super::format::{duration, ratio};
use crate::metrics::PolicyNumbers;
use std::fmt::Write as _;

/// How a policy fills a column.
type Fill = fn(&PolicyNumbers) -> String;

/// Columns of the table. Numbers are plain here: the table is data, and a program may read it.
pub(super) const COLUMNS: [(&str, Fill); 7] = [
    ("policy", |policy| policy.name.clone()),
    ("allowed", |policy| policy.requests.allowed.to_string()),
    ("denied", |policy| policy.requests.denied.to_string()),
    ("never", |policy| policy.requests.never.to_string()),
    ("peak", peak),
    ("limited", |policy| format!("{} of {}", policy.clients.limited, policy.clients.total)),
    ("wait", wait),
];

/// The comparison as aligned text, one line a policy, with a heading.
pub fn table(report: &Report) -> String {
    let mut rows = vec![COLUMNS.map(|(heading, _)| heading.to_string())];
    rows.extend(report.policies.iter().map(|policy| COLUMNS.map(|(_, fill)| fill(policy))));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..COLUMNS.len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            // The first column is words, the others are numbers.
            let _ = if column == 0 { write!(line, "{cell:<width$}") } else { write!(line, "  {cell:>width$}") };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The most in any window, as units and as a multiple of the limit: `200 (2.00x)`.
fn peak(policy: &PolicyNumbers) -> String {
    match &policy.peak {
        Some(peak) => {
            format!("{} ({}x)", peak.units, peak.overshoot.map_or_else(|| "-".into(), ratio))
        }
        None => "-".into(),
    }
}

/// The longest wait for a release.
fn wait(policy: &PolicyNumbers) -> String {
    match policy.delay_ns {
        Some(delay) if delay.max > 0 => duration(delay.max),
        _ => "-".into(),
    }
}
