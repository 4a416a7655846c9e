//! What the numbers mean for choosing a limit, and what to do about it: one rule a function.

use serde::Serialize;

use super::moment::moment;
use super::stamps::Concentrated;
use super::{Inspection, counted, percent, ratio};
use crate::report::{count, duration};

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;
/// With fewer windows than this in the span there is no choosing a limit, and from here to `FEW_WINDOWS` with care.
const FEWEST_WINDOWS: u64 = 3;
const FEW_WINDOWS: u64 = 10;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// A limit chosen from this trace may be wrong in the way described.
    Warning,
    /// A limit chosen from this trace has no ground.
    Unfit,
}

impl Severity {
    /// Its name in front of a finding.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Unfit => "unfit",
        }
    }
}

/// Something found, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A stable name, such as `coarse-clock`.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub advice: String,
}

type Rule = fn(&Inspection) -> Option<Finding>;

/// In the order in which they are told when they matter equally.
const RULES: [Rule; 12] = [
    few_events,
    bad_rows,
    refused,
    concentrated_stamps,
    coarse_clock,
    mixed_clocks,
    many_on_one_stamp,
    short,
    silent,
    few_clients,
    one_client_dominates,
    out_of_order,
];

/// All findings, those that matter most first.
pub(super) fn findings(inspection: &Inspection) -> Vec<Finding> {
    let mut found: Vec<Finding> = RULES.iter().filter_map(|rule| rule(inspection)).collect();
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found
}

#[expect(clippy::unnecessary_wraps, reason = "it is the last expression of rules, which may find nothing")]
fn finding(code: &'static str, severity: Severity, found: String, advice: impl Into<String>) -> Option<Finding> {
    Some(Finding { code, severity, found, advice: advice.into() })
}

fn few_events(it: &Inspection) -> Option<Finding> {
    let events = it.meta.trace.events;
    if events >= 100 {
        return None;
    }
    finding(
        "few-events",
        Severity::Unfit,
        format!("only {}", counted(events, "request")),
        "too few to choose a limit from; take a longer trace",
    )
}

fn bad_rows(it: &Inspection) -> Option<Finding> {
    unreadable(it.meta.trace.bad, it.meta.trace.rows)
}

/// What it means that `bad` of the rows could not be read.
pub(crate) fn unreadable(bad: u64, rows: u64) -> Option<Finding> {
    if bad == 0 {
        return None;
    }
    let more_than_one_in = |part: u128| u128::from(bad) * part > u128::from(rows);
    finding(
        "bad-rows",
        match () {
            () if more_than_one_in(4) => Severity::Unfit,
            () if more_than_one_in(100) => Severity::Warning,
            () => Severity::Note,
        },
        format!(
            "{} of {} could not be read ({})",
            count(bad),
            counted(rows, "row"),
            percent(ratio(bad.into(), rows.into()).unwrap_or(0.0))
        ),
        "read the first ones above; --format, --time-column and --log-format say how to read the input",
    )
}

fn refused(it: &Inspection) -> Option<Finding> {
    let Some(refused) = &it.refused else {
        return finding(
            "status-unknown",
            Severity::Note,
            "no status column: whether requests were already refused is not known".into(),
            "make sure that no limit was in force while the trace was taken; --status-column names the column",
        );
    };
    if refused.all() == 0 {
        return None;
    }
    finding(
        "already-refused",
        Severity::Warning,
        format!("requests were already refused: {}", refused.words()),
        "demand is cut off there, or inflated by retries: the true need may be higher; take the trace in front of the \
         limiter, or while it only counts",
    )
}

fn concentrated_stamps(it: &Inspection) -> Option<Finding> {
    let (place, advice) = concentration(it.stamps.concentrated?);
    finding("concentrated-stamps", Severity::Warning, place, advice)
}

/// What a concentration is, and what to do about it.
pub(super) fn concentration(odd: Concentrated) -> (String, String) {
    let part = match (odd.part_ns, odd.turn_ns) {
        (60_000_000_000, _) => format!("minute {} of the hour", odd.fullest),
        (1_000_000_000, _) => format!("second {} of the minute", odd.fullest),
        _ => format!("{} of the second", duration(odd.fullest * odd.part_ns)),
    };
    let place = if odd.used == 1 {
        let turn = match odd.turn_ns {
            3_600_000_000_000 => "hour",
            60_000_000_000 => "minute",
            _ => "second",
        };
        format!("99 % of the requests fall into {part}, in each of {} with any", counted(odd.turns, turn))
    } else {
        format!("99 % of the requests fall into {} of {} parts of each {}", odd.used, odd.parts, duration(odd.turn_ns))
    };
    (
        format!("{place}: stamps were rewritten, the log is a sample, or a timer sends it all"),
        format!(
            "rates in windows shorter than {} may be up to {} times too high; choose such a window or a longer one, or \
             another trace",
            duration(odd.turn_ns),
            odd.parts / odd.used.max(1)
        ),
    )
}

