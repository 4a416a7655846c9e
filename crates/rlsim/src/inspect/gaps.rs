//! The time between neighbouring events.

use serde::Serialize;

/// Times between neighbouring events, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Gaps {
    /// The median, by nearest rank.
    pub median_ns: u64,
    /// The 99th percentile, by nearest rank.
    pub p99_ns: u64,
    /// The longest; the first of equals.
    pub longest_ns: u64,
    /// The event before the longest gap.
    pub longest_from_ns: u64,
}

/// The gaps of events in time order. Linear.
pub(super) fn gaps(at: &[u64]) -> Gaps {
    let mut gaps: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let Some(&longest_ns) = gaps.iter().max() else { return Gaps::default() };
    let before = gaps.iter().position(|gap| *gap == longest_ns).unwrap_or(0);
    let mut rank = |percent: usize| {
        let rank = (gaps.len() * percent).div_ceil(100).max(1) - 1;
        *gaps.select_nth_unstable(rank).1
    };
    Gaps { median_ns: rank(50), p99_ns: rank(99), longest_ns, longest_from_ns: at[before] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gap_and_where_it_is() {
        let found = gaps(&[0, 1, 2, 100, 101]);
        assert_eq!(found, Gaps { median_ns: 1, p99_ns: 98, longest_ns: 98, longest_from_ns: 2 });
        assert_eq!(gaps(&[5]), Gaps::default());
    }
}
