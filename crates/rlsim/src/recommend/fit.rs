//! From a promise and a part of a trace to the parameters of each algorithm.

use std::num::NonZeroUsize;

use serde::Serialize;

use super::guarantee::largest_limit;
use super::need::{Client, clients};
use super::part::{Part, in_parallel};
use super::promise::Promise;
use crate::replay::By;
use crate::sweep::{self, Algorithm, measure};

/// Rates at which bursts are measured: all up to this many, then an even choice.
const RATES: u64 = 48;
/// Bursts tried for a bucket that protects a service.
const BURSTS: u64 = 24;

/// Parameters of one algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Parameters {
    /// Units per window.
    pub limit: u64,
    /// The burst, for a bucket.
    pub burst: Option<u64>,
}

/// Whose needs must be met: all but some of the clients that count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Demand {
    /// Clients that may be limited.
    pub(super) excepted: usize,
    /// Whether each client counts; `None` for all.
    pub(super) kept: Option<Vec<bool>>,
}

impl Demand {
    /// All but at most `1 - millionths` of the clients.
    pub(super) fn share(part: &Part, kept_millionths: u64) -> Self {
        let clients = part.grouped.clients() as u128;
        let excepted = clients * u128::from(1_000_000 - kept_millionths.min(1_000_000)) / 1_000_000;
        // Not more than there are clients.
        Demand { excepted: usize::try_from(excepted).unwrap_or(usize::MAX), kept: None }
    }

    /// What a promise to clients asks of this part, in windows of `window`.
    pub(super) fn of(promise: Promise, part: &Part, window: u64) -> Self {
        match promise {
            Promise::LimitedClients { millionths } => Demand::share(part, 1_000_000 - millionths.min(1_000_000)),
            Promise::KeepClientsBelow { millionths } => {
                Demand::below(part, peak_percentile(part, millionths, window), window)
            }
            Promise::ServiceAtMost { .. } | Promise::Attack { .. } => Demand { excepted: 0, kept: None },
        }
    }

    /// Clients whose largest demand in a window is at most `units`.
    pub(super) fn below(part: &Part, units: u64, window: u64) -> Self {
        let kept = clients(&part.grouped).map(|client| client.sliding_log(window) <= units).collect();
        Demand { excepted: 0, kept: Some(kept) }
    }

    /// The smallest value that meets the needs: the largest need that may not be excepted, at least 1.
    pub(super) fn met_by(&self, mut needs: Vec<u64>) -> u64 {
        if let Some(kept) = &self.kept {
            let mut counts = kept.iter();
            needs.retain(|_| counts.next().copied().unwrap_or(true));
        }
        if self.excepted >= needs.len() {
            return 1;
        }
        let (_, need, _) = needs.select_nth_unstable_by(self.excepted, |a, b| b.cmp(a));
        (*need).max(1)
    }

    /// Clients that count and need more than `limit` allows.
    pub(super) fn unmet(&self, needs: impl Iterator<Item = bool>) -> u64 {
        let counts = |i: usize| self.kept.as_ref().is_none_or(|kept| kept.get(i).copied().unwrap_or(true));
        needs.enumerate().filter(|(i, exceeds)| *exceeds && counts(*i)).count() as u64
    }
}

/// The percentile of the clients' largest demands in a window, by nearest rank.
pub(super) fn peak_percentile(part: &Part, millionths: u64, window: u64) -> u64 {
    let mut peaks: Vec<u64> = clients(&part.grouped).map(|client| client.sliding_log(window)).collect();
    let rank = (peaks.len() as u128 * u128::from(millionths)).div_ceil(1_000_000).max(1) - 1;
    let rank = usize::try_from(rank).unwrap_or(usize::MAX).min(peaks.len().saturating_sub(1));
    if peaks.is_empty() { 0 } else { *peaks.select_nth_unstable(rank).1 }
}

/// Whether a client needs more than these parameters give.
pub(super) fn exceeds(client: &Client<'_>, algorithm: Algorithm, parameters: Parameters, window: u64) -> bool {
    let Parameters { limit, burst } = parameters;
    match algorithm {
        Algorithm::FixedWindow => client.fixed_window(window) > limit,
        Algorithm::SlidingLog => client.sliding_log(window) > limit,
        Algorithm::SlidingCounter => client.sliding_counter(window) > limit,
        Algorithm::TokenBucket | Algorithm::LeakyBucket => client.burst(limit, window) > burst.unwrap_or(limit),
    }
}

/// The bursts that demands need, rate by rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bursts {
    /// Units per window, rising.
    pub(super) rates: Vec<u64>,
    /// For each demand the burst at each rate.
    pub(super) needed: Vec<Vec<u64>>,
}

