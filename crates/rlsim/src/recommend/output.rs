//! A recommendation as text: the sentence, the numbers and the policy for people, TOML for `--policies`, JSON for programs.

use std::fmt::Write as _;

use ratelimit_core::{Policy, Quota, Rule};

use super::answer::is_set_aside;
use super::{Answer, Check, Promise, Recommendation, share};
use crate::error::{Error, Result};
use crate::inspect::text::aligned;
use crate::inspect::{Severity, counted, moment, percent};
use crate::report::{count, duration, shell};
use crate::sim::table::capital;

/// The recommendation as plain text.
pub fn text(it: &Recommendation) -> String {
    let mut text = String::new();
    for sentence in sentences(it) {
        let _ = writeln!(text, "{sentence}");
    }
    let _ = writeln!(text, "\n{}", aligned(&answers(it)).trim_end());
    let _ = writeln!(
        text,
        "(* recommended; most seen, most ever: units of {} in any {}, here and under the worst traffic)",
        if it.by == "global" || it.nameless { "all together" } else { "one client" },
        duration(it.window_ns)
    );
    if let Some(why) = preferred(it) {
        let _ = writeln!(text, "({why})");
    }
    if !it.levels.is_empty() {
        let _ = writeln!(text, "\n{}", aligned(&levels(it)).trim_end());
        if let Some(why) = knees(it) {
            let _ = writeln!(text, "({why})");
        }
    }
    for finding in &it.warnings {
        let _ = write!(text, "\n{}: {}\n  -> {}", finding.severity.name(), finding.found, finding.advice);
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
    for finding in &it.warnings {
        let _ = writeln!(
            text,
            "# {}: {}; {}",
            finding.severity.name(),
            one_line(&finding.found),
            one_line(&finding.advice)
        );
    }
    if it.by == "global" {
        text.push_str("by = \"global\" # one limit for all clients together\n\n");
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

/// What is recommended and why it may be trusted, a sentence each. What speaks against it comes first.
pub(crate) fn sentences(it: &Recommendation) -> Vec<String> {
    let Some(answer) = it.answers.get(it.recommended) else { return Vec::new() };
    let attack = matches!(it.promise, Promise::Attack { .. }).then(|| attack(answer));
    let mut sentences = Vec::new();
    if let Some((sentence, false)) = &attack {
        sentences.push(format!("This limit does not keep the attack out: {sentence}"));
    }
    sentences.push(format!("Recommended for {}: {}", whose(it), answer.policy));
    if let Some(why) = unfit(it) {
        sentences.pop();
        let worth = format!("for what it is worth: {} for {}", answer.policy, whose(it));
        sentences.insert(0, format!("Not fit for choosing a limit: {why}; {worth}"));
    }
    sentences.push(promise(it));
    if let Some((sentence, true)) = &attack {
        sentences.push(capital(sentence));
    }
    sentences.push(format!("{}.", fitted(it, answer)));
    sentences.push(on_the_whole(it, answer));
    sentences.push(format!(
        "Whatever comes, {} gets at most {} through in any {}; here it was {}.",
        if it.by == "global" || it.nameless { "the service" } else { "a client" },
        counted(answer.most_in_a_window, "unit"),
        duration(it.window_ns),
        count(answer.measured.peak)
    ));
    sentences
}

/// Why a limit chosen from this trace has no ground, where it has none.
pub(crate) fn unfit(it: &Recommendation) -> Option<String> {
    let unfit = it.warnings.iter().filter(|finding| finding.severity == Severity::Unfit);
    let why: Vec<&str> = unfit.map(|finding| finding.found.as_str()).collect();
    (!why.is_empty()).then(|| why.join(", "))
}

/// Whether nothing unseen confirms what is recommended.
pub(crate) fn is_unconfirmed(it: &Recommendation) -> bool {
    it.answers.get(it.recommended).is_some_and(|answer| !answer.is_confirmed())
}

fn whose(it: &Recommendation) -> &'static str {
    match (it.by, it.nameless) {
        ("global", _) => "all clients together",
        (_, true) => "all requests together, as the trace names no clients",
        _ => "each client",
    }
}

fn promise(it: &Recommendation) -> String {
    let nothing = match it.promise {
        Promise::LimitedClients { millionths } => millionths < 1_000_000,
        Promise::KeepClientsBelow { .. } => true,
        Promise::ServiceAtMost { .. } | Promise::Attack { .. } => false,
    };
    // Of a single client no share can be limited.
    if it.nameless && nothing {
        return "The promise: no request is ever refused.".into();
    }
    format!("The promise: {}.", it.promise.words())
}

fn on_the_whole(it: &Recommendation, answer: &Answer) -> String {
    let found = &answer.measured;
    let refused = format!(
        "On the whole trace it refuses {} of the requests ({} of {})",
        percent(answer.refused_share),
        count(found.refused()),
        count(found.offered)
    );
    if it.nameless {
        return refused + ".";
    }
    format!("{refused} and limits {} of {}.", count(found.limited), counted(found.clients, "client"))
}

/// How it was found, and whether it holds on what it was not fitted on.
fn fitted(it: &Recommendation, answer: &Answer) -> String {
    let size = |extent: &super::Extent| {
        let clients = if it.nameless { String::new() } else { counted(extent.clients, "client") + ", " };
        format!("{}, {clients}{}", counted(extent.requests, "request"), duration(extent.span_ns))
    };
    let first = size(&it.split.fit);
    let (Some(check), Some(whole), Some(rest), Some(at)) =
        (&answer.check, &answer.whole, &it.split.rest, it.split.at_ns)
    else {
        return format!("Fitted on the whole trace ({first}), and confirmed by nothing unseen");
    };
    let (at, rest) = (moment(at), size(rest));
    if check.holds && whole.holds {
        return format!(
            "Fitted on the part before {at} ({first}), {} on the rest ({rest}): {}",
            holds(it),
            outcome(it, check)
        );
    }
    let why = if check.holds {
        format!("holds on the rest ({rest}), but not on the whole trace: {}", outcome(it, whole))
    } else {
        format!("does not hold on the rest ({rest}): {}", outcome(it, check))
    };
    format!(
        "Fitted on the whole trace, and confirmed by nothing unseen: the fit to the part before {at} ({first}), {}, {why}",
        answer.fitted
    )
}

/// What of the promise a rest without the attack can confirm.
fn holds(it: &Recommendation) -> &'static str {
    if matches!(it.promise, Promise::Attack { .. }) { "it keeps what is no attack" } else { "it holds" }
}

fn outcome(it: &Recommendation, check: &Check) -> String {
    if it.by == "global" {
        return format!(
            "at most {} in a window, {} of {} refused",
            counted(check.peak, "unit"),
            count(check.refused),
            counted(check.offered, "request")
        );
    }
    if it.nameless {
        return format!("{} of {} refused", count(check.refused), counted(check.offered, "request"));
    }
    format!(
        "{} of {} limited, {} allowed",
        count(check.limited),
        counted(check.clients, "client"),
        if check.may_be_limited == 0 { "none".into() } else { count(check.may_be_limited) }
    )
}

/// What becomes of the attack, and whether most of it is kept out.
fn attack(answer: &Answer) -> (String, bool) {
    let found = &answer.measured;
    let outside = found.refused() - found.inside_refused;
    let kept_out = found.inside_refused.saturating_mul(2) >= found.inside;
    let verdict =
        if kept_out { "" } else { " It looks like normal traffic to such a limit, and takes another defence." };
    let sentence = format!(
        "of the {} in the interval of the attack it refuses {} ({}); of the {} others {}.{verdict}",
        counted(found.inside, "request"),
        count(found.inside_refused),
        percent(crate::inspect::ratio(found.inside_refused.into(), found.inside.into()).unwrap_or(0.0)),
        count(found.offered - found.inside),
        if outside == 0 { "none".to_owned() } else { count(outside) }
    );
    (sentence, kept_out)
}

fn answers(it: &Recommendation) -> Vec<Vec<String>> {
    let mut rows = vec![
        ["answer", "first fit, on the rest", "refused", "limited", "most seen", "most ever", "wait"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (i, answer) in it.answers.iter().enumerate() {
        let found = &answer.measured;
        rows.push(vec![
            format!("{}{}", answer.policy, if i == it.recommended { " *" } else { "" }),
            first_fit(answer),
            percent(answer.refused_share),
            format!("{} of {}", found.limited, found.clients),
            found.peak.to_string(),
            answer.most_in_a_window.to_string(),
            if found.longest_wait_ns > 0 { duration(found.longest_wait_ns) } else { "-".into() },
        ]);
    }
    rows
}

/// What became of the policy that was fitted on the first part, by its numbers where it is not the one advised.
fn first_fit(answer: &Answer) -> String {
    let found = match (answer.check, answer.whole) {
        (Some(rest), Some(whole)) if rest.holds && !whole.holds => {
            format!("fails on all ({} of {})", whole.limited, whole.clients)
        }
        (Some(rest), _) if rest.holds => "holds".to_owned(),
        (Some(rest), _) => format!("fails ({} of {})", rest.limited, rest.clients),
        (None, _) => "-".to_owned(),
    };
    match answer.fitted.split_once(':') {
        Some((_, numbers)) if answer.fitted != answer.policy => format!("{numbers} {found}"),
        _ => found,
    }
}

/// Why the recommended answer is preferred to one that holds and refuses less, where there is such a one.
fn preferred(it: &Recommendation) -> Option<String> {
    let best = it.answers.get(it.recommended)?;
    let global = it.by == "global";
    let refused = |answer: &Answer| answer.measured.refused();
    // Up to a quarter above, a bound is nearly the same.
    let near = |other: &Answer| other.fitted_bound <= best.fitted_bound.saturating_add(best.fitted_bound / 4);
    let better = |other: &&Answer| {
        is_set_aside(other, global) == is_set_aside(best, global)
            && other.is_confirmed()
            && refused(other) < refused(best)
            && (near(other) || !best.is_confirmed())
    };
    let other = it.answers.iter().filter(better).min_by_key(|other| (refused(other), other.fitted_bound))?;
    Some(format!(
        "{} is chosen by the bound of its first fit alone, {} against {}: {} holds and refuses less, but what is chosen by \
         the check is no longer checked by it",
        best.algorithm,
        count(best.fitted_bound),
        count(other.fitted_bound),
        other.policy
    ))
}

/// One row a policy: shares of clients that need the same stand in one row.
fn levels(it: &Recommendation) -> Vec<Vec<String>> {
    let mut rows =
        vec![["clients kept", "policy", "refused", "limited", "most seen", "most ever"].map(str::to_owned).to_vec()];
    for same in it.levels.chunk_by(|a, b| a.policy == b.policy) {
        let (Some(first), Some(level)) = (same.first(), same.last()) else { continue };
        let found = &level.measured;
        let kept = share(level.kept_millionths);
        rows.push(vec![
            if same.len() == 1 { kept } else { format!("{} to {kept}", share(first.kept_millionths)) },
            level.policy.clone(),
            percent(crate::inspect::ratio(found.refused().into(), found.offered.into()).unwrap_or(0.0)),
            format!("{} of {}", found.limited, found.clients),
            found.peak.to_string(),
            level.most_in_a_window.to_string(),
        ]);
    }
    rows
}

/// Why a row may keep more clients at a lower rate: each has two numbers, and only together they are a price.
fn knees(it: &Recommendation) -> Option<&'static str> {
    let limits: Option<Vec<u64>> = it.levels.iter().map(|level| rate(&level.policy)).collect();
    limits.filter(|limits| !limits.is_sorted()).map(|_| {
        "each row is the knee of its own curve of rates and bursts: a lower rate comes with a larger burst; most ever is \
         the price of both"
    })
}

fn rate(policy: &str) -> Option<u64> {
    let policy: Policy = policy.parse().ok()?;
    policy.rules().first().and_then(Rule::quota).map(Quota::limit)
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
