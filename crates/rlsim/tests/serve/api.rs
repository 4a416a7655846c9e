//! The API: limits, headers, and what hostile clients meet.

use std::io::{Read, Write};
use std::net::TcpStream;

use ratelimit_core::Nanos;

use crate::http::{Answer, get, request};
use crate::server::Running;

fn ping(server: &Running, key: &str) -> Answer {
    request(server.address, "GET", "/api/ping", &[("X-API-Key", key)], b"")
}

/// `seed#curl`: seven requests at once.
#[test]
fn five_pass_and_two_are_refused() {
    let server = Running::tutorial();
    let answers: Vec<Answer> = (0..7).map(|_| get(server.address, "/api/ping")).collect();
    let codes: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(codes, [200, 200, 200, 200, 200, 429, 429]);
    assert_eq!(answers[0].field("ratelimit-policy"), "\"client\";q=5;w=5, \"address\";q=100;w=5");
    assert_eq!(answers[0].field("ratelimit"), "\"client\";r=4;t=4, \"address\";r=99;t=5");
    assert_eq!(answers[0].field("ratelimit-remaining"), "4");
    assert_eq!(answers[0].field("x-ratelimit-limit"), "5");
    assert_eq!(answers[0].field("retry-after"), "");
    let refused = &answers[6];
    assert_eq!(refused.field("retry-after"), "1");
    assert_eq!(refused.field("ratelimit-remaining"), "0");
    assert_eq!(refused.field("cache-control"), "no-store");
    assert_eq!(refused.field("content-type"), "application/problem+json");
    assert_eq!(refused.json()["violated-policies"][0], "client");
    server.clock.advance(Nanos::from_secs(1));
    assert_eq!(get(server.address, "/api/ping").status, 200);
    assert_eq!(get(server.address, "/api/ping").status, 429);
}

/// On the wire, too: the head of a refusal is the whole one's, with its length.
#[test]
fn the_head_of_every_answer_says_the_length_of_the_whole() {
    let server = Running::tutorial();
    for _ in 0..7 {
        for path in ["/api/ping", "/", "/metrics", "/api/policies"] {
            let whole = get(server.address, path);
            let head = request(server.address, "HEAD", path, &[], b"");
            if whole.status == head.status {
                assert_eq!(head.field("content-length"), whole.field("content-length"), "{path} {}", whole.status);
            }
        }
    }
    assert_eq!(request(server.address, "HEAD", "/api/ping", &[], b"").status, 429);
}

#[test]
fn keys_are_clients_and_invented_ones_do_not_help_for_long() {
    let server = Running::tutorial();
    (0..5).for_each(|_| assert_eq!(ping(&server, "alice").status, 200));
    assert_eq!(ping(&server, "alice").status, 429);
    assert_eq!(ping(&server, "bob").status, 200);
    let passed = (0..200).filter(|i| ping(&server, &format!("invented-{i}")).status == 200).count();
    assert_eq!(passed, 100 - 6);
    assert_eq!(ping(&server, "another").json()["violated-policies"][0], "address");
}

#[test]
fn all_five_algorithms_answer_under_their_names() {
    let server = Running::tutorial();
    for algorithm in ["token-bucket", "fixed-window", "sliding-log", "sliding-counter"] {
        let path = format!("/api/ping/{algorithm}");
        let codes: Vec<u16> = (0..7).map(|_| get(server.address, &path).status).collect();
        assert_eq!(codes, [200, 200, 200, 200, 200, 429, 429], "{algorithm}");
    }
    let policies = get(server.address, "/api/policies").json();
    assert_eq!(policies.as_array().expect("a list").len(), 6);
    assert_eq!(policies[0]["policy"], "token-bucket:1/1s,burst=5");
    assert_eq!(get(server.address, "/api/ping/nonsense").status, 404);
}

