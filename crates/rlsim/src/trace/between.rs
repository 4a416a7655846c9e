//! `--from` and `--until`: which events are kept, by the time of their start.
//!
//! A date is an instant for every input. A number counts in the unit of the input's own numbers, which may be known only when
//! all of them are read; so events are kept or left out once their times are nanoseconds.

use std::str::FromStr;

use super::options::TimeUnit;
use super::time_text::{Stamp, TimeError, parse, parse_pair};
use super::unit_guess::{Magnitudes, guess};
use super::units::nanos_of;
use super::zone::Zone;
use crate::error::{Error, Result};

/// A time as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeBound {
    text: String,
    stamp: Stamp,
}

impl FromStr for TimeBound {
    type Err = String;

    /// Any text that a trace may hold, or a day alone, which is its first instant.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let whole = parse(text.as_bytes());
        let stamp = whole.or_else(|error| match error {
            TimeError::NotATime => parse_pair(text.as_bytes(), b"00:00"),
            error => Err(error),
        });
        match stamp {
            Ok(stamp) => Ok(TimeBound { text: text.trim().to_owned(), stamp }),
            Err(TimeError::NoDate) => {
                Err("a time of day without its date: expected both, such as 2024-05-12T08:15".into())
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

impl TimeBound {
    /// Nanoseconds, where numbers have this unit; where none is known, that of their size.
    fn nanos(&self, option: &str, zone: &mut Zone, unit: Option<TimeUnit>) -> Result<u64> {
        let found = match self.stamp {
            Stamp::Number { whole, billionths } => {
                let unit = unit.unwrap_or_else(|| unit_by_size(whole, billionths));
                nanos_of(whole, billionths, unit).ok_or(TimeError::BeyondRange)
            }
            Stamp::Zoned(civil, offset) => civil.nanos_at(offset),
            Stamp::Local(civil) => zone.nanos(&civil),
        };
        found.map_err(|error| Error::usage(format!("{option} {}: {error}", self.text)))
    }

    fn is_number(&self) -> bool {
        matches!(self.stamp, Stamp::Number { .. })
    }
}

fn unit_by_size(whole: u64, billionths: u32) -> TimeUnit {
    let mut size = Magnitudes::default();
    size.add(whole, billionths);
    guess(&size).unit
}

/// The events to keep: from one time on, before another, or all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Between {
    /// The first instant kept.
    pub from: Option<TimeBound>,
    /// The first instant after it that is not.
    pub until: Option<TimeBound>,
}

/// Instants in nanoseconds, the end excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instants {
    from: u64,
    until: Option<u64>,
}

impl Instants {
    pub(crate) fn contain(&self, at: u64) -> bool {
        self.from <= at && self.until.is_none_or(|until| at < until)
    }
}

impl Between {
    /// Whether every event is kept.
    pub(crate) fn is_all(&self) -> bool {
        self.from.is_none() && self.until.is_none()
    }

    /// What is known to be wrong before any input is read: two dates, or two numbers of one unit, that nothing lies between.
    pub(crate) fn check(&self, zone: &mut Zone, unit: Option<TimeUnit>) -> Result<()> {
        let bounds = || self.from.iter().chain(&self.until);
        // A number may be small enough in the unit of an input.
        let sure = |bound: &TimeBound| unit.is_some() || !bound.is_number();
        if bounds().all(sure) {
            self.instants(zone, unit)?;
        }
        Ok(())
    }

    /// The instants of an input whose numbers have this unit; of an input of dates, the unit of numbers here is `None`.
    pub(crate) fn instants(&self, zone: &mut Zone, unit: Option<TimeUnit>) -> Result<Instants> {
        let mut nanos = |option: &str, bound: &Option<TimeBound>| {
            bound.as_ref().map(|bound| bound.nanos(option, zone, unit)).transpose()
        };
        let from = nanos("--from", &self.from)?.unwrap_or(0);
        let until = nanos("--until", &self.until)?;
        if until.is_some_and(|until| from >= until) {
            return Err(Error::usage(format!(
                "{}: nothing lies between, expected a time after the first{}",
                self.words(),
                if self.from.is_none() { " instant there is" } else { "" }
            )));
        }
        Ok(Instants { from, until })
    }

