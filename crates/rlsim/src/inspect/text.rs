//! The inspection for people: the verdict and what to do first, then the numbers.

use std::fmt::Write as _;

use super::moment::moment;
use super::{Fitness, Inspection, Peak, Severity, counted, percent};
use crate::report::{count, duration, ratio};
use crate::sim::table::capital;

/// The inspection as plain text.
pub fn text(it: &Inspection) -> String {
    let mut text = format!("{}\n", headline(it));
    for finding in &it.findings {
        let _ = write!(text, "\n{}: {}\n  -> {}", finding.severity.name(), finding.found, finding.advice);
    }
    if !it.findings.is_empty() {
        text.push('\n');
    }
    text.push('\n');
    for (name, value) in facts(it) {
        let _ = writeln!(text, "{name:<10} {value}");
    }
    text.push('\n');
    text.push_str(&aligned(&rates(it)));
    if it.clients.total > 1 {
        text.push('\n');
        text.push_str(&aligned(&largest(it)));
    }
    text
}

/// The inspection as Markdown.
pub fn markdown(it: &Inspection) -> String {
    let mut text = format!("**{}**\n\n", escape(&headline(it)));
    for finding in &it.findings {
        let _ = writeln!(
            text,
            "- {}: {}. {}.",
            finding.severity.name(),
            escape(&finding.found),
            escape(&capital(&finding.advice))
        );
    }
    text.push_str("\n| | |\n| :--- | :--- |\n");
    for (name, value) in facts(it) {
        let _ = writeln!(text, "| {name} | {} |", escape(&value));
    }
    for table in [rates(it), largest(it)] {
        text.push('\n');
        for (i, row) in table.iter().enumerate() {
            let cells: Vec<String> = row.iter().map(|cell| escape(cell)).collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
            if i == 0 {
                let _ = writeln!(text, "| :---{} |", " | ---:".repeat(row.len() - 1));
            }
        }
    }
    text
}

/// What the trace is good for, in a sentence.
fn headline(it: &Inspection) -> String {
    let trace = &it.meta.trace;
    let what = format!(
        "{}: {} of {} over {}",
        trace.path.join(", "),
        counted(trace.events, "request"),
        if trace.clients == 1 { "one client".into() } else { format!("{} clients", count(trace.clients)) },
        duration(it.span_ns)
    );
    let serious = it.findings.iter().filter(|finding| finding.severity >= Severity::Warning).count();
    let warnings = if serious == 1 { "1 warning".into() } else { format!("{serious} warnings") };
    match it.fitness {
        Fitness::Fit => format!("{what}: fit for choosing a limit"),
        Fitness::Care => format!("{what}: usable for choosing a limit, with {warnings}"),
        Fitness::Unfit => format!("{what}: not fit for choosing a limit"),
    }
}

fn facts(it: &Inspection) -> Vec<(&'static str, String)> {
    let trace = &it.meta.trace;
    let order = match trace.reordered {
        0 => "in order".to_owned(),
        moved => format!("{} out of order by up to {}", count(moved), duration(trace.largest_step_back_ns)),
    };
    let clock = match trace.resolution_ns {
        0 => "one stamp only".to_owned(),
        step => format!("ticks every {}", duration(step)),
    };
    let mut facts = vec![
        (
            "rows",
            format!(
                "{} = {} events + {} bad + {} blank + {} skipped ({})",
                count(trace.rows),
                count(trace.events),
                count(trace.bad),
                count(trace.blank),
                count(trace.skipped),
                trace.format
            ),
        ),
        ("span", format!("{} to {} ({})", moment(trace.start_ns), moment(trace.end_ns), duration(it.span_ns))),
        ("clock", format!("{clock}; {order}; {} different stamps", count(it.stamps.distinct))),
        (
            "gaps",
            format!(
                "median {}, p99 {}, longest {} after {}",
                duration(it.gaps.median_ns),
                duration(it.gaps.p99_ns),
                duration(it.gaps.longest_ns),
                moment(it.gaps.longest_from_ns)
            ),
        ),
        (
            "clients",
            format!(
                "{}, of them {} with one request; the largest tenth makes {} of the traffic (Gini {:.2})",
                count(it.clients.total),
                count(it.clients.once),
                percent(it.clients.top_tenth_share),
                it.clients.gini
            ),
        ),
    ];
    if let Some(refused) = &it.refused {
        facts.push(("refused", refused.words()));
    }
    facts
}

fn rates(it: &Inspection) -> Vec<Vec<String>> {
    let unit_costs = it.meta.trace.units == it.meta.trace.events;
    let what = if unit_costs { "requests in any" } else { "units in any" };
    let mut rows = vec![[what, "mean", "most", "most of one client", "dispersion"].map(str::to_owned).to_vec()];
    for rate in &it.rates {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), ratio);
        rows.push(vec![
            duration(rate.window_ns),
            number(rate.mean),
            rate.peak.units.to_string(),
            whose(&rate.busiest_client),
            number(rate.index_of_dispersion),
        ]);
    }
    rows
}

fn whose(peak: &Peak) -> String {
    match &peak.client {
        Some(client) => format!("{} ({})", peak.units, printable(client)),
        None => peak.units.to_string(),
    }
}

fn largest(it: &Inspection) -> Vec<Vec<String>> {
    let mut rows = vec![["largest clients", "requests", "units", "share"].map(str::to_owned).to_vec()];
    for client in &it.clients.largest {
        rows.push(vec![
            client.name.as_deref().map_or_else(|| "-".into(), printable),
            client.requests.to_string(),
            client.units.to_string(),
            percent(client.share),
        ]);
    }
    rows
}

/// A name without control characters, cut to what fits a line.
fn printable(name: &str) -> String {
    let shown: String = name.chars().take(40).map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect();
    if name.chars().nth(40).is_some() { shown + "…" } else { shown }
}

/// Columns side by side: the first to the left, the others to the right.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |row: &[String], column: usize| row.get(column).map_or(0, |cell| cell.chars().count());
    let widths: Vec<usize> =
        (0..columns).map(|column| rows.iter().map(|row| cell(row, column)).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            let _ = if column == 0 { write!(line, "{cell:<width$}") } else { write!(line, "  {cell:>width$}") };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Keeps names from being read as markup.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '\\' => escaped.extend(['\\', letter]),
            c if c.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}
