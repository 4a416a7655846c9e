//! Policy text to a policy. Errors point at the character and say what would have been right.

use core::fmt;
use core::time::Duration;

use super::{MAX_RULES, Policy, Rule};
use crate::time::UNITS;
use crate::{FixedWindow, LeakyBucket, Nanos, Quota, QuotaError, SlidingCounter, TokenBucket};

/// Why a policy text is refused, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyError {
    position: usize,
    expected: Expected,
}

/// What would have been right at the place of a [`PolicyError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// The name of an algorithm.
    Name,
    /// This name of an algorithm, which was nearly written.
    Spelled(&'static str),
    /// An algorithm that this build has (the sliding log needs an allocator).
    AlgorithmInThisBuild,
    /// `:` and a quota.
    Colon,
    /// A whole number of units.
    Limit,
    /// A number without a point, an exponent or a letter for thousands.
    WholeNumber,
    /// `/` and a window.
    Slash,
    /// A whole number with a unit of time.
    Window,
    /// `ns`, `us`, `ms`, `s`, `m`, `h` or `d`.
    Unit,
    /// `,burst=B`, `+` or the end.
    End,
    /// `burst=` and a whole number of units.
    Burst,
    /// No burst on a window algorithm.
    NoBurst,
    /// No quota on `unlimited`.
    NoQuota,
    /// A number that fits into 64 bits.
    SmallerNumber,
    /// A window whose nanoseconds fit into 64 bits.
    ShorterWindow,
    /// At most [`MAX_RULES`] rules.
    FewerRules,
    /// Parameters with a meaning.
    Valid(QuotaError),
}

impl PolicyError {
    /// Where in the text, as a count of bytes before the place.
    pub fn position(&self) -> usize {
        self.position
    }

    /// What was expected there.
    pub fn expected(&self) -> Expected {
        self.expected
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {}: {}", self.position + 1, self.expected)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Name => f.write_str(
                "expected the name of an algorithm (fixed-window, sliding-log, sliding-counter, token-bucket, \
                 leaky-bucket or unlimited), such as `token-bucket:100/1m`",
            ),
            Expected::Spelled(name) => write!(f, "expected the name of an algorithm: did you mean `{name}`?"),
            Expected::AlgorithmInThisBuild => {
                f.write_str("sliding-log needs an allocator, which this build lacks; such as `sliding-counter:100/1m`")
            }
            Expected::Colon => f.write_str("expected `:` and a quota, such as `token-bucket:100/1m`"),
            Expected::Limit => {
                f.write_str("expected a whole number of units, such as the 100 in `token-bucket:100/1m`")
            }
            Expected::WholeNumber => f.write_str(
                "expected a whole number in digits alone, such as `1000/1m`; 1.5 a second is written `3/2s`",
            ),
            Expected::Slash => f.write_str("expected `/` and a window, such as `100/1m`"),
            Expected::Window => {
                f.write_str("expected a window as a whole number and a unit, such as `100/1m` or `3/250ms`")
            }
            Expected::Unit => f.write_str("expected a unit of time (ns, us, ms, s, m, h or d), such as `100/1m`"),
            Expected::End => f.write_str(
                "expected `,burst=B`, `+` or the end, such as `token-bucket:100/1m,burst=20+fixed-window:1000/1h`",
            ),
            Expected::Burst => {
                f.write_str("expected `burst=` and a whole number of units, such as `token-bucket:100/1m,burst=20`")
            }
            Expected::NoBurst => {
                f.write_str("only token-bucket and leaky-bucket have a burst, such as `token-bucket:100/1m,burst=20`")
            }
            Expected::NoQuota => f.write_str("unlimited takes no quota: write `unlimited` alone"),
            Expected::SmallerNumber => {
                f.write_str("the number is too large, expected at most 18446744073709551615, such as `100/1m`")
            }
            Expected::ShorterWindow => {
                f.write_str("the window is longer than 584 years, expected a shorter one, such as `100/1m`")
            }
            Expected::FewerRules => write!(f, "expected at most {MAX_RULES} rules joined by `+`"),
            Expected::Valid(error) => write!(f, "{error}, such as `token-bucket:100/1m`"),
        }
    }
}

impl core::error::Error for PolicyError {}

pub(super) fn parse(text: &str) -> Result<Policy, PolicyError> {
    let mut reader = Reader { text, at: 0 };
    let mut rules = [Rule::Unlimited; MAX_RULES];
    let mut len = 0;
    loop {
        reader.spaces();
        if len == MAX_RULES {
            return reader.fail(Expected::FewerRules);
        }
        rules[len] = reader.rule()?;
        len += 1;
        reader.spaces();
        if !reader.take("+") {
            break;
        }
    }
    if reader.rest().is_empty() { Ok(Policy { rules, len }) } else { reader.fail(Expected::End) }
}

