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
    lo: Vec<u128>,
    hi: Vec<u128>,
}

impl Columns {
    pub(super) fn new(layout: &Layout) -> Self {
        let columns = layout.columns();
        Columns { start: layout.start_ns, width: layout.column_ns, lo: vec![0; columns], hi: vec![0; columns] }
    }

    /// Begins the line of one subject.
    pub(super) fn begin(&mut self) -> Line<'_> {
        Line { column: None, at: self.start, lo: u128::MAX, hi: 0, columns: self }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.lo.iter_mut().zip(&other.lo).for_each(|(a, b)| *a = (*a).max(*b));
        self.hi.iter_mut().zip(&other.hi).for_each(|(a, b)| *a = (*a).max(*b));
    }

    pub(super) fn finish(self) -> Trailing {
        let units = |line: Vec<u128>| line.into_iter().map(saturate).collect();
        Trailing { start_ns: self.start, column_ns: self.width, lo: units(self.lo), hi: units(self.hi) }
    }

    fn raise(&mut self, column: usize, lo: u128, hi: u128) {
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
    /// The column being filled, and the smallest and largest value so far.
    column: Option<usize>,
    lo: u128,
    hi: u128,
    /// How far the line has been drawn.
    at: u64,
}

impl Line<'_> {
    /// Draws `units` over `[from, until)`; an instant of no length still shows.
    pub(super) fn push(&mut self, from: u64, until: u64, units: u128) {
        let from = from.max(self.columns.start);
        let first = self.columns.column(from);
        if first >= self.columns.lo.len() {
            return;
        }
        if self.column != Some(first) {
            self.flush();
            let begins_inside = !(from - self.columns.start).is_multiple_of(self.columns.width);
            (self.lo, self.hi) = if self.at < from && begins_inside { (0, 0) } else { (u128::MAX, 0) };
        }
        self.column = Some(first);
        self.lo = self.lo.min(units);
        self.hi = self.hi.max(units);
        let last = self.columns.column(until.saturating_sub(1).max(from));
        if last > first {
            self.flush();
            for column in first + 1..last {
                self.columns.raise(column, units, units);
            }
            (self.column, self.lo, self.hi) = (Some(last), units, units);
        }
        self.at = until.max(from);
    }

    /// Ends the line. What follows its last segment is nothing, which shows in that segment's column.
    pub(super) fn end(mut self) {
        if !(self.at - self.columns.start).is_multiple_of(self.columns.width) {
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
