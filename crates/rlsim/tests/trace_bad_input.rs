//! What bad input gets: each its own message, with the place, what was found and what was expected.

mod common_trace;

use common_trace::{bad_notes, failure, plain, read, try_read};
use rlsim::error::Error;
use rlsim::trace::{Column, Input, OnError, ReadOptions, TimeColumn, TimeUnit, load};

fn ip() -> Column {
    Column::Name("ip".into())
}

#[test]
fn every_bad_field_has_its_own_message() {
    for (row, message) in [
        (
            "x,a,1",
            "FILE:3:1: not a time: expected one such as 2024-05-12T08:15:30.5Z, 2024-05-12 08:15:30 or 1715501730, found \"x\"",
        ),
        (",a,1", "FILE:3:1: the time is missing"),
        ("-5,a,1", "FILE:3:1: negative time: expected zero or more, found \"-5\""),
        ("1e9,a,1", "FILE:3:1: time in scientific notation: expected plain decimal digits, found \"1e9\""),
        (
            "99999999999999999999,a,1",
            "FILE:3:1: time beyond the range: expected 2554-07-21T23:34:33Z or earlier, found \"99999999999999999999\"",
        ),
        (
            "2024-05-12 08:15:30,a,1",
            "FILE:3:1: a date among numbers: expected a number as in the records before, found \"2024-05-12 08:15:30\"",
        ),
        ("1,a,-1", "FILE:3:5: negative cost: expected zero or more units, found \"-1\""),
        ("1,a,1.5", "FILE:3:5: fractional cost: expected a whole number of units, found \"1.5\""),
        ("1,a,", "FILE:3:5: the cost is missing: expected a whole number of units"),
        ("1,a,-", "FILE:3:5: the cost is missing: expected a whole number of units, found \"-\""),
        ("1,a,much", "FILE:3:5: not a cost: expected a whole number of units, found \"much\""),
        (
            "1,a,18446744073709551616",
            "FILE:3:5: cost beyond the range: expected at most 18446744073709551615, found \"18446744073709551616\"",
        ),
        ("1,a", "FILE:3:1: 2 fields: expected 3 as in the first line, found \"1,a\""),
        ("1,a,1,9", "FILE:3:1: 4 fields: expected 3 as in the first line, found \"1,a,1,9\""),
        ("1,\"a,1", "FILE:3:3: a quote is opened and never closed, found \"\\\"a,1\""),
    ] {
        let text = format!("time,client,cost\n0,a,1\n{row}\n");
        let trace = plain(&text);
        assert_eq!((trace.facts.rows, trace.facts.events, trace.facts.bad), (2, 1, 1), "{row}");
        assert_eq!(bad_notes(&trace), [message], "{row}");

        let fail = ReadOptions { on_error: OnError::Fail, ..ReadOptions::default() };
        let error = failure(&text, &fail);
        assert_eq!(error, format!("{message} (--on-error skip counts such records and goes on)"));
    }
}

#[test]
fn dates_out_of_range_say_which_end() {
    let trace = plain("time\n2024-05-12 08:15:30\n1969-12-31 23:59:59\n9999-01-01 00:00:00\n2023-02-29 00:00:00\n7\n");
    assert_eq!(
        bad_notes(&trace),
        [
            "FILE:3:1: time before 1970: expected 1970-01-01T00:00:00Z or later, found \"1969-12-31 23:59:59\"",
            "FILE:4:1: time beyond the range: expected 2554-07-21T23:34:33Z or earlier, found \"9999-01-01 00:00:00\"",
            "FILE:5:1: time with a day that does not exist, found \"2023-02-29 00:00:00\"",
            "FILE:6:1: a number among dates: expected a date as in the records before, found \"7\"",
        ]
    );
}

