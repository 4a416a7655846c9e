//! The trailing window over time, as the smallest and the largest value in each column of a picture.
//!
//! With several clients it is the busiest one at each moment: `hi` is the largest value any client reaches in the column;
//! `lo` is what at least one client holds throughout it. With one client both are exact. A mean would erase the peak.

use super::layout::Layout;
use super::numbers::Trailing;
use super::saturate;

#[derive(Debug)]
pub(super) struct Columns {
    start: u64,
    width: u64,
    lo: Vec<u64>,
    hi: Vec<u64>,
    /// A lower bound of all of `lo`: a subject with no more units than this changes nothing.
    floor: u64,
    /// Subjects until the bound is looked at again.
    floor_in: u32,
}

/// The bound costs a pass over the columns, so it is looked at once for so many subjects.
const FLOOR_EVERY: u32 = 64;

impl Columns {
    pub(super) fn new(layout: &Layout) -> Self {
        let columns = layout.columns();
        Columns {
            start: layout.start_ns,
            width: layout.column_ns,
            lo: vec![0; columns],
            hi: vec![0; columns],
            floor: 0,
            floor_in: FLOOR_EVERY,
        }
    }

    /// Begins the line of one subject that has `total` units in all. With many light clients beside some heavy ones,
    /// most lines cannot rise above what is there already, and are not drawn.
    pub(super) fn begin(&mut self, total: u128) -> Line<'_> {
        self.floor_in -= 1;
        if self.floor_in == 0 {
            self.floor = self.lo.iter().copied().min().unwrap_or(0);
            self.floor_in = FLOOR_EVERY;
        }
        Line {
            drawn: total > u128::from(self.floor),
            column: None,
            left: 0,
            right: 0,
            at: self.start,
            lo: u64::MAX,
            hi: 0,
            columns: self,
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.lo.iter_mut().zip(&other.lo).for_each(|(a, b)| *a = (*a).max(*b));
        self.hi.iter_mut().zip(&other.hi).for_each(|(a, b)| *a = (*a).max(*b));
    }

    pub(super) fn finish(self) -> Trailing {
        Trailing { start_ns: self.start, column_ns: self.width, lo: self.lo, hi: self.hi }
    }

    fn raise(&mut self, column: usize, lo: u64, hi: u64) {
        if let Some((low, high)) = self.lo.get_mut(column).zip(self.hi.get_mut(column)) {
            *low = (*low).max(lo);
            *high = (*high).max(hi);
        }
    }

    fn column(&self, at: u64) -> usize {
        usize::try_from((at - self.start) / self.width).unwrap_or(usize::MAX).min(self.lo.len())
    }
}

/// The line of one subject, drawn segment by segment in time order. Nothing is in the window outside its segments.
pub(super) struct Line<'a> {
    columns: &'a mut Columns,
    /// Whether it may show at all.
    drawn: bool,
    /// The column being filled, its edges, and the smallest and largest value so far.
    column: Option<usize>,
    left: u64,
    right: u64,
    lo: u64,
    hi: u64,
    /// How far the line has been drawn.
    at: u64,
}

impl Line<'_> {
    /// Draws `units` over `[from, until)`; an instant of no length still shows.
    pub(super) fn push(&mut self, from: u64, until: u64, units: u128) {
        if !self.drawn {
            return;
        }
        let units = saturate(units);
        // Most segments of a busy subject lie within one column, and then no division is needed.
        if self.column.is_some() && self.left <= from && until <= self.right {
            self.lo = self.lo.min(units);
            self.hi = self.hi.max(units);
            self.at = until.max(from);
            return;
        }
        self.push_across(from.max(self.columns.start), until, units);
    }

    fn push_across(&mut self, from: u64, until: u64, units: u64) {
        let first = self.columns.column(from);
        if first >= self.columns.lo.len() {
            return;
        }
        if self.column != Some(first) {
            self.flush();
            self.enter(first);
            let begins_inside = self.at < from && from > self.left;
            (self.lo, self.hi) = if begins_inside { (0, 0) } else { (u64::MAX, 0) };
        }
        self.lo = self.lo.min(units);
        self.hi = self.hi.max(units);
        let last = self.columns.column(until.saturating_sub(1).max(from));
        if last > first {
            self.flush();
            for column in first + 1..last {
                self.columns.raise(column, units, units);
            }
            self.enter(last);
            (self.lo, self.hi) = (units, units);
        }
        self.at = until.max(from);
    }

    fn enter(&mut self, column: usize) {
        self.column = Some(column);
        self.left = self.columns.start.saturating_add(self.columns.width.saturating_mul(column as u64));
        self.right = self.left.saturating_add(self.columns.width);
    }

    /// Ends the line. What follows its last segment is nothing, which shows in that segment's column.
    pub(super) fn end(mut self) {
        if self.left < self.at && self.at < self.right {
            self.lo = 0;
        }
        self.flush();
    }

    fn flush(&mut self) {
        if let Some(column) = self.column.take() {
            self.columns.raise(column, self.lo, self.hi);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::admitted::{Admission, segments};
    use super::*;

    #[test]
    fn lines_that_cannot_show_are_left_out_without_a_difference() {
        let layout = Layout::new(0, 999, Some(400));
        let (mut all, mut worthy) = (Columns::new(&layout), Columns::new(&layout));
        let mut left_out = 0;
        for subject in 0..500_u64 {
            // A few heavy subjects, then ever lighter ones, each at its own times.
            let units = 60 / (1 + subject / 10) + 1;
            let admitted: Vec<_> =
                (0..20).map(|i| Admission { at: (i * 47 + subject * 13) % 1000, cost: units }).collect();
            let mut admitted = admitted;
            admitted.sort_by_key(|admission| admission.at);
            for (columns, total) in [(&mut all, u128::MAX), (&mut worthy, u128::from(units * 20))] {
                let mut line = columns.begin(total);
                left_out += u64::from(!line.drawn);
                segments(&admitted, 400, |segment| line.push(segment.from, segment.until, segment.units));
                line.end();
            }
        }
        assert!(left_out > 100, "{left_out}");
        assert_eq!(all.finish(), worthy.finish());
    }
}
