//! What is said about a strategy when the run is over.

use std::collections::HashMap;

use super::arrivals::Arrival;
use super::exact::{Exact, peak, units, window};
use super::ledger::{Answer, Ledger};
use super::world::Cluster;
use crate::sim::stats::percentile;

/// Bins of the series.
const BINS: u64 = 120;

/// The answers of one run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Units admitted by all servers together.
    pub units: u64,
    /// The most units admitted to one client in any window.
    pub peak: u64,
    /// That, as a multiple of what one exact limiter admits at most.
    pub overshoot: f64,
    /// Units admitted beyond the exact limiter's, added up over clients and windows.
    pub excess: u64,
    /// Units refused although the exact limiter has room for as many, added up over clients and windows.
    pub needless: u64,
    /// Units admitted, as a part of what the exact limiter admits.
    pub efficiency: f64,
    /// Requests that differ from the exact limiter in any way: answer, time or delay.
    pub different: u64,
    /// Requests without an answer: always zero.
    pub unanswered: u64,
    /// Operations of the store, and messages, in all.
    pub store_operations: u64,
    /// Messages to and from the store, lost ones too.
    pub messages: u64,
    /// The most operations that one slot of the store had in a second.
    pub hottest: u64,
    /// From a request's arrival to its answer: median and 99 percent, in nanoseconds.
    pub latency: [u64; 2],
    /// While the store was down: units admitted beyond the exact limiter's, below zero when fewer.
    pub exposure: Option<i128>,
    /// The sum of the delays of a leaky bucket, in nanoseconds.
    pub delay_sum: u128,
    /// From the first arrival to the last, in nanoseconds.
    pub span: u64,
    /// Length of a bin in nanoseconds; units admitted, and admitted by the exact limiter, in each.
    pub bin_ns: u64,
    /// Units admitted over time.
    pub series: Vec<u64>,
    /// Units that the exact limiter admits over time.
    pub exact_series: Vec<u64>,
    /// Events that the simulation took.
    pub events: u64,
}

impl Outcome {
    pub(super) fn of(cluster: &Cluster, arrivals: &[Arrival], exact: &Exact, ledger: &Ledger, events: u64) -> Self {
        let missing = |arrival: &Arrival| Answer { at: arrival.at, allowed: false, delay: 0 };
        let answers: Vec<Answer> = arrivals
            .iter()
            .zip(&ledger.answers)
            .map(|(arrival, answer)| answer.unwrap_or_else(|| missing(arrival)))
            .collect();
        let pairs = || arrivals.iter().zip(answers.iter().zip(&exact.answers));
        let peak = peak(arrivals, &answers, window(&cluster.policy));
        let units = units(arrivals, &answers);
        let (excess, needless) = differences(arrivals, &answers, exact, window(&cluster.policy));
        let mut latencies: Vec<u64> =
            arrivals.iter().zip(&answers).map(|(arrival, answer)| answer.at - arrival.at).collect();
        latencies.sort_unstable();
        let (start, end) = (arrivals.first().map_or(0, |a| a.at), arrivals.last().map_or(0, |a| a.at));
        let bin_ns = (end - start).div_ceil(BINS).max(1);
        Outcome {
            units,
            peak,
            overshoot: ratio(peak, exact.peak),
            excess,
            needless,
            efficiency: ratio(units, exact.units),
            different: pairs().filter(|(_, (mine, exact))| mine != exact).count() as u64,
            unanswered: ledger.answers.iter().filter(|answer| answer.is_none()).count() as u64,
            store_operations: ledger.store_operations,
            messages: ledger.messages,
            hottest: ledger.hottest,
            latency: [50, 99].map(|percent| percentile(&latencies, percent)),
            exposure: cluster.faults.store_down.map(|_| {
                let during = |at: u64| cluster.faults.store_is_down(at);
                let mine = admitted(arrivals, &answers, during);
                mine - admitted(arrivals, &exact.answers, during)
            }),
            delay_sum: answers.iter().map(|answer| u128::from(answer.delay)).sum(),
            span: end - start,
            bin_ns,
            series: series(arrivals, &answers, start, bin_ns),
            exact_series: series(arrivals, &exact.answers, start, bin_ns),
            events,
        }
    }

    /// A count as a rate over the span, in each second.
    #[expect(clippy::cast_precision_loss, reason = "a rate for a report")]
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 * 1e9 / self.span.max(1) as f64
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for a report")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Units more, and units fewer, than the exact limiter's in each window of each client. Which of several requests in a
/// window passes does not matter.
fn differences(arrivals: &[Arrival], answers: &[Answer], exact: &Exact, window: u64) -> (u64, u64) {
    let mut windows: HashMap<(u32, u64), (u64, u64)> = HashMap::new();
    for (arrival, (mine, exact)) in arrivals.iter().zip(answers.iter().zip(&exact.answers)) {
        let (mine_units, exact_units) = windows.entry((arrival.client, arrival.at / window)).or_default();
        *mine_units = mine_units.saturating_add(if mine.allowed { arrival.cost } else { 0 });
        *exact_units = exact_units.saturating_add(if exact.allowed { arrival.cost } else { 0 });
    }
    windows.values().fold((0, 0), |(more, fewer): (u64, u64), (mine, exact)| {
        (more.saturating_add(mine.saturating_sub(*exact)), fewer.saturating_add(exact.saturating_sub(*mine)))
    })
}

/// Units of requests that came in some time and were admitted.
fn admitted(arrivals: &[Arrival], answers: &[Answer], during: impl Fn(u64) -> bool) -> i128 {
    let admitted = arrivals.iter().zip(answers).filter(|(arrival, answer)| answer.allowed && during(arrival.at));
    admitted.map(|(arrival, _)| i128::from(arrival.cost)).sum()
}

fn series(arrivals: &[Arrival], answers: &[Answer], start: u64, bin_ns: u64) -> Vec<u64> {
    let mut bins: Vec<u64> = Vec::new();
    for (arrival, _) in arrivals.iter().zip(answers).filter(|(_, answer)| answer.allowed) {
        // At most the number of bins.
        let bin = usize::try_from((arrival.at - start) / bin_ns).unwrap_or(0);
        if bins.len() <= bin {
            bins.resize(bin + 1, 0);
        }
        bins[bin] = bins[bin].saturating_add(arrival.cost);
    }
    bins
}
