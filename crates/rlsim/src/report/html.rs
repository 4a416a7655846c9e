//! The page: one file that needs nothing else. The finding on top, then the table, the charts, the clients, what each
//! number means, where the numbers come from, and the command that gives them again.

use super::Report;
use super::definitions::DEFINITIONS;
use super::finding::finding;
use super::format::{count, duration, policy_title, shell};
use crate::metrics::{ClientTally, PolicyNumbers};
use crate::trace::is_too_coarse;
use std::fmt::Write as _;

const STYLE: &str = include_str!("page/style.css");
const SORT: &str = include_str!("page/sort.js");

/// The most clients listed; the page says how many there are.
const MOST_CLIENTS: usize = 500;

/// The report as a page, with finished charts as SVG text.
pub fn html(report: &Report, charts: &[String]) -> String {
    let finding = finding(&report.policies);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n",
        title = escape(&finding)
    );
    let _ = writeln!(page, "<p class=\"quiet\">{}</p>", escape(&origin(report)));
    for warning in warnings(report) {
        let _ = writeln!(page, "<p class=\"warning\">{}</p>", escape(&warning));
    }
    numbers(&mut page, report);
    page.push_str("<h2 id=\"charts\">Charts</h2>\n");
    for chart in charts {
        let _ = writeln!(page, "<figure>\n{chart}{}</figure>", in_words(chart));
    }
    clients(&mut page, report);
    definitions(&mut page);
    facts(&mut page, report);
    if !report.meta.command.is_empty() {
        let command = escape(&shell(&report.meta.command));
        let _ = writeln!(page, "<h2 id=\"command\">The same again</h2>\n<pre><code>{command}</code></pre>");
    }
    let _ = writeln!(page, "<p class=\"quiet\">rlsim {}</p>", escape(&report.meta.version));
    let _ = write!(page, "</main>\n<script>\n{SORT}</script>\n</body>\n</html>\n");
    page
}

fn origin(report: &Report) -> String {
    let trace = &report.meta.trace;
    let clients = if trace.clients == 1 { "one client".into() } else { format!("{} clients", count(trace.clients)) };
    format!(
        "{} requests of {clients} over {}, from {}",
        count(trace.events),
        duration(trace.end_ns - trace.start_ns.min(trace.end_ns)),
        trace.path.join(", ")
    )
}

/// What a chart shows in words, a line a row, for those who do not see it or want its numbers: its own description.
fn in_words(chart: &str) -> String {
    // The description is text of an SVG, which is text of a page as well.
    let words = chart.split_once("<desc").and_then(|(_, rest)| rest.split_once('>'));
    let Some((words, _)) = words.and_then(|(_, rest)| rest.split_once("</desc>")) else { return String::new() };
    let mut table = String::from("<details><summary>The same in words</summary>\n<div class=\"scroll\"><table>\n");
    for line in words.lines() {
        let _ = match line.split_once(": ") {
            Some((subject, rest)) => writeln!(table, "<tr><th>{subject}</th><td class=\"words\">{rest}</td></tr>"),
            None => writeln!(table, "<tr><td class=\"words\" colspan=\"2\">{line}</td></tr>"),
        };
    }
    table.push_str("</table></div></details>\n");
    table
}

/// What weakens the numbers.
fn warnings(report: &Report) -> Vec<String> {
    let trace = &report.meta.trace;
    let mut warnings = Vec::new();
    let window = report.policies.iter().filter_map(|policy| policy.window_ns).min();
    if let Some(window) = window.filter(|&window| is_too_coarse(trace.resolution_ns, trace.events, window)) {
        warnings.push(format!(
            "The clock of the trace ticks every {}, which is longer than the window of {}: bursts within a tick are an \
             artefact of the clock.",
            duration(trace.resolution_ns),
            duration(window)
        ));
    }
    if let Some(window) = window.filter(|&window| trace.end_ns - trace.start_ns.min(trace.end_ns) < window) {
        warnings.push(format!("The trace is shorter than one window of {}.", duration(window)));
    }
    if trace.bad > 0 {
        warnings.push(format!("{} of {} rows could not be read and are missing.", count(trace.bad), count(trace.rows)));
    }
    warnings
}

