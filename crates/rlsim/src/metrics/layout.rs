//! How time is cut up for series and pictures: bins whose edges fall on window edges, and narrow columns for a line.

/// At most this many bins over the view: wide enough that a bar still shows its hatching.
const MOST_BINS: u64 = 120;
/// At most this many columns: about one a pixel of the plot.
const MOST_COLUMNS: u64 = 820;

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Bins and columns over one stretch of time, the same for every policy of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Where the view starts, in nanoseconds: on an edge of a bin.
    pub start_ns: u64,
    /// Where the view ends, in nanoseconds.
    pub end_ns: u64,
    /// The width of a bin in nanoseconds: divides the window, or is a multiple of it.
    pub bin_ns: u64,
    /// The width of a column in nanoseconds.
    pub column_ns: u64,
    /// The trailing window shown for a policy that has none of its own, in nanoseconds.
    pub window_ns: u64,
}

impl Layout {
    /// The view of a trace from `start` to `end` (its first and last event) for a window (`None` when no policy has one).
    ///
    /// A trace shorter than a window is shown with the whole windows it falls into: that is the scale at which the
    /// limit acts, and there is room to see the units leave again.
    pub fn new(start: u64, end: u64, window: Option<u64>) -> Self {
        let end = end.max(start);
        let span = end - start;
        let window = window.filter(|&window| window > 0).unwrap_or_else(|| span.max(SECOND));
        let (from, until) = if span < window {
            (start - start % window, (end - end % window).saturating_add(window))
        } else {
            (start, end.saturating_add(1))
        };
        let bin_ns = bin_width(until - from, window);
        let start_ns = from - from % bin_ns;
        let end_ns = (until - start_ns).div_ceil(bin_ns).saturating_mul(bin_ns).saturating_add(start_ns);
        Layout {
            start_ns,
            end_ns,
            bin_ns,
            column_ns: (end_ns - start_ns).div_ceil(MOST_COLUMNS).max(1),
            window_ns: window,
        }
    }

    /// The number of bins.
    pub fn bins(&self) -> usize {
        count(self.end_ns - self.start_ns, self.bin_ns)
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        count(self.end_ns - self.start_ns, self.column_ns)
    }
}

fn count(length: u64, width: u64) -> usize {
    // At most MOST_BINS + 1 or MOST_COLUMNS, so it fits.
    usize::try_from(length.div_ceil(width)).unwrap_or(usize::MAX)
}

/// A narrow width that fits the view and keeps the edges of windows on edges of bins: a familiar one, unless the
/// narrowest of all is less than a quarter of it (a window of, say, 7 s has few familiar parts).
fn bin_width(length: u64, window: u64) -> u64 {
    let fits = |width: &u64| length.div_ceil(*width) <= MOST_BINS;
    let aligned = |width: &u64| window.is_multiple_of(*width) || width.is_multiple_of(window);
    let parts = (2..=MOST_BINS).rev().filter(|&parts| window.is_multiple_of(parts)).map(|parts| window / parts);
    let wholes = (0..64).map_while(|shift| window.checked_mul(1 << shift));
    let narrowest = parts.chain(wholes).find(fits).unwrap_or(length.max(1));
    let familiar = familiar_widths().find(|width| fits(width) && aligned(width));
    familiar.filter(|&width| width / 4 <= narrowest).unwrap_or(narrowest)
}

fn familiar_widths() -> impl Iterator<Item = u64> {
    const STEPS: [u64; 9] = [1, 2, 5, 10, 20, 50, 100, 200, 500];
    let small = [1, MICROSECOND, MILLISECOND].into_iter().flat_map(|unit| STEPS.map(|step| step * unit));
    let clock = [1, 2, 5, 10, 15, 30].map(|step| step * SECOND);
    let minutes = [1, 2, 5, 10, 15, 30].map(|step| step * MINUTE);
    let hours = [1, 2, 3, 6, 12].map(|step| step * HOUR);
    let days = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000].map(|step| step * DAY);
    small.chain(clock).chain(minutes).chain(hours).chain(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_shown_with_its_two_windows() {
        let layout = Layout::new(59_900_000_000, 60_100_000_000, Some(MINUTE));
        assert_eq!((layout.start_ns, layout.end_ns, layout.bin_ns), (0, 2 * MINUTE, SECOND));
    }

    #[test]
    fn a_day_has_bins_of_a_quarter_of_an_hour_and_a_month_of_quarter_days() {
        assert_eq!(Layout::new(0, DAY - 1, Some(MINUTE)).bin_ns, 15 * MINUTE);
        assert_eq!(Layout::new(0, 30 * DAY - 1, Some(MINUTE)).bin_ns, 6 * HOUR);
    }

    #[test]
    fn an_unfamiliar_window_is_cut_into_even_parts() {
        assert_eq!(Layout::new(0, 400, Some(3)).bin_ns, 6);
        assert_eq!(Layout::new(0, 400, Some(47)).bin_ns, 47);
    }

    #[test]
    fn edges_of_windows_are_edges_of_bins_for_any_window() {
        for window in [1, 3, 250, 7 * SECOND, 90 * SECOND, MINUTE, HOUR, 7 * DAY, u64::MAX] {
            for (start, end) in
                [(0, 0), (5, 5), (17, 1_000_017), (DAY + 1, 9 * DAY), (0, u64::MAX), (u64::MAX, u64::MAX)]
            {
                let layout = Layout::new(start, end, Some(window));
                assert!(
                    window.is_multiple_of(layout.bin_ns)
                        || layout.bin_ns.is_multiple_of(window)
                        || start == 0 && end == u64::MAX
                );
                assert!(layout.start_ns <= start && layout.end_ns >= end);
                assert!(layout.bins() <= 121 && layout.columns() <= 820);
            }
        }
    }
}
