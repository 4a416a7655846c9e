//! What a person should know about a trace before trusting the numbers that follow.

use super::output;
use crate::inspect::{self, Finding, Severity};
use crate::report;
use crate::trace::wording::ending;
use crate::trace::{Facts, is_too_coarse};

/// Says what was read, and what is odd about it for limits in these windows.
pub(super) fn tell(facts: &Facts, clients: u64, windows: &[u64]) {
    output::talk(&format!(
        "read {} row{} ({}): {} event{}, {} bad, {} blank, {} skipped; {} client{}",
        report::count(facts.rows),
        ending(facts.rows),
        facts.format,
        report::count(facts.events),
        ending(facts.events),
        report::count(facts.bad),
        report::count(facts.blank),
        report::count(facts.skipped),
        report::count(clients),
        ending(clients),
    ));
    for note in &facts.notes {
        output::talk(&format!("note: {note}"));
    }
    let is_too_short = |window: &u64| is_too_coarse(facts.resolution_ns, facts.events, *window);
    if let Some(window) = windows.iter().copied().find(is_too_short) {
        output::talk(&format!(
            "note: the window of {} is shorter than the clock of the trace, which ticks every {}: bursts within a tick are \
             an artefact; choose a longer window",
            report::duration(window),
            report::duration(facts.resolution_ns)
        ));
    }
}

/// Warns where more than a few rows are missing in all that follows.
pub(super) fn warn_of_unreadable(facts: &Facts) {
    let bad = inspect::unreadable(facts.bad, facts.rows);
    if let Some(bad) = bad.filter(|bad| bad.severity >= Severity::Warning) {
        warn(&bad);
    }
}

/// Says a finding in a line.
pub(super) fn warn(finding: &Finding) {
    output::talk(&format!("warning: {}; {}", finding.found, finding.advice));
}
