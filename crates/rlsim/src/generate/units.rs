//! Durations and rates as they are typed: `250ms`, `1h`, `50/s`, `100/1m`.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

const UNITS: [(&str, u64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// The longest period of a rate: 366 days, below `2^55` ns. With [`MOST_EVENTS`] it keeps every product of the
/// generator within 128 bits.
const LONGEST_PERIOD: u64 = 366 * 86_400_000_000_000;
/// The most events in one period of a rate, below `2^50`.
const MOST_EVENTS: u64 = 1_000_000_000_000_000;

/// A length of time in nanoseconds, typed as a whole number and a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let expected =
            || format!("expected a whole number and one of ns us ms s m h d, such as 250ms or 1h, found `{text}`");
        let nanos = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(expected)?.1;
        let number: u64 = number.parse().map_err(|_| expected())?;
        number.checked_mul(nanos).map(Span).ok_or_else(|| format!("`{text}` is longer than 584 years"))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |nanos: u64| self.0.is_multiple_of(nanos);
        let (name, nanos) = UNITS.iter().find(|(_, n)| self.0 != 0 && fits(*n)).unwrap_or(&("s", 1_000_000_000));
        write!(f, "{}{name}", self.0 / nanos)
    }
}

/// A whole number within bounds, as typed.
///
/// # Errors
/// What was expected, for people.
pub(crate) fn whole(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let number: Option<u64> = text.parse().ok();
    number.filter(|number| (least..=most).contains(number)).ok_or_else(|| match most {
        u64::MAX => format!("expected a whole number from {least} on"),
        most => format!("expected a whole number from {least} to {most}"),
    })
}

/// A number of threads, as typed.
pub(crate) fn parse_threads(text: &str) -> Result<NonZeroUsize, String> {
    let number: Option<NonZeroUsize> = text.parse().ok();
    number.ok_or_else(|| "expected a whole number from 1 on; without the option all cores work".into())
}

/// A rate as an exact fraction: `events` every `per` nanoseconds. Both are at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    events: u64,
    per: u64,
}

impl Rate {
    /// `events` every `per` nanoseconds.
    ///
    /// # Errors
    /// When either is zero, the period is longer than 366 days, or there are more than 10^15 events.
    pub fn new(events: u64, per: u64) -> Result<Self, String> {
        if events == 0 || per == 0 {
            return Err("a rate needs at least one event and a period above zero".into());
        }
        if per > LONGEST_PERIOD {
            return Err("the period of a rate is at most 366d".into());
        }
        if events > MOST_EVENTS {
            return Err("a rate has at most 10^15 events in its period".into());
        }
        Ok(Rate { events, per })
    }

    /// Events in one period.
    pub fn events(self) -> u64 {
        self.events
    }

    /// The period in nanoseconds.
    pub fn per(self) -> u64 {
        self.per
    }

    /// This rate as parts per million of `other`, rounded down.
    pub fn parts_per_million_of(self, other: Rate) -> u128 {
        // At most 2^50 * 2^55 * 2^20.
        let (events, per) = (u128::from(self.events) * u128::from(other.per), u128::from(self.per));
        events * 1_000_000 / (per * u128::from(other.events))
    }

    /// Events in `nanos` nanoseconds, rounded down.
    pub fn events_in(self, nanos: u64) -> u64 {
        let exact = u128::from(self.events) * u128::from(nanos) / u128::from(self.per);
        u64::try_from(exact).unwrap_or(u64::MAX)
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("expected events/period, such as 50/s or 100/1m, found `{text}`");
        let (events, per) = text.split_once('/').ok_or_else(expected)?;
        let events = events.parse().map_err(|_| expected())?;
        let per = if per.starts_with(|c: char| c.is_ascii_digit()) { per.parse() } else { format!("1{per}").parse() };
        let Span(per) = per.map_err(|_: String| expected())?;
        Rate::new(events, per).map_err(|why| format!("{why}, found `{text}`"))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per = Span(self.per).to_string();
        let single = per.strip_prefix('1').filter(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
        write!(f, "{}/{}", self.events, single.unwrap_or(&per))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in ["0s", "1ns", "250ms", "60001ms", "90m", "1h", "36h", "7d", "18446744073709551615ns"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
        for text in ["50/s", "100/m", "5/10s", "3/250ms", "1/10h"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        assert_eq!("100/1m".parse::<Rate>(), "100/m".parse::<Rate>());
        assert_eq!("60s".parse::<Span>().unwrap().to_string(), "1m");
    }

    #[test]
    fn mistakes_say_what_was_expected() {
        for text in ["", "5", "s", "-1s", "1.5s", "5 s", "99999999999999999999s", "999999d"] {
            let why = text.parse::<Span>().unwrap_err();
            assert!(why.contains(text), "{why}");
        }
        for text in ["", "50", "50/", "/s", "0/s", "5/0s", "1000000000000001/s", "5/367d", "x/s", "5/s/s"] {
            let why = text.parse::<Rate>().unwrap_err();
            assert!(why.contains(text), "{why}");
        }
    }
}
