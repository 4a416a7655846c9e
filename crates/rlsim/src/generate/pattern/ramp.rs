//! Traffic that grows or shrinks steadily.

use std::fmt;

use clap::Args;

use super::poisson::along;
use super::{Instants, Random};
use crate::generate::curve::{BASE, Curve, Knot};
use crate::generate::units::Rate;

/// Random requests whose rate changes linearly over the whole trace.
#[derive(Debug, Clone, Args)]
pub struct Ramp {
    /// Requests per period at the start, such as 10/s
    #[arg(long, default_value = "1/s")]
    pub rate: Rate,
    /// Requests per period at the end
    #[arg(long, default_value = "100/s")]
    pub to: Rate,
}

impl Ramp {
    pub(super) fn instants(&self, random: Random) -> Instants {
        let rising = self.rate.parts_per_million_of(self.to) <= u128::from(BASE);
        let higher = if rising { self.to } else { self.rate };
        // Not above the higher of the two, but for rounding.
        let level = |rate: Rate| u32::try_from(rate.parts_per_million_of(higher)).map_or(BASE, |level| level.min(BASE));
        let knots = vec![
            Knot { at: 0, level: level(self.rate) },
            Knot { at: random.period.end - random.period.start, level: level(self.to) },
        ];
        along(Curve::through(higher, knots), random)
    }
}

impl fmt::Display for Ramp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--rate {} --to {}", self.rate, self.to)
    }
}