/// A quota text such as `100/1m` on its own.
impl core::str::FromStr for Quota {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Quota, PolicyError> {
        let mut reader = Reader { text, at: 0 };
        let quota = reader.quota()?;
        if reader.rest().is_empty() { Ok(quota) } else { reader.fail(Expected::End) }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn fail<T>(&self, expected: Expected) -> Result<T, PolicyError> {
        Err(PolicyError { position: self.at, expected })
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn spaces(&mut self) {
        while self.take(" ") {}
    }

    /// Takes what matches and returns its length in bytes; all that match are ASCII.
    fn take_while(&mut self, matches: impl Fn(u8) -> bool) -> usize {
        let len = self.rest().bytes().take_while(|byte| matches(*byte)).count();
        self.at += len;
        len
    }

    fn rule(&mut self) -> Result<Rule, PolicyError> {
        let start = self.at;
        let len = self.take_while(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let name = &self.text[start..start + len];
        let build: fn(Quota) -> Rule = match name {
            "unlimited" if self.rest().starts_with([':', ',']) => return self.fail(Expected::NoQuota),
            "unlimited" => return Ok(Rule::Unlimited),
            "fixed-window" => |quota| Rule::FixedWindow(FixedWindow::new(quota)),
            #[cfg(feature = "alloc")]
            "sliding-log" => |quota| Rule::SlidingLog(crate::SlidingLog::new(quota)),
            #[cfg(not(feature = "alloc"))]
            "sliding-log" => return Err(PolicyError { position: start, expected: Expected::AlgorithmInThisBuild }),
            "sliding-counter" => |quota| Rule::SlidingCounter(SlidingCounter::new(quota)),
            "token-bucket" => |quota| Rule::TokenBucket(TokenBucket::new(quota)),
            "leaky-bucket" => |quota| Rule::LeakyBucket(LeakyBucket::new(quota)),
            _ => {
                self.at = start;
                let expected = likely_name(self.rest()).map_or(Expected::Name, Expected::Spelled);
                return self.fail(expected);
            }
        };
        if !self.take(":") {
            return self.fail(Expected::Colon);
        }
        let rule = build(self.quota()?);
        self.with_burst(rule)
    }

    fn with_burst(&mut self, rule: Rule) -> Result<Rule, PolicyError> {
        if !self.take(",") {
            return Ok(rule);
        }
        let start = self.at;
        if !self.take("burst=") {
            return self.fail(Expected::Burst);
        }
        let number = self.at;
        let burst = self.number(Expected::Burst)?;
        let rule = match rule {
            Rule::TokenBucket(bucket) => bucket.burst(burst).map(Rule::TokenBucket),
            Rule::LeakyBucket(bucket) => bucket.burst(burst).map(Rule::LeakyBucket),
            _ => return Err(PolicyError { position: start, expected: Expected::NoBurst }),
        };
        rule.map_err(|error| PolicyError { position: number, expected: Expected::Valid(error) })
    }

    fn quota(&mut self) -> Result<Quota, PolicyError> {
        let limit_at = self.at;
        let limit = self.number(Expected::Limit)?;
        if !self.take("/") {
            let number_goes_on = |c: char| c.is_alphanumeric() || matches!(c, '.' | ',' | '_' | '\'');
            return self.fail(if self.rest().starts_with(number_goes_on) {
                Expected::WholeNumber
            } else {
                Expected::Slash
            });
        }
        let window_at = self.at;
        let window = self.window()?;
        Quota::per(limit, Duration::from_nanos(window)).map_err(|error| PolicyError {
            position: if error == QuotaError::ZeroLimit { limit_at } else { window_at },
            expected: Expected::Valid(error),
        })
    }

    fn number(&mut self, expected: Expected) -> Result<u64, PolicyError> {
        let start = self.at;
        let len = self.take_while(|byte| byte.is_ascii_digit());
        if len == 0 {
            return self.fail(expected);
        }
        self.text[start..start + len]
            .parse()
            .map_err(|_| PolicyError { position: start, expected: Expected::SmallerNumber })
    }

    /// The window in nanoseconds.
    fn window(&mut self) -> Result<u64, PolicyError> {
        let start = self.at;
        let has_number = self.rest().starts_with(|c: char| c.is_ascii_digit());
        let count = if has_number { self.number(Expected::Window)? } else { 1 };
        let unit_at = self.at;
        let len = self.take_while(|byte| byte.is_ascii_alphabetic());
        let name = &self.text[unit_at..unit_at + len];
        let Some((unit, _)) = UNITS.iter().find(|(_, known)| *known == name) else {
            self.at = unit_at;
            return self.fail(if has_number || len > 0 { Expected::Unit } else { Expected::Window });
        };
        count.checked_mul(*unit).ok_or(PolicyError { position: start, expected: Expected::ShorterWindow })
    }
}

/// The algorithm whose name a text begins with but for capitals, spaces, `-` and `_`.
fn likely_name(text: &str) -> Option<&'static str> {
    const NAMES: [&str; 6] =
        ["fixed-window", "sliding-log", "sliding-counter", "token-bucket", "leaky-bucket", "unlimited"];
    let letters = |text: &'static str| text.chars().filter(|c| *c != '-');
    let typed = || {
        let name = text.split([':', ',', '+']).next().unwrap_or_default();
        name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase)
    };
    NAMES.into_iter().find(|name| letters(name).eq(typed()))
}

/// A duration text such as `250ms`, `1m` or `h`.
impl core::str::FromStr for Nanos {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Nanos, PolicyError> {
        let mut reader = Reader { text, at: 0 };
        let nanos = reader.window()?;
        if reader.rest().is_empty() { Ok(Nanos::new(nanos)) } else { reader.fail(Expected::End) }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    extern crate std;
    use std::string::ToString;

    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for (text, canonical) in [
            ("fixed-window:100/1m", "fixed-window:100/1m"),
            ("sliding-log:5/10s", "sliding-log:5/10s"),
            ("sliding-counter:1000/h", "sliding-counter:1000/1h"),
            ("token-bucket:3/250ms,burst=7", "token-bucket:3/250ms,burst=7"),
            ("token-bucket:3/250ms,burst=3", "token-bucket:3/250ms"),
            ("leaky-bucket:1/90s", "leaky-bucket:1/90s"),
            ("leaky-bucket:1/120s", "leaky-bucket:1/2m"),
            ("unlimited", "unlimited"),
            (" unlimited + token-bucket:1/d ", "unlimited+token-bucket:1/1d"),
        ] {
            let policy: Policy = text.parse().unwrap();
            assert_eq!(policy.to_string(), canonical);
            assert_eq!(canonical.parse::<Policy>().unwrap(), policy);
        }
    }

