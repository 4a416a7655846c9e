//! The text of one time stamp into integers: no float, no clock, no allocation.
//!
//! Two kinds exist. A *number* (`1532376558.110`) has a unit that only the column tells, so it stays whole part and
//! nine fraction digits. A *date* (`2024-05-12T08:15:30.25+02:00`) is an instant, or a local time that needs a zone.

use std::fmt;

use super::civil::{Civil, days_in_month, month_by_name};

/// What a text says about time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// A decimal number in a unit to be found: the whole part, and the fraction in billionths.
    Number {
        /// Digits before the point.
        whole: u64,
        /// The first nine digits after the point.
        billionths: u32,
    },
    /// A date with an offset from UTC, in seconds (positive east).
    Zoned(Civil, i32),
    /// A date without one.
    Local(Civil),
}

/// Why a text is no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeError {
    /// Nothing, or `-`.
    Missing,
    /// A number below zero.
    Negative,
    /// A date before 1970.
    BeforeEpoch,
    /// Later than 2554-07-21T23:34:33Z, where unsigned nanoseconds end.
    BeyondRange,
    /// A number such as `1.5e9`, whose digits may have been rounded.
    Scientific,
    /// A day, hour, minute, second or offset that does not exist.
    NoSuch(&'static str),
    /// A time of day alone, such as `08:15:30`.
    NoDate,
    /// Anything else.
    NotATime,
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeError::Missing => f.write_str("the time is missing"),
            TimeError::Negative => f.write_str("negative time: expected zero or more"),
            TimeError::BeforeEpoch => f.write_str("time before 1970: expected 1970-01-01T00:00:00Z or later"),
            TimeError::BeyondRange => f.write_str("time beyond the range: expected 2554-07-21T23:34:33Z or earlier"),
            TimeError::Scientific => f.write_str("time in scientific notation: expected plain decimal digits"),
            TimeError::NoSuch(part) => write!(f, "time with a {part} that does not exist"),
            TimeError::NoDate => f.write_str(
                "a time of day without its date: expected both; --time-column DATE,TIME takes them from two columns",
            ),
            TimeError::NotATime => f.write_str(
                "not a time: expected one such as 2024-05-12T08:15:30.5Z, 2024-05-12 08:15:30 or 1715501730",
            ),
        }
    }
}

/// Reads a number or a date. Spaces around it are ignored.
pub(crate) fn parse(text: &[u8]) -> Result<Stamp, TimeError> {
    let text = text.trim_ascii();
    if let Some(number) = plain_number(text) {
        return number;
    }
    match text {
        [] | b"-" => Err(TimeError::Missing),
        [b'-', rest @ ..] if plain_number(rest).is_some() => Err(TimeError::Negative),
        _ => date(text).map_err(|error| match error {
            TimeError::NotATime if is_time_of_day(text) => TimeError::NoDate,
            error => error,
        }),
    }
}

/// Whether a text begins as `08:15`, which no other form of time does.
fn is_time_of_day(text: &[u8]) -> bool {
    matches!(text, [h, b':', m, n, ..] | [_, h, b':', m, n, ..] if [h, m, n].iter().all(|b| b.is_ascii_digit()))
        && text[0].is_ascii_digit()
}

/// Reads a date and a time of day that stand in two columns.
pub(crate) fn parse_pair(day: &[u8], time: &[u8]) -> Result<Stamp, TimeError> {
    let (day, time) = (day.trim_ascii(), time.trim_ascii());
    if matches!(day, [] | b"-") || matches!(time, [] | b"-") {
        return Err(TimeError::Missing);
    }
    let mut cursor = Cursor(day);
    let date = cursor.day()?;
    if !cursor.0.is_empty() {
        return Err(TimeError::NotATime);
    }
    Cursor(time).rest_of_date(date)
}

