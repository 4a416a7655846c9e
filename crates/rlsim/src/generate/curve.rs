//! A rate that changes over time, and random arrivals that follow it.
//!
//! Every random pattern is a Poisson process with some curve of rates: flat, a ramp, a day. The curve is linear between
//! knots. Within a piece, arrivals are drawn at the piece's highest rate and each is kept with the chance (rate at that
//! time / highest rate), which is exactly the wanted process (Lewis and Shedler 1979, thinning). A Poisson process has
//! no memory, so at the end of a piece it simply starts anew with the next one.

use super::fixed::FRACTION_BITS;
use super::random::Draws;
use super::stop::Stop;
use super::units::Rate;

/// The level of the base rate itself: levels are parts per million of it.
pub const BASE: u32 = 1_000_000;
/// The highest level, 1000 times the base rate: below `2^30`.
pub const HIGHEST: u32 = 1000 * BASE;

/// A point that the curve goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knot {
    /// Nanoseconds from the start.
    pub at: u64,
    /// Parts per million of the base rate, at most [`HIGHEST`].
    pub level: u32,
}

/// A curve of rates, linear between knots. Two knots at one time are a step.
#[derive(Debug, Clone)]
pub struct Curve {
    base: Rate,
    knots: Vec<Knot>,
    repeats: bool,
}

impl Curve {
    /// The same rate for ever.
    pub fn flat(rate: Rate) -> Self {
        Curve { base: rate, knots: vec![Knot { at: 0, level: BASE }], repeats: false }
    }

    /// A curve through `knots`, whose last level then stays.
    pub fn through(base: Rate, knots: Vec<Knot>) -> Self {
        Curve { base, knots, repeats: false }
    }

    /// A curve through `knots` that starts over at the last of them.
    pub fn repeating(base: Rate, knots: Vec<Knot>) -> Self {
        Curve { base, knots, repeats: true }
    }

    /// Random arrivals along this curve before `until`, as nanoseconds from the start, never decreasing.
    ///
    /// Constant memory; time in proportion to the candidates and the pieces of the curve, which may be very many for one
    /// arrival: setting `stop` ends them.
    pub fn arrivals(self, until: u64, draws: Draws, stop: Stop) -> PoissonArrivals {
        let piece = Piece { start: 0, end: 0, from: 0, to: 0 };
        PoissonArrivals { curve: self, until, draws, stop, next_knot: 0, origin: 0, piece, now: 0, remainder: 0 }
    }
}

/// A stretch between two knots, in nanoseconds from the start.
#[derive(Debug, Clone, Copy)]
struct Piece {
    start: u64,
    end: u64,
    from: u32,
    to: u32,
}

/// Arrivals of a Poisson process along a [`Curve`].
#[derive(Debug, Clone)]
pub struct PoissonArrivals {
    curve: Curve,
    until: u64,
    draws: Draws,
    stop: Stop,
    /// The knot that starts the next piece.
    next_knot: usize,
    /// Where the current repetition starts.
    origin: u64,
    piece: Piece,
    /// The last candidate.
    now: u64,
    /// What rounding the last gap down to a nanosecond left over: no drift, however long the trace.
    remainder: u128,
}

impl PoissonArrivals {
    /// Goes to the next piece of the curve; false at the end of time.
    fn advance(&mut self) -> bool {
        let knots = &self.curve.knots;
        let Some(from) = knots.get(self.next_knot) else { return false };
        let start = self.origin.saturating_add(from.at);
        let (end, to) = match knots.get(self.next_knot + 1) {
            Some(to) => (self.origin.saturating_add(to.at), to.level),
            None if self.curve.repeats && from.at > 0 => {
                self.origin = start;
                self.next_knot = 0;
                return start < self.until && self.advance();
            }
            None => (u64::MAX, from.level),
        };
        if start >= self.until {
            return false;
        }
        self.piece = Piece { start, end, from: from.level, to };
        self.next_knot += 1;
        self.now = start;
        self.remainder = 0;
        true
    }