#[test]
fn a_time_beyond_the_range_in_the_unit_asked_for() {
    let options = ReadOptions { time_unit: Some(TimeUnit::Seconds), ..ReadOptions::default() };
    let trace = read("time\n18446744073\n18446744074\n", &options);
    assert_eq!((trace.facts.events, trace.facts.bad), (1, 1));
    assert_eq!(
        bad_notes(&trace),
        ["FILE:3:1: time beyond the range: expected 2554-07-21T23:34:33Z or earlier, found \"18446744074\""]
    );
}

/// The unit is known only at the end, and the place is still shown: also of what another thread read.
#[test]
fn a_time_beyond_the_range_in_the_unit_guessed() {
    let mut text = String::from("time,client\n");
    for i in 0..30_000 {
        text.push_str(if i == 3 || i == 29_990 { "99999999999,a\n" } else { "1715501730,a\n" });
    }
    let trace = plain(&text);
    assert_eq!((trace.facts.events, trace.facts.bad), (29_998, 2));
    let reason = "time beyond the range: expected 2554-07-21T23:34:33Z or earlier, found \"99999999999\"";
    assert_eq!(bad_notes(&trace), [format!("FILE:5:1: {reason}"), format!("FILE:29992:1: {reason}")]);
    let fail = ReadOptions { on_error: rlsim::trace::OnError::Fail, ..ReadOptions::default() };
    assert_eq!(failure(&text, &fail), format!("FILE:5:1: {reason} (--time-unit names another unit)"));
}

#[test]
fn equal_names_of_columns_are_said() {
    let trace = plain("time,client,client\n1715501730,a,b\n");
    assert_eq!(*trace.names, [b"a".as_slice().into()]);
    let said = "FILE: several columns are called \"client\": the first counts, the others have only numbers";
    assert!(trace.facts.notes.iter().any(|note| note == said), "{:?}", trace.facts.notes);
}

#[test]
fn one_bad_record_is_no_plural() {
    let trace = plain("time,client\n1,-\nx,a\n");
    for note in ["1 bad record was left out", "1 event has an empty client (nothing or -)"] {
        assert!(trace.facts.notes.iter().any(|found| found == note), "{note}: {:?}", trace.facts.notes);
    }
    assert!(failure("time\nx\n", &ReadOptions::default()).contains("1 record read as csv, of it 1 bad"));
}

#[test]
fn only_the_first_bad_records_are_shown() {
    let trace = plain(format!("time\n1\n{}", "x\n".repeat(20)));
    assert_eq!(trace.facts.bad, 20);
    let bad = bad_notes(&trace);
    assert_eq!(bad.len(), 6);
    assert_eq!(bad[5], "and 15 more");
    assert!(trace.facts.notes.contains(&"20 bad records were left out".to_owned()));
}

#[test]
fn empty_and_unreadable_inputs_say_why() {
    let none = ReadOptions::default();
    assert_eq!(failure("", &none), "FILE: empty: no records at all");
    assert_eq!(failure("\u{feff}", &none), "FILE: empty: no records at all");
    assert_eq!(failure("time,client\n", &none), "FILE: empty: no records at all");
    assert_eq!(failure("\n  \n\n", &none), "FILE: nothing but blank lines: no records at all");
    let message = failure("time,client\nx,a\n\n", &none);
    assert!(
        message.starts_with("FILE: no readable record: 2 records read as csv, of them 1 bad, 1 blank, 0 skipped"),
        "{message}"
    );
    assert!(message.contains("\n  FILE:2:1: not a time"), "{message}");
    let message = failure("hello world\nfoo\n", &none);
    assert!(
        message.starts_with("FILE:1:1: format not recognised, found \"hello world\"; name one with --format: "),
        "{message}"
    );
    assert!(message.contains("csv"), "{message}");
    let utf16 = failure(b"\xff\xfet\0i\0m\0e\0", &none);
    assert!(utf16.contains("UTF-16"), "{utf16}");
}

