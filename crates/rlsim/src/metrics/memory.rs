//! Memory at the peak: the most bytes that the states of all clients take at one moment.
//!
//! A state counts from the request that first uses it until it is fresh again: from then on it may be forgotten. States are
//! found client by client, so changes come in any order of time. All growth falls on requests of the trace; a state that
//! goes between two of them is as good as gone at the second. So a sum for each request of the trace is enough to be
//! exact, and because sums do not mind their order, any number of threads may add to them.

use std::sync::atomic::{AtomicI64, Ordering};

use serde::Serialize;

/// What the states of all clients take at the moment when that is most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Bytes of all states that are not fresh.
    pub peak_bytes: u64,
    /// How many states these are.
    pub states: u64,
    /// The first such moment, in nanoseconds.
    pub at_ns: u64,
}

/// Changes of what is held, over the requests of a trace. Takes 17 bytes a request.
#[derive(Debug)]
pub struct Holding<'a> {
    /// Times of the requests, never decreasing.
    at: &'a [u64],
    /// The first request of each of many spans of equal length, so that a time is looked for among few.
    spans: Vec<usize>,
    span_ns: u64,
    /// More bytes and states from each request on.
    changes: Vec<[AtomicI64; 2]>,
}

/// Requests in a span, were they spread evenly: their times share a cache line.
const IN_A_SPAN: usize = 8;

impl<'a> Holding<'a> {
    /// Nothing is held yet.
    pub fn new(at: &'a [u64]) -> Self {
        let (first, last) = (at.first().copied().unwrap_or(0), at.last().copied().unwrap_or(0));
        let spans = (at.len() / IN_A_SPAN + 1) as u64;
        let span_ns = ((last - first) / spans).saturating_add(1);
        let mut starts = vec![0];
        for (request, at) in at.iter().enumerate() {
            // At most the number of spans.
            let span = usize::try_from((at - first) / span_ns).unwrap_or(0);
            starts.resize(starts.len().max(span + 1), request);
        }
        let changes = at.iter().map(|_| [AtomicI64::new(0), AtomicI64::new(0)]).collect();
        Holding { at, spans: starts, span_ns, changes }
    }

    /// The first request at `at` or later.
    fn request(&self, at: u64) -> usize {
        let offset = at.saturating_sub(self.at.first().copied().unwrap_or(0));
        let span = usize::try_from(offset / self.span_ns).unwrap_or(usize::MAX);
        let start = self.spans.get(span).copied().unwrap_or(self.at.len());
        let end = self.spans.get(span.saturating_add(1)).copied().unwrap_or(self.at.len());
        start + self.at[start..end].partition_point(|request| *request < at)
    }

    /// From `at` on, so many more bytes and states (fewer, if negative). More only at the time of a request.
    pub fn change(&self, at: u64, bytes: i64, states: i64) {
        if let Some(sums) = self.changes.get(self.request(at)) {
            sums[0].fetch_add(bytes, Ordering::Relaxed);
            sums[1].fetch_add(states, Ordering::Relaxed);
        }
    }

    /// The moment when most bytes are held, the first of equals.
    pub fn peak(self) -> Memory {
        let mut most = Memory::default();
        let (mut bytes, mut states) = (0, 0);
        for (at, [more_bytes, more_states]) in self.at.iter().zip(self.changes) {
            bytes += more_bytes.into_inner();
            states += more_states.into_inner();
            // Never below zero: what goes was there before.
            let held = u64::try_from(bytes).unwrap_or(0);
            if held > most.peak_bytes {
                most = Memory { peak_bytes: held, states: u64::try_from(states).unwrap_or(0), at_ns: *at };
            }
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_time_is_found_among_any_others(
            at in prop::collection::vec(prop_oneof![0_u64..50, any::<u64>()], 0..60).prop_map(|mut at| { at.sort_unstable(); at }),
            wanted in prop::collection::vec(prop_oneof![0_u64..60, any::<u64>(), Just(u64::MAX)], 1..30),
        ) {
            let holding = Holding::new(&at);
            for time in wanted.into_iter().chain(at.iter().copied()) {
                prop_assert_eq!(holding.request(time), at.partition_point(|request| *request < time));
            }
        }

        /// The largest sum over all instants, instant by instant.
        #[test]
        fn the_peak_is_that_of_every_instant(
            at in prop::collection::vec(0_u64..40, 1..30).prop_map(|mut at| { at.sort_unstable(); at }),
            spans in prop::collection::vec((any::<prop::sample::Index>(), 1_u64..60, 1_i64..9), 0..20),
        ) {
            let spans: Vec<(u64, u64, i64)> =
                spans.into_iter().map(|(start, length, bytes)| { let from = at[start.index(at.len())]; (from, from + length, bytes) }).collect();
            let holding = Holding::new(&at);
            for &(from, until, bytes) in &spans {
                holding.change(until, -bytes, -1);
                holding.change(from, bytes, 1);
            }
            let mut expected = Memory::default();
            for now in 0..100 {
                let held: Vec<_> = spans.iter().filter(|(from, until, _)| (*from..*until).contains(&now)).collect();
                let bytes = u64::try_from(held.iter().map(|span| span.2).sum::<i64>()).expect("a sum of sizes");
                if bytes > expected.peak_bytes {
                    expected = Memory { peak_bytes: bytes, states: held.len() as u64, at_ns: now };
                }
            }
            prop_assert_eq!(holding.peak(), expected);
        }
    }
}
