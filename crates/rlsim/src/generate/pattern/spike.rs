//! A flash crowd.

use std::fmt;

use clap::Args;

use super::poisson::along;
use super::{Instants, Random};
use crate::error::{Error, Result};
use crate::generate::curve::{BASE, Curve, Knot};
use crate::generate::units::{Rate, Span};

/// Random requests at a base rate, and many times as many for a while.
#[derive(Debug, Clone, Args)]
pub struct Spike {
    /// Requests per period before and after, such as 10/s
    #[arg(long, default_value = "10/s")]
    pub rate: Rate,
    /// How many times as many during the spike
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub times: u32,
    /// When it begins, from the start
    #[arg(long, default_value = "20s")]
    pub at: Span,
    /// How long it lasts
    #[arg(long = "for", default_value = "10s")]
    pub length: Span,
}

impl Spike {
    pub(super) fn instants(&self, random: Random) -> Result<Instants> {
        let (Span(at), Span(length)) = (self.at, self.length);
        let duration = random.period.end.saturating_sub(random.period.start);
        // The end of time is no choice of the duration.
        if at > 0 && at >= duration && random.period.end < u64::MAX {
            return Err(Error::usage(format!(
                "--at {}: the trace ends after {}, before the spike begins; expected a time before that, or a longer \
                 --duration",
                self.at,
                Span(duration)
            )));
        }
        let end = at.checked_add(length).ok_or_else(|| {
            Error::usage(format!("--at {} --for {}: the spike ends after the end of time", self.at, self.length))
        })?;
        let knot = |at, level| Knot { at, level };
        let high = self.times.clamp(1, 1000) * BASE;
        let knots = vec![knot(0, BASE), knot(at, BASE), knot(at, high), knot(end, high), knot(end, BASE)];
        Ok(along(Curve::through(self.rate, knots), random))
    }
}

impl fmt::Display for Spike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--rate {} --times {} --at {} --for {}", self.rate, self.times, self.at, self.length)
    }
}
