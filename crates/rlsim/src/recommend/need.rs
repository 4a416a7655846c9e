//! The smallest parameter with which an algorithm refuses one client nothing.
//!
//! A limiter that refuses nothing has admitted everything, so its state is that of the offered traffic, and the need is
//! the largest demand it ever meets. A smaller parameter refuses something (law 8); so "limited" and "need above the
//! limit" are the same, exactly. All linear in the client's events; requests of cost 0 need nothing.

use std::ops::Range;

use crate::inspect::densest;
use crate::replay::Grouped;
use crate::trace::Costs;

/// The events of one client.
#[derive(Debug, Clone)]
pub struct Client<'a> {
    at: &'a [u64],
    cost: &'a Costs,
    range: Range<usize>,
}

/// All clients of grouped events.
pub fn clients(grouped: &Grouped) -> impl Iterator<Item = Client<'_>> + Clone {
    grouped.starts.windows(2).map(|pair| Client { at: &grouped.at, cost: &grouped.cost, range: pair[0]..pair[1] })
}

impl Client<'_> {
    /// Times and costs, without those of cost 0.
    fn events(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.range.clone().map(|i| (self.at[i], self.cost.get(i))).filter(|(_, cost)| *cost > 0)
    }

    /// The limit that a fixed window needs: the most units in an aligned window.
    pub fn fixed_window(&self, window: u64) -> u64 {
        let (mut most, mut index, mut units) = (0, None, 0_u128);
        for (at, cost) in self.events() {
            let here = Some(at / window);
            units = if here == index { units } else { 0 } + u128::from(cost);
            index = here;
            most = most.max(units);
        }
        saturated(most)
    }

    /// The limit that a sliding log needs: the most units in any window.
    pub fn sliding_log(&self, window: u64) -> u64 {
        densest(self.at, self.cost, self.range.clone(), window).map_or(0, |found| found.units)
    }

    /// The limit that a sliding counter needs: the largest estimate, `floor(previous * (W - elapsed) / W) + current`.
    pub fn sliding_counter(&self, window: u64) -> u64 {
        let (mut most, mut index) = (0, 0);
        let (mut previous, mut current) = (0_u128, 0_u128);
        for (at, cost) in self.events() {
            let here = at / window;
            match here - index {
                0 => {}
                1 => (previous, current) = (current, 0),
                _ => (previous, current) = (0, 0),
            }
            index = here;
            current += u128::from(cost);
            let left = u128::from(window - at % window);
            // Beyond 128 bits the need is beyond any limit too.
            let estimate = previous.checked_mul(left).map_or(u128::MAX, |product| product / u128::from(window));
            most = most.max(estimate.saturating_add(current));
        }
        saturated(most)
    }

    /// The burst that a bucket filled at `limit` per `window` needs: sigma(rho) at rho = limit / window,
    /// `ceil(max over i <= j of (units of i..=j - rho * (t_j - t_i)))` (Cruz, "A calculus for network delay", 1991). At least 1.
    pub fn burst(&self, limit: u64, window: u64) -> u64 {
        let steepest = self.steepest(limit, window);
        saturated(steepest.level.div_ceil(u128::from(window))).max(1)
    }

    /// The stretch of events that reaches the highest level of a bucket, and that level times `window`.
    pub(super) fn steepest(&self, limit: u64, window: u64) -> Steepest {
        let mut best = Steepest::default();
        // The level times the window, the units since it was last zero, and when that was.
        let (mut level, mut units, mut start, mut last) = (0_u128, 0_u128, 0, 0);
        for (at, cost) in self.events() {
            level = level.saturating_sub(u128::from(limit) * u128::from(at - last));
            if level == 0 {
                (units, start) = (0, at);
            }
            last = at;
            level = level.saturating_add(u128::from(cost) * u128::from(window));
            units += u128::from(cost);
            best = best.higher(Steepest { level, units: saturated(units), span_ns: at - start });
        }
        best
    }
}

/// A stretch of events: the line `units - rho * span` of the burstiness curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Steepest {
    /// The level at its end, in units times the window.
    pub(super) level: u128,
    /// Its units.
    pub(super) units: u64,
    /// Its last minus its first event, in nanoseconds.
    pub(super) span_ns: u64,
}

impl Steepest {
    /// The one with the higher level; of equals the shorter one, which stays higher at every larger rate.
    pub(super) fn higher(self, other: Self) -> Self {
        let other_wins =
            (other.level, std::cmp::Reverse(other.span_ns)) > (self.level, std::cmp::Reverse(self.span_ns));
        if other_wins { other } else { self }
    }
}

fn saturated(units: u128) -> u64 {
    u64::try_from(units).unwrap_or(u64::MAX)
}
