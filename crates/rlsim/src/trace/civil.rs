//! Dates of the Gregorian calendar as seconds since 1970, in integers.

use super::time_text::TimeError;

/// A date and time of day, its parts checked to exist. A leap second is one second more than the day has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Civil {
    /// 0 to 9999.
    pub(crate) year: u32,
    /// 1 to 12.
    pub(crate) month: u32,
    /// 1 to 31.
    pub(crate) day: u32,
    /// 0 to 86400.
    pub(crate) second_of_day: u32,
    /// 0 to 999 999 999.
    pub(crate) nanos: u32,
}

impl Civil {
    /// Seconds since 1970 as if the zone were UTC; before 1970 negative.
    pub(crate) fn utc_seconds(&self) -> i64 {
        days_since_epoch(self.year, self.month, self.day) * 86_400 + i64::from(self.second_of_day)
    }

    /// Nanoseconds since 1970 in a zone `offset` seconds east of UTC.
    pub(crate) fn nanos_at(&self, offset: i32) -> Result<u64, TimeError> {
        // Years have four digits, so the seconds stay far inside an i64.
        let seconds = self.utc_seconds() - i64::from(offset);
        let seconds = u64::try_from(seconds).map_err(|_| TimeError::BeforeEpoch)?;
        let nanos = seconds.checked_mul(1_000_000_000).and_then(|n| n.checked_add(u64::from(self.nanos)));
        nanos.ok_or(TimeError::BeyondRange)
    }
}

/// Days from 1970-01-01, by counting from 1 March, after which the lengths of the months repeat.
fn days_since_epoch(year: u32, month: u32, day: u32) -> i64 {
    let shifted = if month > 2 { i64::from(year) } else { i64::from(year) - 1 };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let month_from_march = i64::from((month + 9) % 12);
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Days in a month of 1 to 12.
pub(crate) fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// `Jan` to `Dec`, in any case.
pub(crate) fn month_by_name(name: &[u8]) -> Option<u32> {
    const NAMES: [&[u8]; 12] =
        [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];
    (1..).zip(NAMES).find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_calendar_library_on_every_day_that_fits() {
        let mut date = jiff::civil::date(1969, 1, 1);
        let mut days = i64::from(date.since((jiff::Unit::Day, jiff::civil::date(1970, 1, 1))).unwrap().get_days());
        while date.year() < 2555 {
            let (year, month, day) = (date.year().unsigned_abs().into(), date.month().into(), date.day().into());
            let (month, day): (i32, i32) = (month, day);
            let (month, day) = (month.unsigned_abs(), day.unsigned_abs());
            assert_eq!(days_since_epoch(year, month, day), days, "{date}");
            assert!(day <= days_in_month(year, month), "{date}");
            date = date.tomorrow().unwrap();
            days += 1;
        }
    }

    #[test]
    fn range_ends_where_unsigned_nanoseconds_end() {
        let last = Civil { year: 2554, month: 7, day: 21, second_of_day: 84_873, nanos: 709_551_615 };
        assert_eq!(last.nanos_at(0), Ok(u64::MAX));
        assert_eq!(Civil { nanos: 709_551_616, ..last }.nanos_at(0), Err(TimeError::BeyondRange));
        let first = Civil { year: 1970, month: 1, day: 1, second_of_day: 0, nanos: 0 };
        assert_eq!(first.nanos_at(0), Ok(0));
        assert_eq!(first.nanos_at(1), Err(TimeError::BeforeEpoch));
        assert_eq!(first.nanos_at(-1), Ok(1_000_000_000));
    }
}
