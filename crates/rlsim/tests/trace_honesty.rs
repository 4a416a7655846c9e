//! What real files hold that no specification mentions: each has one defined result.

mod common_trace;

use common_trace::{bad_notes, plain, read};
use rlsim::trace::{ClientAs, Column, ReadOptions, TimeUnit, Trace};

const S: u64 = 1_000_000_000;

fn names(trace: &Trace) -> Vec<String> {
    trace.client.iter().map(|&c| String::from_utf8_lossy(&trace.names[c as usize]).into_owned()).collect()
}

#[test]
fn addresses_are_bytes_unless_asked_for_as_addresses() {
    let text = "time,client\n1,10.0.0.1:4711\n2,10.0.0.1\n3,::ffff:10.0.0.1\n4,[2001:db8::1]:80\n5,2001:db8::2\n\
                6,\"10.0.0.1, 172.16.0.1\"\n7,host.example\n8,-\n";
    assert_eq!(plain(text).names.len(), 8);
    let options = ReadOptions { client_as: ClientAs::Ip, ..ReadOptions::default() };
    let trace = read(text, &options);
    let expect =
        ["10.0.0.1", "10.0.0.1", "10.0.0.1", "2001:db8::/64", "2001:db8::/64", "10.0.0.1", "host.example", "-"];
    assert_eq!(names(&trace), expect);
    let options = ReadOptions { ipv6_prefix: 128, ..options };
    assert_eq!(names(&read(text, &options))[3..5], ["2001:db8::1", "2001:db8::2"]);
}

#[test]
fn a_leap_second_is_the_next_second() {
    let trace =
        plain("time\n2016-12-31T23:59:59Z\n2016-12-31T23:59:60Z\n2016-12-31T23:59:60.5Z\n2017-01-01T00:00:00Z\n");
    let midnight = 1_483_228_800 * S;
    assert_eq!(trace.at, [midnight - S, midnight, midnight, midnight + S / 2]);
    assert_eq!((trace.facts.bad, trace.facts.reordered), (0, 1));
}

#[test]
fn repeated_and_skipped_local_hours() {
    let options = ReadOptions { timezone: Some("America/New_York".into()), ..ReadOptions::default() };
    // 01:30 happened twice on 3 November 2013, and is the first; 02:30 did not happen on 10 March, and is 03:30.
    let trace =
        read("time\n2013-03-10 02:30:00\n2013-11-03 00:59:59\n2013-11-03 01:30:00\n2013-11-03 02:00:00\n", &options);
    assert_eq!(trace.at, [1_362_900_600, 1_383_454_799, 1_383_456_600, 1_383_462_000].map(|s| s * S));
}

#[test]
fn very_long_lines_are_one_bad_record_each() {
    let long = "x".repeat(17 * 1024 * 1024);
    for (first, line, last) in [
        ("time,client\n1,a\n", format!("2,{long}\n"), "3,c\n"),
        (
            "{\"time\":1,\"client\":\"a\"}\n",
            format!("{{\"time\":2,\"client\":\"{long}\"}}\n"),
            "{\"time\":3,\"client\":\"c\"}\n",
        ),
        (
            "[{\"time\":1,\"client\":\"a\"},\n",
            format!("{{\"time\":2,\"client\":\"{long}\"}},\n"),
            "{\"time\":3,\"client\":\"c\"}]\n",
        ),
    ] {
        let trace = plain([first, &line, last].concat());
        assert_eq!((trace.facts.rows, trace.facts.events, trace.facts.bad), (3, 2, 1), "{first}");
        assert_eq!(names(&trace), ["a", "c"]);
        let bad = bad_notes(&trace);
        assert!(bad[0].contains("a line of more than 16777216 bytes"), "{bad:?}");
    }
}

#[test]
fn a_long_line_within_the_limit_is_read() {
    let name = "x".repeat(3 * 1024 * 1024);
    let trace = plain(format!("time,client\n1,{name}\n2,b\n"));
    assert_eq!((trace.facts.events, trace.names[0].len()), (2, name.len()));
}

