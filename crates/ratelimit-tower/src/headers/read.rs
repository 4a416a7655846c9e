//! What a server said, in whatever dialect: the client's half.

use std::time::{Duration, SystemTime};

use http::header::{HeaderMap, HeaderName, RETRY_AFTER};

use super::sf::{self, Bare, Item, Member};
use super::{RATELIMIT, triple, x_ratelimit};

/// What one response says about limits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hint {
    /// `Retry-After`, as a wait from now.
    pub retry_after: Option<Duration>,
    /// What each policy says.
    pub policies: Vec<PolicyHint>,
}

/// What is available under one policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyHint {
    /// The policy's name, in the dialects that have names.
    pub name: Option<String>,
    /// Units that can be used within `within`.
    pub available: u64,
    /// The time that `available` is for; where the server does not say, none.
    pub within: Option<Duration>,
}

/// Reads `Retry-After` and the `RateLimit` fields of every dialect. A field that is not well formed counts as absent, and
/// so does a member that lacks what it must have. `now` turns instants into waits.
pub fn read(headers: &HeaderMap, now: SystemTime) -> Hint {
    let mut policies = read_list(headers);
    if policies.is_empty() {
        policies.extend(read_dictionary(headers));
    }
    if policies.is_empty() {
        policies.extend(read_single(headers, &triple::REMAINING, &triple::RESET, now));
    }
    if policies.is_empty() {
        policies.extend(read_single(headers, &x_ratelimit::REMAINING, &x_ratelimit::RESET, now));
    }
    Hint { retry_after: read_retry_after(headers, now), policies }
}

/// A field that is longer says nothing: no server has so many policies, and to read it costs time and memory.
const LONGEST_FIELD: usize = 16 * 1024;

/// All lines of a field as one; nothing of a field that is too long.
fn joined(headers: &HeaderMap, name: &HeaderName) -> Vec<u8> {
    let lines: Vec<_> = headers.get_all(name).iter().map(http::HeaderValue::as_bytes).collect();
    if lines.iter().map(|line| line.len() + 2).sum::<usize>() > LONGEST_FIELD {
        return Vec::new();
    }
    lines.join(&b", "[..])
}

/// Drafts -08 to -12: members that are strings, with `r` and `t` or `a` and `w`.
fn read_list(headers: &HeaderMap) -> Vec<PolicyHint> {
    let members = sf::parse_list(&joined(headers, &RATELIMIT)).unwrap_or_default();
    members.into_iter().filter_map(policy_of).collect()
}

fn policy_of(member: Member) -> Option<PolicyHint> {
    let Member::Item(item) = member else { return None };
    let available = item.unsigned("r").or_else(|| item.unsigned("a"))?;
    let seconds = item.unsigned(if item.get("r").is_some() { "t" } else { "w" });
    let Bare::String(name) = item.value else { return None };
    Some(PolicyHint { name: Some(name), available, within: seconds.map(Duration::from_secs) })
}

/// Draft -07.
fn read_dictionary(headers: &HeaderMap) -> Option<PolicyHint> {
    let entries = sf::parse_dictionary(&joined(headers, &RATELIMIT)).ok()?;
    let number = |name: &str| {
        entries.iter().find(|(key, _)| key == name).and_then(|(_, member)| match member {
            Member::Item(Item { value: Bare::Integer(number), .. }) => u64::try_from(*number).ok(),
            _ => None,
        })
    };
    Some(PolicyHint { name: None, available: number("remaining")?, within: number("reset").map(Duration::from_secs) })
}

/// The triple, and its namesake with an X.
fn read_single(headers: &HeaderMap, remaining: &HeaderName, reset: &HeaderName, now: SystemTime) -> Option<PolicyHint> {
    let number = |name| whole(headers.get(name)?.to_str().ok()?.trim());
    let within = number(reset).map(|reset| delta(reset, now));
    Some(PolicyHint { name: None, available: number(remaining)?, within })
}

