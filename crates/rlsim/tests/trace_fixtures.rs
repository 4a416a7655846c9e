//! One small hand-written trace of every format, and what it gives.

use std::path::{Path, PathBuf};

use rlsim::trace::{Column, Input, ReadOptions, TimeColumn, TimeIs, Trace, load};

const S: u64 = 1_000_000_000;
/// 2024-05-12T08:15:30Z, which all but the relative fixtures begin near.
const START: u64 = 1_715_501_730 * S;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces")
}

fn read(name: &str, options: &ReadOptions) -> Trace {
    let trace = load(&[Input::File(folder().join(name))], options).unwrap_or_else(|e| panic!("{e}"));
    let facts = &trace.facts;
    assert_eq!(facts.rows, facts.events + facts.bad + facts.blank + facts.skipped, "{name}");
    trace
}

/// What a fixture gives: format, records (all, events, bad, blank, skipped), nanoseconds from the start, clients in order.
type Expect = (&'static str, &'static str, [u64; 5], &'static [u64], &'static [&'static str]);

/// Those that need no option.
const FIXTURES: &[Expect] = &[
    ("plain.csv", "csv", [6, 3, 1, 1, 1], &[0, S / 2, S], &["alice", "bob, the \"builder\"", "alice"]),
    ("header.tsv", "tsv", [3, 2, 1, 0, 0], &[0, S], &["10.0.0.1", "10.0.0.2"]),
    ("common.log", "common", [3, 3, 0, 0, 0], &[0, S, S], &["10.0.0.1", "10.0.0.2", "2001:db8::7"]),
    ("w3c-iis.log", "w3c", [9, 3, 1, 0, 5], &[0, S, 2 * S], &["10.0.0.1", "10.0.0.2", "10.0.0.1"]),
    ("w3c-cloudfront.log", "w3c", [4, 2, 0, 0, 2], &[0, S], &["10.0.0.1", "2001:db8::1"]),
    ("alb.log", "alb", [2, 2, 0, 0, 0], &[463_821_000, S + 1_000], &["10.0.0.1", "[2001:db8::1]"]),
    ("elb.log", "elb", [2, 2, 0, 0, 0], &[945_958_000, S + 45_958_000], &["10.0.0.1", "10.0.0.2"]),
    ("s3.log", "s3", [2, 2, 0, 0, 0], &[0, S], &["10.0.0.1", "10.0.0.2"]),
    ("haproxy.log", "haproxy", [4, 2, 0, 0, 2], &[143_000_000, S + 250_000_000], &["10.0.0.1", "10.0.0.2"]),
    ("nginx-error.log", "nginx-error", [3, 2, 0, 0, 1], &[0, S], &["10.0.0.1", "::1"]),
    ("lines.jsonl", "json", [5, 2, 2, 1, 0], &[S / 4, S], &["10.0.0.1", "10.0.0.2"]),
    ("array.json", "json", [2, 2, 0, 0, 0], &[0, S], &["a", "b"]),
    ("page.har", "har", [2, 2, 0, 0, 0], &[S / 4, 300_000_000], &["", ""]),
    ("caddy-compose.log", "caddy", [3, 2, 0, 0, 1], &[615_395_300, S + 615_395_300], &["10.0.0.1", "10.0.0.2"]),
    ("traefik.jsonl", "traefik", [2, 2, 0, 0, 0], &[250_000_001, S], &["10.0.0.1", "10.0.0.2"]),
    ("envoy-cri.log", "envoy", [2, 2, 0, 0, 0], &[S / 10, S / 5], &["10.0.0.1", "[2001:db8::1]"]),
    ("cloudflare.jsonl", "cloudflare", [2, 2, 0, 0, 0], &[S / 4, S + 1], &["10.0.0.1", "2001:db8::1"]),
    ("azure-gateway.jsonl", "azure-gateway", [2, 1, 0, 0, 1], &[0], &["10.0.0.1"]),
    ("k6.csv", "csv", [4, 2, 0, 0, 2], &[0, S], &["", ""]),
    ("k6.json", "k6-json", [4, 2, 0, 0, 2], &[123_456_789, S], &["", ""]),
    ("vegeta.csv", "csv", [2, 2, 0, 0, 0], &[S / 4, S + S / 4], &["", ""]),
    ("vegeta.jsonl", "vegeta-json", [2, 2, 0, 0, 0], &[S / 4, S], &["", ""]),
    ("dated.log", "text", [4, 3, 1, 0, 0], &[672_000_000, S, 2 * S], &["", "", ""]),
    ("docker-json-file.log", "common", [2, 2, 0, 0, 0], &[0, S], &["10.0.0.1", "10.0.0.2"]),
];

fn found(trace: &Trace, start: u64) -> (String, [u64; 5], Vec<u64>, Vec<String>) {
    let facts = &trace.facts;
    (
        facts.format.clone(),
        [facts.rows, facts.events, facts.bad, facts.blank, facts.skipped],
        trace.at.iter().map(|at| at.wrapping_sub(start)).collect(),
        trace.client.iter().map(|&c| String::from_utf8_lossy(&trace.names[c as usize]).into_owned()).collect(),
    )
}

fn expected(
    format: &str,
    records: [u64; 5],
    at: &[u64],
    clients: &[&str],
) -> (String, [u64; 5], Vec<u64>, Vec<String>) {
    (format.to_owned(), records, at.to_vec(), clients.iter().map(|&c| c.to_owned()).collect())
}

#[test]
fn every_fixture_gives_what_is_written_here() {
    for &(name, format, records, at, clients) in FIXTURES {
        let trace = read(name, &ReadOptions::default());
        assert_eq!(found(&trace, START), expected(format, records, at, clients), "{name}: {:?}", trace.facts.notes);
    }
}

#[test]
fn out_of_order_fixtures_are_sorted() {
    let trace = read("combined.log", &ReadOptions::default());
    let clients = ["10.0.0.2", "10.0.0.1", "10.0.0.1"];
    assert_eq!(found(&trace, START - S), expected("combined", [4, 3, 1, 0, 0], &[0, S, 2 * S], &clients));
    assert_eq!((trace.facts.reordered, trace.facts.largest_step_back_ns), (1, S));
    let trace = read("cloudtrail.json", &ReadOptions::default());
    let clients = ["AWS Internal", "10.0.0.1"];
    assert_eq!(found(&trace, START - S), expected("cloudtrail", [2, 2, 0, 0, 0], &[0, S], &clients));
    let trace = read("jmeter.jtl", &ReadOptions::default());
    assert_eq!(found(&trace, START), expected("csv", [2, 2, 0, 0, 0], &[S / 5, S / 4], &["", ""]));
}

#[test]
fn relative_fixtures_begin_near_zero() {
    for (name, at) in [("hey.csv", [2_100_000, 252_500_000]), ("oha.csv", [2_120_000, 252_500_000])] {
        assert_eq!(
            found(&read(name, &ReadOptions::default()), 0),
            expected("csv", [2, 2, 0, 0, 0], &at, &["", ""]),
            "{name}"
        );
    }
    let options = ReadOptions {
        time_column: Some(TimeColumn::One(Column::Number(2))),
        client_column: Some(Column::Number(1)),
        cost_column: Some(Column::Number(4)),
        ..ReadOptions::default()
    };
    let trace = read("no-header.tsv", &options);
    assert_eq!(found(&trace, 0), expected("tsv", [2, 2, 0, 0, 0], &[49 * S, 101 * S], &["job0", "job1"]));
    assert_eq!((trace.cost.get(0), trace.cost.get(1)), (740_773, 9_838_062_000));
}

#[test]
fn date_and_time_in_two_columns() {
    let options = ReadOptions {
        time_column: Some(TimeColumn::DateAndTime(Column::Name("Datum".into()), Column::Name("Zeit".into()))),
        client_column: Some(Column::Name("Kunde".into())),
        ..ReadOptions::default()
    };
    let trace = read("semicolon.csv", &options);
    assert_eq!(found(&trace, START), expected("semicolon", [2, 2, 0, 0, 0], &[0, S + S / 4], &["a", "b"]));
}

#[test]
fn a_log_format_text() {
    let options = ReadOptions {
        log_format: Some("$remote_addr|$msec|$request_time|$status|$request".into()),
        ..ReadOptions::default()
    };
    let trace = read("nginx-timed.log", &options);
    let clients = ["10.0.0.1", "10.0.0.2"];
    assert_eq!(found(&trace, START), expected("log-format", [3, 2, 1, 0, 0], &[S / 4, S], &clients));
    let options = ReadOptions { time_is: TimeIs::End, ..options };
    assert_eq!(found(&read("nginx-timed.log", &options), START).2, [0, S - 1_000_000]);
}

/// The duration that each format knows moves an end to its start.
#[test]
fn ends_become_starts_where_the_format_knows_the_duration() {
    for (name, first) in [
        ("w3c-iis.log", "--time-is end needs the duration"),
        ("w3c-cloudfront.log", "-250000000"),
        ("alb.log", "213821000 after"),
        ("elb.log", "944910000 after"),
        ("haproxy.log", "-3757000000"),
        ("caddy-compose.log", "365395300 after"),
        ("traefik.jsonl", "1 after"),
        ("envoy-cri.log", "93000000 after"),
        ("azure-gateway.jsonl", "-250000000"),
        ("vegeta.jsonl", "0 after"),
        ("page.har", "237500000 after"),
    ] {
        let options = ReadOptions { time_is: TimeIs::End, ..ReadOptions::default() };
        let result = load(&[Input::File(folder().join(name))], &options);
        let text = match result {
            Ok(trace) if trace.at[0] >= START => format!("{} after", trace.at[0] - START),
            Ok(trace) => format!("-{}", START - trace.at[0]),
            Err(error) => error.to_string(),
        };
        assert!(text.contains(first), "{name}: {text}");
    }
}

/// The format that is found is also the one that can be forced.
#[test]
fn every_format_can_be_forced_by_its_name() {
    for &(name, format, records, at, clients) in FIXTURES {
        let options = ReadOptions { format: Some(format.to_uppercase()), ..ReadOptions::default() };
        assert_eq!(found(&read(name, &options), START), expected(format, records, at, clients), "{name}");
    }
}

/// A pipe cannot seek and gives its bytes in pieces of its own size.
#[cfg(unix)]
#[test]
fn every_fixture_is_read_from_a_pipe() {
    let temporary = tempfile::tempdir().unwrap();
    for &(name, format, records, at, clients) in FIXTURES {
        let pipe = temporary.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let bytes = std::fs::read(folder().join(name)).unwrap();
        let writer = std::thread::spawn({
            let pipe = pipe.clone();
            move || {
                use std::io::Write as _;
                let mut file = std::fs::OpenOptions::new().write(true).open(pipe).unwrap();
                for piece in bytes.chunks(7) {
                    file.write_all(piece).unwrap();
                }
            }
        });
        let trace = load(&[Input::File(pipe)], &ReadOptions::default()).unwrap();
        writer.join().unwrap();
        assert_eq!(found(&trace, START), expected(format, records, at, clients), "{name}");
    }
}
