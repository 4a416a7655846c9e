//! Small statistics: percentiles of what was measured, and intervals over replicates.

/// The smallest value that at least `percent` of `sorted` do not exceed (nearest rank); zero of nothing.
pub fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

/// A mean over replicates, and how far from it the true mean lies with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half of the 95 % confidence interval; zero of fewer than two values.
    pub margin: f64,
}

/// Student's t for a two-sided 95 % interval, by degrees of freedom from 1 to 30.
const STUDENT_T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
const NORMAL: f64 = 1.96;

impl Estimate {
    /// Of `values`, one a replicate: mean plus or minus `t * s / sqrt(n)`.
    #[expect(clippy::cast_precision_loss, reason = "a number of replicates")]
    pub fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Estimate::default();
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        if values.len() < 2 {
            return Estimate { mean, margin: 0.0 };
        }
        let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
        let t = STUDENT_T.get(values.len() - 2).copied().unwrap_or(NORMAL);
        Estimate { mean, margin: t * (variance / n).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_by_nearest_rank() {
        let sorted: Vec<u64> = (1..=10).collect();
        assert_eq!([0, 1, 50, 95, 99, 100].map(|p| percentile(&sorted, p)), [1, 1, 5, 10, 10, 10]);
        assert_eq!(percentile(&[], 50), 0);
        assert_eq!(percentile(&[7], 50), 7);
    }

    #[test]
    fn intervals_by_students_t() {
        // s = 2.138, n = 8, t(7) = 2.365.
        let estimate = Estimate::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert!((estimate.mean - 5.0).abs() < 1e-12);
        assert!((estimate.margin - 2.365 * 2.138_089_935_299_395 / 8f64.sqrt()).abs() < 1e-9);
        assert_eq!(Estimate::of(&[3.0]), Estimate { mean: 3.0, margin: 0.0 });
        assert_eq!(Estimate::of(&[]), Estimate::default());
        assert!((Estimate::of(&[1.0; 100]).margin).abs() < 1e-12);
    }
}
