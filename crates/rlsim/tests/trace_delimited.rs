//! CSV, TSV and semicolons as they occur.

mod common_trace;

use common_trace::{bad_notes, plain, read};
use rlsim::trace::{Column, Costs, ReadOptions, TimeColumn, TimeIs, TimeUnit, Trace, Where};

const S: u64 = 1_000_000_000;

fn names(trace: &Trace) -> Vec<&str> {
    trace.client.iter().map(|&c| std::str::from_utf8(&trace.names[c as usize]).unwrap()).collect()
}

fn time_in(column: &str) -> TimeColumn {
    TimeColumn::One(Column::from_arg(column))
}

fn has_note(trace: &Trace, part: &str) -> bool {
    trace.facts.notes.iter().any(|note| note.contains(part))
}

#[test]
fn the_delimiter_and_the_columns_are_found() {
    for (text, format) in [
        ("time,client,cost\n1,a,2\n2,b,1\n", "csv"),
        ("client\ttime\tcost\na\t1\t2\nb\t2\t1\n", "tsv"),
        ("cost;time;client\n2;1;a\n1;2;b\n", "semicolon"),
        ("\u{feff}time,client,cost\r\n1,a,2\r\n2,b,1", "csv"),
        ("time,client,cost\r1,a,2\r2,b,1\r", "csv"),
        ("# rlsim generate --seed 7\ntime,client,cost\n1,a,2\n2,b,1\n", "csv"),
        ("\"time\",\"client\",\"cost\"\n\"1\",\"a\",\"2\"\n\"2\",\"b\",\"1\"\n", "csv"),
        ("time,client,cost\n1,a,2,\n2,b,1,\n", "csv"),
    ] {
        let trace = plain(text);
        assert_eq!(trace.facts.format, format, "{text}");
        assert_eq!(trace.at, [S, 2 * S], "{text}");
        assert_eq!(names(&trace), ["a", "b"], "{text}");
        assert_eq!(trace.cost, Costs::Each(vec![2, 1]), "{text}");
        assert_eq!(trace.facts.bad, 0, "{text}");
    }
}

#[test]
fn comments_blank_lines_and_the_header_are_counted_apart() {
    let trace = plain("# made by hand\n\ntime,client\n1,a\n  \n# more\n2,b\nx,c\n");
    let facts = &trace.facts;
    assert_eq!((facts.rows, facts.events, facts.bad, facts.blank, facts.skipped), (7, 2, 1, 2, 2));
}

#[test]
fn no_client_column_is_one_global_client_and_said() {
    let trace = plain("time\n1\n2\n");
    assert_eq!((trace.names.len(), trace.names[0].len()), (1, 0));
    assert!(has_note(&trace, "no client column: all requests count as one global client"));
    assert_eq!(trace.cost, Costs::Unit);
}

#[test]
fn clients_are_opaque_bytes_and_empty_ones_are_said() {
    let trace = plain(b"time,client\n1,\xff\xfe\n2,\n3,-\n4,a b\n5,\xff\xfe\n6,x\0y\n");
    assert_eq!(trace.facts.bad, 0);
    let expect: [&[u8]; 5] = [b"\xff\xfe", b"", b"-", b"a b", b"x\0y"];
    assert_eq!(trace.names.iter().map(|n| &**n).collect::<Vec<_>>(), expect);
    assert_eq!(trace.client, [0, 1, 2, 3, 0, 4]);
    assert!(has_note(&trace, "2 events have an empty client"));
}

#[test]
fn columns_by_number_with_and_without_a_header() {
    let options = ReadOptions {
        time_column: Some(time_in("2")),
        client_column: Some(Column::Number(1)),
        cost_column: Some(Column::Number(3)),
        ..ReadOptions::default()
    };
    for (text, rows) in [("a,1,5\nb,2,6\n", 2), ("who,when,size\na,1,5\nb,2,6\n", 2)] {
        let trace = read(text, &options);
        assert_eq!((trace.facts.rows, trace.facts.bad), (rows, 0), "{text}");
        assert_eq!((names(&trace), &trace.cost), (vec!["a", "b"], &Costs::Each(vec![5, 6])), "{text}");
    }
}

