//! The playground's numbers are those of `rlsim compare`, and it takes no more than it says.

use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::http::{Answer, get, request};
use crate::server::Running;

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn compare(server: &Running, generate: &str, limit: &str) -> Answer {
    get(server.address, &format!("/api/compare?generate={}&limit={}", encoded(generate), encoded(limit)))
}

fn rlsim(words: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_rlsim")).args(words).output().expect("rlsim runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn the_numbers_are_those_of_the_command_line() {
    let server = Running::tutorial();
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace.csv");
    for generate in ["poisson --rate 20/s --duration 60s --clients 5 --seed 42", "edge-burst --duration 120s --seed 7"]
    {
        let words: Vec<&str> = std::iter::once("generate").chain(generate.split(' ')).collect();
        std::fs::write(&trace, rlsim(&words)).expect("written");
        let path = trace.to_str().expect("UTF-8");
        let told: Value =
            serde_json::from_slice(&rlsim(&["compare", "--trace", path, "--limit", "100/1m", "--export", "-"]))
                .expect("JSON");
        let answer = compare(&server, generate, "100/1m").json();
        assert_eq!(answer["report"]["policies"], told["policies"], "{generate}");
        assert!(answer["svg"].as_str().expect("a chart").starts_with("<svg"), "{generate}");
        // The same trace uploaded gives the same again.
        let body = std::fs::read(&trace).expect("the trace");
        let uploaded = request(server.address, "POST", "/api/compare?limit=100/1m", &[], &body).json();
        assert_eq!(uploaded["report"]["policies"], told["policies"], "{generate}");
    }
}

#[test]
fn algorithms_can_be_left_out() {
    let server = Running::tutorial();
    let path = "/api/compare?generate=edge-burst&algorithms=token-bucket,fixed-window";
    let policies = get(server.address, path).json()["report"]["policies"].take();
    let names: Vec<_> = policies.as_array().expect("policies").iter().map(|policy| policy["name"].clone()).collect();
    assert_eq!(names, ["fixed-window", "token-bucket"]);
    for nonsense in ["nonsense,token-bucket", "token-bucket,", ",", "Token-Bucket"] {
        let path = format!("/api/compare?generate=edge-burst&algorithms={nonsense}");
        assert_eq!(get(server.address, &path).status, 400, "{nonsense}");
    }
}

/// A million bytes of column names: in time that grows with their square, they would take minutes.
#[test]
fn a_wide_table_holds_the_playground_up_no_longer_than_another() {
    let server = Running::tutorial();
    let names: Vec<String> = (0..110_000).map(|i| format!("c{i}")).collect();
    let start = Instant::now();
    for body in [format!("time,{}\n1\n", names.join(",")), format!("{}\n", names.join(","))] {
        assert_eq!(request(server.address, "POST", "/api/compare", &[], body.as_bytes()).status, 422);
    }
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}

#[test]
fn what_is_too_much_or_not_understood_is_refused() {
    let server = Running::tutorial();
    for (generate, limit) in [
        ("", "100/1m"),
        ("nonsense<script>", "100/1m"),
        ("poisson --rate", "100/1m"),
        (&"x".repeat(301), "100/1m"),
        ("edge-burst", "0/1m"),
        ("edge-burst", "<script>"),
    ] {
        let answer = compare(&server, generate, limit);
        assert_eq!(answer.status, 400, "{generate} {limit}");
        assert!(!answer.text().contains("script"), "{}", answer.text());
    }
    // A billion requests are cut to the most rows.
    let answer = compare(&server, "constant --rate 1000000/s --duration 1000s", "100/1m").json();
    assert_eq!(answer["report"]["meta"]["trace"]["events"], 200_000);
    let large = vec![b'1'; 1024 * 1024 + 1];
    assert_eq!(request(server.address, "POST", "/api/compare", &[], &large).status, 413);
    let nothing = request(server.address, "POST", "/api/compare", &[], b"\0\0\0");
    assert_eq!(nothing.status, 422);
    assert!(!nothing.text().contains("/tmp"), "{}", nothing.text());
}

/// A connection that keeps the playground busy: the next request of its pattern is centuries of searching away.
fn search(server: &Running) -> TcpStream {
    let pattern = encoded("ramp --rate 1/366d --to 1000000000000000/s --duration 200000d");
    let head = format!("GET /api/compare?generate={pattern} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    let begin = || {
        let mut stream = TcpStream::connect(server.address).expect("a connection");
        stream.write_all(head.as_bytes()).expect("sent");
        stream.set_nonblocking(true).expect("a socket");
        stream
    };
    let mut searching = begin();
    until("busy", || {
        // An answer means that the question below was there first.
        if searching.peek(&mut [0]).is_ok() {
            searching = begin();
        }
        compare(server, "constant", "100/1m").status == 503
    });
    searching
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !done() {
        assert!(Instant::now() < deadline, "never {what}");
        std::thread::yield_now();
    }
}

#[test]
fn a_run_is_refused_while_another_goes_on_and_ends_when_nobody_waits_for_it() {
    let server = Running::tutorial();
    let searching = search(&server);
    let small = || compare(&server, "constant --rate 1/s", "100/1m");
    let refused = small();
    assert_eq!(refused.status, 503);
    assert_eq!(refused.field("retry-after"), "1");
    assert!(refused.json()["error"].as_str().expect("a reason").contains("another comparison"));
    drop(searching);
    until("free", || small().status == 200);
}

/// A late start is computed, not walked to, and the server ends whatever its playground was asked.
#[test]
fn patterns_that_would_take_centuries_hold_nothing_up() {
    let mut server = Running::tutorial();
    for pattern in [
        "cron --burst 18446744073709551615 --start 30m",
        "edge-burst --rate 1000000000000000/m --start 121s --duration 1s",
    ] {
        let answer = compare(&server, pattern, "100/1m");
        assert_eq!(answer.status, 422, "{pattern}");
        assert!(answer.text().contains("no request of this pattern"), "{}", answer.text());
    }
    let late = compare(&server, "edge-burst --rate 1000000000000000/m --start 121s", "100/1m");
    assert_eq!(late.json()["report"]["meta"]["trace"]["events"], 200_000);
    drop(search(&server));
    server.stop();
}

#[test]
fn pages_of_other_sites_are_refused() {
    let server = Running::tutorial();
    let path = "/api/compare?generate=constant";
    for (site, status) in [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)] {
        let answer = request(server.address, "GET", path, &[("Sec-Fetch-Site", site)], b"");
        assert_eq!(answer.status, status, "{site}");
    }
}

