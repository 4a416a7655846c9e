//! A line over time for a picture of a given number of columns, in little memory: of the points in a column only the
//! first, the lowest, the highest and the last are kept, in their order. Drawn with columns no wider than a dot, these
//! give the same picture as all points, so that no peak and no gap is lost (Jugel, Jerzak, Hackenbroich and Markl,
//! "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 2014).

/// The columns of a picture: one half of a dot of the page each.
const MOST_COLUMNS: u64 = 1640;

/// A stretch of time cut into columns of equal width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    /// Where the picture starts, in nanoseconds.
    pub start_ns: u64,
    /// Where it ends, in nanoseconds: later than the start.
    pub end_ns: u64,
}

impl Columns {
    /// The width of a column in nanoseconds.
    fn width(&self) -> u64 {
        (self.end_ns - self.start_ns).div_ceil(MOST_COLUMNS).max(1)
    }

    /// The column of a time; what lies outside belongs to the nearer end.
    pub fn of(&self, at: u64) -> usize {
        let offset = at.clamp(self.start_ns, self.end_ns) - self.start_ns;
        // At most MOST_COLUMNS.
        usize::try_from(offset / self.width()).unwrap_or(0)
    }

    /// Where a column begins, in nanoseconds.
    pub fn edge(&self, column: usize) -> u64 {
        self.start_ns.saturating_add(self.width().saturating_mul(column as u64))
    }

    /// How many there are; the end has one of its own.
    pub fn count(&self) -> usize {
        self.of(self.end_ns) + 1
    }
}

/// A time in nanoseconds, and how high the line is there.
pub type Point = (u64, u32);

/// A line that is being drawn, from the left to the right.
#[derive(Debug)]
pub(super) struct Line {
    columns: Columns,
    /// Points of finished columns.
    points: Vec<Point>,
    /// The column at hand: its index, and its points with their number in the order they came.
    column: usize,
    first: Option<(u64, Point)>,
    lowest: (u64, Point),
    highest: (u64, Point),
    last: (u64, Point),
    pushed: u64,
}

impl Line {
    pub(super) fn new(columns: Columns) -> Self {
        let none = (0, (0, 0));
        let (lowest, highest, last) = (none, none, none);
        Line { columns, points: Vec::new(), column: 0, first: None, lowest, highest, last, pushed: 0 }
    }

    /// Goes on to a point, which is not before the last one. Constant time.
    pub(super) fn push(&mut self, point: Point) {
        let column = self.columns.of(point.0);
        if column != self.column {
            self.end_column();
            self.column = column;
        }
        let numbered = (self.pushed, point);
        self.pushed += 1;
        if self.first.is_none() {
            (self.first, self.lowest, self.highest) = (Some(numbered), numbered, numbered);
        }
        if point.1 < self.lowest.1.1 {
            self.lowest = numbered;
        }
        if point.1 > self.highest.1.1 {
            self.highest = numbered;
        }
        self.last = numbered;
    }

    fn end_column(&mut self) {
        let Some(first) = self.first.take() else { return };
        let mut kept = [first, self.lowest, self.highest, self.last];
        kept.sort_unstable_by_key(|(number, _)| *number);
        for (_, point) in kept {
            if self.points.last() != Some(&point) {
                self.points.push(point);
            }
        }
    }

    /// The points, in the order of time.
    pub(super) fn finish(mut self) -> Vec<Point> {
        self.end_column();
        self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_keeps_its_first_lowest_highest_and_last_point() {
        let columns = Columns { start_ns: 0, end_ns: 16_400 };
        let mut line = Line::new(columns);
        for point in [(0, 5), (1, 7), (2, 9), (3, 1), (4, 6), (5, 6), (12, 6), (13, 6)] {
            line.push(point);
        }
        assert_eq!(line.finish(), [(0, 5), (2, 9), (3, 1), (5, 6), (12, 6), (13, 6)]);
    }

    #[test]
    fn columns_cover_any_stretch() {
        for (start_ns, end_ns) in [(0, 1), (5, 6), (0, u64::MAX), (u64::MAX - 1, u64::MAX), (7, 1_000_000_007)] {
            let columns = Columns { start_ns, end_ns };
            assert_eq!(columns.of(start_ns), 0);
            assert!(columns.count() <= 1641, "{}", columns.count());
            for at in [start_ns, start_ns + (end_ns - start_ns) / 3, end_ns] {
                let column = columns.of(at);
                assert!(columns.edge(column) <= at && (at < columns.edge(column + 1) || at == u64::MAX));
            }
        }
    }
}
