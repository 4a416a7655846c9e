//! Bursts on both sides of the edges between fixed windows.
//!
//! A fixed window counts afresh at every multiple of its length. Whoever sends a full window's worth just before such an
//! edge and another just after it is within the limit both times, and gets twice the limit through:
//!
//! ```text
//! |              #|#              |              #|#              |
//! 0               W              2W              3W              4W
//! ```

use std::fmt;

use clap::Args;

use super::{Instants, Period, evenly};
use crate::error::{Error, Result};
use crate::generate::units::{Rate, Span};

/// One burst before and one after every second edge: each window gets exactly one, so the mean rate is `--rate`.
#[derive(Debug, Clone, Args)]
pub struct EdgeBurst {
    /// The limit to aim at, as requests per window, such as 100/1m; also the mean rate of this traffic
    #[arg(long, default_value = "100/m")]
    pub rate: Rate,
    /// The window whose edges are hit [default: the period of --rate]
    #[arg(long)]
    pub window: Option<Span>,
    /// How long each burst takes [default: a 600th of the window]
    #[arg(long)]
    pub spread: Option<Span>,
}

impl EdgeBurst {
    fn window(&self) -> u64 {
        self.window.map_or(self.rate.per(), |Span(window)| window)
    }

    fn spread(&self) -> u64 {
        self.spread.map_or(self.window().div_ceil(600), |Span(spread)| spread)
    }

    pub(super) fn instants(&self, period: Period) -> Result<Instants> {
        let (window, spread) = (self.window(), self.spread());
        let burst = self.rate.events_in(window);
        if window < 2 || burst == 0 {
            let what = format!("--rate {} gives {burst} requests in a window of {}", self.rate, Span(window));
            return Err(Error::usage(format!("{what}; a burst needs at least one: raise --rate or --window")));
        }
        if spread == 0 || spread > window / 2 {
            let limit = Span(window / 2);
            let found = Span(spread);
            return Err(Error::usage(format!("--spread {found}: expected 1ns to {limit} (half of the window)")));
        }
        // Edges are the odd multiples of the window since time zero, from the last one before the start.
        let first = period.start / window;
        let first = first - u64::from(first.is_multiple_of(2) && first > 0);
        let edges = (first | 1..).step_by(2).map_while(move |n| n.checked_mul(window));
        let around = move |edge: u64| {
            // The spread is at most half of the window, so it fits before the first edge.
            let from = |begin| evenly(begin, spread, burst, period.start);
            from(edge - spread).chain(from(edge))
        };
        Ok(Box::new(edges.flat_map(around)))
    }
}

impl fmt::Display for EdgeBurst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--rate {} --window {} --spread {}", self.rate, Span(self.window()), Span(self.spread()))
    }
}
