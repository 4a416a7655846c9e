//! The most that an algorithm admits in any window of its own length, whatever comes, and the largest limit that keeps a
//! given bound. The bounds are those of `docs/design.md` at a span of `W - 1` ns, the longest within a half-open window.

use crate::sweep::Algorithm;

/// An upper bound of the units released in any half-open window of `window` nanoseconds, for requests of at most
/// `largest_cost` units. Saturates at `u64::MAX`.
pub fn most_in_a_window(algorithm: Algorithm, limit: u64, burst: u64, window: u64, largest_cost: u64) -> u64 {
    let (l, w) = (u128::from(limit), u128::from(window));
    let most = match algorithm {
        // A window of 1 ns has no boundary within it.
        Algorithm::FixedWindow | Algorithm::SlidingCounter if window < 2 => l,
        Algorithm::FixedWindow => 2 * l,
        Algorithm::SlidingLog => l,
        Algorithm::SlidingCounter => l + (l * (w - 2)).div_ceil(w),
        Algorithm::TokenBucket => u128::from(burst) + l * (w - 1) / w,
        // The last release may begin just before the window ends, whatever its cost.
        Algorithm::LeakyBucket => l + u128::from(largest_cost.max(1)) - 1,
    };
    u64::try_from(most).unwrap_or(u64::MAX)
}

/// The largest limit per `window` with which at most `most` units pass in any such window; `None` where even a limit of 1
/// lets more through.
pub fn largest_limit(algorithm: Algorithm, most: u64, burst: u64, window: u64, largest_cost: u64) -> Option<u64> {
    // The bound never falls with the limit.
    let fits = |limit: u64| most_in_a_window(algorithm, limit, burst, window, largest_cost) <= most;
    if most == 0 || !fits(1) {
        return None;
    }
    let (mut fit, mut above) = (1, most.saturating_mul(2));
    if fits(above) {
        return Some(above);
    }
    while above - fit > 1 {
        let middle = u64::midpoint(fit, above);
        if fits(middle) {
            fit = middle;
        } else {
            above = middle;
        }
    }
    Some(fit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn bounds_of_the_design() {
        let most = |algorithm, limit, burst| most_in_a_window(algorithm, limit, burst, 60 * SECOND, 1);
        assert_eq!(most(Algorithm::FixedWindow, 100, 0), 200);
        assert_eq!(most(Algorithm::SlidingLog, 100, 0), 100);
        assert_eq!(most(Algorithm::SlidingCounter, 100, 0), 200);
        assert_eq!(most(Algorithm::TokenBucket, 100, 100), 199);
        assert_eq!(most(Algorithm::TokenBucket, 100, 25), 124);
        assert_eq!(most(Algorithm::LeakyBucket, 100, 25), 100);
        assert_eq!(most_in_a_window(Algorithm::TokenBucket, u64::MAX, u64::MAX, u64::MAX, 1), u64::MAX);
    }

    #[test]
    fn the_largest_limit_fits_and_the_next_does_not() {
        for algorithm in Algorithm::ALL {
            for (most, burst, window) in
                [(1, 1, SECOND), (500, 20, SECOND), (7, 3, 2), (7, 3, 3), (1000, 999, 60 * SECOND), (9, 1, 1)]
            {
                let Some(limit) = largest_limit(algorithm, most, burst, window, 1) else {
                    assert!(most_in_a_window(algorithm, 1, burst, window, 1) > most, "{algorithm:?} {most}");
                    continue;
                };
                assert!(most_in_a_window(algorithm, limit, burst, window, 1) <= most, "{algorithm:?} {most} {limit}");
                let unbounded = limit >= most * 2;
                assert!(
                    unbounded || most_in_a_window(algorithm, limit + 1, burst, window, 1) > most,
                    "{algorithm:?} {most} {limit}"
                );
            }
        }
        assert_eq!(largest_limit(Algorithm::FixedWindow, 500, 0, SECOND, 1), Some(250));
        assert_eq!(largest_limit(Algorithm::TokenBucket, 500, 100, SECOND, 1), Some(401));
        assert_eq!(largest_limit(Algorithm::LeakyBucket, 500, 100, SECOND, 50), Some(451));
        assert_eq!(largest_limit(Algorithm::SlidingLog, 0, 0, SECOND, 1), None);
    }
}
