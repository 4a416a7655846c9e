//! The rate of a quota in lowest terms: units to time and back, in 64 bits where the numbers are small.

use ratelimit_core::{Nanos, Quota};

/// So many units in so many nanoseconds; neither is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate {
    units: u64,
    nanos: u64,
}

impl Rate {
    pub(crate) fn of(quota: Quota) -> Rate {
        let (units, nanos) = (quota.limit(), quota.window().get());
        let common = common_divisor(units, nanos);
        Rate { units: units / common, nanos: nanos / common }
    }

    /// The time in which the rate yields `units`, rounded up.
    #[inline]
    pub(crate) fn time_up(self, units: u64) -> Nanos {
        match units.checked_mul(self.nanos) {
            // Most rates are one unit in so long, and a division is as slow as all the rest.
            Some(product) if self.units == 1 => Nanos::new(product),
            Some(product) => Nanos::new(product.div_ceil(self.units)),
            None => saturated(wide(units, self.nanos).div_ceil(u128::from(self.units))),
        }
    }

    /// The same, rounded down.
    #[inline]
    pub(crate) fn time_down(self, units: u64) -> Nanos {
        match units.checked_mul(self.nanos) {
            Some(product) if self.units == 1 => Nanos::new(product),
            Some(product) => Nanos::new(product / self.units),
            None => saturated(wide(units, self.nanos) / u128::from(self.units)),
        }
    }

    /// The units that the rate yields in so many seconds, rounded down.
    pub(crate) fn yield_of(self, seconds: u64) -> u64 {
        // 2^64 seconds are 2^94 ns: the product may not fit, and then the yield is above any limit.
        wide(seconds, 1_000_000_000)
            .checked_mul(u128::from(self.units))
            .and_then(|product| u64::try_from(product / u128::from(self.nanos)).ok())
            .unwrap_or(u64::MAX)
    }
}

fn wide(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

fn saturated(nanos: u128) -> Nanos {
    Nanos::new(u64::try_from(nanos).unwrap_or(u64::MAX))
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_and_wide_products_agree_with_the_fraction() {
        for text in ["1/1s", "5/1m", "7/3ns", "1000000000/1h", "18446744073709551615/1ns", "3/18446744073709551615ns"] {
            let quota: Quota = text.parse().unwrap();
            let (limit, window) = (u128::from(quota.limit()), u128::from(quota.window().get()));
            let rate = Rate::of(quota);
            for units in [0, 1, 2, 3, 999, 1 << 32, u64::MAX / 3, u64::MAX] {
                let product = u128::from(units) * window;
                assert_eq!(rate.time_down(units), saturated(product / limit), "{text} {units}");
                assert_eq!(rate.time_up(units), saturated(product.div_ceil(limit)), "{text} {units}");
            }
        }
    }

    #[test]
    fn a_yield_saturates() {
        assert_eq!(Rate::of("100/1m".parse().unwrap()).yield_of(1), 1);
        assert_eq!(Rate::of("100/1m".parse().unwrap()).yield_of(59), 98);
        assert_eq!(Rate::of("18446744073709551615/1ns".parse().unwrap()).yield_of(u64::MAX), u64::MAX);
    }
}