    #[test]
    fn errors_point_at_the_place_and_give_an_example() {
        use Expected::*;
        for (text, position, expected) in [
            ("", 0, Name),
            ("bucket:1/1s", 0, Name),
            ("Token-bucket:1/1s", 0, Spelled("token-bucket")),
            ("TokenBucket:1/1s", 0, Spelled("token-bucket")),
            ("token_bucket:1/1s", 0, Spelled("token-bucket")),
            ("sliding log:1/1s", 0, Spelled("sliding-log")),
            ("UNLIMITED", 0, Spelled("unlimited")),
            ("unlimited+FIXED_WINDOW:1/1s", 10, Spelled("fixed-window")),
            ("token:1/1s", 0, Name),
            ("100/min", 0, Name),
            ("token-bucket", 12, Colon),
            ("token-bucket 1/1s", 12, Colon),
            ("token-bucket:", 13, Limit),
            ("token-bucket:-1/1s", 13, Limit),
            ("token-bucket:1.5/1s", 14, WholeNumber),
            ("token-bucket:1e3/1s", 14, WholeNumber),
            ("token-bucket:1k/1s", 14, WholeNumber),
            ("token-bucket:1_000/1s", 14, WholeNumber),
            ("token-bucket:5 /1s", 14, Slash),
            ("token-bucket:100", 16, Slash),
            ("token-bucket:100/", 17, Window),
            ("token-bucket:100/1", 18, Unit),
            ("token-bucket:100/1x", 18, Unit),
            ("token-bucket:100/1min", 18, Unit),
            ("token-bucket:100/x", 17, Unit),
            ("token-bucket:100/min", 17, Unit),
            ("token-bucket:100/ 1m", 17, Window),
            ("token-bucket:0/1s", 13, Valid(QuotaError::ZeroLimit)),
            ("token-bucket:1/0s", 15, Valid(QuotaError::ZeroWindow)),
            ("token-bucket:1/1s,burst=0", 24, Valid(QuotaError::ZeroBurst)),
            ("token-bucket:1/1s,burst=", 24, Burst),
            ("token-bucket:1/1s,size=3", 18, Burst),
            ("fixed-window:1/1s,burst=3", 18, NoBurst),
            ("sliding-log:1/1s,burst=1", 17, NoBurst),
            ("unlimited:1/1s", 9, NoQuota),
            ("token-bucket:18446744073709551616/1s", 13, SmallerNumber),
            ("token-bucket:1/999999999999d", 15, ShorterWindow),
            ("token-bucket:1/300000d", 15, ShorterWindow),
            ("token-bucket:1/99999999999999999999s", 15, SmallerNumber),
            ("token-bucket:1/1s;", 17, End),
            ("token-bucket:1/1s+", 18, Name),
            ("unlimited+unlimited+unlimited+unlimited+unlimited", 40, FewerRules),
            ("é", 0, Name),
            ("token-bucket:1/1é", 16, Unit),
        ] {
            let error = text.parse::<Policy>().unwrap_err();
            assert_eq!((error.position(), error.expected()), (position, expected), "{text}");
            assert!(error.to_string().contains(if expected == FewerRules { "rules" } else { "`" }), "{text}: {error}");
        }
    }
}
