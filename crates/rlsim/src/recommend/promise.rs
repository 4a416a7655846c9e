//! What is promised to clients or to the service, as typed.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::generate::units::Span;
use crate::inspect::{counted, percent};
use crate::report::duration;

const MILLION: u64 = 1_000_000;

/// One promise. Shares are in millionths, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Promise {
    /// At most this share of the clients is ever limited.
    LimitedClients {
        /// Millionths of the clients.
        millionths: u64,
    },
    /// No client whose largest demand in a window is at most this percentile of all clients' is ever refused.
    KeepClientsBelow {
        /// The percentile in millionths.
        millionths: u64,
    },
    /// All clients together never get more than `units` through in any window.
    ServiceAtMost {
        /// Units.
        units: u64,
        /// The window in nanoseconds.
        window_ns: u64,
    },
    /// Whatever comes in this interval is to be rejected, and everything else kept.
    Attack {
        /// Its first instant, in nanoseconds.
        from_ns: u64,
        /// The first instant after it.
        until_ns: u64,
    },
}

impl Promise {
    /// The promise in words.
    pub fn words(&self) -> String {
        match *self {
            Promise::LimitedClients { millionths: 0 } => "no client is ever limited".into(),
            Promise::LimitedClients { millionths } => {
                format!("at most {} of the clients are ever limited", share(millionths))
            }
            Promise::KeepClientsBelow { millionths } => {
                format!("no client up to the {} percentile of the largest demands is ever refused", ordinal(millionths))
            }
            Promise::ServiceAtMost { units, window_ns } => {
                format!("the service never sees more than {} in any {}", counted(units, "unit"), duration(window_ns))
            }
            Promise::Attack { from_ns, until_ns } => format!(
                "the attack from {} to {} is rejected, and nothing else",
                crate::inspect::moment(from_ns),
                crate::inspect::moment(until_ns)
            ),
        }
    }

    /// Whether one limit holds for all clients together.
    pub fn is_global(&self) -> bool {
        matches!(self, Promise::ServiceAtMost { .. })
    }
}

/// `0.1 %` of 1000 millionths.
#[expect(clippy::cast_precision_loss, reason = "for people; six digits")]
pub(crate) fn share(millionths: u64) -> String {
    percent(millionths as f64 / MILLION as f64)
}

/// `99.9th`.
pub(super) fn ordinal(millionths: u64) -> String {
    format!("{}th", share(millionths).trim_end_matches(" %"))
}

/// A share such as `0.1%`, in millionths; at most 100 %.
///
/// # Errors
/// What was expected, for people.
pub fn parse_share(text: &str) -> std::result::Result<u64, String> {
    let number = text.trim().strip_suffix('%').unwrap_or("").trim_end();
    decimal(number).filter(|parts| *parts <= MILLION).ok_or_else(|| {
        format!("expected a percentage from 0% to 100% with at most four decimals, such as 0.1%, found `{text}`")
    })
}

/// A percentile such as `p99` or `p99.9`, in millionths.
///
/// # Errors
/// What was expected, for people.
pub fn parse_percentile(text: &str) -> std::result::Result<u64, String> {
    let number = text.trim().strip_prefix('p').unwrap_or("");
    decimal(number)
        .filter(|parts| (1..=MILLION).contains(parts))
        .ok_or_else(|| format!("expected a percentile above p0 up to p100, such as p99 or p99.9, found `{text}`"))
}

/// A number of hundredths with up to four decimals, as millionths.
fn decimal(number: &str) -> Option<u64> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || decimals.len() > 4 {
        return None;
    }
    let fraction: u64 = format!("{decimals:0<4}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(10_000)?.checked_add(fraction)
}

/// An interval as typed: `FROM..TO`, each a date with a zone or a time from the trace's first event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interval(String);

impl std::str::FromStr for Interval {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let interval = Interval(text.to_owned());
        // clap names the option itself.
        interval.instants(0).map_err(|error| error.to_string().trim_start_matches("--attack: ").to_owned())?;
        Ok(interval)
    }
}

impl Interval {
    /// The interval in nanoseconds for a trace that starts at `start_ns`.
    ///
    /// # Errors
    /// [`Error::Usage`] where it is no interval, or ends before it starts.
    pub fn resolve(&self, start_ns: u64) -> Result<(u64, u64)> {
        let (from, until) = self.instants(start_ns)?;
        if from >= until {
            return Err(Error::usage(format!("--attack {}: it ends before it starts", self.0)));
        }
        Ok((from, until))
    }

    /// Both ends. Before the trace is known, relative and absolute times cannot be compared.
    fn instants(&self, start_ns: u64) -> Result<(u64, u64)> {
        let text = &self.0;
        let expected = || {
            Error::usage(format!(
                "--attack: expected FROM..TO, each a time from the first event such as 10m (of one unit: 70m, not 1h10m) \
                 or a date such as 2015-05-17T10:05:00Z, found `{text}`"
            ))
        };
        let (from, until) = text.split_once("..").ok_or_else(expected)?;
        let instant = |text: &str| instant(text.trim(), start_ns).ok_or_else(expected);
        Ok((instant(from)?, instant(until)?))
    }
}

fn instant(text: &str, start_ns: u64) -> Option<u64> {
    if let Ok(Span(after)) = text.parse() {
        return Some(start_ns.saturating_add(after));
    }
    let stamp: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(stamp.as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_percentiles_are_exact() {
        assert_eq!(parse_share("0.1%"), Ok(1_000));
        assert_eq!(parse_share("100 %"), Ok(MILLION));
        assert_eq!(parse_share("0%"), Ok(0));
        assert_eq!(parse_percentile("p99.9"), Ok(999_000));
        for text in ["0.1", "", "%", "101%", "0.00001%", "-1%", "1e-3%", "p99"] {
            assert!(parse_share(text).is_err(), "{text}");
        }
        for text in ["99", "p0", "p101", "p", "p9x"] {
            assert!(parse_percentile(text).is_err(), "{text}");
        }
    }

    #[test]
    fn intervals_are_relative_or_dates() {
        let second = 1_000_000_000;
        let interval: Interval = "10m..15m".parse().unwrap();
        assert_eq!(interval.resolve(5 * second).unwrap(), (605 * second, 905 * second));
        let dates: Interval = "2015-05-17T10:05:00Z..2015-05-17T11:05:00+01:00".parse().unwrap();
        assert!(dates.resolve(1).unwrap_err().to_string().contains("ends before it starts"));
        let mixed: Interval = "10m .. 2015-05-17T11:05:00Z".parse().unwrap();
        assert_eq!(mixed.resolve(second).unwrap(), (601 * second, 1_431_860_700 * second));
        for text in ["", "10m", "10m..", "x..y"] {
            assert!(text.parse::<Interval>().is_err(), "{text}");
        }
    }

    #[test]
    fn promises_read_as_sentences() {
        let words = |promise: Promise| promise.words();
        assert_eq!(
            words(Promise::LimitedClients { millionths: 1_000 }),
            "at most 0.1 % of the clients are ever limited"
        );
        assert_eq!(
            words(Promise::KeepClientsBelow { millionths: 990_000 }),
            "no client up to the 99th percentile of the largest demands is ever refused"
        );
        assert_eq!(
            words(Promise::ServiceAtMost { units: 500, window_ns: 1_000_000_000 }),
            "the service never sees more than 500 units in any 1 s"
        );
    }
}
