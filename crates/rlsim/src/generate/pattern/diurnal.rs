//! Day and night.

use std::fmt;

use clap::Args;

use super::poisson::along;
use super::{Instants, Random};
use crate::error::{Error, Result};
use crate::generate::curve::{BASE, Curve, Knot};
use crate::generate::units::{Rate, Span};

/// `cos(2 pi k / 48)` in parts per million, a quarter of the circle: a day in half hours.
const COSINE: [u32; 13] =
    [1_000_000, 991_445, 965_926, 923_880, 866_025, 793_353, 707_107, 608_761, 500_000, 382_683, 258_819, 130_526, 0];
const STEPS: usize = 48;
/// Shorter days cannot be told from a steady rate, and take long to make.
const SHORTEST_DAY: u64 = 48_000_000;

/// A rate that swings like a cosine, linear between 48 points of the day. The trace starts at the quietest time.
#[derive(Debug, Clone, Args)]
pub struct Diurnal {
    /// Requests per period on average over a day, such as 50/s
    #[arg(long, default_value = "10/s")]
    pub rate: Rate,
    /// The length of a day
    #[arg(long, default_value = "24h")]
    pub day: Span,
    /// How far the rate swings around its average, in percent of it
    #[arg(long, default_value_t = 80, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub swing: u32,
}

impl Diurnal {
    pub(super) fn instants(&self, random: Random) -> Result<Instants> {
        let Span(day) = self.day;
        if day < SHORTEST_DAY {
            return Err(Error::usage(format!("--day {}: expected at least {}", self.day, Span(SHORTEST_DAY))));
        }
        let knot = |step: usize| {
            // Below 48 * 2^64 before the division, and at most the day after it.
            let at = u64::try_from(u128::from(day) * step as u128 / STEPS as u128).unwrap_or(day);
            Knot { at, level: self.level(step) }
        };
        Ok(along(Curve::repeating(self.rate, (0..=STEPS).map(knot).collect()), random))
    }

    /// `1 - swing * cos(2 pi step / 48)`, in parts per million.
    fn level(&self, step: usize) -> u32 {
        // The second half of a day mirrors the first; the second quarter is the first one's negative, mirrored.
        let half = step.min(STEPS - step);
        let swing = |cosine: u32| cosine / 100 * self.swing + cosine % 100 * self.swing / 100;
        if half <= 12 { BASE - swing(COSINE[half]) } else { BASE + swing(COSINE[24 - half]) }
    }
}

impl fmt::Display for Diurnal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--rate {} --day {} --swing {}", self.rate, self.day, self.swing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_over_a_day_is_exactly_the_rate() {
        for swing in [0, 1, 33, 80, 100] {
            let pattern = Diurnal { rate: "10/s".parse().unwrap(), day: Span(1 << 40), swing };
            let sum: u64 = (0..STEPS).map(|step| u64::from(pattern.level(step))).sum();
            assert_eq!(sum, 48 * u64::from(BASE));
            assert_eq!(pattern.level(0), pattern.level(STEPS));
            assert_eq!(pattern.level(24), BASE + swing * 10_000);
        }
    }
}
