//! The playground's numbers are those of `rlsim compare`, and it takes no more than it says.

use std::process::Command;

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
