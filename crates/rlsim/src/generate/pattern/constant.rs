//! Evenly spaced requests.

use std::fmt;

use clap::Args;

use super::{Instants, Period};
use crate::generate::units::Rate;

/// Request `k` comes `k / rate` after the start, rounded down to the nanosecond: the rate is exact over any length.
#[derive(Debug, Clone, Args)]
pub struct Constant {
    /// Requests per period, such as 50/s
    #[arg(long, default_value = "10/s")]
    pub rate: Rate,
}

impl Constant {
    pub(super) fn instants(&self, period: Period) -> Instants {
        let rate = self.rate;
        let instant = move |k: u64| {
            let after = u128::from(k) * u128::from(rate.per()) / u128::from(rate.events());
            u64::try_from(u128::from(period.start) + after).ok()
        };
        Box::new((0..=u64::MAX).map_while(instant))
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--rate {}", self.rate)
    }
}
