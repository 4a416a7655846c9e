//! The trade-off: how many requests are refused against the most that gets through, and where it bends.

use serde::Serialize;

/// The best points of one algorithm and window, and the knee among them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Curve {
    /// The algorithm.
    pub algorithm: &'static str,
    /// The window in nanoseconds.
    pub window_ns: u64,
    /// Indices of the points that no other point beats in both numbers, by rising peak.
    pub points: Vec<usize>,
    /// The index of the point at the knee; `None` with fewer than five points, or where they lie on a straight line.
    pub knee: Option<usize>,
}

/// With fewer points than this, where a curve bends says more about the limits that were typed than about the traffic.
const FEWEST_POINTS: usize = 5;

/// The knee of a frontier, where it has points enough to show a bend.
pub(super) fn shown_knee(frontier: &[(usize, u64, u64)]) -> Option<usize> {
    knee(frontier).filter(|_| frontier.len() >= FEWEST_POINTS)
}

/// Of points (peak, refused), those that no other one beats or equals in both: by rising peak and falling refusals.
pub(crate) fn frontier(points: &[(usize, u64, u64)]) -> Vec<(usize, u64, u64)> {
    let mut sorted = points.to_vec();
    sorted.sort_unstable_by_key(|(index, peak, refused)| (*peak, *refused, *index));
    let mut kept: Vec<(usize, u64, u64)> = Vec::new();
    for point in sorted {
        if kept.last().is_none_or(|last| point.2 < last.2) {
            kept.push(point);
        }
    }
    kept
}

/// The knee of a frontier: the point farthest below the straight line between its ends, both numbers scaled to their
/// ranges (Satopaa et al., "Finding a Kneedle in a Haystack", 2011, without its smoothing: the points are exact). Exact
/// integers; differences beyond 62 bits are shortened alike, so that products fit 128 bits. The first of equals.
pub(crate) fn knee(frontier: &[(usize, u64, u64)]) -> Option<usize> {
    let (&(_, x0, y0), &(_, x1, y1)) = frontier.first().zip(frontier.last())?;
    let shift = if (x1 | y0) >> 62 == 0 { 0 } else { 2 };
    let difference = |larger: u64, smaller: u64| i128::from(larger.saturating_sub(smaller) >> shift);
    let (width, drop) = (difference(x1, x0), difference(y0, y1));
    let below = |&(index, x, y): &(usize, u64, u64)| {
        let (right, down) = (difference(x, x0), difference(y0, y));
        (down * width - right * drop, std::cmp::Reverse(index))
    };
    let (depth, index) = frontier.iter().map(below).max()?;
    (depth > 0).then_some(index.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beaten_points_are_left_out() {
        let points = [(0, 10, 50), (1, 10, 60), (2, 20, 50), (3, 20, 10), (4, 30, 12), (5, 40, 0)];
        let kept: Vec<usize> = frontier(&points).iter().map(|point| point.0).collect();
        assert_eq!(kept, [0, 3, 5]);
    }

    #[test]
    fn the_knee_is_where_the_curve_bends() {
        assert_eq!(knee(&[(7, 0, 100), (8, 10, 10), (9, 100, 0)]), Some(8));
        assert_eq!(knee(&[(7, 0, 100), (8, 50, 50), (9, 100, 0)]), None, "a straight line has none");
        assert_eq!(knee(&[(7, 0, 100), (9, 100, 0)]), None);
        assert_eq!(knee(&[]), None);
        assert_eq!(knee(&[(0, 0, 4_000_000_000), (1, 1, 0), (2, u64::MAX, 0)]), Some(1));
    }

    #[test]
    fn of_a_few_points_no_knee_is_named() {
        let five = [(0, 0, 100), (1, 10, 10), (2, 20, 8), (3, 30, 4), (4, 40, 0)];
        assert_eq!((knee(&five[..4]), shown_knee(&five[..4])), (Some(1), None));
        assert_eq!(shown_knee(&five), Some(1));
    }
}
