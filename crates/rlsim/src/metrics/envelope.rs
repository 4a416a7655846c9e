//! The burst envelope: the most units released in any window of length t, for many lengths t.
//!
//! It is the empirical arrival curve of network calculus. A single number at t = W hides what matters most: three of the
//! five algorithms can reach twice the limit within some window, but only the whole curve shows which does it at once.

use super::admitted::Admission;
use super::saturate;

/// About this many lengths, so that a curve over any number of decades is smooth enough to draw.
const ABOUT: u32 = 40;

/// Lengths from `step` (the trace's clock, at least 1 ns) to `longest`, round numbers spaced evenly on a logarithmic axis;
/// each of `windows` also with its hundredth, twentieth and quarter, where promises are usually checked.
pub fn envelope_lengths(step: u64, longest: u64, windows: &[u64]) -> Vec<u64> {
    let step = step.max(1);
    let longest = windows.iter().copied().fold(longest, u64::max).max(step);
    let decades = (longest / step).ilog10() + 1;
    let mantissas: &[u64] = match ABOUT / decades {
        0..=3 => &[10, 20, 50],
        4..=8 => &[10, 15, 20, 30, 50, 70],
        _ => &[10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82],
    };
    let tens = (0..20).map_while(|power| 10_u64.checked_pow(power));
    let round = tens.flat_map(|ten| mantissas.iter().filter_map(move |mantissa| ten.checked_mul(*mantissa)));
    // A coarse clock may tick slower than these, but they are asked for by name.
    let parts = windows.iter().flat_map(|&window| [window / 100, window / 20, window / 4, window]);
    let round = round.map(|length| length / 10).filter(|length| (step..=longest).contains(length));
    let mut lengths: Vec<u64> = round.chain(parts.filter(|&part| part > 0)).chain([step, longest]).collect();
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

/// The most units seen so far in any window of each length.
#[derive(Debug)]
pub(super) struct Envelope {
    lengths: Vec<u64>,
    most: Vec<u128>,
}

impl Envelope {
    pub(super) fn new(lengths: &[u64]) -> Self {
        Envelope { lengths: lengths.to_vec(), most: vec![0; lengths.len()] }
    }

    /// Takes in releases in time order: one pass a length, without those at which this subject cannot set a record.
    pub(super) fn observe(&mut self, admitted: &[Admission]) {
        if self.lengths.is_empty() {
            return;
        }
        let total: u128 = admitted.iter().map(|admission| u128::from(admission.cost)).sum();
        for (&length, most) in self.lengths.iter().zip(&mut self.most) {
            if *most >= total {
                continue;
            }
            let found = most_in(admitted, length);
            *most = found.max(*most);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.most.iter_mut().zip(&other.most).for_each(|(most, other)| *most = (*most).max(*other));
    }

    /// `[nanoseconds, units]`, `None` when no length was asked for.
    pub(super) fn finish(self) -> Option<Vec<(u64, u64)>> {
        let points = self.lengths.into_iter().zip(self.most.into_iter().map(saturate));
        Some(points.collect()).filter(|points: &Vec<_>| !points.is_empty())
    }
}

/// The most units in a half-open window of `length`. Two pointers.
fn most_in(admitted: &[Admission], length: u64) -> u128 {
    let (mut oldest, mut units, mut most) = (0, 0_u128, 0);
    for newest in admitted {
        units += u128::from(newest.cost);
        while newest.at - admitted[oldest].at >= length {
            units -= u128::from(admitted[oldest].cost);
            oldest += 1;
        }
        most = units.max(most);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_run_from_the_clock_to_the_span_and_hold_the_window() {
        for (step, longest) in [(0, 0), (1, 200_000_000), (1_000_000_000, 300_000_000_000_000), (1, u64::MAX), (7, 8)] {
            let lengths = envelope_lengths(step, longest, &[60_000_000_000]);
            assert_eq!(lengths[0], step.clamp(1, 600_000_000));
            assert_eq!(lengths[lengths.len() - 1], longest.max(60_000_000_000));
            assert!(lengths.contains(&60_000_000_000) && lengths.is_sorted_by(|a, b| a < b));
            assert!((20..=70).contains(&lengths.len()), "{step} {longest}: {}", lengths.len());
        }
        assert_eq!(envelope_lengths(5, 5, &[]), [5]);
    }
}
