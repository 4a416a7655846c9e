//! Who the traffic comes from: how many clients, and how unequal they are.

use serde::Serialize;

use super::ratio;
use crate::replay::Grouped;
use crate::trace::{Costs, Trace};

/// The largest clients that are shown.
const SHOWN: usize = 5;

/// How the units are spread over clients.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Clients {
    /// Clients in the trace.
    pub total: u64,
    /// Clients with a single request.
    pub once: u64,
    /// Units of the median client, by nearest rank.
    pub median_units: u64,
    /// The share of all units that the largest tenth of the clients (at least one) asks for.
    pub top_tenth_share: f64,
    /// The Gini coefficient of units over clients: 0 when all ask for the same, towards 1 when one asks for all.
    pub gini: f64,
    /// The largest clients, largest first.
    pub largest: Vec<Client>,
}

/// One client's part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Client {
    /// Its name; `None` in a trace without names.
    pub name: Option<String>,
    /// Its requests.
    pub requests: u64,
    /// Its units.
    pub units: u64,
    /// Its share of all units.
    pub share: f64,
}

/// A client's name for people; `None` where it has none.
pub(crate) fn name(trace: &Trace, client: usize) -> Option<String> {
    let name = trace.names.get(client).filter(|name| !name.is_empty())?;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// Sorts the clients by their units.
pub(super) fn clients(trace: &Trace, grouped: &Grouped) -> Clients {
    let ranges = || grouped.starts.windows(2).map(|pair| pair[0]..pair[1]);
    let units = |range: std::ops::Range<usize>| match &grouped.cost {
        Costs::Unit => range.len() as u128,
        Costs::Each(costs) => costs[range].iter().map(|cost| u128::from(*cost)).sum(),
    };
    let mut ranked: Vec<(u128, usize)> = ranges().map(units).zip(0..).collect();
    // Largest first; of equals the one that came first.
    ranked.sort_unstable_by_key(|(units, client)| (std::cmp::Reverse(*units), *client));
    let all: u128 = ranked.iter().map(|(units, _)| units).sum();
    let saturated = |units: u128| u64::try_from(units).unwrap_or(u64::MAX);
    let share = |units: u128| ratio(units, all).unwrap_or(0.0);
    let largest = ranked.iter().take(SHOWN).map(|(units, client)| Client {
        name: name(trace, *client),
        requests: (grouped.starts[client + 1] - grouped.starts[*client]) as u64,
        units: saturated(*units),
        share: share(*units),
    });
    Clients {
        total: ranked.len() as u64,
        once: ranges().filter(|range| range.len() == 1).count() as u64,
        median_units: ranked.get(ranked.len() / 2).map_or(0, |(units, _)| saturated(*units)),
        top_tenth_share: share(ranked.iter().take(ranked.len().div_ceil(10)).map(|(units, _)| units).sum()),
        gini: gini(ranked.iter().rev().map(|(units, _)| *units), ranked.len()),
        largest: largest.collect(),
    }
}

/// `2 * sum(i * x_i) / (n * sum(x)) - (n + 1) / n` over values in rising order, i from 1. The sums saturate.
fn gini(rising: impl Iterator<Item = u128>, n: usize) -> f64 {
    let (mut all, mut weighted) = (0_u128, 0_u128);
    for (i, units) in (1_u128..).zip(rising) {
        all = all.saturating_add(units);
        weighted = weighted.saturating_add(units.saturating_mul(i));
    }
    let n = n as u128;
    let spread = ratio(weighted.saturating_mul(2), all.saturating_mul(n));
    spread.zip(ratio(n + 1, n)).map_or(0.0, |(spread, even)| (spread - even).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gini_of_equals_and_of_one_who_has_all() {
        assert!(gini([5, 5, 5, 5].into_iter(), 4).abs() < 1e-12);
        assert!((gini([0, 0, 0, 8].into_iter(), 4) - 0.75).abs() < 1e-12);
        assert!(gini([].into_iter(), 0).abs() < 1e-12);
    }
}
