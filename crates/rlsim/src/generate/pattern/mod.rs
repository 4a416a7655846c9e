//! When requests come: one named pattern a file.
//!
//! A pattern is the set of its options, and knows the instants they stand for. Instants are nanoseconds, never
//! decreasing, within a [`Period`].

mod adversary;
mod constant;
mod cron;
mod diurnal;
mod edge_burst;
mod on_off;
mod poisson;
mod ramp;
mod spike;

use std::fmt;

use clap::Subcommand;

pub use adversary::Adversary;
pub use constant::Constant;
pub use cron::Cron;
pub use diurnal::Diurnal;
pub use edge_burst::EdgeBurst;
pub use on_off::OnOff;
pub use poisson::Poisson;
pub use ramp::Ramp;
pub use spike::Spike;

use super::random::Draws;
use super::stop::Stop;
use crate::error::Result;

/// The stretch of time that a trace covers: `start <= t < end`, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// First instant.
    pub start: u64,
    /// First instant after it.
    pub end: u64,
}

/// Instants in nanoseconds, never decreasing.
pub type Instants = Box<dyn Iterator<Item = u64> + Send>;

/// A pattern of arrivals.
#[derive(Debug, Clone, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one a command line")]
pub enum Pattern {
    /// Evenly spaced requests
    Constant(Constant),
    /// Independent requests at random times: many users who do not know of each other
    Poisson(Poisson),
    /// Random requests for a while, then silence, over and over
    OnOff(OnOff),
    /// Day and night: a rate that swings around its average
    Diurnal(Diurnal),
    /// Random requests whose rate changes steadily from start to end
    Ramp(Ramp),
    /// A flash crowd: many times the usual rate for a while
    Spike(Spike),
    /// Jobs that all start at the top of the hour
    Cron(Cron),
    /// Bursts on both sides of the edges between fixed windows
    EdgeBurst(EdgeBurst),
    /// The worst trace for a policy: it gets as much through as the policy can be made to admit
    Adversary(Adversary),
}

impl Pattern {
    /// The instants of this pattern within `period`, for all of `clients` clients together; none any more once `stop` is
    /// set.
    ///
    /// # Errors
    /// When the options contradict each other.
    pub fn instants(&self, period: Period, clients: u32, draws: Draws, stop: &Stop) -> Result<Instants> {
        let random = Random { period, draws, stop: stop.clone() };
        let instants = match self {
            Pattern::Constant(pattern) => pattern.instants(period),
            Pattern::Poisson(pattern) => pattern.instants(random),
            Pattern::OnOff(pattern) => pattern.instants(random)?,
            Pattern::Diurnal(pattern) => pattern.instants(random)?,
            Pattern::Ramp(pattern) => pattern.instants(random),
            Pattern::Spike(pattern) => pattern.instants(random)?,
            Pattern::Cron(pattern) => pattern.instants(period)?,
            Pattern::EdgeBurst(pattern) => pattern.instants(period)?,
            Pattern::Adversary(pattern) => pattern.instants(period, clients)?,
        };
        let stop = stop.clone();
        Ok(Box::new(instants.take_while(move |&at| at < period.end && !stop.is_set())))
    }

    /// Whether requests are dealt to the clients in turn, so that each gets an equal share, instead of drawn.
    pub fn deals(&self) -> bool {
        matches!(self, Pattern::Constant(_) | Pattern::Cron(_) | Pattern::EdgeBurst(_) | Pattern::Adversary(_))
    }
}

/// As it would be typed, with every option written out.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Constant(pattern) => write!(f, "constant {pattern}"),
            Pattern::Poisson(pattern) => write!(f, "poisson {pattern}"),
            Pattern::OnOff(pattern) => write!(f, "on-off {pattern}"),
            Pattern::Diurnal(pattern) => write!(f, "diurnal {pattern}"),
            Pattern::Ramp(pattern) => write!(f, "ramp {pattern}"),
            Pattern::Spike(pattern) => write!(f, "spike {pattern}"),
            Pattern::Cron(pattern) => write!(f, "cron {pattern}"),
            Pattern::EdgeBurst(pattern) => write!(f, "edge-burst {pattern}"),
            Pattern::Adversary(pattern) => write!(f, "adversary {pattern}"),
        }
    }
}

/// What a random pattern needs beside its options.
struct Random {
    period: Period,
    draws: Draws,
    stop: Stop,
}

/// `count` instants spread evenly over `spread` nanoseconds from `begin`, without those before `from`: the first one is
/// computed, so that a late start costs nothing.
fn evenly(begin: u64, spread: u64, count: u64, from: u64) -> impl Iterator<Item = u64> + Send {
    let first = match from.saturating_sub(begin) {
        0 => 0,
        // All of them at `begin`, which is too early.
        _ if spread == 0 => count,
        // The first k with floor(spread * k / count) >= missing is the first with spread * k >= missing * count.
        missing => {
            let first = (u128::from(missing) * u128::from(count)).div_ceil(u128::from(spread));
            u64::try_from(first).unwrap_or(count).min(count)
        }
    };
    (first..count).map_while(move |k| begin.checked_add(share(spread, k, count)))
}

/// `whole * part / parts`, rounded down, for `part <= parts`.
fn share(whole: u64, part: u64, parts: u64) -> u64 {
    // At most `whole`, so it fits.
    u64::try_from(u128::from(whole) * u128::from(part) / u128::from(parts)).unwrap_or(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_instant_is_the_one_that_walking_finds() {
        for (spread, count) in [(0, 3), (1, 1), (7, 3), (10, 10), (3, 7), (100, 99)] {
            for from in 0..130 {
                let walked = evenly(10, spread, count, 0).skip_while(|&at| at < from);
                assert!(evenly(10, spread, count, from).eq(walked), "{spread} {count} {from}");
            }
        }
        assert_eq!(evenly(0, u64::MAX, u64::MAX, u64::MAX - 1).next(), Some(u64::MAX - 1));
        assert_eq!(evenly(u64::MAX - 1, 10, 10, 0).count(), 2);
    }
}
