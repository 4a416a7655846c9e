//! The densest window of a stretch of events: the most units in any window of a given length.

use crate::trace::Costs;

/// A window and the units in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Densest {
    /// Units in it.
    pub units: u64,
    /// Its first event, in nanoseconds.
    pub start_ns: u64,
    /// Its last event, in nanoseconds.
    pub end_ns: u64,
}

/// The most units in any half-open window of `window` nanoseconds (at least 1) over the events `range`, which are in time
/// order. The earliest of equals. `None` without events. Linear, two pointers; sums saturate at `u64::MAX`.
pub fn densest(at: &[u64], cost: &Costs, range: std::ops::Range<usize>, window: u64) -> Option<Densest> {
    let mut best: Option<(u128, usize, usize)> = None;
    let (mut oldest, mut units) = (range.start, 0_u128);
    for newest in range {
        units += u128::from(cost.get(newest));
        while at[newest] - at[oldest] >= window.max(1) {
            units -= u128::from(cost.get(oldest));
            oldest += 1;
        }
        if best.is_none_or(|(most, _, _)| units > most) {
            best = Some((units, oldest, newest));
        }
    }
    best.map(|(units, oldest, newest)| Densest {
        units: u64::try_from(units).unwrap_or(u64::MAX),
        start_ns: at[oldest],
        end_ns: at[newest],
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_event_one_window_later_is_outside() {
        let found = densest(&[0, 9, 10], &Costs::Unit, 0..3, 10).unwrap();
        assert_eq!((found.units, found.start_ns, found.end_ns), (2, 0, 9));
        assert_eq!(densest(&[], &Costs::Unit, 0..0, 10), None);
    }

    proptest! {
        #[test]
        fn equals_a_count_over_every_start(mut events in prop::collection::vec((0_u64..60, 0_u64..5), 1..40), window in 1_u64..50) {
            events.sort_unstable();
            let at: Vec<u64> = events.iter().map(|event| event.0).collect();
            let costs = Costs::Each(events.iter().map(|event| event.1).collect());
            let inside = |start: u64| events.iter().filter(|e| e.0 >= start && e.0 - start < window).map(|e| e.1).sum::<u64>();
            let brute = at.iter().map(|start| inside(*start)).max().unwrap();
            prop_assert_eq!(densest(&at, &costs, 0..at.len(), window).unwrap().units, brute);
        }
    }
}
