//! What is said about a run when it is over.

use super::meter::{Bin, Ends, Meter, Tally};
use super::scenario::Scenario;
use crate::sim::stats::percentile;

/// How long after the end of a trigger the server was back at its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// There was no trigger.
    NoTrigger,
    /// After so many nanoseconds.
    After(u64),
    /// Not while requests kept coming: the failure feeds itself (metastable).
    Never,
}

/// The answers of one run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Requests that began: unique pieces of work.
    pub requests: u64,
    /// Attempts sent for them.
    pub attempts: u64,
    /// How attempts ended.
    pub ends: Ends,
    /// Attempts that callers held back and never sent.
    pub withheld: u64,
    /// Requests whose client gave up.
    pub gave_up: u64,
    /// Requests neither served nor given up when the simulation stopped.
    pub in_flight: u64,
    /// Requests served by their first attempt.
    pub first_try: u64,
    /// Attempts that were served after their client had stopped waiting.
    pub wasted: u64,
    /// From a request's beginning to its result: median, 95 and 99 percent, and the longest, in nanoseconds.
    pub wait: [u64; 4],
    /// The largest number of retries sent within one millisecond.
    pub herd: u64,
    /// Back at work after the trigger.
    pub recovery: Recovery,
    /// What became of the requests of each group of clients, in the scenario's order.
    pub groups: Vec<Tally>,
    /// Length of a bin of the series in nanoseconds.
    pub bin_ns: u64,
    /// What happened over time.
    pub bins: Vec<Bin>,
    /// Events that the simulation took.
    pub events: u64,
}

impl Outcome {
    pub(super) fn of(scenario: &Scenario, meter: Meter, events: u64) -> Self {
        let recovery = recovery(scenario, &meter.bins, meter.bin_ns);
        let mut waits = meter.waits;
        waits.sort_unstable();
        Outcome {
            requests: meter.requests,
            attempts: meter.attempts,
            ends: meter.ends,
            withheld: meter.withheld,
            gave_up: meter.gave_up,
            in_flight: meter.requests - meter.ends.served - meter.gave_up,
            first_try: meter.first_try,
            wasted: meter.wasted,
            wait: [50, 95, 99, 100].map(|percent| percentile(&waits, percent)),
            herd: meter.herd,
            recovery,
            groups: meter.groups,
            bin_ns: meter.bin_ns,
            bins: meter.bins,
            events,
        }
    }

    /// Requests served a second, while new ones came.
    pub fn goodput(&self, duration_ns: u64) -> f64 {
        let bins = usize::try_from(duration_ns / self.bin_ns).unwrap_or(usize::MAX).min(self.bins.len());
        share(served(&self.bins[..bins]), length(&self.bins[..bins]).saturating_mul(self.bin_ns)) * 1e9
    }

    /// The part of the requests of group `index` that was served.
    pub fn group_share(&self, index: usize) -> f64 {
        self.groups.get(index).map_or(0.0, |group| share(group.served, group.requests))
    }

    /// Attempts a request.
    pub fn amplification(&self) -> f64 {
        share(self.attempts, self.requests)
    }

    /// The part of the requests that was served.
    pub fn served_share(&self) -> f64 {
        share(self.ends.served, self.requests)
    }

    /// The part of the requests that was served by the first attempt.
    pub fn first_try_share(&self) -> f64 {
        share(self.first_try, self.requests)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for a report")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Bins over which work must be back to count as recovered.
const STEADY: usize = 5;

/// The first time after the trigger from which on goodput is at least 90 % of what it was before it, over the next bins
/// and over all the rest.
fn recovery(scenario: &Scenario, bins: &[Bin], bin_ns: u64) -> Recovery {
    let Some(trigger) = &scenario.trigger else { return Recovery::NoTrigger };
    let index = |at: u64| usize::try_from(at / bin_ns).unwrap_or(usize::MAX).min(bins.len());
    let before = &bins[..index(trigger.from())];
    // The first quarter is for filling up.
    let before = &before[before.len() / 4..];
    let (first, last) = (index(trigger.to().div_ceil(bin_ns).saturating_mul(bin_ns)), index(scenario.duration()));
    let restored =
        |bins: &[Bin]| !bins.is_empty() && 10 * served(bins) * length(before) >= 9 * served(before) * length(bins);
    let back = (first..last).find(|&i| restored(&bins[i..last.min(i + STEADY)]) && restored(&bins[i..last]));
    match back {
        Some(bin) => Recovery::After((bin as u64 * bin_ns).saturating_sub(trigger.to())),
        None => Recovery::Never,
    }
}

fn served(bins: &[Bin]) -> u64 {
    bins.iter().map(|bin| bin.served).sum()
}

fn length(bins: &[Bin]) -> u64 {
    bins.len() as u64
}