/// Providers write seconds from now or since the epoch: no window is 30 years long.
fn delta(reset: u64, now: SystemTime) -> Duration {
    const THIRTY_YEARS: u64 = 946_080_000;
    let reset = Duration::from_secs(reset);
    if reset.as_secs() < THIRTY_YEARS { reset } else { reset.saturating_sub(since_epoch(now)) }
}

fn since_epoch(now: SystemTime) -> Duration {
    now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Digits and nothing else. A number that does not fit is the largest: "very long" must not be read as "nothing said".
fn whole(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

/// Seconds or an HTTP date.
fn read_retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Some(seconds) = whole(text) {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000)
    }

    fn hint(lines: &[(&'static str, &'static str)]) -> Hint {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        read(&headers, now())
    }

    fn policy(name: Option<&str>, available: u64, within: u64) -> PolicyHint {
        PolicyHint { name: name.map(Into::into), available, within: Some(Duration::from_secs(within)) }
    }

    #[test]
    fn every_dialect_is_understood() {
        for (lines, expected) in [
            (&[("ratelimit", "\"a\";r=4;t=60")][..], policy(Some("a"), 4, 60)),
            (&[("ratelimit", "\"a\";a=4;w=60;c=2")], policy(Some("a"), 4, 60)),
            (&[("ratelimit", "limit=5, remaining=4, reset=60")], policy(None, 4, 60)),
            (&[("ratelimit-remaining", "4"), ("ratelimit-reset", "60")], policy(None, 4, 60)),
            (&[("x-ratelimit-remaining", "4"), ("x-ratelimit-reset", "60")], policy(None, 4, 60)),
            (&[("x-ratelimit-remaining", "4"), ("x-ratelimit-reset", "1790000060")], policy(None, 4, 60)),
        ] {
            assert_eq!(hint(lines).policies, [expected], "{lines:?}");
        }
    }

    #[test]
    fn several_lines_are_one_list() {
        let hint = hint(&[("ratelimit", "\"a\";r=1;t=2"), ("ratelimit", "\"b\";r=3;t=4")]);
        assert_eq!(hint.policies, [policy(Some("a"), 1, 2), policy(Some("b"), 3, 4)]);
    }

    #[test]
    fn what_is_malformed_or_incomplete_is_ignored() {
        for line in ["\"a\";r=1,", "\"a\";t=5", "quota;r=1;t=1", "100;r=1", "\"a\";r=-1", "\"a\";r=1.5", "\"a\";r", ""]
        {
            assert_eq!(hint(&[("ratelimit", line)]), Hint::default(), "{line}");
        }
        assert_eq!(hint(&[("ratelimit-remaining", "many")]), Hint::default());
    }

    #[test]
    fn a_field_that_is_too_long_is_ignored() {
        let line = |policies: usize| vec!["\"a\";r=1;t=2"; policies].join(",");
        for (policies, lines) in [(1_000, 1), (0, 2_000), (2_000, 1), (1_000, 2)] {
            let mut headers = HeaderMap::new();
            for _ in 0..lines {
                let text = if policies == 0 { "\"a\";r=1;t=2".to_owned() } else { line(policies) };
                headers.append("ratelimit", HeaderValue::from_str(&text).unwrap());
            }
            let read = read(&headers, now()).policies.len();
            assert_eq!(read, if policies * lines == 1_000 { 1_000 } else { 0 }, "{policies} on {lines} lines");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let wait = |text| hint(&[("retry-after", text)]).retry_after;
        assert_eq!(wait("30"), Some(Duration::from_secs(30)));
        assert_eq!(wait("Mon, 21 Sep 2026 14:13:50 GMT"), Some(Duration::from_secs(30)));
        assert_eq!(wait("Mon, 21 Sep 2020 14:13:50 GMT"), Some(Duration::ZERO));
        assert_eq!(wait("100000000000000000000000"), Some(Duration::from_secs(u64::MAX)));
        for text in ["soon", "-1", "+1", "1.5", "1 2", ""] {
            assert_eq!(wait(text), None, "{text}");
        }
    }
}
