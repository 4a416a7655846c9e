//! A point in time for people: a UTC date for stamps since the Unix epoch, time from zero for relative ones.

use crate::report::duration;

/// Stamps from here on (March 1973) are taken to count from the Unix epoch; nobody's relative trace lasts three years.
const EPOCH_FROM: u64 = 100_000_000_000_000_000;

/// `2015-05-17 10:05:03 UTC`, with as many fraction digits as the stamp has; `12.5 s` on a relative clock.
pub(crate) fn moment(at: u64) -> String {
    if at < EPOCH_FROM {
        return duration(at);
    }
    match jiff::Timestamp::from_nanosecond(i128::from(at)) {
        Ok(stamp) if at.is_multiple_of(1_000_000_000) => stamp.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Ok(stamp) => stamp.strftime("%Y-%m-%d %H:%M:%S%.f UTC").to_string(),
        Err(_) => at.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_durations() {
        assert_eq!(moment(1_431_857_103_000_000_000), "2015-05-17 10:05:03 UTC");
        assert_eq!(moment(1_431_857_103_250_000_000), "2015-05-17 10:05:03.25 UTC");
        assert_eq!(moment(90_000_000_000), "90 s");
        assert!(!moment(u64::MAX).is_empty());
    }
}