/// The length of the date and time of day that a text begins with, with an offset that stands right behind; 0 without one.
pub(crate) fn date_prefix(text: &[u8]) -> usize {
    let mut cursor = Cursor(text);
    if cursor.date_and_time().is_err() {
        return 0;
    }
    let end = text.len() - cursor.0.len();
    // The longest offset is `+02:00`, and `Z` the shortest.
    let zoned = [6, 5, 3, 1].into_iter().find(|&length| {
        let with_offset = text.get(end..end + length).map(Cursor);
        with_offset.is_some_and(|offset| matches!(offset.offset(), Ok(Some(_))) && !text[end].is_ascii_whitespace())
    });
    end + zoned.unwrap_or(0)
}

/// Digits with an optional fraction; `None` for anything else.
fn plain_number(text: &[u8]) -> Option<Result<Stamp, TimeError>> {
    let (mut whole, mut length) = (0_u64, 0);
    while let Some(digit) = text.get(length).map(|b| b.wrapping_sub(b'0')).filter(|&digit| digit <= 9) {
        // Nineteen digits always fit; longer numbers are looked at again below.
        whole = whole.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    let billionths = match &text[length..] {
        [] if length > 0 => 0,
        [b'.', fraction_digits @ ..] if text.len() > 1 => fraction(fraction_digits)?,
        _ => return None,
    };
    if length > 19 {
        return Some(long_number(&text[..length], billionths));
    }
    Some(Ok(Stamp::Number { whole, billionths }))
}

/// Digits that may be more than fit.
fn long_number(digits: &[u8], billionths: u32) -> Result<Stamp, TimeError> {
    let whole = digits.iter().try_fold(0_u64, |w, b| w.checked_mul(10)?.checked_add(u64::from(b - b'0')));
    whole.map(|whole| Stamp::Number { whole, billionths }).ok_or(TimeError::BeyondRange)
}

/// Digits after the point as billionths; those past the ninth are cut off.
pub(crate) fn fraction(digits: &[u8]) -> Option<u32> {
    /// What makes billionths of so many digits.
    const SCALE: [u32; 10] = [1_000_000_000, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
    let (kept, cut_off) = digits.split_at(digits.len().min(9));
    let mut value = 0;
    for &byte in kept {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        // Nine digits are below 10^9.
        value = value * 10 + u32::from(digit);
    }
    cut_off.iter().all(u8::is_ascii_digit).then(|| value * SCALE[kept.len()])
}

fn date(text: &[u8]) -> Result<Stamp, TimeError> {
    if looks_scientific(text) {
        return Err(TimeError::Scientific);
    }
    let mut cursor = Cursor(text);
    let civil = cursor.date_and_time()?;
    cursor.zoned(civil)
}

fn looks_scientific(text: &[u8]) -> bool {
    let Some(e) = text.iter().position(|b| matches!(b, b'e' | b'E')) else { return false };
    let exponent = &text[e + 1..];
    let exponent = exponent.strip_prefix(b"+").or(exponent.strip_prefix(b"-")).unwrap_or(exponent);
    plain_number(&text[..e]).is_some() && !exponent.is_empty() && exponent.iter().all(u8::is_ascii_digit)
}

/// The part of the text not read yet.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    /// Exactly `count` digits.
    fn digits(&mut self, count: usize) -> Result<u32, TimeError> {
        let (head, rest) = self.0.split_at_checked(count).ok_or(TimeError::NotATime)?;
        let mut value = 0;
        for &byte in head {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return Err(TimeError::NotATime);
            }
            value = value * 10 + u32::from(digit);
        }
        self.0 = rest;
        Ok(value)
    }

    fn skip(&mut self, byte: u8) -> Result<(), TimeError> {
        match self.0 {
            [first, rest @ ..] if *first == byte => {
                self.0 = rest;
                Ok(())
            }
            _ => Err(TimeError::NotATime),
        }
    }

    /// `2024-05-12`, `2024/05/12` or `12/May/2024`, at midnight.
    fn day(&mut self) -> Result<Civil, TimeError> {
        let (year, month, day) = match self.0 {
            [_, _, b'/', ..] => {
                let day = self.digits(2)?;
                self.skip(b'/')?;
                let name = self.0.get(..3).ok_or(TimeError::NotATime)?;
                let month = month_by_name(name).ok_or(TimeError::NotATime)?;
                self.0 = &self.0[3..];
                self.skip(b'/')?;
                (self.digits(4)?, month, day)
            }
            [_, _, _, _, separator @ (b'-' | b'/'), ..] => {
                let separator = *separator;
                let year = self.digits(4)?;
                self.skip(separator)?;
                let month = self.digits(2)?;
                self.skip(separator)?;
                (year, month, self.digits(2)?)
            }
            _ => return Err(TimeError::NotATime),
        };
        if !(1..=12).contains(&month) {
            return Err(TimeError::NoSuch("month"));
        }
        if day == 0 || day > days_in_month(year, month) {
            return Err(TimeError::NoSuch("day"));
        }
        Ok(Civil { year, month, day, second_of_day: 0, nanos: 0 })
    }

    /// A day, what stands between, and a time of day.
    fn date_and_time(&mut self) -> Result<Civil, TimeError> {
        let day = self.day()?;
        // ISO 8601 has `T`, people write a space, and access logs a colon.
        match self.0 {
            [b'T' | b't' | b' ' | b':' | b'_', rest @ ..] => self.0 = rest.trim_ascii_start(),
            _ => return Err(TimeError::NotATime),
        }
        self.time_of_day(day)
    }

    /// A time of day and an offset, to the end.
    fn rest_of_date(mut self, day: Civil) -> Result<Stamp, TimeError> {
        let civil = self.time_of_day(day)?;
        self.zoned(civil)
    }

    /// An offset to the end, or nothing.
    fn zoned(self, civil: Civil) -> Result<Stamp, TimeError> {
        Ok(match self.offset()? {
            Some(offset) => Stamp::Zoned(civil, offset),
            None => Stamp::Local(civil),
        })
    }

    /// `08:15`, `08:15:30`, a fraction after `.` or `,`. A 60th second is the next minute's first.
    fn time_of_day(&mut self, day: Civil) -> Result<Civil, TimeError> {
        let hour = self.digits(2)?;
        self.skip(b':')?;
        let minute = self.digits(2)?;
        let second = if self.0.first() == Some(&b':') {
            self.0 = &self.0[1..];
            self.digits(2)?
        } else {
            0
        };
        for (value, most, part) in [(hour, 23, "hour"), (minute, 59, "minute"), (second, 60, "second")] {
            if value > most {
                return Err(TimeError::NoSuch(part));
            }
        }
        let mut nanos = 0;
        if let [b'.' | b',', rest @ ..] = self.0 {
            let length = rest.iter().take_while(|b| b.is_ascii_digit()).count();
            if length == 0 {
                return Err(TimeError::NotATime);
            }
            nanos = fraction(&rest[..length]).ok_or(TimeError::NotATime)?;
            self.0 = &rest[length..];
        }
        Ok(Civil { second_of_day: hour * 3600 + minute * 60 + second, nanos, ..day })
    }

    /// `Z`, `UTC`, `GMT`, `+0200`, `+02:00` or `+02`, to the end of the text; nothing is no zone.
    fn offset(mut self) -> Result<Option<i32>, TimeError> {
        self.0 = self.0.trim_ascii_start();
        let sign = match self.0 {
            [] => return Ok(None),
            b"Z" | b"z" | b"UTC" | b"GMT" => return Ok(Some(0)),
            [b'+', ..] => 1,
            [b'-', ..] => -1,
            _ => return Err(TimeError::NotATime),
        };
        self.0 = &self.0[1..];
        let hours = self.digits(2)?;
        let minutes = if self.0.is_empty() {
            0
        } else {
            self.0 = self.0.strip_prefix(b":").unwrap_or(self.0);
            self.digits(2)?
        };
        if !self.0.is_empty() {
            return Err(TimeError::NotATime);
        }
        if hours > 23 || minutes > 59 {
            return Err(TimeError::NoSuch("offset"));
        }
        // At most 24 hours in seconds.
        Ok(Some(sign * (hours * 3600 + minutes * 60).cast_signed()))
    }
}

#[cfg(test)]
#[path = "time_text_tests.rs"]
mod tests;
