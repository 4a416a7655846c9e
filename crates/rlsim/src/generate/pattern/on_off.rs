//! Traffic that switches on and off.

use std::fmt;

use clap::Args;

use super::poisson::along;
use super::{Instants, Random};
use crate::error::{Error, Result};
use crate::generate::curve::{BASE, Curve, Knot};
use crate::generate::units::{Rate, Span};

/// The shortest cycle, 1 ms: what is switched faster cannot be told from a steady rate, and takes long to make.
const SHORTEST_CYCLE: u64 = 1_000_000;

/// Random requests for a while, then silence, over and over.
#[derive(Debug, Clone, Args)]
pub struct OnOff {
    /// Requests per period while it is on, such as 50/s
    #[arg(long, default_value = "50/s")]
    pub rate: Rate,
    /// How long it stays on
    #[arg(long, default_value = "5s")]
    pub on: Span,
    /// How long it stays off
    #[arg(long, default_value = "15s")]
    pub off: Span,
}

impl OnOff {
    pub(super) fn instants(&self, random: Random) -> Result<Instants> {
        let (Span(on), Span(off)) = (self.on, self.off);
        let cycle = on.checked_add(off).filter(|&cycle| cycle >= SHORTEST_CYCLE && on > 0).ok_or_else(|| {
            Error::usage(format!(
                "--on {} --off {}: expected a cycle of 1ms to 584 years, not all off",
                self.on, self.off
            ))
        })?;
        let knot = |at, level| Knot { at, level };
        let knots = vec![knot(0, BASE), knot(on, BASE), knot(on, 0), knot(cycle, 0)];
        Ok(along(Curve::repeating(self.rate, knots), random))
    }
}

impl fmt::Display for OnOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--rate {} --on {} --off {}", self.rate, self.on, self.off)
    }
}