#[test]
fn what_was_sent_does_not_come_back() {
    let server = Running::tutorial();
    let text = "<script>alert(1)</script>";
    for generate in [
        format!("poisson --add {text}"),
        format!("poisson --prefix {text}"),
        format!("{text} --rate 1/s"),
        format!("poisson --rate {text}"),
        format!("adversary --against {text}"),
    ] {
        let answer = compare(&server, &generate, "100/1m");
        assert_eq!(answer.status, 400, "{generate}");
        assert!(!answer.text().contains("alert"), "{}", answer.text());
    }
    for query in ["limit", "burst", "algorithms"] {
        let answer = get(server.address, &format!("/api/compare?generate=constant&{query}={}", encoded(text)));
        assert_eq!(answer.status, 400, "{query}");
        assert!(!answer.text().contains("alert"), "{}", answer.text());
    }
    for (body, status) in [
        (format!("time,client\n{text},a\n"), 422),
        (format!("{text},client\n1,a\n"), 422),
        (format!("{{\"{text}\":\"{text}\"}}\n"), 422),
        (format!("{{\"time\":\"{text}\"}}\n"), 422),
        (format!("{text}\n{text}\n"), 422),
        (format!("time,client,{text}\n1,{text},{text}\n{text},b\n2,{text},c\n"), 200),
    ] {
        let answer = request(server.address, "POST", "/api/compare?limit=1/1m", &[], body.as_bytes());
        assert_eq!(answer.status, status, "{body}");
        assert!(!answer.text().contains("alert"), "{body}: {}", answer.text());
    }
    let placed = request(server.address, "POST", "/api/compare", &[], b"time,client\n1,a\n<script>,a\n<script>,b\n");
    assert_eq!(placed.status, 200, "good rows are enough");
    let placed = request(server.address, "POST", "/api/compare", &[], b"time,client\n<script>,a\n").json();
    assert!(placed["error"].as_str().expect("a reason").contains("at line 2, column 1"), "{placed}");
}
