//! The densest window: the most units released in any window of a given length.

use super::admitted::{Admission, Segment};
use super::clients::name_of;
use super::numbers::{Instant, Peak, ratio};
use super::saturate;

/// A window and what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    /// Units released in it.
    pub(super) units: u128,
    /// Its first release, in nanoseconds.
    pub(super) start: u64,
    /// Its last release, in nanoseconds.
    pub(super) end: u64,
    /// Whose it is, where a client is limited on its own.
    pub(super) client: Option<u32>,
}

impl Window {
    /// The window that ends with the release a segment begins with, `None` where it begins without one.
    pub(super) fn of(segment: &Segment, client: Option<u32>) -> Option<Self> {
        let filled = segment.rises && segment.units > 0;
        filled.then_some(Window { units: segment.units, start: segment.oldest, end: segment.from, client })
    }

    /// A total order, so that the worst does not depend on the order of comparison: most units, then the shortest time,
    /// then the earliest, then the first client.
    fn rank(&self) -> impl Ord {
        use std::cmp::Reverse;
        (self.units, Reverse(self.end - self.start), Reverse(self.start), Reverse(self.client))
    }
}

/// The worse of two windows.
pub(super) fn worse(a: Option<Window>, b: Option<Window>) -> Option<Window> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.rank() > a.rank() { b } else { a }),
        (found, None) | (None, found) => found,
    }
}

/// The densest window of `length` nanoseconds over releases in time order. Linear, two pointers.
pub(super) fn densest(admitted: &[Admission], length: u64, client: Option<u32>) -> Option<Window> {
    let (mut oldest, mut units) = (0, 0_u128);
    let mut best: Option<Window> = None;
    for newest in admitted {
        units += u128::from(newest.cost);
        while newest.at - admitted[oldest].at >= length {
            units -= u128::from(admitted[oldest].cost);
            oldest += 1;
        }
        if best.is_none_or(|best| units >= best.units) {
            best = worse(best, Some(Window { units, start: admitted[oldest].at, end: newest.at, client }));
        }
    }
    best
}

/// The report's `peak`. Nothing admitted is a peak of nothing.
pub(super) fn peak(found: Option<Window>, limit: Option<u64>, names: &[Box<[u8]>]) -> Peak {
    Peak {
        units: found.map_or(0, |window| saturate(window.units)),
        overshoot: limit.and_then(|limit| ratio(found.map_or(0, |window| window.units), u128::from(limit))),
        start_ns: found.map(|window| window.start),
        end_ns: found.map(|window| window.end),
        client: found.and_then(|window| window.client).and_then(|client| name_of(client, names)),
    }
}

/// The report's `instant`.
pub(super) fn instant(found: Option<Window>, limit: u64, span_ns: u64) -> Instant {
    let units = found.map_or(0, |window| window.units);
    Instant { units: saturate(units), overshoot: ratio(units, u128::from(limit)), span_ns }
}
