//! Access logs as Apache and nginx write them.

mod common_trace;

use common_trace::{bad_notes, plain, read};
use rlsim::trace::{Column, Costs, ReadOptions, Where};

const START: u64 = 1_715_501_730_000_000_000;

#[test]
fn every_shape_of_line_gives_time_and_client() {
    for (line, format) in [
        (r#"10.0.0.1 - - [12/May/2024:08:15:30 +0000] "GET / HTTP/1.1" 200 512"#, "common"),
        (r#"10.0.0.1 - - [12/May/2024:10:15:30 +0200] "GET / HTTP/1.1" 200 512 "-" "curl/8""#, "combined"),
        (r#"10.0.0.1 - - [12/May/2024:08:15:30 +0000] "-" 408 - "-" "-" 17 0.25 extra"#, "combined"),
        (
            r#"www.example.com:443 10.0.0.1 - alice [12/May/2024:08:15:30 +0000] "GET / HTTP/1.1" 200 5 "-" "x""#,
            "combined",
        ),
        (r#"10.0.0.1 - john smith jr [12/May/2024:08:15:30 +0000] "GET / HTTP/1.1" 200 5 "-" "x""#, "combined"),
        (r#"10.0.0.1 [12/May/2024:08:15:30 +0000] "GET / HTTP/1.1" 200 5"#, "common"),
        (r#"10.0.0.1 - - [12/May/2024:08:15:30] "GET / HTTP/1.1" 200 5"#, "common"),
        (r#"10.0.0.1 - - [12/May/2024:08:15:30 +0000] "GET /a\"b] [c HTTP/1.1" 200 5 "-" "an \"agent\"""#, "combined"),
        (r#"10.0.0.1 - - [12/May/2024:08:15:30 +0000] "GET / HTTP/1.1" 200 5 "-" "cut agen"#, "combined"),
    ] {
        let trace = plain(format!("{line}\n"));
        assert_eq!((trace.facts.events, trace.facts.format.as_str()), (1, format), "{line}");
        assert_eq!((trace.at[0], &*trace.names[0]), (START, &b"10.0.0.1"[..]), "{line}");
    }
}

#[test]
fn fields_by_name_and_by_number() {
    let text = concat!(
        r#"www.example.com 10.0.0.1 - alice [12/May/2024:08:15:30 +0000] "GET / HTTP/1.1" 200 512 "-" "curl/8" 0.25"#,
        "\n",
        r#"www.example.com 10.0.0.2 - bob b [12/May/2024:08:15:31 +0000] "POST / HTTP/1.1" 429 - "-" "curl/8" 0.25"#,
        "\n"
    );
    let client = |name: &str| {
        let options = ReadOptions { client_column: Some(Column::from_arg(name)), ..ReadOptions::default() };
        let names = read(text, &options).names;
        names.iter().map(|n| String::from_utf8_lossy(n).into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(client("user"), ["alice", "bob b"]);
    assert_eq!(client("request"), ["GET / HTTP/1.1", "POST / HTTP/1.1"]);
    assert_eq!(client("vhost"), ["www.example.com"]);
    assert_eq!(client("11"), ["0.25"]);
    let options = ReadOptions { cost_column: Some(Column::Name("bytes".into())), ..ReadOptions::default() };
    assert_eq!(read(text, &options).cost, Costs::Each(vec![512, 0]));
    let served = Where { column: Column::Name("status".into()), value: b"429".to_vec(), keep_equal: false };
    let options = ReadOptions { filters: vec![served], ..ReadOptions::default() };
    let facts = read(text, &options).facts;
    assert_eq!((facts.events, facts.skipped), (1, 1));
}

#[test]
fn lines_that_are_none_say_what_is_missing() {
    let good = r#"10.0.0.1 - - [12/May/2024:08:15:30 +0000] "GET / HTTP/1.1" 200 5 "-" "x""#;
    for (line, message) in [
        (r#" "curl/7.54.0""#, "FILE:2:1: expected an access log line: host ident user [time] \"request\" status bytes"),
        ("10.0.0.1 - - [12/May/2024:08:15:30 +0000", "FILE:2:14: expected a ] after the time"),
        ("10.0.0.1 - - [12/May/2024:08:15:30 +0000] GET", "FILE:2:43: expected a quoted request after the time"),
        ("10.0.0.1 - - [12/May/2024:08:15:30 +0000] \"GET /", "FILE:2:43: a quote is opened and never closed"),
        ("10.0.0.1 - - [12/May/2024:08:15:30 +0000] \"GET /\"", "FILE:2:50: expected a status code after the request"),
        (
            "10.0.0.1 - - [12/May/2024:08:15:30 +0000] \"GET /\" ok",
            "FILE:2:51: expected a status code after the request",
        ),
        ("[12/May/2024:08:15:30 +0000] \"GET /\" 200", "FILE:2:1: expected a host before the time"),
        ("10.0.0.1 - - [32/May/2024:08:15:30 +0000] \"GET /\" 200 1", "FILE:2:15: time with a day that does not exist"),
    ] {
        let trace = plain(format!("{good}\n{line}\n"));
        assert_eq!((trace.facts.events, trace.facts.bad), (1, 1), "{line}");
        let bad = bad_notes(&trace);
        assert!(bad[0].starts_with(message), "{line}: {bad:?}");
    }
}
