//! Logarithm and exponential in integers.
//!
//! `f64::ln` comes from the platform's maths library, and two of those may differ in the last bit: enough to move an
//! arrival by a nanosecond, and with it every later byte of a generated trace. Integer arithmetic gives the same
//! bytes on every machine, so the two functions that random gaps need are written here with it.

#![expect(clippy::cast_possible_truncation, reason = "the bound of each cast stands beside it")]

/// Binary digits after the point in the results of this module.
pub const FRACTION_BITS: u32 = 40;

/// Digits after the point inside the two series.
const INNER_BITS: u32 = 62;
const INNER_ONE: u128 = 1 << INNER_BITS;

/// `ln 2` in units of `2^-62`, rounded to nearest.
const LN_2: u128 = 3_196_577_161_300_663_915;

/// `-ln((u + 1) / 2^64)` in units of `2^-40`: an exponential variate of mean one when `u` is uniform.
///
/// Between 0 (`u = u64::MAX`) and `64 ln 2`, which is below `2^46` in these units. The error is below two units.
pub fn negative_ln(u: u64) -> u64 {
    natural_log_below(u128::from(u) + 1)
}

/// `-ln(x / 2^64)` for `0 < x <= 2^64`, in units of `2^-40`.
///
/// With `x = f * 2^(64-s)` and `1/2 < f <= 1`, the result is `s ln 2 - ln f`, and `-ln f = 2 atanh((1-f)/(1+f))`
/// is a power series in `z <= 1/3`: 15 terms leave an error below `3^-31`.
fn natural_log_below(x: u128) -> u64 {
    const ONE: u128 = 1 << 64;
    let shift = x.leading_zeros().saturating_sub(64);
    let shift = if x == ONE { 0 } else { shift };
    let f = x << shift;
    // f is in [2^63, 2^64], so the numerator is at most 2^63 * 2^62 and the quotient at most 2^62 / 3.
    let z = ((ONE - f) << INNER_BITS) / (ONE + f);
    let square = (z * z) >> INNER_BITS;
    let mut power = z;
    let mut sum = 0;
    for odd in (1..31).step_by(2) {
        sum += power / odd;
        power = (power * square) >> INNER_BITS;
    }
    let total = u128::from(shift) * LN_2 + 2 * sum;
    // total is below 64 * 2^62, so 46 bits remain.
    (total >> (INNER_BITS - FRACTION_BITS)) as u64
}

/// `ln n` for `n >= 1`, in units of `2^-40` (0 for `n = 0`, which has no logarithm).
pub fn ln(n: u64) -> u64 {
    if n == 0 {
        return 0;
    }
    // 64 ln 2, less what the fraction n / 2^64 lacks.
    let all = ((64 * LN_2) >> (INNER_BITS - FRACTION_BITS)) as u64;
    all - natural_log_below(u128::from(n))
}

/// `e^-x * 2^62`, `x` in units of `2^-40`. Zero from `x = 62 ln 2` on, where nothing is left of it.
pub fn exp_of_negative(x: u64) -> u64 {
    let x = u128::from(x) << (INNER_BITS - FRACTION_BITS);
    let halvings = x / LN_2;
    if halvings >= u128::from(INNER_BITS) {
        return 0;
    }
    // e^-r for 0 <= r < ln 2 by its alternating series: 20 terms leave less than 0.7^20 / 20!.
    let r = x % LN_2;
    let mut term = INNER_ONE;
    let (mut plus, mut minus) = (0, 0);
    for k in 1..=20 {
        if k % 2 == 1 {
            plus += term;
        } else {
            minus += term;
        }
        term = ((term * r) >> INNER_BITS) / k;
    }
    ((plus - minus) >> halvings) as u64
}

#[cfg(test)]
mod tests {
    #![expect(clippy::cast_precision_loss, reason = "compared with a tolerance")]

    use super::*;

    const UNIT: f64 = (1u64 << FRACTION_BITS) as f64;

    #[test]
    fn ends_of_the_range() {
        assert_eq!(negative_ln(u64::MAX), 0);
        assert!((negative_ln(0) as f64 / UNIT - 64.0 * std::f64::consts::LN_2).abs() < 1e-11);
        assert_eq!(ln(1), 0);
        assert_eq!(exp_of_negative(0), 1 << 62);
        assert_eq!(exp_of_negative(u64::MAX), 0);
    }

    #[test]
    fn agrees_with_floating_point_to_its_own_precision() {
        // A multiplicative walk reaches every power of two and values between.
        let mut n = 1u64;
        while n < u64::MAX / 3 {
            let exact = (n as f64).ln();
            assert!((ln(n) as f64 / UNIT - exact).abs() < 4e-12, "ln {n}");
            let below = 64.0 * std::f64::consts::LN_2 - ((n + 1) as f64).ln();
            assert!((negative_ln(n) as f64 / UNIT - below).abs() < 2e-11, "-ln of {n}");
            n = n + n / 3 + 1;
        }
        for step in 0..400u32 {
            let x = f64::from(step) / 10.0;
            let got = exp_of_negative((u64::from(step) << FRACTION_BITS) / 10) as f64 / (1u64 << 62) as f64;
            assert!((got - (-x).exp()).abs() < 4e-12, "e^-{x}: {got}");
        }
    }

    #[test]
    fn exact_bits_are_pinned() {
        // Any change here changes every generated trace.
        assert_eq!(negative_ln(1 << 63), 762_123_384_785);
        assert_eq!(negative_ln(12_345_678_901_234_567), 8_036_701_072_988);
        assert_eq!(ln(1_000_000), 15_190_314_502_143);
        assert_eq!(exp_of_negative(1 << 40), 1_696_544_475_317_221_319);
    }

    #[test]
    fn both_never_turn_back() {
        let mut last = u64::MAX;
        for k in 0..10_000u64 {
            let now = negative_ln(k * (u64::MAX / 10_000));
            assert!(now < last);
            last = now;
        }
        let mut last = u64::MAX;
        for k in 0..10_000u64 {
            let now = exp_of_negative(k << 31);
            assert!(now < last);
            last = now;
        }
    }
}
