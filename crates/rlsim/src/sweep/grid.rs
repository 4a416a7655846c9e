//! What to sweep over, as typed: lists, ranges and multiples of the trace's own traffic.
//!
//! ```text
//! LIST   = ITEM ("," ITEM)* | "auto"
//! ITEM   = AMOUNT | AMOUNT ".." AMOUNT "step" AMOUNT      both ends belong to the range
//! AMOUNT = 120                                            units
//!        | 0.5x                                           times the mean rate of the busiest client
//!        | 0.5p                                           times the most that any client asks for in a window
//! ```
//!
//! Multiples are kept as exact decimals and become whole units only against a trace, rounded up.

use std::fmt;
use std::str::FromStr;

/// The most values one list may have.
const MOST_VALUES: usize = 1000;
/// Decimals are kept in millionths.
const MILLION: u64 = 1_000_000;

/// What else a list may hold, said where one of its values is none.
const SPELLINGS: &str = "; several joined by commas, a range such as 50..500 step 50, or `auto`";

/// One value of a limit or a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Units.
    Units(u64),
    /// Millionths of the mean: for a limit the mean rate, for a burst the limit.
    Mean(u64),
    /// Millionths of the largest demand in a window.
    Peak(u64),
}

/// A list of values, in the order typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amounts(Vec<Amount>);

/// What multiples are multiples of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Yardstick {
    /// Units of the client with the most of them (of all clients under a global limit).
    pub units: u64,
    /// The span of the trace in nanoseconds, at least 1.
    pub span_ns: u64,
    /// The window in nanoseconds.
    pub window_ns: u64,
    /// The most units that one client (all, under a global limit) asks for in any window.
    pub peak: u64,
}

impl Yardstick {
    /// A limit in units, at least 1: multiples are rounded up, and saturate at `u64::MAX`.
    pub fn limit(&self, amount: Amount) -> u64 {
        let units = match amount {
            Amount::Units(units) => units.into(),
            // units * window fits 128 bits; the millionths may not, and then the limit is beyond all use.
            Amount::Mean(millionths) => (u128::from(self.units) * u128::from(self.window_ns))
                .checked_mul(millionths.into())
                .map_or(u128::MAX, |product| product.div_ceil(u128::from(self.span_ns.max(1)) * u128::from(MILLION))),
            Amount::Peak(millionths) => times(self.peak, millionths),
        };
        saturated(units)
    }

    /// A burst in units, at least 1: `x` is a multiple of the limit here.
    pub fn burst(&self, amount: Amount, limit: u64) -> u64 {
        saturated(match amount {
            Amount::Units(units) => units.into(),
            Amount::Mean(millionths) => times(limit, millionths),
            Amount::Peak(millionths) => times(self.peak, millionths),
        })
    }
}

fn times(units: u64, millionths: u64) -> u128 {
    (u128::from(units) * u128::from(millionths)).div_ceil(u128::from(MILLION))
}

fn saturated(units: u128) -> u64 {
    u64::try_from(units).unwrap_or(u64::MAX).max(1)
}

impl Amounts {
    /// Fourteen shares of the largest demand in a window, from a fiftieth to all of it, closer together where most
    /// clients are.
    pub fn auto() -> Self {
        let hundredths = [2, 3, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100];
        Amounts(hundredths.map(|share| Amount::Peak(share * MILLION / 100)).to_vec())
    }

    /// The values.
    pub fn values(&self) -> &[Amount] {
        &self.0
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (millionths, letter) = match self {
            Amount::Units(units) => return write!(f, "{units}"),
            Amount::Mean(millionths) => (millionths, 'x'),
            Amount::Peak(millionths) => (millionths, 'p'),
        };
        let (whole, rest) = (millionths / MILLION, millionths % MILLION);
        if rest == 0 {
            return write!(f, "{whole}{letter}");
        }
        let digits = format!("{rest:06}");
        write!(f, "{whole}.{}{letter}", digits.trim_end_matches('0'))
    }
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected =
            || format!("expected whole units such as 120, or a multiple such as 0.5x or 0.9p, found `{text}`");
        let (kind, number): (fn(u64) -> Amount, _) = if let Some(number) = text.strip_suffix('x') {
            (Amount::Mean, number)
        } else if let Some(number) = text.strip_suffix('p') {
            (Amount::Peak, number)
        } else {
            if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) && digits(text).is_none() {
                return Err(format!("`{text}` is too large, expected at most {}", u64::MAX));
            }
            let units: u64 = digits(text).ok_or_else(expected)?;
            return if units == 0 {
                Err(format!("`{text}` would refuse everything, expected 1 or more"))
            } else {
                Ok(Amount::Units(units))
            };
        };
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        if decimals.is_empty() || decimals.len() > 6 {
            return Err(format!("{} (at most six decimals)", expected()));
        }
        let whole = digits(whole).ok_or_else(expected)?.checked_mul(MILLION).ok_or_else(expected)?;
        let decimals = digits(&format!("{decimals:0<6}")).ok_or_else(expected)?;
        match whole.checked_add(decimals) {
            None => Err(expected()),
            Some(0) => Err(format!("`{text}` would refuse everything, expected more than 0")),
            Some(millionths) => Ok(kind(millionths)),
        }
    }
}