/// The table of numbers: a row a number, a column a policy.
fn numbers(page: &mut String, report: &Report) {
    page.push_str("<h2 id=\"numbers\">Numbers</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th></th>");
    for policy in &report.policies {
        let _ = write!(page, "<th title=\"{}\">{}</th>", escape(&policy.policy), escape(&policy_title(policy)));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for definition in &DEFINITIONS {
        let _ = write!(page, "<tr><th><a href=\"#def-{}\">{}</a></th>", definition.key, definition.name);
        for policy in &report.policies {
            let over = definition.key == "peak" && exceeds(policy);
            let class = match definition.key {
                "most_affected" => " class=\"words\"",
                _ if over => " class=\"over\"",
                _ => "",
            };
            let value = (definition.value)(policy).unwrap_or_else(|| "-".into());
            let _ = write!(page, "<td{class}>{}</td>", escape(&value));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

fn exceeds(policy: &PolicyNumbers) -> bool {
    policy.peak.as_ref().zip(policy.limit).is_some_and(|(peak, limit)| peak.units > limit)
}

/// The table of clients: those refused most first, then those that asked most.
fn clients(page: &mut String, report: &Report) {
    let Some(first) = report.policies.first().filter(|_| report.meta.trace.clients > 1) else { return };
    let refused = |client: usize| -> u64 {
        let of = |policy: &PolicyNumbers| policy.details.clients.get(client).map_or(0, |t| t.denied + t.never);
        report.policies.iter().map(of).max().unwrap_or(0)
    };
    let mut order: Vec<(usize, &ClientTally)> =
        first.details.clients.iter().enumerate().filter(|(_, tally)| tally.offered() > 0).collect();
    order.sort_by_key(|(i, tally)| (std::cmp::Reverse((refused(*i), tally.offered())), tally.client));
    let total = order.len();
    order.truncate(MOST_CLIENTS);
    page.push_str("<h2 id=\"clients-heading\">Clients</h2>\n");
    let shown = if order.len() < total {
        format!("The {} most affected of {} clients", order.len(), count(total as u64))
    } else {
        format!("All {} clients", count(total as u64))
    };
    let _ =
        writeln!(page, "<p class=\"quiet\">{shown}; press a heading to sort. Under a policy: requests refused.</p>");
    page.push_str("<div class=\"scroll\"><table id=\"clients\" class=\"sortable\">\n<thead><tr>");
    heading(page, "client", "");
    heading(page, "requests", "");
    for policy in &report.policies {
        heading(page, &policy_title(policy), &policy.policy);
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for (i, tally) in order {
        let name = report.meta.names.get(tally.client as usize).map(|name| String::from_utf8_lossy(name));
        let _ = write!(page, "<tr><td>{}</td>", escape(name.as_deref().unwrap_or("")));
        number(page, tally.offered());
        for policy in &report.policies {
            number(page, policy.details.clients.get(i).map_or(0, |tally| tally.denied + tally.never));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

fn heading(page: &mut String, name: &str, hint: &str) {
    let _ = write!(page, "<th title=\"{}\"><button type=\"button\">{}</button></th>", escape(hint), escape(name));
}

fn number(page: &mut String, value: u64) {
    let _ = write!(page, "<td data-value=\"{value}\">{}</td>", count(value));
}

fn definitions(page: &mut String) {
    page.push_str("<h2 id=\"definitions\">What the numbers mean</h2>\n<dl>\n");
    for definition in &DEFINITIONS {
        let Definition { key, name, meaning } = Definition::of(definition);
        let _ = writeln!(page, "<dt id=\"def-{key}\">{name}</dt><dd>{meaning} <code>{key}</code></dd>");
    }
    page.push_str("</dl>\n");
}

/// The parts of a definition, escaped.
struct Definition {
    key: String,
    name: String,
    meaning: String,
}

impl Definition {
    fn of(definition: &super::definitions::Definition) -> Self {
        Definition { key: escape(definition.key), name: escape(definition.name), meaning: escape(definition.meaning) }
    }
}

fn facts(page: &mut String, report: &Report) {
    let trace = &report.meta.trace;
    page.push_str("<h2 id=\"trace\">The trace</h2>\n<dl>\n");
    let rows = [
        ("files", trace.path.join(", ")),
        ("format", trace.format.clone()),
        (
            "rows",
            format!(
                "{}: {} events, {} bad, {} blank, {} skipped",
                count(trace.rows),
                count(trace.events),
                count(trace.bad),
                count(trace.blank),
                count(trace.skipped)
            ),
        ),
        ("clients", count(trace.clients)),
        ("units asked for", count(trace.units)),
        ("span", duration(trace.end_ns - trace.start_ns.min(trace.end_ns))),
        (
            "clock",
            if trace.resolution_ns == 0 {
                "unknown".into()
            } else {
                format!("ticks every {}", duration(trace.resolution_ns))
            },
        ),
        (
            "order",
            match trace.reordered {
                0 => "in time order".into(),
                moved => format!("{} events moved, by at most {}", count(moved), duration(trace.largest_step_back_ns)),
            },
        ),
    ];
    for (name, value) in rows {
        let _ = writeln!(page, "<dt>{name}</dt><dd>{}</dd>", escape(&value));
    }
    page.push_str("</dl>\n");
    if !trace.notes.is_empty() {
        page.push_str("<ul>\n");
        for note in &trace.notes {
            let _ = writeln!(page, "<li>{}</li>", escape(note));
        }
        page.push_str("</ul>\n");
    }
}

/// Text as HTML, also within a quoted attribute.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() && !c.is_whitespace() => escaped.push('\u{FFFD}'),
            other => escaped.push(other),
        }
    }
    escaped
}
