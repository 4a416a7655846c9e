//! The comparison as Markdown, fit for a pull request: the finding, the table, and how to get it again.

use super::Report;
use super::finding::finding;
use super::format::{count, duration};
use super::table::COLUMNS;
use std::fmt::Write as _;

/// The comparison as Markdown.
pub fn markdown(report: &Report) -> String {
    let mut text = format!("**{}**\n\n", escape(&finding(&report.policies)));
    line(&mut text, &COLUMNS.map(|(heading, _)| heading.to_string()));
    text.push_str("| :--- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for policy in &report.policies {
        let mut cells = COLUMNS.map(|(_, fill)| escape(&fill(policy)));
        cells[0] = format!("`{}`", policy.policy.replace('`', ""));
        if policy.name != policy.algorithm {
            cells[0] = format!("{} {}", escape(&policy.name), cells[0]);
        }
        line(&mut text, &cells);
    }
    let trace = &report.meta.trace;
    let _ = writeln!(
        text,
        "\n{} requests of {} over {}, from {}.",
        count(trace.events),
        if trace.clients == 1 { "one client".into() } else { format!("{} clients", count(trace.clients)) },
        duration(trace.end_ns - trace.start_ns.min(trace.end_ns)),
        trace.path.iter().map(|path| format!("`{}`", path.replace('`', ""))).collect::<Vec<_>>().join(", ")
    );
    if !report.meta.command.is_empty() {
        let _ = writeln!(text, "\n```sh\n{}\n```", super::format::shell(&report.meta.command));
    }
    text
}

fn line<const N: usize>(text: &mut String, cells: &[String; N]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

/// Keeps names from being read as markup.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '\\' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            '\n' | '\r' => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}
