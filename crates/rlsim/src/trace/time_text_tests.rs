use super::*;

fn nanos(text: &str) -> Result<u64, TimeError> {
    match parse(text.as_bytes())? {
        Stamp::Number { .. } => panic!("{text} is a number"),
        Stamp::Zoned(civil, offset) => civil.nanos_at(offset),
        Stamp::Local(civil) => civil.nanos_at(0),
    }
}

#[test]
fn dates() {
    const S: u64 = 1_000_000_000;
    for (text, expect) in [
        ("1970-01-01T00:00:00Z", 0),
        ("2024-05-12T08:15:30Z", 1_715_501_730 * S),
        ("2024-05-12 08:15:30", 1_715_501_730 * S),
        ("2024/05/12 08:15:30", 1_715_501_730 * S),
        ("  2024-05-12t08:15:30z ", 1_715_501_730 * S),
        ("2024-05-12T08:15", 1_715_501_700 * S),
        ("2024-05-12T10:15:30+02:00", 1_715_501_730 * S),
        ("2024-05-12T11:45:30 +0330", 1_715_501_730 * S),
        ("2024-05-12T01:15:30-07", 1_715_501_730 * S),
        ("2024-05-12 08:15:30 UTC", 1_715_501_730 * S),
        ("2024-05-12 08:15:30 GMT", 1_715_501_730 * S),
        ("12/May/2024:08:15:30 +0000", 1_715_501_730 * S),
        ("12/May/2024:11:45:30 +0330", 1_715_501_730 * S),
        ("12/may/2024:08:15:30.250", 1_715_501_730 * S + 250_000_000),
        ("2024-05-12 08:15:30,250", 1_715_501_730 * S + 250_000_000),
        ("2024-02-29T00:00:00Z", 1_709_164_800 * S),
        // A leap second is the first second of the next minute, fraction included.
        ("2016-12-31T23:59:60Z", 1_483_228_800 * S),
        ("2016-12-31T23:59:60.5Z", 1_483_228_800 * S + 500_000_000),
        ("1969-12-31T23:00:00-02:00", 3_600 * S),
    ] {
        assert_eq!(nanos(text), Ok(expect), "{text}");
    }
}

#[test]
fn zero_to_nine_fraction_digits_and_the_rest_cut_off() {
    let digits = "1234567891";
    for count in 1..=10 {
        let text = format!("1970-01-01T00:00:00.{}Z", &digits[..count]);
        let cut_off = [100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1, 1][count - 1];
        let expect = 123_456_789 / cut_off * cut_off;
        assert_eq!(nanos(&text), Ok(expect), "{text}");
    }
}

#[test]
fn numbers_keep_every_digit() {
    for (text, whole, billionths) in [
        ("0", 0, 0),
        ("007", 7, 0),
        ("1532376558110", 1_532_376_558_110, 0),
        ("1761019822.3152757", 1_761_019_822, 315_275_700),
        ("1.", 1, 0),
        (".5", 0, 500_000_000),
        ("0.0000000019", 0, 1),
        ("18446744073709551615", u64::MAX, 0),
    ] {
        assert_eq!(parse(text.as_bytes()), Ok(Stamp::Number { whole, billionths }), "{text}");
    }
}

