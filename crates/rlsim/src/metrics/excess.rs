//! Time over the limit: the union, over all limited subjects, of the time in which a trailing window holds more than L.

/// Intervals `[from, until)` within the trace's span.
#[derive(Debug)]
pub(super) struct Excess {
    start: u64,
    end: u64,
    intervals: Vec<(u64, u64)>,
    /// Compact when the intervals reach this many; doubled when compacting does not help, so it stays amortised.
    compact_at: usize,
}

impl Excess {
    pub(super) fn new(start: u64, end: u64) -> Self {
        Excess { start, end, intervals: Vec::new(), compact_at: 1 << 16 }
    }

    /// Adds an interval. Those of one subject come in time order, and touching ones are joined at once.
    pub(super) fn push(&mut self, from: u64, until: u64) {
        let (from, until) = (from.max(self.start), until.min(self.end));
        if from >= until {
            return;
        }
        if let Some(last) = self.intervals.last_mut().filter(|last| last.0 <= from && from <= last.1) {
            last.1 = last.1.max(until);
            return;
        }
        self.intervals.push((from, until));
        if self.intervals.len() >= self.compact_at {
            self.compact();
            self.compact_at = self.compact_at.max(2 * self.intervals.len());
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (from, until) in other.intervals {
            self.push(from, until);
        }
    }

    /// Sorts, and joins what overlaps or touches.
    fn compact(&mut self) {
        self.intervals.sort_unstable();
        self.intervals.dedup_by(|next, last| {
            let joined = next.0 <= last.1;
            if joined {
                last.1 = last.1.max(next.1);
            }
            joined
        });
    }

    /// The share of the trace's span. A trace of one instant has no time in it: 0.
    #[expect(clippy::cast_precision_loss, reason = "a ratio, computed exactly up to here")]
    pub(super) fn share(mut self) -> f64 {
        self.compact();
        let over: u64 = self.intervals.iter().map(|(from, until)| until - from).sum();
        let span = self.end.saturating_sub(self.start);
        if span == 0 { 0.0 } else { over as f64 / span as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_intervals_of_two_clients_count_once() {
        let mut excess = Excess::new(100, 200);
        excess.push(90, 110); // clipped to 100
        excess.push(150, 160);
        excess.push(105, 120);
        let mut other = Excess::new(100, 200);
        other.push(155, 170);
        other.push(195, 400);
        excess.merge(other);
        assert!((excess.share() - 0.45).abs() < 1e-12); // 20 + 20 + 5
    }

    #[test]
    fn a_span_of_one_instant_has_no_time() {
        let mut excess = Excess::new(7, 7);
        excess.push(7, 67);
        assert!(excess.share().abs() < f64::EPSILON);
    }
}
