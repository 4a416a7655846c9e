//! From numbers to places on the page, in integers.

/// A stretch of values mapped onto a stretch of the page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    from: u64,
    length: u64,
    first: i32,
    last: i32,
}

impl Scale {
    /// Maps `from..=until` onto `first..=last` (which may run backwards). An empty stretch is widened to one.
    pub(super) fn new((from, until): (u64, u64), (first, last): (i32, i32)) -> Self {
        Scale { from, length: until.saturating_sub(from).max(1), first, last }
    }

    /// The place of a value; what lies outside goes to the nearer end.
    pub(super) fn at(&self, value: u64) -> i32 {
        let offset = value.saturating_sub(self.from).min(self.length);
        let pixels = i128::from(self.last - self.first);
        let moved = i128::from(offset) * pixels / i128::from(self.length);
        // |moved| <= |last - first|, which is an i32.
        self.first + i32::try_from(moved).unwrap_or(0)
    }

    /// The page's side of it, smaller end first.
    pub(super) fn ends(&self) -> (i32, i32) {
        (self.first.min(self.last), self.first.max(self.last))
    }
}

/// Round values from 0 to `most`, at most about `count` of them, in steps of 1, 2 or 5 times a power of ten.
pub(super) fn round_ticks(most: u64, count: u64) -> Vec<u64> {
    let tens = (0..20).map(|power| 10_u64.pow(power));
    let steps = tens.flat_map(|ten| [1, 2, 5].into_iter().filter_map(move |digit| ten.checked_mul(digit)));
    let step = steps.into_iter().find(|step| most / step <= count.max(1)).unwrap_or(u64::MAX);
    (0..=most / step).map(|i| i * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_stay_on_the_page_for_any_value() {
        let scale = Scale::new((100, 200), (0, 1000));
        assert_eq!([scale.at(0), scale.at(100), scale.at(150), scale.at(u64::MAX)], [0, 0, 500, 1000]);
        let scale = Scale::new((0, u64::MAX), (1000, 0));
        assert_eq!([scale.at(0), scale.at(u64::MAX)], [1000, 0]);
        assert_eq!(Scale::new((5, 5), (0, 10)).at(5), 0);
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(round_ticks(200, 3), [0, 100, 200]);
        assert_eq!(round_ticks(240, 3), [0, 100, 200]);
        assert_eq!(round_ticks(12, 4), [0, 5, 10]);
        assert_eq!(round_ticks(0, 4), [0]);
        assert!(round_ticks(u64::MAX, 4).len() <= 5);
    }
}