fn coarse_clock(it: &Inspection) -> Option<Finding> {
    let resolution = it.meta.trace.resolution_ns;
    let shortest = resolution.saturating_mul(10);
    // A few stamps have a common step by chance.
    if resolution < SECOND / 10 || it.stamps.distinct < 20 {
        return None;
    }
    finding(
        "coarse-clock",
        if it.window_ns < shortest { Severity::Warning } else { Severity::Note },
        format!("the clock ticks every {}: what happened within a tick is unknown", duration(resolution)),
        format!(
            "choose windows of {} or longer; bursts within a tick, at most {} here, are an artefact",
            duration(shortest),
            counted(it.stamps.most_on_one, "request")
        ),
    )
}

fn mixed_clocks(it: &Inspection) -> Option<Finding> {
    let mixed = it.stamps.coarser_step?;
    finding(
        "mixed-clocks",
        Severity::Warning,
        format!(
            "{} of the stamps are multiples of {}, the others are not: some were cut off",
            percent(mixed.share),
            duration(mixed.step_ns)
        ),
        format!("trust windows of {} or longer only", duration(mixed.step_ns.saturating_mul(10))),
    )
}

fn many_on_one_stamp(it: &Inspection) -> Option<Finding> {
    let stamps = &it.stamps;
    let fine = it.meta.trace.resolution_ns < SECOND / 10;
    if !fine || stamps.most_on_one < 20 || stamps.most_on_one.saturating_mul(100) < it.meta.trace.events {
        return None;
    }
    finding(
        "batched-stamps",
        Severity::Warning,
        format!(
            "{} requests bear the same stamp, {}, although the clock ticks every {}",
            count(stamps.most_on_one),
            moment(stamps.most_on_one_ns),
            duration(it.meta.trace.resolution_ns)
        ),
        "a batch written at once looks like a burst; look whether the stamp is that of the request or of the log",
    )
}

fn short(it: &Inspection) -> Option<Finding> {
    let windows = it.span_ns / it.window_ns.max(1);
    let (severity, advice) = match windows {
        0..FEWEST_WINDOWS => {
            (Severity::Unfit, format!("fewer than three windows of {} show no demand in one", duration(it.window_ns)))
        }
        FEWEST_WINDOWS..FEW_WINDOWS => {
            (Severity::Warning, format!("fewer than ten windows of {}", duration(it.window_ns)))
        }
        _ if it.span_ns < DAY - DAY / 100 => {
            let advice = "less than a day: the busiest hour of the day or the week may be missing";
            return finding("short", Severity::Note, format!("the trace spans {}", duration(it.span_ns)), advice);
        }
        _ => return None,
    };
    finding(
        "short",
        severity,
        format!("the trace spans {}", duration(it.span_ns)),
        advice + ": take a longer trace or a shorter window",
    )
}

fn silent(it: &Inspection) -> Option<Finding> {
    let gap = it.gaps.longest_ns;
    let long = it.meta.trace.events >= 100 && gap > it.span_ns / 10;
    if !long {
        return None;
    }
    finding(
        "silent",
        Severity::Warning,
        format!("nothing for {} after {}", duration(gap), moment(it.gaps.longest_from_ns)),
        "a part of the log may be missing, and means over the whole span are too low; cut the trace there",
    )
}

fn few_clients(it: &Inspection) -> Option<Finding> {
    match it.clients.total {
        0 | 1 => finding(
            "one-client",
            Severity::Warning,
            "one client: all requests count together".into(),
            "fine for a limit on all traffic; for a limit on each client name its column with --client-column",
        ),
        total if total < 100 => finding(
            "few-clients",
            Severity::Warning,
            format!("{} clients", count(total)),
            "percentiles of clients mean little below 100 of them; take a longer trace",
        ),
        _ => None,
    }
}

fn one_client_dominates(it: &Inspection) -> Option<Finding> {
    let largest = it.clients.largest.first()?;
    if it.clients.total < 2 || largest.share < 0.2 {
        return None;
    }
    let name = largest.name.as_deref().unwrap_or("one client");
    finding(
        "one-client-dominates",
        Severity::Warning,
        format!("{name} makes {} of the traffic", percent(largest.share)),
        "a proxy, a load test or an abuser: find out which, before a limit is fitted to it or against it",
    )
}

fn out_of_order(it: &Inspection) -> Option<Finding> {
    let trace = &it.meta.trace;
    if trace.reordered == 0 {
        return None;
    }
    let serious = trace.largest_step_back_ns >= it.window_ns;
    finding(
        "out-of-order",
        if serious { Severity::Warning } else { Severity::Note },
        format!(
            "{} {} out of order, by up to {}; sorted now",
            counted(trace.reordered, "request"),
            if trace.reordered == 1 { "was" } else { "were" },
            duration(trace.largest_step_back_ns)
        ),
        if serious {
            "more than a window: the stamps may be those of the end of a request; --time-is end takes the duration off"
        } else {
            "usual where a line is written at the end of a request"
        },
    )
}
