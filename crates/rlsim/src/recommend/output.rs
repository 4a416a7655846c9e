//! A recommendation as text: the sentence, the numbers and the policy for people, TOML for `--policies`, JSON for programs.

use std::fmt::Write as _;

use super::{Answer, Check, Promise, Recommendation, share};
use crate::error::{Error, Result};
use crate::inspect::text::aligned;
use crate::inspect::{Severity, moment, percent};
use crate::report::{count, duration, quota, shell};
use ratelimit_core::{Algorithm, Rule};

/// The recommendation as plain text.
pub fn text(it: &Recommendation) -> String {
    let mut text = String::new();
    for sentence in sentences(it) {
        let _ = writeln!(text, "{sentence}");
    }
    let _ = writeln!(text, "\n{}", aligned(&answers(it)).trim_end());
    let _ = writeln!(
        text,
        "* recommended; most seen, most ever: units of {} in any {}, here and under the worst traffic",
        if it.by == "global" { "all clients" } else { "one client" },
        duration(it.window_ns)
    );
    if !it.levels.is_empty() {
        let _ = writeln!(text, "\n{}", aligned(&levels(it)).trim_end());
    }
    for finding in &it.warnings {
        let mark = if finding.severity >= Severity::Warning { "warning" } else { "note" };
        let _ = write!(text, "\n{mark}: {}\n  -> {}", finding.found, finding.advice);
    }
    let _ = write!(text, "{}\n{}", if it.warnings.is_empty() { "" } else { "\n" }, table(it));
    text
}

/// The recommended policy as TOML that `compare --policies` reads back. The comments say where it comes from.
pub fn toml(it: &Recommendation) -> String {
    let mut text = String::new();
    for sentence in sentences(it) {
        let _ = writeln!(text, "# {}", one_line(&sentence));
    }
    if !it.meta.command.is_empty() {
        let _ = writeln!(text, "# made by: {}", one_line(&shell(&it.meta.command)));
    }
    if it.by == "global" {
        let _ = writeln!(text, "# one limit for all clients together: compare it with --by global");
    }
    text + &table(it)
}

/// The policy alone, as TOML.
fn table(it: &Recommendation) -> String {
    let policy = it.answers.get(it.recommended).map_or("", |answer| &answer.policy);
    format!("[[policy]]\nname = \"recommended\"\npolicy = \"{policy}\"\n")
}