#[test]
fn the_leaky_bucket_makes_requests_wait_and_a_stop_lets_them_finish() {
    let mut server = Running::start("leaky-bucket:20/1s,burst=20");
    let address = server.address;
    // The clock stands still: each further request waits 50 ms longer.
    assert_eq!(get(address, "/api/ping").status, 200);
    let waiting: Vec<_> = (0..4).map(|_| std::thread::spawn(move || get(address, "/api/ping").status)).collect();
    while !get(address, "/metrics").text().contains("{path=\"/api/ping\",answer=\"allowed\"} 5") {
        std::thread::yield_now();
    }
    server.stop();
    assert!(waiting.into_iter().all(|thread| thread.join().expect("an answer") == 200));
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn metrics_count_what_happened() {
    let server = Running::tutorial();
    (0..7).for_each(|_| drop(get(server.address, "/api/ping")));
    let metrics = get(server.address, "/metrics");
    for line in [
        "ratelimit_requests_total{path=\"/api/ping\",answer=\"allowed\"} 5",
        "ratelimit_requests_total{path=\"/api/ping\",answer=\"denied\"} 2",
        "ratelimit_clients{path=\"/api/ping\",policy=\"client\"} 1",
    ] {
        assert!(metrics.text().contains(line), "{line} in {}", metrics.text());
    }
}

#[test]
fn nothing_else_is_served_and_nothing_comes_back() {
    let server = Running::tutorial();
    for path in ["/etc/passwd", "/../Cargo.toml", "/%3Cscript%3E", "/api", "/index.html"] {
        let answer = get(server.address, path);
        assert_eq!((answer.status, answer.text()), (404, "not found\n"), "{path}");
    }
    for (path, allowed) in [("/api/ping", "GET,HEAD"), ("/api/compare", "GET,HEAD,POST")] {
        let answer = request(server.address, "PUT", path, &[], b"x");
        assert_eq!((answer.status, answer.field("allow")), (405, allowed), "{path}");
    }
    let story = get(server.address, "/api/story?policy=%3Cscript%3E&at=1");
    assert_eq!(story.status, 400);
    assert!(!story.text().contains("script"), "{}", story.text());
    assert_eq!(get(server.address, "/api/story").status, 400);
    let long = get(server.address, &format!("/{}", "a".repeat(100_000)));
    assert!(long.status == 414 || long.status == 431, "{}", long.status);
    for path in ["/", "/api/ping", "/nothing"] {
        let answer = get(server.address, path);
        assert!(answer.field("content-security-policy").starts_with("default-src 'none'; script-src 'self';"));
        assert_eq!(answer.field("x-content-type-options"), "nosniff");
    }
}

#[test]
fn what_is_not_http_is_turned_away() {
    let server = Running::tutorial();
    let mut stream = TcpStream::connect(server.address).expect("a connection");
    stream.write_all(b"\x16\x03\x01 nonsense\r\n\r\n").expect("sent");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 400") || answer.is_empty(), "{answer}");
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let server = Running::tutorial();
    let page = get(server.address, "/");
    assert_eq!(page.field("content-type"), "text/html; charset=utf-8");
    for path in ["/page.css", "/page.js", "/picture.js", "/playground.js"] {
        let file = get(server.address, path);
        assert_eq!(file.status, 200, "{path}");
        assert!(page.text().contains(&path[1..]) || path == "/picture.js");
        assert!(!file.text().contains("https://") && !file.text().contains("innerHTML"), "{path}");
    }
    assert!(!page.text().contains("https://") && !page.text().contains("style="));
}

/// The run in docs/http.md and the README: the codes, every header that it shows, and the body.
#[test]
fn the_documented_run_is_what_happens() {
    let run = |page: &'static str| {
        let start = page.find("```text\n$ for i in 1 2 3 4 5 6 7; do curl ").expect("the run");
        let (block, _) = page[start..].split_once("\n```\n").expect("the end of its block");
        block
    };
    let shown = run(include_str!("../../../../docs/http.md"));
    assert_eq!(run(include_str!("../../../../README.md")), shown, "the README shows another run");
    let (_, shown) = shown.split_once("localhost:8080/api/ping; done\n").expect("the command");
    let (codes, shown) = shown.split_once('\n').expect("the codes");
    let shown = shown.split_once("429 Too Many Requests\n").expect("the answer").1;
    let (fields, body) = shown.split_once("\n\n").expect("the fields");
    let server = Running::tutorial();
    let found: Vec<String> = (0..7).map(|_| get(server.address, "/api/ping").status.to_string()).collect();
    assert_eq!(found.join(" "), codes);
    let refused = get(server.address, "/api/ping");
    for line in fields.lines() {
        let (name, value) = line.split_once(": ").expect("a field");
        assert_eq!(refused.field(name), value, "{name}");
    }
    assert_eq!(fields.lines().count(), 11);
    assert_eq!(refused.text(), body);
}
