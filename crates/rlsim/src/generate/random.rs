//! The source of every random choice: `ChaCha` with a seed the user sees, so that a trace can be made again anywhere.

#![expect(clippy::cast_possible_truncation, reason = "the bound of each cast stands beside it")]

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::fixed;

/// A stream of random numbers, fixed by a seed and a stream number.
///
/// Different stream numbers of one seed are independent, so that, say, another choice of clients leaves the times alone.
#[derive(Debug, Clone)]
pub struct Draws(ChaCha8Rng);

impl Draws {
    /// The stream `stream` of `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(stream);
        Draws(rng)
    }

    /// 64 uniform bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform number below `n`, without bias (0 for `n = 0`).
    ///
    /// Multiply and keep the high half; the few low halves that would favour some results are drawn again
    /// (Lemire 2019, "Fast random integer generation in an interval").
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let unfair = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            if product as u64 >= unfair {
                return (product >> 64) as u64;
            }
        }
    }

    /// An exponential variate of mean one, in units of `2^-40` ([`fixed::FRACTION_BITS`]).
    pub fn exponential(&mut self) -> u64 {
        fixed::negative_ln(self.bits())
    }

    /// An exponential variate of mean `mean`, rounded down, at most `u64::MAX`.
    pub fn exponential_of(&mut self, mean: u64) -> u64 {
        let exact = (u128::from(self.exponential()) * u128::from(mean)) >> fixed::FRACTION_BITS;
        u64::try_from(exact).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::cast_precision_loss, reason = "compared with a tolerance")]

    use super::*;

    #[test]
    fn a_seed_and_a_stream_fix_every_draw() {
        let take = |seed, stream| {
            let mut draws = Draws::new(seed, stream);
            [draws.bits(), draws.bits(), draws.bits()]
        };
        assert_eq!(take(7, 0), take(7, 0));
        assert_ne!(take(7, 0), take(7, 1));
        assert_ne!(take(7, 0), take(8, 0));
        // Pinned: any change here changes every generated trace.
        assert_eq!(Draws::new(7, 0).bits(), 14_095_323_943_061_994_099);
    }

    #[test]
    fn below_covers_its_range_evenly() {
        let mut draws = Draws::new(1, 0);
        let mut seen = [0u32; 6];
        for _ in 0..60_000 {
            seen[draws.below(6) as usize] += 1;
        }
        // Five standard deviations of a binomial count are 456.
        assert!(seen.iter().all(|&n| n.abs_diff(10_000) < 456), "{seen:?}");
        assert_eq!(draws.below(0), 0);
        assert_eq!(draws.below(1), 0);
    }

    #[test]
    fn exponential_has_mean_and_variance_one() {
        let mut draws = Draws::new(2, 0);
        let unit = (1u64 << fixed::FRACTION_BITS) as f64;
        let n = 100_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = draws.exponential() as f64 / unit;
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(n);
        let variance = squares / f64::from(n) - mean * mean;
        assert!((mean - 1.0).abs() < 0.016, "{mean}");
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
    }
}
