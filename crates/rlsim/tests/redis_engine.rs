//! Redis as the engine: the same table, CSV and policies as the local engine, but for `state_bytes`.
#![cfg(feature = "redis")]

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use redis_server::Server;

#[path = "../../ratelimit-tower/tests/common/redis_server.rs"]
mod redis_server;

fn compare(trace: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rlsim"))
        .args(["compare", "--no-chart", "--trace"])
        .arg(trace)
        .args(more)
        .output()
        .unwrap()
}

fn stdout(trace: &Path, more: &[&str]) -> String {
    let output = compare(trace, more);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Policies of a JSON report without what the engine keeps.
fn policies(report: &str) -> serde_json::Value {
    let mut report: serde_json::Value = serde_json::from_str(report).unwrap();
    for policy in report["policies"].as_array_mut().unwrap() {
        policy.as_object_mut().unwrap().remove("state_bytes");
    }
    report["policies"].take()
}

/// Rows of a CSV report without what the engine keeps.
fn rows(report: &str) -> Vec<Vec<String>> {
    let mut rows = csv::Reader::from_reader(report.as_bytes());
    let dropped = rows.headers().unwrap().iter().position(|name| name == "state_bytes").unwrap();
    let kept = |row: csv::StringRecord| {
        row.iter().enumerate().filter(|(i, _)| *i != dropped).map(|(_, field)| field.to_owned()).collect()
    };
    rows.records().map(|row| kept(row.unwrap())).collect()
}

#[test]
#[ignore = "needs redis-server"]
fn the_same_report_as_the_local_engine() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start();
    let url = server.url();
    let trace = dir.path().join("trace.csv");
    // Microseconds, three clients, costs, and steps back.
    let mut text = String::from("timestamp_us,client,cost\n");
    let mut now: u64 = 1_790_000_000_000_000;
    for i in 0..1500_u64 {
        now = now + i * 7919 % 60_011 - i * 13 % 500;
        text.push_str(&format!("{now},client-{},{}\n", i * i % 3, 1 + i % 17 / 16));
    }
    std::fs::write(&trace, text).unwrap();
    let quotas: [&[&str]; 2] = [
        &["--limit", "100/10s", "--burst", "37"],
        &["--policy", "token-bucket:7/3s,burst=11+sliding-log:90/20s", "--policy", "leaky-bucket:7/3s"],
    ];
    for quota in quotas {
        let with = |engine: &[&str]| {
            let words: Vec<&str> = quota.iter().chain(engine).copied().collect();
            let export = |kind| stdout(&trace, &[&words[..], &["--export", kind]].concat());
            (stdout(&trace, &words), rows(&export("csv:-")), policies(&export("-")))
        };
        assert_eq!(with(&["--engine", "redis", "--redis", &url]), with(&["--engine", "flat"]), "{quota:?}");
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace.csv");
    std::fs::write(&trace, "timestamp_us\n1790000000000000\n").unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("redis://127.0.0.1:{port}");
    let output = compare(&trace, &["--engine", "redis", "--redis", &url]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&url) && said.contains("--redis"), "{said}");
    let output = compare(&trace, &["--engine", "redis", "--limit", "3/1500ns"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("microseconds"), "{said}");
}