    /// The next candidate inside the current piece, at the piece's highest rate.
    fn candidate(&mut self) -> Option<u64> {
        let highest = self.piece.from.max(self.piece.to);
        if highest == 0 {
            return None;
        }
        // Below 2^46 * 2^55 * 2^20, and the remainder is below the divisor, at most 2^50 * 2^30 * 2^40.
        let gap = u128::from(self.draws.exponential()) * u128::from(self.curve.base.per()) * u128::from(BASE);
        let unit = (u128::from(self.curve.base.events()) * u128::from(highest)) << FRACTION_BITS;
        let gap = gap + self.remainder;
        let at = u128::from(self.now) + gap / unit;
        self.remainder = gap % unit;
        u64::try_from(at).ok().filter(|&at| at < self.piece.end)
    }

    /// Whether a candidate at `at` is kept: always where the piece is flat.
    fn keeps(&mut self, at: u64) -> bool {
        let Piece { start, end, from, to } = self.piece;
        if from == to {
            return true;
        }
        // 32 random bits times 30 times 64 stay within 128.
        let draw = u128::from(self.draws.bits() >> 32);
        let level = u128::from(from) * u128::from(end - at) + u128::from(to) * u128::from(at - start);
        draw * u128::from(from.max(to)) * u128::from(end - start) < level << 32
    }
}

impl Iterator for PoissonArrivals {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        while !self.stop.is_set() {
            match self.candidate() {
                Some(at) => {
                    self.now = at;
                    if at >= self.until || self.keeps(at) {
                        return Some(at).filter(|&at| at < self.until);
                    }
                }
                None if self.advance() => {}
                None => return None,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn count(curve: Curve, until: u64) -> usize {
        curve.arrivals(until, Draws::new(11, 0), Stop::default()).count()
    }

    #[test]
    fn a_flat_curve_has_its_rate() {
        // 100 000 expected, a standard deviation of 316.
        let n = count(Curve::flat(Rate::new(1000, SECOND).unwrap()), 100 * SECOND);
        assert!(n.abs_diff(100_000) < 5 * 316, "{n}");
    }

    #[test]
    fn a_ramp_has_its_area_and_its_shape() {
        let rate = Rate::new(1000, SECOND).unwrap();
        let knots = vec![Knot { at: 0, level: 0 }, Knot { at: 100 * SECOND, level: BASE }];
        let curve = Curve::through(rate, knots);
        let n = count(curve.clone(), 100 * SECOND);
        assert!(n.abs_diff(50_000) < 5 * 224, "{n}");
        // A quarter of the area lies in the first half.
        let first = count(curve, 50 * SECOND);
        assert!(first.abs_diff(12_500) < 5 * 112, "{first}");
    }

    #[test]
    fn steps_and_silence_repeat() {
        let rate = Rate::new(1000, SECOND).unwrap();
        let knots = vec![
            Knot { at: 0, level: BASE },
            Knot { at: SECOND, level: BASE },
            Knot { at: SECOND, level: 0 },
            Knot { at: 10 * SECOND, level: 0 },
        ];
        let arrivals: Vec<u64> =
            Curve::repeating(rate, knots).arrivals(1000 * SECOND, Draws::new(3, 0), Stop::default()).collect();
        assert!(arrivals.iter().all(|at| at % (10 * SECOND) < SECOND));
        assert!(arrivals.len().abs_diff(100_000) < 5 * 316, "{}", arrivals.len());
        assert!(arrivals.is_sorted());
    }

    #[test]
    fn a_curve_of_silence_or_nothing_ends() {
        let rate = Rate::new(1, SECOND).unwrap();
        let silent = vec![Knot { at: 0, level: 0 }, Knot { at: SECOND, level: 0 }];
        let first = |curve: Curve| curve.arrivals(1000 * SECOND, Draws::new(1, 0), Stop::default()).next();
        assert_eq!(first(Curve::through(rate, silent.clone())), None);
        assert_eq!(first(Curve::repeating(rate, silent)), None);
        assert_eq!(first(Curve::through(rate, Vec::new())), None);
    }
}