#[test]
fn without_a_header_a_single_column_of_dates_is_the_time() {
    let trace = plain("a,2024-05-12 08:15:30,7\nb,2024-05-12 08:15:31,9\n");
    assert_eq!(trace.facts.events, 2);
    assert!(has_note(&trace, "no header; the time is column 2"));
}

#[test]
fn a_duplicate_header_means_its_first_column() {
    let trace = plain("time,client,time,client\n1,a,9,x\n2,b,9,x\n");
    assert_eq!((trace.at.clone(), names(&trace)), (vec![S, 2 * S], vec!["a", "b"]));
}

#[test]
fn date_and_time_in_two_columns() {
    for time_column in [
        TimeColumn::DateAndTime(Column::Name("date".into()), Column::Name("clock".into())),
        TimeColumn::DateAndTime(Column::Number(1), Column::Number(2)),
    ] {
        let options = ReadOptions { time_column: Some(time_column), ..ReadOptions::default() };
        let trace = read("date,clock,client\n2024-05-12,08:15:30.5,a\n", &options);
        assert_eq!(trace.at, [1_715_501_730 * S + S / 2]);
    }
}

#[test]
fn a_count_makes_one_event_of_that_cost() {
    let trace = plain("time,count\n1,3\n2,1\n");
    assert_eq!((trace.facts.events, &trace.cost), (2, &Costs::Each(vec![3, 1])));
    let trace = plain("time,count,cost\n1,3,5\n2,1,4\n");
    assert_eq!(trace.cost, Costs::Each(vec![15, 4]));
    let trace = plain("time,count,cost\n1,2,18446744073709551615\n2,1,1\n");
    assert_eq!(trace.facts.bad, 1);
}

#[test]
fn costs_after_many_unit_costs_keep_their_places() {
    let trace = plain("time,cost\n3,1\n1,1\n2,7\n4,1\n");
    assert_eq!(trace.cost, Costs::Each(vec![1, 7, 1, 1]));
}

#[test]
fn filters_pass_records_over() {
    let text = "metric,time,client\nreq,1,a\ndur,1,a\nreq,2,b\n";
    for (keep_equal, events) in [(true, 2), (false, 1)] {
        let filter = Where { column: Column::Name("metric".into()), value: b"req".to_vec(), keep_equal };
        let trace = read(text, &ReadOptions { filters: vec![filter], ..ReadOptions::default() });
        assert_eq!((trace.facts.events, trace.facts.skipped, trace.facts.rows), (events, 3 - events, 3));
    }
}

#[test]
fn quoted_fields_hold_delimiters_quotes_and_line_ends() {
    let trace = plain("time,client\n1,\"a,b\"\n2,\"say \"\"hi\"\"\"\n3,\"two\r\nlines\"\r\nx,bad\r\n4,\"end\"");
    assert_eq!(names(&trace), ["a,b", "say \"hi\"", "two\r\nlines", "end"]);
    // The bad row stands in line 6, because the row before takes two lines.
    assert!(bad_notes(&trace)[0].starts_with("FILE:6:1: "), "{:?}", trace.facts.notes);
}

#[test]
fn columns_of_errors_are_places_in_the_line() {
    let trace = plain("client,time,cost\n\"a,b\",1,1\n\"a,b\",2,-1\n");
    assert!(bad_notes(&trace)[0].starts_with("FILE:3:9: negative cost"), "{:?}", trace.facts.notes);
}

#[test]
fn an_unclosed_quote_costs_one_row() {
    let trace = plain("time,client\n1,a\n2,\"b\n3,c\n4,d\n");
    assert_eq!((trace.facts.events, trace.facts.bad), (3, 1));
    assert_eq!(names(&trace), ["a", "c", "d"]);
}

#[test]
fn units_are_guessed_over_the_column_and_said() {
    for (times, unit, first) in [
        ("1715501730\n1715501731\n", "s", 1_715_501_730 * S),
        ("1715501730250\n1715501731250\n", "ms", 1_715_501_730_250_000_000),
        ("1715501730250.5\n1715501731250\n", "ms", 1_715_501_730_250_500_000),
        ("1715501730250001\n1715501731250000\n", "us", 1_715_501_730_250_001_000),
        ("1715501730250001002\n1715501731250000000\n", "ns", 1_715_501_730_250_001_002),
        ("0\n0.5\n3\n", "s", 0),
        ("0\n3000\n", "ms", 0),
        ("1761019822.3152757\n1761019823\n", "s", 1_761_019_822_315_275_700),
    ] {
        let trace = plain(format!("time\n{times}"));
        assert_eq!(trace.at[0], first, "{times}");
        assert!(has_note(&trace, &format!("times read as {unit}: ")), "{times}: {:?}", trace.facts.notes);
    }
}

