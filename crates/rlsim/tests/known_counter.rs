//! What was published about the sliding counter, and the traffic for which it holds.

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};

fn rlsim(words: &[&str], input: &[u8]) -> Vec<u8> {
    let mut program = Command::new(env!("CARGO_BIN_EXE_rlsim"))
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rlsim runs");
    let mut stdin = program.stdin.take().expect("a pipe");
    let written = stdin.write_all(input);
    drop(stdin);
    let output = program.wait_with_output().expect("rlsim ends");
    assert!(output.status.success(), "{words:?}: {} {written:?}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The report's entries of a generated trace under policies.
fn report(generate: &[&str], compare: &[&str]) -> Vec<Value> {
    let trace = rlsim(&[&["generate"], generate].concat(), &[]);
    let text = rlsim(&[&["compare", "--trace", "-", "--export", "-"], compare].concat(), &trace);
    let report: Value = serde_json::from_slice(&text).expect("a report");
    report["policies"].as_array().expect("policies").clone()
}

/// The most admitted in windows of 0.05, 0.25 and 1 W is the bound of each algorithm, at T one nanosecond less than the
/// half-open window.
#[test]
fn far_from_its_limit_the_counter_is_nearly_never_wrong() {
    let generate = ["poisson", "--rate", "60/1m", "--duration", "10h", "--seed", "7"];
    let found = report(&generate, &["--policy", "sliding-counter:100/1m"]);
    let number = |key: &str| found[0].pointer(key).and_then(Value::as_u64).expect(key);
    let wrong = number("/needless_denials") + number("/over_limit_accepts");
    assert!(wrong * 10_000 < number("/requests/offered"), "{wrong} of {}", number("/requests/offered"));
}
