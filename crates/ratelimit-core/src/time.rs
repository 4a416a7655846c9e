//! Time as one integer: nanoseconds, for instants and for durations alike.
//!
//! There is no clock in this crate. Whoever calls passes `now`, which makes every decision a pure function and every
//! test exact.

use core::fmt;
use core::time::Duration;

/// Nanoseconds: an instant counted from an origin, or a duration.
///
/// For anything shared between machines, or aligned to the wall clock, the origin is the Unix epoch (`u64` reaches
/// the year 2554). A single limiter works with any origin. The smallest step is 1 ns, and nothing here is ever rounded.
///
/// ```
/// use core::time::Duration;
/// use ratelimit_core::Nanos;
///
/// assert_eq!(Nanos::from_secs(2).get(), 2_000_000_000);
/// assert_eq!(Duration::from(Nanos::from_millis(1500)), Duration::from_millis(1500));
/// assert_eq!(Nanos::try_from(Duration::MAX), Err(ratelimit_core::OutOfRange));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(transparent)]
pub struct Nanos(u64);

impl Nanos {
    /// The origin, and the empty duration.
    pub const ZERO: Nanos = Nanos(0);
    /// The last instant there is. As a duration, "at least this long": durations saturate here.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// So many nanoseconds.
    #[inline]
    pub const fn new(nanos: u64) -> Self {
        Nanos(nanos)
    }

    /// So many microseconds, saturating at [`Nanos::MAX`].
    #[inline]
    pub const fn from_micros(micros: u64) -> Self {
        Nanos(micros.saturating_mul(1_000))
    }

    /// So many milliseconds, saturating at [`Nanos::MAX`].
    #[inline]
    pub const fn from_millis(millis: u64) -> Self {
        Nanos(millis.saturating_mul(1_000_000))
    }

    /// So many seconds, saturating at [`Nanos::MAX`].
    #[inline]
    pub const fn from_secs(secs: u64) -> Self {
        Nanos(secs.saturating_mul(1_000_000_000))
    }

    /// The number of nanoseconds.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whole seconds, rounded up: what a `Retry-After` header carries (never early).
    #[inline]
    pub const fn as_secs_ceil(self) -> u64 {
        self.0.div_ceil(1_000_000_000)
    }

    /// `self + later`, or the last instant there is.
    #[inline]
    #[must_use]
    pub const fn saturating_add(self, later: Nanos) -> Self {
        Nanos(self.0.saturating_add(later.0))
    }

    /// `self - earlier`, or zero where `earlier` is the later one.
    #[inline]
    #[must_use]
    pub const fn saturating_sub(self, earlier: Nanos) -> Self {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// `self + later`, or `None` beyond the last instant.
    #[inline]
    pub const fn checked_add(self, later: Nanos) -> Option<Self> {
        match self.0.checked_add(later.0) {
            Some(sum) => Some(Nanos(sum)),
            None => None,
        }
    }

    /// A duration computed in 128 bits, saturating: intermediate sums may lie beyond the last instant.
    #[inline]
    pub(crate) const fn saturating_from(wide: u128) -> Self {
        if wide > u64::MAX as u128 {
            Nanos::MAX
        } else {
            // The comparison above is the proof that nothing is cut off.
            Nanos(wide as u64)
        }
    }
}

impl From<Nanos> for Duration {
    #[inline]
    fn from(nanos: Nanos) -> Duration {
        Duration::from_nanos(nanos.0)
    }
}

impl TryFrom<Duration> for Nanos {
    type Error = OutOfRange;

    #[inline]
    fn try_from(duration: Duration) -> Result<Nanos, OutOfRange> {
        u64::try_from(duration.as_nanos()).map(Nanos).map_err(|_| OutOfRange)
    }
}

/// The largest unit that divides the value, such as `1m` or `250ms`: the form that policy text uses.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) =
            UNITS.iter().rev().find(|(unit, _)| self.0 >= *unit && self.0.is_multiple_of(*unit)).unwrap_or(&UNITS[0]);
        write!(f, "{}{name}", self.0 / unit)
    }
}

/// The units that durations are written in, smallest first.
pub(crate) const UNITS: [(u64, &str); 7] = [
    (1, "ns"),
    (1_000, "us"),
    (1_000_000, "ms"),
    (1_000_000_000, "s"),
    (60_000_000_000, "m"),
    (3_600_000_000_000, "h"),
    (86_400_000_000_000, "d"),
];

/// A duration longer than `u64` nanoseconds (about 584 years).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfRange;

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the duration is longer than 18446744073709551615 ns (about 584 years)")
    }
}

impl core::error::Error for OutOfRange {}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn display_picks_the_largest_exact_unit() {
        for (nanos, text) in [
            (0, "0ns"),
            (1, "1ns"),
            (250_000_000, "250ms"),
            (1_500_000_000, "1500ms"),
            (60_000_000_000, "1m"),
            (90_000_000_000, "90s"),
            (86_400_000_000_000, "1d"),
            (u64::MAX, "18446744073709551615ns"),
        ] {
            assert_eq!(Nanos::new(nanos).to_string(), text);
        }
    }

    #[test]
    fn conversions_saturate_and_never_wrap() {
        assert_eq!(Nanos::from_secs(u64::MAX), Nanos::MAX);
        assert_eq!(Nanos::saturating_from(u128::MAX), Nanos::MAX);
        assert_eq!(Nanos::saturating_from(u128::from(u64::MAX)), Nanos::MAX);
        assert_eq!(Nanos::ZERO.saturating_sub(Nanos::MAX), Nanos::ZERO);
        assert_eq!(Nanos::MAX.checked_add(Nanos::new(1)), None);
        assert_eq!(Nanos::new(1).as_secs_ceil(), 1);
        assert_eq!(Nanos::MAX.as_secs_ceil(), 18_446_744_074);
    }
}