#[test]
fn a_unit_in_the_name_or_in_an_option_is_no_guess() {
    let trace = plain("at_ns,client\n5,a\n7,b\n");
    assert_eq!(trace.at, [5, 7]);
    assert!(!has_note(&trace, "times read as"));
    let options = ReadOptions { time_unit: Some(TimeUnit::Micros), ..ReadOptions::default() };
    assert_eq!(read("time\n5.25\n7\n", &options).at, [5_250, 7_000]);
}

#[test]
fn zero_to_nine_fraction_digits_mixed_in_one_column() {
    let trace = plain("time\n1\n1.5\n1.25\n1.000000001\n1.123456789\n");
    assert_eq!(trace.at, [S, S + 1, 1_123_456_789, 1_250_000_000, 1_500_000_000]);
    let trace = plain("time\n2024-05-12T08:15:30Z\n2024-05-12T08:15:30.5Z\n2024-05-12T08:15:30.000000001Z\n");
    let base = 1_715_501_730 * S;
    assert_eq!(trace.at, [base, base + 1, base + S / 2]);
}

#[test]
fn offsets_are_honoured_and_a_time_without_one_is_utc_or_the_zone_asked_for() {
    let text = "time\n2024-05-12T08:15:30\n2024-05-12T11:45:30+0330\n2024-05-12T10:15:30+02:00\n2024-05-12T08:15:30Z\n";
    assert_eq!(plain(text).at, [1_715_501_730 * S; 4]);
    let options = ReadOptions { timezone: Some("Europe/Berlin".into()), ..ReadOptions::default() };
    let trace = read(text, &options);
    assert_eq!(trace.at[0], (1_715_501_730 - 7_200) * S);
    assert_eq!(trace.at[1..], [1_715_501_730 * S; 3]);
}

#[test]
fn an_end_minus_its_duration_is_a_start() {
    let text = "time,client,elapsed\n1715501730500,a,500\n1715501730600,b,0.25\n";
    let options = ReadOptions {
        time_is: TimeIs::End,
        duration_column: Some(Column::Name("elapsed".into())),
        ..ReadOptions::default()
    };
    assert_eq!(read(text, &options).at, [1_715_501_730 * S, 1_715_501_730_599_750_000]);
    let options = ReadOptions { duration_unit: Some(TimeUnit::Micros), ..options };
    assert_eq!(read(text, &options).at[0], 1_715_501_730_499_500_000);
    let missing = ReadOptions { time_is: TimeIs::End, ..ReadOptions::default() };
    let message = common_trace::failure(text, &missing);
    assert!(message.contains("--time-is end needs the duration"), "{message}");
}

#[test]
fn sorting_is_stable_and_reported() {
    let trace = plain("time,client\n5,a\n1,b\n5,c\n1,d\n6,e\n");
    assert_eq!(names(&trace), ["b", "d", "a", "c", "e"]);
    assert_eq!((trace.facts.reordered, trace.facts.largest_step_back_ns), (2, 4 * S));
    assert_eq!(trace.facts.resolution_ns, S);
}

#[test]
fn shuffled_input_gives_the_same_events() {
    let rows: Vec<String> =
        (0..500_u64).map(|i| format!("{}.{:03},c{},{}\n", i / 3, i * 7 % 1000, i, i % 5 + 1)).collect();
    let in_order = plain(format!("time,client,cost\n{}", rows.concat()));
    // 503 is a prime, so its multiples visit every row in a scattered order.
    let scattered: String = (0..503).map(|i| i * 101 % 503).filter_map(|i| rows.get(i)).cloned().collect();
    let shuffled = plain(format!("time,client,cost\n{scattered}"));
    let events = |t: &Trace| {
        let mut all: Vec<_> =
            (0..t.at.len()).map(|i| (t.at[i], t.names[t.client[i] as usize].clone(), t.cost.get(i))).collect();
        all.sort();
        all
    };
    assert_eq!(events(&in_order), events(&shuffled));
    assert_eq!(in_order.at, shuffled.at);
}
