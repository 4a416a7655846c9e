//! How much comes in a second, a minute and a window: on average, at most, from the busiest client, and how evenly.

use serde::Serialize;

use super::densest::densest;
use super::ratio;
use crate::replay::Grouped;
use crate::trace::Trace;

/// The traffic at one length of window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rate {
    /// The length in nanoseconds.
    pub window_ns: u64,
    /// Units in a window on average over the span; `None` where the span is shorter than the window.
    pub mean: Option<f64>,
    /// The most units in any window.
    pub peak: Peak,
    /// The most units of one client in any window.
    pub busiest_client: Peak,
    /// Variance / mean of the requests in adjacent windows: about 1 for independent arrivals (Poisson), 0 for a perfectly
    /// even stream, above 1 for bursts. `None` with fewer than two whole windows.
    pub index_of_dispersion: Option<f64>,
}

/// A densest window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Peak {
    /// Units in it.
    pub units: u64,
    /// Its first event, in nanoseconds.
    pub start_ns: u64,
    /// Its last event, in nanoseconds.
    pub end_ns: u64,
    /// Whose it is, where it is one client's and clients have names.
    pub client: Option<String>,
}

/// The rates at one length of window; two passes over the events.
pub(super) fn rate(trace: &Trace, grouped: &Grouped, window_ns: u64) -> Rate {
    let start = trace.at.first().copied().unwrap_or(0);
    let span = trace.at.last().copied().unwrap_or(start) - start;
    let units: u128 = (0..trace.at.len()).map(|i| u128::from(trace.cost.get(i))).sum();
    let mean = (span >= window_ns).then(|| ratio(units, u128::from(span))).flatten();
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    let mean = mean.map(|per_ns| per_ns * window_ns as f64);
    let most = densest(&trace.at, &trace.cost, 0..trace.at.len(), window_ns);
    let peak = Peak {
        units: most.map_or(0, |most| most.units),
        start_ns: most.map_or(start, |most| most.start_ns),
        end_ns: most.map_or(start, |most| most.end_ns),
        client: None,
    };
    let busiest_client = busiest(trace, grouped, window_ns).unwrap_or_else(|| peak.clone());
    Rate { window_ns, mean, peak, busiest_client, index_of_dispersion: dispersion(&trace.at, window_ns) }
}

/// The first client among those with the most units in a window.
fn busiest(trace: &Trace, grouped: &Grouped, window_ns: u64) -> Option<Peak> {
    let mut best: Option<Peak> = None;
    for (client, range) in grouped.starts.windows(2).map(|pair| pair[0]..pair[1]).enumerate() {
        let Some(found) = densest(&grouped.at, &grouped.cost, range, window_ns) else { continue };
        if best.as_ref().is_none_or(|best| found.units > best.units) {
            let client = super::clients::name(trace, client);
            best = Some(Peak { units: found.units, start_ns: found.start_ns, end_ns: found.end_ns, client });
        }
    }
    best
}

/// Over whole adjacent windows from the first event on: `sum(x^2)/sum(x) - sum(x)/n`, which is variance / mean.
fn dispersion(at: &[u64], window_ns: u64) -> Option<f64> {
    let start = *at.first()?;
    let windows = (at.last()? - start) / window_ns;
    if windows < 2 {
        return None;
    }
    let (mut sum, mut squares) = (0_u128, 0_u128);
    for bin in at.chunk_by(|a, b| (a - start) / window_ns == (b - start) / window_ns) {
        if (bin[0] - start) / window_ns < windows {
            // A trace holds fewer than 2^32 events, so the squares fit 64 bits.
            let count = bin.len() as u128;
            sum += count;
            squares += count * count;
        }
    }
    Some(ratio(squares, sum)? - ratio(sum, u128::from(windows))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_stream_has_no_dispersion_and_one_burst_has_a_lot() {
        let even: Vec<u64> = (0..101).map(|i| i * 10).collect();
        assert_eq!(dispersion(&even, 100), Some(0.0));
        // Ten events in the first of ten windows: mean 1, variance 9.
        let burst: Vec<u64> = std::iter::repeat_n(0, 10).chain([1000]).collect();
        assert_eq!(dispersion(&burst, 100), Some(9.0));
        assert_eq!(dispersion(&[0, 150], 100), None);
        assert_eq!(dispersion(&[], 100), None);
    }
}
