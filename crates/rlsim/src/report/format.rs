//! How numbers, durations and quotas are written for people, the same in every table, sentence and picture.

use crate::metrics::PolicyNumbers;

const SECOND: u64 = 1_000_000_000;

/// A count with a thin grouping of thousands: `12 345`. Up to four digits stay together.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    if digits.len() <= 4 {
        return digits;
    }
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count in little room: three digits at most and a letter for thousands, millions and so on: `12.3k`, `9E`.
pub fn short_count(value: u64) -> String {
    const LETTERS: [(u64, &str); 6] = [
        (1_000_000_000_000_000_000, "E"),
        (1_000_000_000_000_000, "P"),
        (1_000_000_000_000, "T"),
        (1_000_000_000, "G"),
        (1_000_000, "M"),
        (1_000, "k"),
    ];
    match LETTERS.iter().find(|(unit, _)| value >= 10_000 && value >= *unit) {
        Some(&(unit, letter)) => three_digits(value, unit) + letter,
        None => value.to_string(),
    }
}

/// A ratio with two decimals, rounded to the nearest, such as `1.09`. What is above 1 is never shown as 1.00.
pub fn ratio(value: f64) -> String {
    let shown = format!("{value:.2}");
    if value > 1.0 && shown == "1.00" { ">1.00".into() } else { shown }
}

/// A duration of three significant digits at most: `200 ms` is `0.2 s`, `90 s` is `90 s`, then minutes, hours and days.
pub fn duration(ns: u64) -> String {
    const UNITS: [(u64, u64, &str); 6] = [
        // from, unit, name
        (2 * 86_400 * SECOND, 86_400 * SECOND, "d"),
        (2 * 3_600 * SECOND, 3_600 * SECOND, "h"),
        (120 * SECOND, 60 * SECOND, "min"),
        (SECOND / 10, SECOND, "s"),
        (1_000_000, 1_000_000, "ms"),
        (1_000, 1_000, "µs"),
    ];
    match UNITS.iter().find(|(from, _, _)| ns >= *from) {
        Some(&(_, unit, name)) => format!("{} {name}", three_digits(ns, unit)),
        None => format!("{ns} ns"),
    }
}

/// `value / unit` rounded to the nearest, with as many decimals as make three digits, without trailing zeros.
fn three_digits(value: u64, unit: u64) -> String {
    let whole = value / unit;
    let decimals = if whole >= 100 {
        0
    } else if whole >= 10 {
        1
    } else {
        2
    };
    let scale = 10_u128.pow(decimals);
    let scaled = (u128::from(value) * scale + u128::from(unit) / 2) / u128::from(unit);
    let (whole, fraction) = (scaled / scale, scaled % scale);
    if fraction == 0 {
        return whole.to_string();
    }
    let width = decimals as usize;
    format!("{whole}.{fraction:0width$}").trim_end_matches('0').to_string()
}

/// A window in words after "per": `minute`, `10 s`, `day`.
fn window(ns: u64) -> String {
    match ns {
        SECOND => "second".into(),
        60_000_000_000 => "minute".into(),
        3_600_000_000_000 => "hour".into(),
        86_400_000_000_000 => "day".into(),
        other => duration(other),
    }
}

/// A quota in words: `100 per minute`.
pub fn quota(limit: u64, window_ns: u64) -> String {
    format!("{} per {}", count(limit), window(window_ns))
}

/// A policy's name as a heading: `fixed-window` is `Fixed window`; a name somebody chose stays as it is.
pub fn policy_title(policy: &PolicyNumbers) -> String {
    name_title(&policy.name, &policy.algorithm)
}

/// The name of a policy of an algorithm as a heading.
pub fn name_title(name: &str, algorithm: &str) -> String {
    if !name.starts_with(algorithm) {
        return name.to_owned();
    }
    let words = name.replace('-', " ");
    let mut letters = words.chars();
    letters.next().map_or(words.clone(), |first| first.to_uppercase().chain(letters).collect())
}

/// A command as one line that a POSIX shell reads back word by word.
pub fn shell(words: &[String]) -> String {
    let plain =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c));
    let quote = |word: &String| if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_three_digits_and_a_familiar_unit() {
        let rows = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_500, "1.5 µs"),
            (20_000_000, "20 ms"),
            (200_000_000, "0.2 s"),
            (767_000_000, "0.77 s"),
            (59_960_000_000, "60 s"),
            (90_000_000_000, "90 s"),
            (3_600_000_000_000, "60 min"),
            (86_400_000_000_000, "24 h"),
            (259_200_000_000_000, "3 d"),
        ];
        for (ns, expected) in rows {
            assert_eq!(duration(ns), expected, "{ns} ns");
        }
        assert!(duration(u64::MAX).ends_with(" d"));
    }

    #[test]
    fn counts_are_grouped_from_five_digits_on() {
        assert_eq!([count(0), count(1234), count(12345), count(1_234_567)], ["0", "1234", "12 345", "1 234 567"]);
    }

    #[test]
    fn short_counts_fit_beside_an_axis() {
        let rows = [0, 9_999, 10_000, 12_345, 2_000_000, u64::MAX];
        assert_eq!(rows.map(short_count), ["0", "9999", "10k", "12.3k", "2M", "18.4E"]);
    }

    #[test]
    fn a_ratio_just_above_one_does_not_look_like_one() {
        assert_eq!([ratio(1.0), ratio(1.001), ratio(2.0), ratio(0.999)], ["1.00", ">1.00", "2.00", "1.00"]);
    }

    #[test]
    fn quotas_read_as_words() {
        assert_eq!(quota(100, 60 * SECOND), "100 per minute");
        assert_eq!(quota(5, 10 * SECOND), "5 per 10 s");
    }
}