    /// As typed.
    pub(crate) fn words(&self) -> String {
        let option =
            |name: &str, bound: &Option<TimeBound>| bound.as_ref().map(|bound| format!("{name} {}", bound.text));
        let both = [option("--from", &self.from), option("--until", &self.until)];
        both.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// The first instant (March 1973) that is taken for a date: nobody's relative trace lasts three years.
const DATES_FROM: u64 = 100_000_000_000_000_000;

/// An instant as it may be typed: a date, or seconds on a relative clock.
pub(crate) fn shown(at: u64) -> String {
    match jiff::Timestamp::from_nanosecond(i128::from(at)) {
        Ok(date) if at >= DATES_FROM => date.to_string(),
        _ => {
            let seconds = format!("{}.{:09}", at / 1_000_000_000, at % 1_000_000_000);
            format!("{} s", seconds.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn between(from: &str, until: &str) -> Between {
        let bound = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
        Between { from: bound(from), until: bound(until) }
    }

    #[test]
    fn dates_days_and_numbers() {
        let mut berlin = Zone::named(Some("Europe/Berlin")).unwrap();
        for (text, unit, seconds) in [
            ("2024-07-01T12:00:00Z", None, 1_719_835_200),
            ("2024-07-01 12:00", None, 1_719_828_000),
            ("01/Jul/2024:12:00:00 +0200", Some(TimeUnit::Millis), 1_719_828_000),
            ("2024-07-01", None, 1_719_784_800),
            ("1719828000", None, 1_719_828_000),
            ("1719828000000", None, 1_719_828_000),
            ("12000", Some(TimeUnit::Millis), 12),
            (" 12.5 ", Some(TimeUnit::Seconds), 12),
        ] {
            let found = between(text, "").instants(&mut berlin, unit).unwrap();
            assert_eq!((found.from / SECOND, found.until), (seconds, None), "{text}");
        }
    }

    #[test]
    fn the_end_is_no_part_of_it() {
        let found = between("3", "5").instants(&mut Zone::named(None).unwrap(), Some(TimeUnit::Nanos)).unwrap();
        assert_eq!([2, 3, 4, 5].map(|at| found.contain(at)), [false, true, true, false]);
        let open = between("3", "").instants(&mut Zone::named(None).unwrap(), Some(TimeUnit::Nanos)).unwrap();
        assert!(open.contain(u64::MAX), "the last instant there is");
    }

    #[test]
    fn instants_are_shown_as_they_may_be_typed() {
        for (at, expect) in [
            (0, "0 s"),
            (59_900_000_000, "59.9 s"),
            (100_000_000_000, "100 s"),
            (1_431_857_103_250_000_000, "2015-05-17T10:05:03.25Z"),
        ] {
            assert_eq!(shown(at), expect);
        }
        let latest: TimeBound = shown(u64::MAX).parse().unwrap();
        assert_eq!(latest.nanos("--from", &mut Zone::named(None).unwrap(), None), Ok(u64::MAX));
    }

    #[test]
    fn mistakes_name_the_option_and_what_was_expected() {
        for (text, part) in [
            ("", "missing"),
            ("08:15", "a time of day without its date: expected both"),
            ("2024-13-01", "a month that does not exist"),
            ("-5", "negative time"),
            ("yesterday", "expected one such as 2024-05-12T08:15:30.5Z"),
        ] {
            let error = text.parse::<TimeBound>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        let mut utc = Zone::named(None).unwrap();
        for (from, until, unit, early, part) in [
            ("2024-07-01", "2024-07-01", None, true, "--from 2024-07-01 --until 2024-07-01: nothing lies between"),
            ("5", "4", Some(TimeUnit::Seconds), true, "--from 5 --until 4: nothing lies between"),
            ("5", "4", None, false, "--from 5 --until 4: nothing lies between"),
            (
                "",
                "1970-01-01",
                None,
                true,
                "--until 1970-01-01: nothing lies between, expected a time after the first instant",
            ),
            ("1969-07-20", "", None, true, "--from 1969-07-20: time before 1970"),
            ("18446744074", "", Some(TimeUnit::Seconds), true, "--from 18446744074: time beyond the range"),
        ] {
            let between = between(from, until);
            assert_eq!(between.check(&mut utc, unit).is_err(), early, "{from} {until}");
            let error = between.instants(&mut utc, unit).unwrap_err();
            assert!(error.exit_code() == 2 && error.to_string().contains(part), "{error}");
        }
    }
}
