//! From numbers to places on the page, in integers.

use crate::report::{duration, short_count};

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

/// A stretch of values above zero mapped logarithmically onto a stretch of the page.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogScale {
    scale: Scale,
}

impl LogScale {
    /// Maps `from..=until` onto `first..=last`. Values below 1 count as 1.
    pub(super) fn new((from, until): (u64, u64), page: (i32, i32)) -> Self {
        LogScale { scale: Scale::new((log2(from), log2(until)), page) }
    }

    /// The place of a value; what lies outside goes to the nearer end.
    pub(super) fn at(&self, value: u64) -> i32 {
        self.scale.at(log2(value))
    }
}

/// The binary logarithm in units of 2^-16, rounded down, in integers: the libraries of two machines may differ in the last
/// bit of a floating-point one, and the picture would with them.
fn log2(value: u64) -> u64 {
    const BITS: u32 = 16;
    let value = value.max(1);
    let whole = value.ilog2();
    // The value scaled to [1, 2) with 63 bits behind the point. Squaring it doubles the logarithm: each time it passes 2,
    // the next bit is one.
    let mut mantissa = u128::from(value) << (63 - whole);
    let mut log = u64::from(whole);
    for _ in 0..BITS {
        mantissa = (mantissa * mantissa) >> 63;
        let bit = mantissa >> 64;
        mantissa >>= bit;
        log = log << 1 | u64::from(bit == 1);
    }
    log
}

/// Powers of ten between the ends of a logarithmic axis; with few of them also twice and five times these.
pub(super) fn decade_ticks((from, until): (u64, u64)) -> Vec<(u64, String)> {
    let powers = || (0..20).map(|power| 10_u64.pow(power));
    let inside = |tick: &u64| (from.max(1)..=until).contains(tick);
    let mut ticks: Vec<u64> = powers().filter(inside).collect();
    if ticks.len() <= 3 {
        ticks = powers().flat_map(|ten| [1, 2, 5].map(|digit| ten.saturating_mul(digit))).filter(inside).collect();
        ticks.dedup();
    }
    ticks.into_iter().map(|tick| (tick, short_count(tick))).collect()
}

/// Familiar durations between the ends of a logarithmic axis, at most about nine.
pub(super) fn duration_ticks((from, until): (u64, u64)) -> Vec<(u64, String)> {
    const SECOND: u64 = 1_000_000_000;
    let tens = (0..10).map(|power| 10_u64.pow(power));
    let clock = [10, 60, 600, 3600, 36_000, 86_400, 864_000, 8_640_000, 86_400_000].map(|seconds| seconds * SECOND);
    let inside = |tick: &u64| (from..=until).contains(tick);
    let mut all: Vec<u64> = tens.clone().chain(clock).filter(inside).collect();
    if all.len() <= 4 {
        // Few of them leave much of the axis bare.
        let fractions = tens.flat_map(|ten| [1, 2, 5].map(|digit| digit * ten));
        let clock = [10, 20, 60, 120, 300, 600, 1200, 3600, 7200, 21_600, 43_200];
        let days = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map(|days| days * 86_400);
        let finer = fractions.chain(clock.into_iter().chain(days).map(|seconds| seconds * SECOND));
        all = finer.filter(inside).collect();
    }
    let every = all.len().div_ceil(9).max(1);
    all.into_iter().step_by(every).map(|tick| (tick, duration(tick))).collect()
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
    fn logarithms_are_those_of_the_mathematicians() {
        assert_eq!([log2(0), log2(1), log2(2), log2(1 << 63)], [0, 0, 1 << 16, 63 << 16]);
        for value in [3, 10, 1000, 12_345_678_901, u64::MAX] {
            #[expect(clippy::cast_precision_loss, reason = "beside a float")]
            let (found, expected) = (log2(value) as f64 / 65_536.0, (value as f64).log2());
            assert!((expected - found).abs() < 2.0 / 65_536.0, "{value}: {found} {expected}");
        }
    }

    #[test]
    fn no_part_of_an_axis_of_durations_is_bare() {
        const SECOND: u64 = 1_000_000_000;
        let shown = |ends| duration_ticks(ends).into_iter().map(|tick| tick.1).collect::<Vec<_>>().join(", ");
        assert_eq!(shown((SECOND * 6 / 10, 500 * SECOND)), "1 s, 2 s, 5 s, 10 s, 20 s, 60 s, 2 min, 5 min");
        assert_eq!(shown((1, 600 * SECOND)).split(", ").count(), 7);
        for from in (0..60).map(|power| 1_u64 << power) {
            for until in (0..4).map(|more| from << more) {
                assert!(duration_ticks((from, until)).is_sorted(), "{from}");
            }
            let decade = duration_ticks((from, from.saturating_mul(10)));
            assert!(from > 500 * 86_400 * SECOND || decade.len() >= 2, "{from}: {decade:?}");
        }
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
