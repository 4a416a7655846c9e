//! Policies with names: what is typed as `login=token-bucket:5/1m`, and the default set.

use ratelimit_core::{
    FixedWindow, LeakyBucket, Policy, PolicyError, Quota, Rule, SlidingCounter, SlidingLog, TokenBucket,
};

use crate::error::{Error, Result};

/// A policy and the name that reports call it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPolicy {
    /// Unique in a report.
    pub name: String,
    /// The policy.
    pub policy: Policy,
}

impl NamedPolicy {
    /// The algorithm's name, or the names joined by `+`.
    pub fn algorithm(&self) -> String {
        algorithm(&self.policy)
    }

    /// The quota, for a policy of one rule that has one.
    pub fn quota(&self) -> Option<Quota> {
        match self.policy.rules() {
            [rule] => rule.quota(),
            _ => None,
        }
    }

    /// The burst, for a lone bucket.
    pub fn burst(&self) -> Option<u64> {
        match self.policy.rules() {
            [rule] => rule.burst(),
            _ => None,
        }
    }
}

fn algorithm(policy: &Policy) -> String {
    policy.rules().iter().map(Rule::name).collect::<Vec<_>>().join("+")
}

/// All five algorithms with one quota; the burst is for the buckets.
///
/// # Errors
/// A burst of 0, as [`Error::Usage`].
pub fn default_policies(quota: Quota, burst: Option<u64>) -> Result<Vec<NamedPolicy>> {
    let burst = burst.unwrap_or(quota.limit());
    let mistaken = |error| Error::usage(format!("--burst {burst}: {error}"));
    let rules = [
        Rule::FixedWindow(FixedWindow::new(quota)),
        Rule::SlidingLog(SlidingLog::new(quota)),
        Rule::SlidingCounter(SlidingCounter::new(quota)),
        Rule::TokenBucket(TokenBucket::new(quota).burst(burst).map_err(mistaken)?),
        Rule::LeakyBucket(LeakyBucket::new(quota).burst(burst).map_err(mistaken)?),
    ];
    Ok(rules.into_iter().map(|rule| NamedPolicy { name: rule.name().to_owned(), policy: rule.into() }).collect())
}

/// A policy as typed, `POLICY` or `NAME=POLICY`, with its name if it was given one.
///
/// # Errors
/// [`Error::Usage`] that shows the text with a caret under the place of the mistake.
pub fn parse_named(text: &str) -> Result<(Option<String>, Policy)> {
    // `burst=20` has an equals sign too, but a policy has its colon first; a name has neither.
    let (name, policy) = match text.split_once('=') {
        Some((name, policy)) if !name.contains(':') => (Some(name), policy),
        _ => (None, text),
    };
    if let Some(name) = name
        && !is_name(name)
    {
        return Err(Error::usage(format!(
            "policy {text:?}: the name {name:?} is not usable, expected letters, digits, `-`, `_` or spaces before the `=`, \
             such as login=token-bucket:5/1m"
        )));
    }
    let parsed = policy.parse().map_err(|error| mistake(text, text.len() - policy.len(), error))?;
    Ok((name.map(str::to_owned), parsed))
}

/// Names appear in reports, in `--assert` paths (which split at dots) and in file names.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    !name.is_empty() && name.trim() == name && name.chars().all(plain)
}

fn mistake(text: &str, offset: usize, error: PolicyError) -> Error {
    let place = offset + error.position();
    // The caret stands under a character, not a byte.
    let column = text.get(..place).map_or(place, |before| before.chars().count());
    Error::usage(format!("{}\n  {text}\n  {:>width$}", error.expected(), "^", width = column + 1))
}

/// Gives each policy without a name its algorithm's, numbered when repeated.
///
/// # Errors
/// [`Error::Usage`] when the same name is given twice.
pub fn unique_names(parsed: Vec<(Option<String>, Policy)>) -> Result<Vec<NamedPolicy>> {
    let mut taken: Vec<String> = Vec::new();
    for name in parsed.iter().filter_map(|(name, _)| name.clone()) {
        if taken.contains(&name) {
            return Err(Error::usage(format!(
                "the policy name {name:?} is given twice, expected each name once: --policy NAME=POLICY"
            )));
        }
        taken.push(name);
    }
    let mut named = Vec::with_capacity(parsed.len());
    for (name, policy) in parsed {
        let name = name.unwrap_or_else(|| {
            let base = algorithm(&policy);
            let candidates = (1..).map(|n| if n == 1 { base.clone() } else { format!("{base}-{n}") });
            let free = candidates.into_iter().find(|name| !taken.contains(name)).unwrap_or(base.clone());
            taken.push(free.clone());
            free
        });
        named.push(NamedPolicy { name, policy });
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(texts: &[&str]) -> Result<Vec<String>> {
        let parsed = texts.iter().map(|text| parse_named(text)).collect::<Result<_>>()?;
        Ok(unique_names(parsed)?.into_iter().map(|policy| policy.name).collect())
    }

    #[test]
    fn names_are_given_or_made_and_always_unique() {
        assert_eq!(
            names(&["token-bucket:1/s,burst=3", "login=token-bucket:5/1m", "token-bucket:2/s", "unlimited"]).unwrap(),
            ["token-bucket", "login", "token-bucket-2", "unlimited"]
        );
        assert_eq!(
            names(&["token-bucket:1/s", "token-bucket=fixed-window:5/1m"]).unwrap(),
            ["token-bucket-2", "token-bucket"]
        );
        assert_eq!(names(&["fixed-window:1/s+sliding-log:9/h"]).unwrap(), ["fixed-window+sliding-log"]);
        let error = names(&["a=token-bucket:1/s", "a=token-bucket:1/s"]).unwrap_err();
        assert!(error.to_string().contains("given twice"), "{error}");
        let error = names(&["a.b=token-bucket:1/s"]).unwrap_err();
        assert!(error.to_string().contains("not usable"), "{error}");
    }

    #[test]
    fn mistakes_are_shown_at_their_place() {
        let error = parse_named("login=token-bucket:5/1x").unwrap_err().to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines[1].find("1x").map(|i| i + 1), lines[2].find('^'), "{error}");
        assert!(parse_named("é=unlimitd").unwrap_err().to_string().ends_with("\n    ^"));
    }
}
