//! The time axis: UTC clock times for stamps since the Unix epoch, seconds from zero for relative ones.

use jiff::Timestamp;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Stamps from here on (March 1973) are taken to count from the Unix epoch; nobody's relative trace lasts three years.
const EPOCH_FROM: u64 = 100_000_000 * SECOND;

/// An axis: where its ticks are, what they say, and what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TimeAxis {
    /// Time and label, in time order.
    pub(super) ticks: Vec<(u64, String)>,
    /// What the labels are.
    pub(super) caption: String,
}

/// The axis of `from..=until` nanoseconds with at most about `most` ticks.
pub(super) fn time_axis(from: u64, until: u64, most: u64) -> TimeAxis {
    if from >= EPOCH_FROM { utc(from, until, most) } else { relative(from, until, most) }
}

fn utc(from: u64, until: u64, most: u64) -> TimeAxis {
    let clock = [1, 2, 5, 10, 15, 30].map(|step| step * SECOND);
    let minutes = [1, 2, 5, 10, 15, 30].map(|step| step * MINUTE);
    let hours = [1, 2, 3, 6, 12].map(|step| step * HOUR);
    let days = [1, 2, 5, 10, 20, 50, 100, 200, 400, 1000, 2000, 5000, 10_000, 20_000, 50_000].map(|step| step * DAY);
    let steps = decimals(1, SECOND / 2).chain(clock).chain(minutes).chain(hours).chain(days);
    let step = first_fit(steps, until - from, most);
    let label = |at: u64| match step {
        step if step >= 100 * DAY => civil(at, "%Y-%m-%d"),
        step if step >= DAY || at.is_multiple_of(DAY) && until - from > DAY => civil(at, "%-d %b"),
        step if step >= MINUTE => civil(at, "%H:%M"),
        step if step >= SECOND => civil(at, "%H:%M:%S"),
        step => civil(at, "%H:%M:%S") + &fraction(at % SECOND, step),
    };
    let (first, last) = (civil(from, "%Y-%m-%d"), civil(until.saturating_sub(1).max(from), "%Y-%m-%d"));
    let caption = if first == last { format!("UTC on {first}") } else { format!("UTC, {first} to {last}") };
    TimeAxis { ticks: multiples(from, until, step).map(|at| (at, label(at))).collect(), caption }
}

/// A time in words. Out of the calendar's range (after the year 2554 nothing fits a `u64`) it is the bare number.
fn civil(at: u64, format: &str) -> String {
    let stamp = Timestamp::from_nanosecond(i128::from(at));
    stamp.map_or_else(|_| at.to_string(), |stamp| stamp.strftime(format).to_string())
}

/// `.25` for 250 ms in steps of 10 ms.
fn fraction(below_second: u64, step: u64) -> String {
    let mut digits = format!("{below_second:09}");
    let mut unit = 1;
    while digits.len() > 1 && step.is_multiple_of(unit * 10) {
        digits.pop();
        unit *= 10;
    }
    format!(".{digits}")
}

fn relative(from: u64, until: u64, most: u64) -> TimeAxis {
    const UNITS: [(u64, u64, &str); 6] = [
        // shown from this span on, nanoseconds, name
        (5 * DAY, DAY, "days"),
        (3 * HOUR, HOUR, "hours"),
        (SECOND / 20, SECOND, "seconds"),
        (50_000, 1_000_000, "milliseconds"),
        (50, 1_000, "microseconds"),
        (0, 1, "nanoseconds"),
    ];
    let span = until - from;
    let &(_, unit, name) = UNITS.iter().find(|(least, _, _)| span >= *least).unwrap_or(&UNITS[5]);
    let below = if unit >= HOUR {
        [HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, DAY, DAY]
    } else {
        [1, 2, 5, 10, 20, 30, 60, 120].map(|step| step * SECOND)
    };
    let small = decimals(1, if unit >= HOUR { 1 } else { SECOND / 2 });
    let large = decimals(unit, u64::MAX).filter(move |step| *step > below[7]);
    let step = first_fit(small.chain(below).chain(large), span, most);
    let label = |at: u64| {
        let whole = at / unit;
        let (rest, mut scale, mut digits) = (at % unit, unit, String::new());
        // As many decimals as the step needs: units of ten nanoseconds and up divide evenly; hours and days need none.
        while scale >= 10 && scale.is_multiple_of(10) && !step.is_multiple_of(scale) && unit < HOUR {
            scale /= 10;
            digits.push(char::from_digit(u32::try_from(rest / scale % 10).unwrap_or(0), 10).unwrap_or('0'));
        }
        if digits.is_empty() { whole.to_string() } else { format!("{whole}.{digits}") }
    };
    let ticks = multiples(from, until, step).map(|at| (at, label(at))).collect();
    TimeAxis { ticks, caption: name.to_string() }
}

