//! `--assert 'fixed-window.peak.overshoot <= 1.1'`: a condition on a number of the report, for use in CI.
//!
//! `KEY OP NUMBER`, where the key is a policy's name and a key of its entry in the JSON report, or `meta.trace` and a key
//! of the trace's facts; OP is one of `< <= == != >= >`. Integers are compared exactly.

use super::{Report, csv};
use crate::error::{Error, Result};
use serde_json::Value;
use std::cmp::Ordering;
use std::fmt;

/// Numbers of `meta.trace`.
const TRACE_KEYS: [&str; 12] = [
    "rows",
    "events",
    "bad",
    "blank",
    "skipped",
    "clients",
    "units",
    "start_ns",
    "end_ns",
    "resolution_ns",
    "reordered",
    "largest_step_back_ns",
];

/// A condition on the report, checked as far as that is possible before there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct Assertion {
    text: String,
    /// The policy's name; `None` for `meta.trace`.
    policy: Option<String>,
    key: String,
    operator: Operator,
    expected: Number,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Less,
    AtMost,
    Equal,
    Unequal,
    AtLeast,
    More,
}

/// Longer signs first, so that `<=` is not read as `<`.
const OPERATORS: [(&str, Operator); 6] = [
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<", Operator::Less),
    (">", Operator::More),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Integer(i128),
    Float(f64),
}

impl Assertion {
    /// Reads a condition on one of `policies` (their names in the report).
    ///
    /// # Errors
    /// [`Error::Usage`] that points at the place, and says what was expected there.
    pub fn parse<S: AsRef<str>>(text: &str, policies: &[S]) -> Result<Self> {
        let at = text.find(['<', '>', '=', '!']).unwrap_or(text.len());
        let (subject, rest) = text.split_at(at);
        let Some(&(sign, operator)) = OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign)) else {
            let found = rest.chars().next().map_or("the end".to_string(), |found| format!("'{found}'"));
            return Err(wrong(text, at, &format!("found {found}, expected one of < <= == != >= >")));
        };
        let number = rest[sign.len()..].trim();
        let number_at = text.len() - rest[sign.len()..].trim_start().len();
        let expected = Number::parse(number).ok_or_else(|| {
            let found = if number.is_empty() { "nothing".into() } else { format!("'{number}'") };
            wrong(text, number_at, &format!("found {found}, expected a number such as 1.1 or 100"))
        })?;
        let indent = subject.len() - subject.trim_start().len();
        let (policy, key, key_at) = split_subject(text, subject.trim(), indent, policies)?;
        let known: Vec<&str> = if policy.is_some() { csv::number_keys().collect() } else { TRACE_KEYS.to_vec() };
        if !known.contains(&key) {
            return Err(wrong(
                text,
                key_at,
                &format!("there is no number '{key}', expected one of {}", known.join(", ")),
            ));
        }
        Ok(Assertion { text: text.trim().to_string(), policy, key: key.to_string(), operator, expected })
    }

    /// The number's key, without the policy; those of the trace begin with `meta.trace.` no more.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Checks the condition.
    ///
    /// # Errors
    /// [`Error::Assertion`] with the value found, also when that is null.
    pub fn check(&self, report: &Report) -> Result<()> {
        let broken = |found: &dyn fmt::Display| Err(Error::Assertion(format!("--assert {}: found {found}", self.text)));
        let found = self.find(report).map_err(|error| Error::failed(format!("--assert {}: {error}", self.text)))?;
        match found.as_ref().and_then(Number::of) {
            Some(found) if self.operator.holds(found.compare(self.expected)) => Ok(()),
            Some(found) => broken(&found),
            None => broken(&"null (this number has no meaning for this policy)"),
        }
    }

    fn find(&self, report: &Report) -> std::result::Result<Option<Value>, serde_json::Error> {
        let entry = match &self.policy {
            None => serde_json::to_value(&report.meta.trace)?,
            Some(name) => match report.policies.iter().find(|policy| policy.name == *name) {
                Some(policy) => serde_json::to_value(policy)?,
                None => return Ok(None),
            },
        };
        let parts = self.key.split('.');
        Ok(parts.into_iter().try_fold(&entry, |value, part| value.get(part)).cloned())
    }
}

/// The policy (`None` for the trace), the key, and where the key starts. Names may hold dots, so the longest one wins.
fn split_subject<'a, S: AsRef<str>>(
    text: &str,
    subject: &'a str,
    at: usize,
    policies: &[S],
) -> Result<(Option<String>, &'a str, usize)> {
    if let Some(key) = subject.strip_prefix("meta.trace.") {
        return Ok((None, key, at + subject.len() - key.len()));
    }
    let names = policies.iter().map(AsRef::as_ref);
    let fits = names.clone().filter_map(|name| Some((name, subject.strip_prefix(name)?.strip_prefix('.')?)));
    if let Some((name, key)) = fits.max_by_key(|(name, _)| name.len()) {
        return Ok((Some(name.to_string()), key, at + subject.len() - key.len()));
    }
    let known: Vec<&str> = names.collect();
    let example = known.first().unwrap_or(&"fixed-window");
    let message =
        format!("expected a policy and a key, such as {example}.peak.overshoot; policies: {}", known.join(", "));
    Err(wrong(text, at, &message))
}

