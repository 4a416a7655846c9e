//! The zone of times that name none.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::civil::Civil;
use super::time_text::TimeError;
use crate::error::{Error, Result};

/// UTC, or a zone by its IANA name with the offset of the latest minute kept.
///
/// A local time that a change of the clocks repeats is its first occurrence; one that it skips is read with the offset
/// before the change, so 02:30 of a skipped hour is 03:30.
#[derive(Clone)]
pub(crate) struct Zone {
    zone: Option<TimeZone>,
    /// The minute since 1970 of the local clock looked up last, and its offset in seconds: offsets change on whole minutes.
    latest: Option<(i64, i32)>,
}

impl Zone {
    /// The zone with this IANA name; UTC without one.
    pub(crate) fn named(name: Option<&str>) -> Result<Self> {
        let zone = match name {
            None => None,
            Some(name) if name.eq_ignore_ascii_case("utc") => None,
            Some(name) => Some(TimeZone::get(name).map_err(|_| {
                Error::usage(format!(
                    "unknown --timezone {name:?}: expected an IANA name such as Europe/Berlin, America/New_York or UTC"
                ))
            })?),
        };
        Ok(Zone { zone, latest: None })
    }

    /// Nanoseconds since 1970 of a local time.
    pub(crate) fn nanos(&mut self, local: &Civil) -> std::result::Result<u64, TimeError> {
        let Some(zone) = &self.zone else { return local.nanos_at(0) };
        let minute = local.utc_seconds().div_euclid(60);
        let offset = match self.latest {
            Some((known, offset)) if known == minute => offset,
            _ => {
                let offset = offset_at(zone, minute).ok_or(TimeError::BeyondRange)?;
                self.latest = Some((minute, offset));
                offset
            }
        };
        local.nanos_at(offset)
    }
}

fn offset_at(zone: &TimeZone, local_minute: i64) -> Option<i32> {
    let from_epoch = jiff::SignedDuration::from_secs(local_minute.checked_mul(60)?);
    let clock = DateTime::constant(1970, 1, 1, 0, 0, 0, 0).checked_add(from_epoch).ok()?;
    let instant = zone.to_ambiguous_timestamp(clock).compatible().ok()?;
    let offset = TimeZone::UTC.to_timestamp(clock).ok()?.as_second() - instant.as_second();
    i32::try_from(offset).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(zone: &str, year: u32, month: u32, day: u32, hour: u32, minute: u32) -> u64 {
        let civil = Civil { year, month, day, second_of_day: hour * 3600 + minute * 60, nanos: 0 };
        Zone::named(Some(zone)).unwrap().nanos(&civil).unwrap() / 1_000_000_000
    }

    #[test]
    fn local_hours_are_ordinary_repeated_or_skipped() {
        // 2024-07-01 12:00 in Berlin is 10:00 UTC.
        assert_eq!(seconds("Europe/Berlin", 2024, 7, 1, 12, 0), 1_719_828_000);
        // 2013-11-03 01:30 in New York happened at 05:30 and 06:30 UTC: the first one.
        assert_eq!(seconds("America/New_York", 2013, 11, 3, 1, 30), 1_383_456_600);
        // 2013-03-10 02:30 in New York did not happen: 03:30 EDT, which is 07:30 UTC.
        assert_eq!(seconds("America/New_York", 2013, 3, 10, 2, 30), 1_362_900_600);
        assert_eq!(seconds("utc", 1970, 1, 1, 0, 1), 60);
    }

    #[test]
    fn an_unknown_zone_is_a_mistake_of_typing() {
        let error = Zone::named(Some("Mars/Base")).err().unwrap();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("Europe/Berlin"), "{error}");
    }
}
