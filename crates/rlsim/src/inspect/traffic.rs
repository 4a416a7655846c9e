//! Traffic over time, as the numbers of a picture.

use super::densest::densest;
use crate::metrics::Layout;
use crate::report::duration;
use crate::trace::{Costs, Trace};

/// The shortest time shown.
const SHORTEST: u64 = 1_000_000_000;

/// Traffic in bins of equal width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// What the picture shows, in a sentence.
    pub title: String,
    /// Where the first bin starts, in nanoseconds.
    pub start_ns: u64,
    /// The width of a bin in nanoseconds.
    pub bin_ns: u64,
    /// `requests`, or `units` where costs differ from one.
    pub what: &'static str,
    /// The window of `peaks`, in nanoseconds.
    pub window_ns: u64,
    /// Units in each bin.
    pub units: Vec<u64>,
    /// Whether there are several clients.
    pub several: bool,
    /// Of these, the units of the client with the most in that bin.
    pub busiest: Vec<u64>,
    /// The most units in any window that ends in the bin, or that its start finds open.
    pub peaks: Vec<u64>,
}

/// Cuts a trace into bins, at most about 120. Linear, but for sorting the clients in each bin, and for windows that span
/// several bins, which are counted again in each of them.
pub fn traffic(trace: &Trace, window_ns: u64) -> Traffic {
    let start = trace.at.first().copied().unwrap_or(0);
    let end = trace.at.last().copied().unwrap_or(start);
    // Edges of bins fall on edges of windows where there are several windows, on round times otherwise.
    let window = if end - start > window_ns { window_ns } else { 1 };
    // A moment is shown within its second.
    let layout = Layout::new(start, end.max(start.saturating_add(SHORTEST)), Some(window));
    let mut traffic = Traffic {
        title: String::new(),
        start_ns: layout.start_ns,
        bin_ns: layout.bin_ns,
        what: if matches!(trace.cost, Costs::Unit) { "requests" } else { "units" },
        window_ns,
        several: trace.names.len() > 1,
        units: vec![0; layout.bins()],
        busiest: vec![0; layout.bins()],
        peaks: vec![0; layout.bins()],
    };
    let mut first = 0;
    for bin in 0..layout.bins() {
        let opens = layout.start_ns.saturating_add(layout.bin_ns.saturating_mul(bin as u64));
        let closes = opens.saturating_add(layout.bin_ns);
        let until = first + trace.at[first..].partition_point(|at| *at < closes);
        let mut clients: Vec<(u32, u64)> = (first..until).map(|i| (trace.client[i], trace.cost.get(i))).collect();
        clients.sort_unstable();
        traffic.units[bin] = sum(&clients);
        traffic.busiest[bin] = clients.chunk_by(|a, b| a.0 == b.0).map(sum).max().unwrap_or(0);
        // Windows that end in this bin may begin before it.
        let reach = trace.at[..first].partition_point(|at| opens - at >= window_ns);
        let carried = (reach..first).fold(0_u64, |sum, i| sum.saturating_add(trace.cost.get(i)));
        let dense = densest(&trace.at, &trace.cost, reach..until, window_ns).map_or(0, |found| found.units);
        traffic.peaks[bin] = if first == until { carried } else { dense };
        first = until;
    }
    traffic.title = title(trace, window_ns);
    traffic
}

fn sum(part: &[(u32, u64)]) -> u64 {
    part.iter().fold(0, |sum, (_, cost)| sum.saturating_add(*cost))
}

fn title(trace: &Trace, window_ns: u64) -> String {
    let what = if matches!(trace.cost, Costs::Unit) { "requests" } else { "units" };
    let peak = densest(&trace.at, &trace.cost, 0..trace.at.len(), window_ns).map_or(0, |found| found.units);
    let span = trace.at.last().zip(trace.at.first()).map_or(0, |(last, first)| last - first);
    let all = (0..trace.at.len()).fold(0_u64, |sum, i| sum.saturating_add(trace.cost.get(i)));
    let what = if all == 1 { what.trim_end_matches('s') } else { what };
    let all = format!("{} {what}", crate::report::count(all));
    match span {
        0 => format!("{all} at one instant"),
        span => format!(
            "{all} over {}, at most {} in any {}",
            duration(span),
            crate::report::count(peak),
            duration(window_ns)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Facts;

    #[test]
    fn bins_add_up_and_peaks_reach_back() {
        let second = 1_000_000_000;
        let at: Vec<u64> = (0..600).map(|i| i * second).collect();
        let client = (0..600).map(|i| u32::from(i % 3 == 0)).collect();
        let names = vec![b"a"[..].into(), b"b"[..].into()];
        let trace = Trace { at, client, cost: Costs::Unit, names, facts: Facts::default() };
        let found = traffic(&trace, 60 * second);
        assert_eq!(found.units.iter().sum::<u64>(), 600);
        assert!(found.peaks.iter().all(|peak| *peak <= 60) && found.peaks.contains(&60));
        assert!(found.units.iter().zip(&found.busiest).all(|(all, one)| one <= all));
        assert_eq!(found.title, "600 requests over 9.98 min, at most 60 in any 60 s");
    }
}