impl Bursts {
    /// Measures every client at up to about 50 rates, from 1 to the largest demand in a window. Linear in events times
    /// rates.
    pub(super) fn measured(part: &Part, demands: &[Demand], window: u64, threads: NonZeroUsize) -> Self {
        let most = clients(&part.grouped).map(|client| client.sliding_log(window)).max().unwrap_or(1).max(1);
        let rates = rates(most);
        let columns = in_parallel(rates.len(), threads, |i| {
            let needs: Vec<u64> = clients(&part.grouped).map(|client| client.burst(rates[i], window)).collect();
            demands.iter().map(|demand| demand.met_by(needs.clone())).collect::<Vec<u64>>()
        });
        let needed = (0..demands.len()).map(|demand| columns.iter().map(|column| column[demand]).collect()).collect();
        Bursts { rates, needed }
    }

    /// The rate and the burst at the knee of the curve of one demand; where it has none, the pair that lets the least
    /// through in a window, and of equals the highest rate.
    pub(super) fn chosen(&self, demand: usize) -> Parameters {
        let Some(bursts) = self.needed.get(demand) else { return Parameters { limit: 1, burst: Some(1) } };
        let points: Vec<(usize, u64, u64)> =
            self.rates.iter().zip(bursts).enumerate().map(|(i, (rate, burst))| (i, *rate, *burst)).collect();
        let least =
            || points.iter().min_by_key(|(_, rate, burst)| (rate.saturating_add(*burst), std::cmp::Reverse(*rate)));
        let place = sweep::knee(&sweep::frontier(&points)).or_else(|| least().map(|point| point.0)).unwrap_or(0);
        Parameters { limit: self.rates[place], burst: Some(bursts[place]) }
    }
}

/// All rates up to `most` where they are few; else the powers of two and an even choice.
fn rates(most: u64) -> Vec<u64> {
    if most <= RATES {
        return (1..=most).collect();
    }
    let even = (1..=RATES).map(|i| u64::try_from(u128::from(most) * u128::from(i) / u128::from(RATES)).unwrap_or(most));
    let mut rates: Vec<u64> = even.chain((0..64).map(|power| 1 << power).filter(|rate| *rate < most / RATES)).collect();
    rates.sort_unstable();
    rates.dedup();
    rates
}

/// The smallest limits that meet a demand, for one of the window algorithms.
pub(super) fn smallest_limit(part: &Part, algorithm: Algorithm, demand: &Demand, window: u64) -> Parameters {
    let needs = clients(&part.grouped).map(|client| match algorithm {
        Algorithm::FixedWindow => client.fixed_window(window),
        Algorithm::SlidingCounter => client.sliding_counter(window),
        Algorithm::SlidingLog | Algorithm::TokenBucket | Algorithm::LeakyBucket => client.sliding_log(window),
    });
    Parameters { limit: demand.met_by(needs.collect()), burst: None }
}

/// The largest limit that keeps the service below `most` units in any window; of a bucket's many pairs of rate and burst
/// the one that refuses least on this part. No request is expected to cost more than `largest_cost`. `None` where no limit
/// keeps it.
pub(super) fn largest_for_service(
    part: &Part,
    algorithm: Algorithm,
    (most, window): (u64, u64),
    largest_cost: u64,
    threads: NonZeroUsize,
) -> Option<Parameters> {
    let limit = |burst: u64| largest_limit(algorithm, most, burst, window, largest_cost);
    if !algorithm.has_burst() {
        return limit(0).map(|limit| Parameters { limit, burst: None });
    }
    // A leaky bucket's queue does not change what it releases: one window's worth of waiting is the usual patience.
    if algorithm == Algorithm::LeakyBucket {
        return limit(0).map(|limit| Parameters { limit, burst: Some(limit) });
    }
    let step = |i: u64| u64::try_from(u128::from(most) * u128::from(i) / u128::from(BURSTS)).unwrap_or(most).max(1);
    let mut tried: Vec<Parameters> = (1..=BURSTS)
        .map(step)
        .filter_map(|burst| limit(burst).map(|limit| Parameters { limit, burst: Some(burst) }))
        .collect();
    tried.dedup();
    let policies: Vec<_> = tried
        .iter()
        .filter_map(|p| algorithm.policy(p.limit, window, p.burst).ok().map(|policy| (policy, window)))
        .collect();
    let found = measure(&part.trace, By::Global, &policies, (0, 0), threads);
    // The first of equals has the smallest burst.
    let best = found.iter().enumerate().min_by_key(|(i, found)| (found.refused(), *i))?.0;
    tried.get(best).copied()
}