/// 1, 2 and 5 times powers of ten, times `unit`, up to `most`.
fn decimals(unit: u64, most: u64) -> impl Iterator<Item = u64> {
    let tens = (0..19).map_while(move |power| 10_u64.pow(power).checked_mul(unit));
    tens.flat_map(|ten| [1, 2, 5].into_iter().filter_map(move |digit| ten.checked_mul(digit)))
        .filter(move |step| *step <= most)
}

fn first_fit(mut steps: impl Iterator<Item = u64>, span: u64, most: u64) -> u64 {
    steps.find(|step| span / step <= most).unwrap_or(span.max(1))
}

fn multiples(from: u64, until: u64, step: u64) -> impl Iterator<Item = u64> {
    let first = from.div_ceil(step);
    (first..=until / step).map(move |i| i * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(from: u64, until: u64) -> Vec<String> {
        time_axis(from, until, 10).ticks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn relative_times_are_seconds() {
        assert_eq!(labels(0, 120 * SECOND), ["0", "20", "40", "60", "80", "100", "120"]);
        assert_eq!(labels(0, SECOND), ["0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0"]);
        assert_eq!(time_axis(0, 120 * SECOND, 10).caption, "seconds");
    }

    #[test]
    fn long_relative_times_are_hours_and_days() {
        assert_eq!(labels(0, DAY)[..3], ["0", "3", "6"]);
        assert_eq!(time_axis(0, 30 * DAY, 10).caption, "days");
        assert_eq!(labels(0, 30 * DAY)[..3], ["0", "5", "10"]);
    }

    #[test]
    fn stamps_since_the_epoch_are_a_clock() {
        let noon = 1_431_857_100 * SECOND; // 2015-05-17 10:05:00
        let axis = time_axis(noon, noon + 4 * MINUTE, 10);
        assert_eq!(axis.ticks[0].1, "10:05:00");
        assert_eq!(axis.ticks[1].1, "10:05:30");
        assert_eq!(axis.caption, "UTC on 2015-05-17");
        let days = time_axis(noon, noon + 3 * DAY, 12);
        assert!(days.ticks.iter().any(|(_, label)| label == "18 May"), "{days:?}");
        assert!(days.ticks.iter().any(|(_, label)| label == "12:00"), "{days:?}");
        assert_eq!(time_axis(noon, noon + SECOND / 10, 10).ticks[1].1, "10:05:00.01");
    }

    #[test]
    fn any_stretch_of_time_has_few_ticks() {
        for from in [0, 1, 7 * SECOND, EPOCH_FROM, 1_431_857_100 * SECOND, u64::MAX - 10 * DAY] {
            for span in [0, 1, 3, 999, 1_000_000, SECOND, 61 * SECOND, HOUR, 5 * HOUR, DAY, 100 * DAY, u64::MAX] {
                let axis = time_axis(from, from.saturating_add(span), 10);
                assert!(axis.ticks.len() <= 11, "{from} {span} {}", axis.ticks.len());
            }
        }
    }
}
