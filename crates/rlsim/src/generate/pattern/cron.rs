//! Jobs that all start at the top of the hour.

use std::fmt;

use clap::Args;

use super::{Instants, Period, evenly};
use crate::error::{Error, Result};
use crate::generate::units::Span;

/// The same number of requests at every multiple of an interval since time zero, evenly spread over a short while.
#[derive(Debug, Clone, Args)]
pub struct Cron {
    /// Requests at each tick, dealt to the clients in turn
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    pub burst: u64,
    /// The interval between ticks
    #[arg(long, default_value = "1h")]
    pub every: Span,
    /// How long the requests of one tick take to arrive; 0s for all at once
    #[arg(long, default_value = "1s")]
    pub spread: Span,
}

impl Cron {
    pub(super) fn instants(&self, period: Period) -> Result<Instants> {
        let (Span(every), Span(spread), burst) = (self.every, self.spread, self.burst.max(1));
        if every == 0 || spread > every {
            let found = format!("--every {} --spread {}", self.every, self.spread);
            return Err(Error::usage(format!("{found}: expected --every above zero and --spread no longer than it")));
        }
        let ticks = (period.start / every..=u64::MAX).map_while(move |n| n.checked_mul(every));
        let requests = move |tick: u64| evenly(tick, spread, burst, period.start);
        Ok(Box::new(ticks.flat_map(requests)))
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--burst {} --every {} --spread {}", self.burst, self.every, self.spread)
    }
}