/// The recommendation as JSON with a final newline.
///
/// # Errors
/// [`Error::Failed`] if it cannot be written, which does not happen for numbers and text.
pub fn json(it: &Recommendation) -> Result<String> {
    let mut text = serde_json::to_string_pretty(it)
        .map_err(|error| Error::failed(format!("cannot write the recommendation as JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}

/// What is recommended and why it may be trusted, a sentence each.
pub(crate) fn sentences(it: &Recommendation) -> Vec<String> {
    let Some(answer) = it.answers.get(it.recommended) else { return Vec::new() };
    let whose = if it.by == "global" { "all clients together" } else { "each client" };
    let mut sentences = vec![
        format!("Recommended for {whose}: {}{}", answer.policy, in_words(answer)),
        format!("The promise: {}.", it.promise.words()),
        format!("{}.", fitted(it, answer)),
    ];
    let found = &answer.measured;
    sentences.push(format!(
        "On the whole trace it refuses {} of the requests ({} of {}) and limits {} of {} clients.",
        percent(answer.refused_share),
        count(found.refused()),
        count(found.offered),
        count(found.limited),
        count(found.clients)
    ));
    sentences.push(format!(
        "Whatever comes, {} gets at most {} units through in any {}; here it was {}.",
        if it.by == "global" { "the service" } else { "a client" },
        count(answer.most_in_a_window),
        duration(it.window_ns),
        count(found.peak)
    ));
    if let Promise::Attack { .. } = it.promise {
        sentences.push(attack(answer));
    }
    sentences
}

/// The policy as one would say it.
fn in_words(answer: &Answer) -> String {
    let Ok(policy) = answer.policy.parse::<ratelimit_core::Policy>() else { return String::new() };
    let [rule] = policy.rules() else { return String::new() };
    let Some(limit) = rule.quota() else { return String::new() };
    let rate = quota(limit.limit(), limit.window().get());
    match rule {
        Rule::TokenBucket(bucket) => format!(" ({rate}, and {} at once)", count(bucket.capacity())),
        Rule::LeakyBucket(bucket) => format!(" ({rate}, with a queue of {})", count(bucket.capacity())),
        _ => format!(" ({rate})"),
    }
}

/// How it was found, and whether it holds on what it was not fitted on.
fn fitted(it: &Recommendation, answer: &Answer) -> String {
    let size = |extent: &super::Extent| {
        let clients =
            if extent.clients == 1 { "1 client".into() } else { format!("{} clients", count(extent.clients)) };
        format!("{} requests, {clients}, {}", count(extent.requests), duration(extent.span_ns))
    };
    let first = size(&it.split.fit);
    match (&answer.check, &it.split.rest, it.split.at_ns) {
        (Some(check), Some(rest), Some(at)) if check.holds => {
            format!(
                "Fitted on the part before {} ({first}), it holds on the rest ({}): {}",
                moment(at),
                size(rest),
                outcome(it, check)
            )
        }
        (Some(check), Some(rest), Some(at)) => format!(
            "Fitted on the whole trace, so nothing unseen confirms it. Fitted on the part before {} alone ({first}), it would be \
             {}, which fails on the rest ({}): {}",
            moment(at),
            answer.fitted,
            size(rest),
            outcome(it, check)
        ),
        _ => format!("Fitted on the whole trace ({first}), so nothing unseen confirms it"),
    }
}

fn outcome(it: &Recommendation, check: &Check) -> String {
    if it.by == "global" {
        return format!(
            "at most {} units in a window, {} of {} requests refused",
            count(check.peak),
            count(check.refused),
            count(check.offered)
        );
    }
    let most = match check.may_be_limited {
        0 => "where none may be".to_owned(),
        most => format!("where {} may be", count(most)),
    };
    format!("{} of {} clients limited, {most}", count(check.limited), count(check.clients))
}

fn attack(answer: &Answer) -> String {
    let found = &answer.measured;
    let outside = found.refused() - found.inside_refused;
    let verdict = if found.inside_refused.saturating_mul(2) < found.inside {
        " Most of the attack looks like normal traffic to a limit on each client: it takes another defence."
    } else {
        ""
    };
    format!(
        "Of the {} requests in the interval of the attack it refuses {} ({}); of the {} others {}.{verdict}",
        count(found.inside),
        count(found.inside_refused),
        percent(crate::inspect::ratio(found.inside_refused.into(), found.inside.into()).unwrap_or(0.0)),
        count(found.offered - found.inside),
        if outside == 0 { "none".to_owned() } else { count(outside) }
    )
}

fn answers(it: &Recommendation) -> Vec<Vec<String>> {
    let mut rows = vec![
        ["answer", "on the rest", "refused", "limited", "most seen", "most ever", "wait"].map(str::to_owned).to_vec(),
    ];
    for (i, answer) in it.answers.iter().enumerate() {
        let found = &answer.measured;
        let rest = match answer.check {
            None => "-".to_owned(),
            Some(check) if check.holds => "holds".to_owned(),
            Some(check) => format!("fails ({} of {})", check.limited, check.clients),
        };
        rows.push(vec![
            format!("{}{}", answer.policy, if i == it.recommended { " *" } else { "" }),
            rest,
            percent(answer.refused_share),
            format!("{} of {}", found.limited, found.clients),
            found.peak.to_string(),
            answer.most_in_a_window.to_string(),
            if found.longest_wait_ns > 0 { duration(found.longest_wait_ns) } else { "-".into() },
        ]);
    }
    rows
}

fn levels(it: &Recommendation) -> Vec<Vec<String>> {
    let mut rows =
        vec![["clients kept", "policy", "refused", "limited", "most seen", "most ever"].map(str::to_owned).to_vec()];
    for level in &it.levels {
        let found = &level.measured;
        rows.push(vec![
            share(level.kept_millionths),
            level.policy.clone(),
            percent(crate::inspect::ratio(found.refused().into(), found.offered.into()).unwrap_or(0.0)),
            format!("{} of {}", found.limited, found.clients),
            found.peak.to_string(),
            level.most_in_a_window.to_string(),
        ]);
    }
    rows
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
