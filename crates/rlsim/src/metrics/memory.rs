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

/// Changes of what is held, over the requests of a trace. Takes 16 bytes a request.
#[derive(Debug)]
pub struct Holding<'a> {
    /// Times of the requests, never decreasing.
    at: &'a [u64],
    bytes: Vec<AtomicI64>,
    states: Vec<AtomicI64>,
}

impl<'a> Holding<'a> {
    /// Nothing is held yet.
    pub fn new(at: &'a [u64]) -> Self {
        let zeroes = || at.iter().map(|_| AtomicI64::new(0)).collect();
        Holding { at, bytes: zeroes(), states: zeroes() }
    }

    /// From `at` on, so many more bytes and states (fewer, if negative). More only at the time of a request. Logarithmic in
    /// the requests.
    pub fn change(&self, at: u64, bytes: i64, states: i64) {
        let request = self.at.partition_point(|request| *request < at);
        for (sums, change) in [(&self.bytes, bytes), (&self.states, states)] {
            if let Some(sum) = sums.get(request) {
                sum.fetch_add(change, Ordering::Relaxed);
            }
        }
    }

    /// The moment when most bytes are held, the first of equals.
    pub fn peak(self) -> Memory {
        let mut most = Memory::default();
        let (mut bytes, mut states) = (0, 0);
        for ((at, more_bytes), more_states) in self.at.iter().zip(self.bytes).zip(self.states) {
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