#[test]
fn what_is_no_time_says_why() {
    for (text, expect) in [
        ("", TimeError::Missing),
        ("  ", TimeError::Missing),
        ("-", TimeError::Missing),
        ("-5", TimeError::Negative),
        ("-0.5", TimeError::Negative),
        (".", TimeError::NotATime),
        ("abc", TimeError::NotATime),
        ("1,5", TimeError::NotATime),
        ("1.5.2", TimeError::NotATime),
        ("1_000", TimeError::NotATime),
        ("1.5e9", TimeError::Scientific),
        ("1E+12", TimeError::Scientific),
        ("2024-13-01T00:00:00Z", TimeError::NoSuch("month")),
        ("2024-00-01T00:00:00Z", TimeError::NoSuch("month")),
        ("2023-02-29T00:00:00Z", TimeError::NoSuch("day")),
        ("2023-02-00T00:00:00Z", TimeError::NoSuch("day")),
        ("2024-05-12T24:00:00Z", TimeError::NoSuch("hour")),
        ("2024-05-12T08:60:00Z", TimeError::NoSuch("minute")),
        ("2024-05-12T08:15:61Z", TimeError::NoSuch("second")),
        ("2024-05-12T08:15:30+24:00", TimeError::NoSuch("offset")),
        ("2024-05-12T08:15:30+02:60", TimeError::NoSuch("offset")),
        ("2024-05-12T08:15:30+02:0", TimeError::NotATime),
        ("2024-05-12T08:15:30+02:00x", TimeError::NotATime),
        ("2024-05-12T08:15:30.Z", TimeError::NotATime),
        ("2024-05-12T08:15:30 CEST", TimeError::NotATime),
        ("2024-05-12", TimeError::NotATime),
        ("08:15:30", TimeError::NoDate),
        ("8:15", TimeError::NoDate),
        ("a8:15:30", TimeError::NotATime),
        ("08:1x", TimeError::NotATime),
        ("12/Mai/2024:08:15:30", TimeError::NotATime),
        ("2024-05/12 08:15:30", TimeError::NotATime),
        ("1969-12-31T23:59:59Z", TimeError::BeforeEpoch),
        ("2554-07-21T23:34:34Z", TimeError::BeyondRange),
        ("9999-12-31T23:59:59Z", TimeError::BeyondRange),
        ("18446744073709551616", TimeError::BeyondRange),
        ("99999999999999999999999.5", TimeError::BeyondRange),
    ] {
        assert_eq!(nanos_or_number(text), Err(expect), "{text}");
    }
}

fn nanos_or_number(text: &str) -> Result<u64, TimeError> {
    match parse(text.as_bytes())? {
        Stamp::Number { whole, .. } => Ok(whole),
        _ => nanos(text),
    }
}

#[test]
fn dates_and_times_in_two_columns() {
    let pair = |day: &str, time: &str| parse_pair(day.as_bytes(), time.as_bytes());
    assert_eq!(pair("2015-01-13", "00:32:17"), parse(b"2015-01-13 00:32:17"));
    assert_eq!(pair("2015-01-13", " 00:32:17.5Z"), parse(b"2015-01-13 00:32:17.5Z"));
    assert_eq!(pair("13/Jan/2015", "00:32"), parse(b"2015-01-13 00:32"));
    assert_eq!(pair("-", "00:32:17"), Err(TimeError::Missing));
    assert_eq!(pair("2015-01-13", ""), Err(TimeError::Missing));
    assert_eq!(pair("2015-01-13x", "00:32:17"), Err(TimeError::NotATime));
    assert_eq!(pair("2015-01-13", "noon"), Err(TimeError::NotATime));
}

#[test]
fn dates_at_the_beginning_of_a_line() {
    for (line, length) in [
        ("2012-07-02 10:22:40,672:DEBUG:foo", 23),
        ("2015-03-12T23:16:52.071:INFO", 23),
        ("2024-05-12T08:15:30.25Z text", 23),
        ("2024-05-12T08:15:30+02:00 text", 25),
        ("2024-05-12T08:15:30+0200", 24),
        ("2024-05-12 08:15:30 +0200 text", 19),
        ("2024-05-12 text", 0),
        ("text", 0),
        ("", 0),
    ] {
        assert_eq!(date_prefix(line.as_bytes()), length, "{line}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in proptest::collection::vec(proptest::num::u8::ANY, 0..40)) {
        let _ = parse(&text);
        let _ = parse_pair(&text, &text);
        proptest::prop_assert!(date_prefix(&text) <= text.len());
    }

    #[test]
    fn every_instant_survives_being_written_and_read(at in proptest::num::u64::ANY) {
        // The library prints instants up to its own last year, which lies beyond the range here.
        let printed = jiff::Timestamp::from_nanosecond(i128::from(at)).unwrap().to_string();
        proptest::prop_assert_eq!(nanos(&printed), Ok(at));
    }
}