/// A number of digits alone: no sign, no blank.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

impl FromStr for Amounts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "auto" {
            return Ok(Amounts::auto());
        }
        let mut values = Vec::new();
        for item in text.split(',') {
            match item.split_once("..") {
                None => values.push(item.trim().parse().map_err(|error| format!("{error}{SPELLINGS}"))?),
                Some((from, rest)) => values.extend(range(item, from, rest)?),
            }
            if values.len() > MOST_VALUES {
                return Err(format!("`{text}` has more than {MOST_VALUES} values"));
            }
        }
        Ok(Amounts(values))
    }
}

/// `FROM..TO step STEP`.
fn range(item: &str, from: &str, rest: &str) -> Result<Vec<Amount>, String> {
    let expected = || format!("expected FROM..TO step STEP, such as 50..500 step 50, found `{}`", item.trim());
    let (to, step) = rest.split_once("step").ok_or_else(expected)?;
    if step.chars().any(|c| c.is_ascii_digit()) && step.chars().all(|c| " 0.xp".contains(c)) {
        return Err(format!("{}: a step of 0 ends nowhere", expected()));
    }
    let [from, to, step] = [from, to, step].map(|amount| amount.trim().parse::<Amount>());
    let (kind, from, to, step): (fn(u64) -> Amount, _, _, _) = match (from?, to?, step?) {
        (Amount::Units(from), Amount::Units(to), Amount::Units(step)) => (Amount::Units, from, to, step),
        (Amount::Mean(from), Amount::Mean(to), Amount::Mean(step)) => (Amount::Mean, from, to, step),
        (Amount::Peak(from), Amount::Peak(to), Amount::Peak(step)) => (Amount::Peak, from, to, step),
        _ => return Err(format!("{}: the ends and the step must be of one kind", expected())),
    };
    if from > to {
        return Err(format!("{}: it ends before it starts", expected()));
    }
    if (to - from) / step >= MOST_VALUES as u64 {
        return Err(format!("`{}` has more than {MOST_VALUES} values", item.trim()));
    }
    Ok((0..=(to - from) / step).map(|i| kind(from + i * step)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        text.parse::<Amounts>().unwrap().values().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lists_ranges_and_multiples() {
        assert_eq!(shown("50..200 step 50, 500"), ["50", "100", "150", "200", "500"]);
        assert_eq!(shown("0.5x..1.1x step 0.25x"), ["0.5x", "0.75x", "1x"]);
        assert_eq!(shown("0.05p"), ["0.05p"]);
        assert_eq!(shown("auto").len(), 14);
    }

    #[test]
    fn mistakes_say_what_was_expected() {
        for (text, expected) in [
            ("", "expected whole units"),
            ("50..100", "expected FROM..TO step STEP"),
            ("100..50 step 5", "ends before it starts"),
            ("1..2x step 1", "of one kind"),
            ("0", "refuse everything"),
            ("0x", "refuse everything"),
            ("1..9 step 0", "a step of 0 ends nowhere"),
            ("0.1x..1x step 0.0x", "a step of 0 ends nowhere"),
            ("18446744073709551616", "is too large, expected at most 18446744073709551615"),
            ("-5", "expected whole units"),
            ("+5", "expected whole units"),
            ("0.1234567x", "six decimals"),
            ("1.x", "six decimals"),
            ("1..100000 step 1", "more than 1000 values"),
            ("99999999999999999999", "is too large"),
        ] {
            let error = text.parse::<Amounts>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn multiples_are_exact_and_rounded_up() {
        // 10 units in 3 s are 10/3 a second; a third of that is 10/9.
        let yardstick = Yardstick { units: 10, span_ns: 3_000_000_000, window_ns: 1_000_000_000, peak: 7 };
        assert_eq!(yardstick.limit(Amount::Mean(MILLION)), 4);
        assert_eq!(yardstick.limit(Amount::Mean(3 * MILLION)), 10);
        assert_eq!(yardstick.limit(Amount::Peak(MILLION / 2)), 4);
        assert_eq!(yardstick.limit(Amount::Peak(1)), 1);
        assert_eq!(yardstick.burst(Amount::Mean(MILLION / 4), 10), 3);
        let huge = Yardstick { units: u64::MAX, span_ns: 1, window_ns: u64::MAX, peak: u64::MAX };
        assert_eq!(huge.limit(Amount::Mean(u64::MAX)), u64::MAX);
        assert_eq!(huge.limit(Amount::Peak(u64::MAX)), u64::MAX);
    }
}