#[test]
fn unknown_columns_list_those_there_are() {
    let text = "when,who,bytes\n1,a,1\n";
    for (options, option) in [
        (ReadOptions { client_column: Some(ip()), ..ReadOptions::default() }, "--client-column"),
        (ReadOptions { cost_column: Some(ip()), ..ReadOptions::default() }, "--cost-column"),
        (ReadOptions { count_column: Some(ip()), ..ReadOptions::default() }, "--count-column"),
        (ReadOptions { time_column: Some(TimeColumn::One(ip())), ..ReadOptions::default() }, "--time-column"),
    ] {
        assert_eq!(
            failure(text, &options),
            format!("FILE: no column \"ip\" for {option}; the columns are: when, who, bytes")
        );
    }
    let options = ReadOptions { cost_column: Some(Column::Number(4)), ..ReadOptions::default() };
    assert_eq!(
        failure(text, &options),
        "FILE: no column number 4 for --cost-column; the columns are: when, who, bytes"
    );
    assert_eq!(
        failure("a,b\nc,d\n", &ReadOptions::default()),
        "FILE: no column is known to hold the time; the columns are: a, b; name one with --time-column"
    );
}

#[test]
fn paths_that_cannot_be_opened_or_read() {
    let error = load(&[Input::File("no/such/file.csv".into())], &ReadOptions::default()).unwrap_err();
    assert_eq!(error.exit_code(), 1);
    assert!(error.to_string().starts_with("no/such/file.csv: cannot open: "), "{error}");
    let error = load(&[Input::File(".".into())], &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with(".: cannot "), "{error}");
    assert_eq!(load(&[], &ReadOptions::default()).unwrap_err().exit_code(), 2);
}

#[test]
fn limits_have_clear_messages() {
    let options = ReadOptions { max_rows: Some(2), ..ReadOptions::default() };
    assert!(try_read("time\n1\n2\n", &options).is_ok());
    let message = failure("time\n1\n2\n3\n", &options);
    assert_eq!(message, "FILE: more than 2 records, the limit set with --max-rows; raise it, or read fewer files");
    let options = ReadOptions { max_bytes: Some(4), ..ReadOptions::default() };
    let message = failure("time\n1\n", &options);
    assert_eq!(message, "FILE: more than 4 bytes, the limit set with --max-bytes; raise it, or read a smaller file");
}

#[test]
fn wrong_options_are_usage_errors() {
    let options = ReadOptions { format: Some("cvs".into()), ..ReadOptions::default() };
    match try_read("time\n1\n", &options) {
        Err(Error::Usage(message)) => {
            assert!(message.starts_with("unknown --format \"cvs\": expected one of "), "{message}");
        }
        other => panic!("{other:?}"),
    }
    let options = ReadOptions { timezone: Some("Mars/Base".into()), ..ReadOptions::default() };
    assert_eq!(try_read("time\n1\n", &options).unwrap_err().exit_code(), 2);
}

/// A picture, a program, text in UTF-16: said in one line, and nothing of it reaches the terminal.
#[test]
fn binary_data_is_called_so() {
    let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0; 40]].concat();
    let program: Vec<u8> = (0..2_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let utf16: Vec<u8> = "time,client\n1,a\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes in [&png[..], &program, &utf16] {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, bytes).unwrap();
        let input = [Input::File(file.path().to_owned())];
        let Err(Error::Failed(message)) = load(&input, &ReadOptions::default()) else { panic!("{bytes:?} was read") };
        assert!(message.contains("binary data (or text in UTF-16), expected a log as text"), "{message}");
        assert!(!message.chars().any(char::is_control));
    }
}

#[test]
fn names_of_columns_are_shown_escaped_and_not_without_end() {
    let error = failure("a\u{1b}[31m;b;c\n1;2;3\n", &ReadOptions::default());
    assert!(error.contains("the columns are: a\\u{1b}[31m, b, c;"), "{error}");
    let many = (0..500).map(|i| format!("column{i}")).collect::<Vec<_>>().join(",");
    let error = failure(format!("{many}\n"), &ReadOptions::default());
    assert!(error.contains("column39, and 460 more") && !error.contains("column40"), "{error}");
}