#[test]
fn json_strings_hold_any_character_and_invalid_utf8_is_no_json() {
    let trace = plain(b"{\"time\":1,\"client\":\"a\\u0000b\\u00e9\"}\n{\"time\":2,\"client\":\"\xff\"}\n{\"time\":3,\"client\":null}\n");
    assert_eq!(names(&trace), ["a\0bé", ""]);
    assert!(bad_notes(&trace)[0].starts_with("FILE:2:"), "{:?}", trace.facts.notes);
    assert_eq!(trace.facts.bad, 1);
}

#[test]
fn json_errors_point_into_the_record() {
    let trace = plain("{\"time\":1}\n{\"time\":2,}\n{\"time\":-3}\n{\"client\":\"a\"}\n{\"time\":1.5e9}\n");
    let bad = bad_notes(&trace);
    assert!(bad[0].starts_with("FILE:2:11: not a JSON object: trailing comma"), "{bad:?}");
    assert_eq!(bad[1], "FILE:3:9: negative time: expected zero or more, found \"-3\"");
    assert_eq!(bad[2], "FILE:4:1: no field time: expected it in every record");
    assert!(bad[3].starts_with("FILE:5:9: time in scientific notation"), "{bad:?}");
    let trace = plain("[\n {\n  \"time\": 1\n },\n {\n  \"time\": \"noon\"\n }\n]\n");
    assert!(bad_notes(&trace)[0].starts_with("FILE:6:11: not a time"), "{:?}", trace.facts.notes);
}

#[test]
fn json_numbers_keep_their_digits() {
    let trace = plain(
        "{\"ts\":1761019822.315275712,\"cost\":9007199254740993}\n{\"ts\":1761019823,\"cost\":18446744073709551615}\n",
    );
    assert_eq!(trace.at, [1_761_019_822_315_275_712, 1_761_019_823 * S]);
    assert_eq!((trace.cost.get(0), trace.cost.get(1)), (9_007_199_254_740_993, u64::MAX));
}

#[test]
fn json_fields_by_path_and_those_there_are() {
    let text = "{\"at\":{\"time\":1},\"who.name\":\"exact\",\"who\":{\"name\":\"nested\"}}\n";
    let options = ReadOptions { client_column: Some(Column::Name("who.name".into())), ..ReadOptions::default() };
    assert_eq!(names(&read(text, &options)), ["exact"]);
    let options = ReadOptions { client_column: Some(Column::Name("whom".into())), ..ReadOptions::default() };
    let message = common_trace::failure(text, &options);
    assert_eq!(message, "FILE: no column \"whom\" for --client-column; the fields are: who.name, at.time, who.name");
}

#[test]
fn an_ambiguous_unit_is_guessed_alike_and_can_be_said() {
    let text = "time\n0\n1\n60\n";
    let trace = plain(text);
    assert_eq!(trace.at[2], 60 * S);
    assert!(
        trace.facts.notes.iter().any(|n| n.contains("times read as s") && n.contains("--time-unit")),
        "{:?}",
        trace.facts.notes
    );
    let options = ReadOptions { time_unit: Some(TimeUnit::Millis), ..ReadOptions::default() };
    assert_eq!(read(text, &options).at[2], 60_000_000);
}

#[test]
fn a_stray_number_beyond_the_range_is_bad_once_the_unit_is_known() {
    let trace = plain("time,client,cost\n1715501730,a,1\n1715501731,b,2\n1715501732000000,c,3\n1715501733,d,4\n");
    assert_eq!((trace.facts.events, trace.facts.bad), (3, 1));
    assert_eq!(names(&trace), ["a", "b", "d"]);
    assert_eq!((trace.cost.get(2), trace.facts.resolution_ns), (4, S));
    assert!(bad_notes(&trace)[0].contains("1715501732000000"), "{:?}", trace.facts.notes);
}

#[test]
fn resolutions_are_found() {
    for (times, resolution) in
        [("1\n4\n10\n", 3 * S), ("1.5\n2\n", S / 2), ("5\n5\n", 0), ("1.001\n1.003\n1.004\n", S / 1000)]
    {
        assert_eq!(plain(format!("time\n{times}")).facts.resolution_ns, resolution, "{times}");
    }
}