/// The text with a mark under the byte `at`, and what is wrong there.
fn wrong(text: &str, at: usize, message: &str) -> Error {
    let before = text.get(..at).map_or(0, |before| before.chars().count());
    Error::usage(format!("--assert: {message}\n  {text}\n  {}^", " ".repeat(before)))
}

impl Operator {
    fn holds(self, order: Option<Ordering>) -> bool {
        let Some(order) = order else { return false };
        match self {
            Operator::Less => order.is_lt(),
            Operator::AtMost => order.is_le(),
            Operator::Equal => order.is_eq(),
            Operator::Unequal => order.is_ne(),
            Operator::AtLeast => order.is_ge(),
            Operator::More => order.is_gt(),
        }
    }
}

impl Number {
    fn parse(text: &str) -> Option<Self> {
        let integer = text.parse().ok().map(Number::Integer);
        integer.or_else(|| text.parse().ok().filter(|float: &f64| float.is_finite()).map(Number::Float))
    }

    fn of(value: &Value) -> Option<Self> {
        let integer = value.as_u64().map(|integer| Number::Integer(i128::from(integer)));
        integer.or_else(|| value.as_f64().map(Number::Float))
    }

    #[expect(clippy::cast_precision_loss, reason = "beside a float an integer is compared as one")]
    fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => Some(a.cmp(&b)),
            (Number::Integer(a), Number::Float(b)) => (a as f64).partial_cmp(&b),
            (Number::Float(a), Number::Integer(b)) => a.partial_cmp(&(b as f64)),
            (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(value) => value.fmt(f),
            Number::Float(value) => value.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::testing::{five, report};

    const NAMES: [&str; 3] = ["fixed-window", "login", "login.v2"];

    fn burst() -> Report {
        let events: Vec<_> = (0..200).map(|i| (if i < 100 { 59_900_000_000 } else { 60_100_000_000 }, 0, 1)).collect();
        report(&events, &five("100/1m"))
    }

    #[test]
    fn what_holds_passes_and_what_does_not_says_what_was_found() {
        let report = burst();
        let rows = [
            ("fixed-window.peak.overshoot <= 1.1", Some("2")),
            ("fixed-window.peak.overshoot<=2", None),
            ("  fixed-window.peak.units == 200 ", None),
            ("fixed-window.peak.units != 200", Some("200")),
            ("fixed-window.requests.denied > 0", Some("0")),
            ("fixed-window.delay_ns.max >= 0", None),
            ("meta.trace.bad == 0", None),
            ("meta.trace.events < 200.5", None),
        ];
        for (text, found) in rows {
            let assertion = Assertion::parse(text, &NAMES).expect(text);
            match (assertion.check(&report), found) {
                (Ok(()), None) => {}
                (Err(Error::Assertion(message)), Some(found)) => {
                    assert_eq!(message, format!("--assert {}: found {found}", text.trim()));
                }
                (outcome, _) => panic!("{text}: {outcome:?}"),
            }
        }
    }

    #[test]
    fn a_number_without_meaning_never_holds() {
        let report = report(&[(0, 0, 1)], &["unlimited".into()]);
        let assertion = Assertion::parse("unlimited.peak.overshoot <= 1", &["unlimited"]).expect("a condition");
        let Err(Error::Assertion(message)) = assertion.check(&report) else { panic!("null is at most 1") };
        assert!(message.contains("null"), "{message}");
    }

    #[test]
    fn the_longest_name_is_meant() {
        let assertion = Assertion::parse("login.v2.requests.never == 0", &NAMES).expect("a condition");
        assert_eq!(assertion.policy.as_deref(), Some("login.v2"));
    }

    #[test]
    fn mistakes_are_pointed_at() {
        let rows = [
            ("fixed-window.peek.overshoot <= 1.1", 13, "no number 'peek.overshoot'"),
            ("fixed.peak.overshoot <= 1.1", 0, "expected a policy and a key"),
            ("fixed-window.peak.overshoot", 27, "found the end, expected one of"),
            ("fixed-window.peak.overshoot = 1", 28, "found '='"),
            ("fixed-window.peak.overshoot <= much", 31, "found 'much'"),
            ("fixed-window.peak.overshoot <=", 30, "found nothing"),
            ("fixed-window.peak.units <= NaN", 27, "expected a number"),
            ("fixed-window.name == 1", 13, "no number 'name'"),
            ("meta.trace.lines == 1", 11, "no number 'lines'"),
            ("", 0, "expected one of"),
            ("münz.x <> 1", 8, "found"),
        ];
        for (text, column, words) in rows {
            let Err(Error::Usage(message)) = Assertion::parse(text, &NAMES) else { panic!("{text} was understood") };
            assert!(message.contains(words), "{message}");
            let mark = message.lines().last().expect("a mark");
            assert_eq!(mark.chars().count() - 3, column, "{message}");
        }
    }
}
