//! Independent requests at random times.

use std::fmt;

use clap::Args;

use super::{Instants, Random};
use crate::generate::curve::Curve;
use crate::generate::units::Rate;

/// A Poisson process: gaps are exponential, counts in any stretch have a variance equal to their mean.
#[derive(Debug, Clone, Args)]
pub struct Poisson {
    /// Requests per period on average, such as 50/s
    #[arg(long, default_value = "10/s")]
    pub rate: Rate,
}

impl Poisson {
    pub(super) fn instants(&self, random: Random) -> Instants {
        along(Curve::flat(self.rate), random)
    }
}

/// Random arrivals along a curve that starts with the period.
pub(super) fn along(curve: Curve, random: Random) -> Instants {
    let Random { period, draws, stop } = random;
    let arrivals = curve.arrivals(period.end - period.start, draws, stop);
    Box::new(arrivals.map_while(move |after| period.start.checked_add(after)))
}

impl fmt::Display for Poisson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--rate {}", self.rate)
    }
}
