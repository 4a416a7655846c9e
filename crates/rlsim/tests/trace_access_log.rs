//! Access logs as Apache and nginx write them.

mod common_trace;

use common_trace::{bad_notes, failure, plain, read};
use rlsim::trace::{ClientAs, Column, Costs, ReadOptions, Where};

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

const LINE: &str = r#"198.51.100.1 - - [12/May/2024:08:15:30 +0000] "GET / HTTP/1.1" 200 5 "-" "x""#;

#[test]
fn prefixes_of_syslog_and_containers_are_passed_over() {
    for prefix in [
        "May 12 08:00:00 web1 nginx[312]: ",
        "<190>May 12 08:00:00 web1 nginx[312]: ",
        "<134>1 2026-05-12T08:00:00Z web1 nginx 312 - - ",
        "2026-05-12T08:00:00Z web1 nginx[312]: ",
        "2026-05-12T08:00:00.123456+02:00 web1 nginx: ",
        "web1 | ",
        "web-1  | 2026-05-12T08:00:00.1Z ",
    ] {
        for (inside, client) in [
            (LINE.to_owned(), "198.51.100.1"),
            (format!("www.example.com {LINE}"), "198.51.100.1"),
            (LINE.replace(".1 -", ".1, 10.0.0.1 -"), "198.51.100.1, 10.0.0.1"),
        ] {
            let trace = plain(format!("{prefix}{inside}\n{inside}\n"));
            let facts = &trace.facts;
            assert_eq!((facts.events, facts.format.as_str()), (2, "combined"), "{prefix}{inside}");
            assert_eq!((trace.at[0], trace.names.len()), (START, 1), "{prefix}{inside}");
            assert_eq!(&*trace.names[0], client.as_bytes(), "{prefix}{inside}");
        }
    }
}

#[test]
fn a_word_that_can_be_no_host_makes_a_bad_row() {
    for prefix in [
        "12 May 2024 08:00 ",
        "one two three ",
        "nginx[312] ",
        "2024-05-12T08:00:00Z web1 nginx 312 - - ",
        "key=value ",
        "| ",
    ] {
        let trace = plain(format!("{LINE}\n{prefix}{LINE}\n"));
        assert_eq!((trace.facts.events, trace.facts.bad), (1, 1), "{prefix}: {:?}", trace.facts.notes);
        let bad = bad_notes(&trace);
        assert!(bad[0].starts_with("FILE:2:1: expected host, ident and user before the time"), "{bad:?}");
    }
    // Alone, such lines are of no format.
    let message = failure(format!("one two three {LINE}\n"), &ReadOptions::default());
    assert!(message.contains("format not recognised"), "{message}");
}

#[test]
fn the_first_of_a_list_is_the_client_as_an_address() {
    let line = LINE.replace(".1 -", ".1, 10.0.0.1 -");
    let options = ReadOptions { client_as: ClientAs::Ip, ..ReadOptions::default() };
    for line in [line.clone(), line.replace(", ", ","), format!("www.example.com {line}")] {
        let trace = read(format!("{line}\n{LINE}\n"), &options);
        assert_eq!((trace.names.len(), &*trace.names[0]), (1, &b"198.51.100.1"[..]), "{line}");
    }
}

#[test]
fn the_field_of_the_client_is_said_once_with_an_example() {
    let said = |trace: &rlsim::trace::Trace| -> Vec<String> {
        trace.facts.notes.iter().filter(|note| note.contains("the client is")).cloned().collect()
    };
    let two = format!("{LINE}\n{}\n", LINE.replace(".1 -", ".2 -"));
    assert_eq!(said(&plain(&two)), [r#"the client is the field "host", such as "198.51.100.1""#]);
    let list = LINE.replace(".1 -", ".1, 10.0.0.1 -");
    assert_eq!(
        said(&plain(&list)),
        [
            r#"the client is the field "host", such as "198.51.100.1, 10.0.0.1"; --client-as ip takes the first of a list"#
        ]
    );
    let options = ReadOptions { client_column: Some(Column::from_arg("user")), ..ReadOptions::default() };
    assert_eq!(said(&read(&two, &options)), [""; 0]);
    let elb = r#"2024-05-12T08:15:30Z lb 10.0.0.1:2817 - -1 -1 -1 503 0 0 0 "GET / HTTP/1.1" "-" - -"#;
    assert_eq!(said(&plain(elb)), [r#"the client is the field "client", such as "10.0.0.1""#]);
}

#[test]
fn a_load_balancer_has_an_address_and_times() {
    let good = r#"2024-05-12T08:15:30Z lb 10.0.0.1:2817 10.1.0.1:80 0.1 0.2 0.3 200 200 0 9 "GET / HTTP/1.1" "-" - -"#;
    for (part, other) in [("10.0.0.1:2817", "nginx[312]:"), (" 0.1", " then"), (" 0.3", " -")] {
        let trace = plain(format!("{good}\n{}\n", good.replace(part, other)));
        assert_eq!((trace.facts.events, trace.facts.bad, trace.facts.format.as_str()), (1, 1, "elb"), "{other}");
    }
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
        ("[12/May/2024:08:15:30 +0000] \"GET /\" 200", "FILE:2:1: expected host, ident and user before the time"),
        ("10.0.0.1 - - [32/May/2024:08:15:30 +0000] \"GET /\" 200 1", "FILE:2:15: time with a day that does not exist"),
    ] {
        let trace = plain(format!("{good}\n{line}\n"));
        assert_eq!((trace.facts.events, trace.facts.bad), (1, 1), "{line}");
        let bad = bad_notes(&trace);
        assert!(bad[0].starts_with(message), "{line}: {bad:?}");
    }
}
