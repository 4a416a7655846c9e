//! Costs, counts and durations: text into whole numbers, without floats.

use super::options::TimeUnit;
use super::record::NumberError;
use super::time_text::{Stamp, parse};

/// Whole units. A fraction of zeros (`12.000`) is whole.
pub(crate) fn whole_units(text: &[u8]) -> Result<u64, NumberError> {
    // Nearly every cost: a few digits, which fit whatever they are.
    if (1..=19).contains(&text.len()) && text.iter().all(u8::is_ascii_digit) {
        return Ok(text.iter().fold(0, |units, byte| units * 10 + u64::from(byte - b'0')));
    }
    let text = text.trim_ascii();
    let (negative, digits) = match text {
        [] | b"-" => return Err(NumberError::Missing),
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let point = memchr::memchr(b'.', digits).unwrap_or(digits.len());
    let (whole, fraction) = digits.split_at(point);
    let fraction = fraction.get(1..).unwrap_or_default();
    if whole.is_empty() || !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
        return Err(NumberError::NotANumber);
    }
    if fraction.iter().any(|&b| b != b'0') {
        return Err(if negative { NumberError::Negative } else { NumberError::Fractional });
    }
    let mut units: u64 = 0;
    for &byte in whole {
        let digit = u64::from(byte - b'0');
        units = units.checked_mul(10).and_then(|u| u.checked_add(digit)).ok_or(NumberError::BeyondRange)?;
    }
    if negative && units > 0 { Err(NumberError::Negative) } else { Ok(units) }
}

/// A duration in nanoseconds: a decimal number in `unit`, or one with a unit of its own (`250ms`, `1.5s`).
pub(crate) fn duration_nanos(text: &[u8], unit: TimeUnit) -> Result<u64, NumberError> {
    let text = text.trim_ascii();
    if matches!(text, [] | b"-") {
        return Err(NumberError::Missing);
    }
    if text[0] == b'-' {
        return Err(NumberError::Negative);
    }
    let length = text.iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    let (number, suffix) = text.split_at(length);
    let unit = match suffix.trim_ascii() {
        b"" => unit,
        b"s" => TimeUnit::Seconds,
        b"ms" => TimeUnit::Millis,
        b"us" | b"\xc2\xb5s" | b"\xce\xbcs" => TimeUnit::Micros,
        b"ns" => TimeUnit::Nanos,
        _ => return Err(NumberError::NotANumber),
    };
    match parse(number) {
        Ok(Stamp::Number { whole, billionths }) => nanos_of(whole, billionths, unit).ok_or(NumberError::BeyondRange),
        _ => Err(NumberError::NotANumber),
    }
}

/// A number in a unit as nanoseconds; what is less than a nanosecond is cut off.
pub(crate) fn nanos_of(whole: u64, billionths: u32, unit: TimeUnit) -> Option<u64> {
    let fraction = u64::from(billionths) * unit.nanos() / 1_000_000_000;
    whole.checked_mul(unit.nanos())?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_of_units() {
        for (text, expect) in [
            ("0", Ok(0)),
            (" 12 ", Ok(12)),
            ("+3", Ok(3)),
            ("1.000000", Ok(1)),
            ("7.", Ok(7)),
            ("18446744073709551615", Ok(u64::MAX)),
            ("18446744073709551616", Err(NumberError::BeyondRange)),
            ("", Err(NumberError::Missing)),
            ("-", Err(NumberError::Missing)),
            ("-1", Err(NumberError::Negative)),
            ("-0.5", Err(NumberError::Negative)),
            ("-0", Ok(0)),
            ("1.5", Err(NumberError::Fractional)),
            (".5", Err(NumberError::NotANumber)),
            ("1.5.0", Err(NumberError::NotANumber)),
            ("1e3", Err(NumberError::NotANumber)),
            ("many", Err(NumberError::NotANumber)),
        ] {
            assert_eq!(whole_units(text.as_bytes()), expect, "{text}");
        }
    }

    #[test]
    fn durations_in_the_units_of_their_column_or_their_own() {
        for (text, unit, expect) in [
            ("0.25", TimeUnit::Seconds, Ok(250_000_000)),
            ("1514", TimeUnit::Millis, Ok(1_514_000_000)),
            ("3.5", TimeUnit::Nanos, Ok(3)),
            ("250ms", TimeUnit::Seconds, Ok(250_000_000)),
            ("1.5 s", TimeUnit::Millis, Ok(1_500_000_000)),
            ("7µs", TimeUnit::Seconds, Ok(7_000)),
            ("-", TimeUnit::Seconds, Err(NumberError::Missing)),
            ("-1", TimeUnit::Millis, Err(NumberError::Negative)),
            ("1h", TimeUnit::Millis, Err(NumberError::NotANumber)),
            ("18446744074", TimeUnit::Seconds, Err(NumberError::BeyondRange)),
        ] {
            assert_eq!(duration_nanos(text.as_bytes(), unit), expect, "{text}");
        }
    }
}
