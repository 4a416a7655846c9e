//! `rlsim inspect` as a person runs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn rlsim(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rlsim")).args(words).current_dir(folder).output().expect("the program runs")
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_str(&stdout(output)).expect("JSON")
}

fn codes(report: &serde_json::Value) -> Vec<&str> {
    report["findings"].as_array().expect("findings").iter().filter_map(|finding| finding["code"].as_str()).collect()
}

fn shared(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("SHARED_TRACES")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"), PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is absent", path.display());
    None
}

#[test]
fn an_access_log_with_refusals_tells_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = |i: u32| {
        let (minute, second, status) = (i / 60 % 60, i % 60, if i.is_multiple_of(50) { 429 } else { 200 });
        format!(
            "10.0.0.{} - - [17/May/2015:10:{minute:02}:{second:02} +0000] \"GET / HTTP/1.1\" {status} 5 \"-\" \"-\"\n",
            i % 150
        )
    };
    let log: String = (0..3000).map(line).collect();
    std::fs::write(folder.path().join("access.log"), log).expect("a file");
    let report = json(&rlsim(folder.path(), &["inspect", "--trace", "access.log", "--export", "-"]));
    assert_eq!(report["schema"], "rlsim.inspect/1");
    assert_eq!(report["refused"]["too_many_requests"], 60);
    assert_eq!(report["refused"]["unavailable"], 0);
    assert!(codes(&report).contains(&"already-refused"), "{report}");
    assert_eq!(report["fitness"], "care");
    // One request a second, evenly.
    assert_eq!(report["rates"][1]["window_ns"], 60_000_000_000_u64);
    assert_eq!(report["rates"][1]["peak"]["units"], 60);
    assert_eq!(report["rates"][1]["index_of_dispersion"], 0.0);
}

#[test]
fn the_text_says_first_what_the_trace_is_good_for() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("t.csv"), "time,client\n0,a\n1,b\n").expect("a file");
    let text = stdout(&rlsim(folder.path(), &["inspect", "--trace", "t.csv"]));
    assert!(text.starts_with("t.csv: 2 requests of 2 clients over 1 s: not fit for choosing a limit\n"), "{text}");
    let output = rlsim(folder.path(), &["inspect", "--trace", "t.csv", "--export", "t.svg", "t.json", "t.md"]);
    assert!(stdout(&output).contains("rows       2 = 2 events"));
    let svg = std::fs::read_to_string(folder.path().join("t.svg")).expect("the picture");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains("2 requests over 1 s"));
    assert!(std::fs::read_to_string(folder.path().join("t.md")).expect("the page").starts_with("**t.csv: 2 requests"));
    let refused = rlsim(folder.path(), &["inspect", "--trace", "t.csv", "--export", "t.toml"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("ends in .svg, .png, .json, .md"));
}

#[test]
fn rewritten_stamps_are_seen_in_a_real_log() {
    let Some(path) = shared("apache_combined.log") else { return };
    let path = path.display().to_string();
    let report = json(&rlsim(Path::new("."), &["inspect", "--trace", &path, "--export", "-"]));
    let odd = &report["stamps"]["concentrated"];
    assert_eq!(
        (odd["turn_ns"].as_u64(), odd["used"].as_u64(), odd["fullest"].as_u64()),
        (Some(3_600_000_000_000), Some(1), Some(5))
    );
    assert_eq!(report["clients"]["total"], 1753);
    assert_eq!(report["refused"]["too_many_requests"], 0);
    assert_eq!(codes(&report)[0], "concentrated-stamps");
}

#[test]
fn coarse_stamps_are_seen_in_a_real_log() {
    let Some(path) = shared("nasa_http_19950801.tsv") else { return };
    let path = path.display().to_string();
    let report = json(&rlsim(Path::new("."), &["inspect", "--trace", &path, "--window", "1s", "--export", "-"]));
    let coarse = report["findings"].as_array().expect("findings").iter().find(|f| f["code"] == "coarse-clock");
    assert_eq!(coarse.expect("the clock is coarse for a second")["severity"], "warning");
    assert_eq!(report["rates"].as_array().map(Vec::len), Some(2), "1 s is the window and the second");
}

/// Whether a trace is unfit, and the severity of one of its findings.
fn severity(rows: &str, window: &str, code: &str) -> (bool, Option<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("t.csv"), format!("time,client\n{rows}")).expect("a file");
    let words = ["inspect", "--trace", "t.csv", "--window", window, "--export", "-"];
    let report = json(&rlsim(folder.path(), &words));
    let found = report["findings"].as_array().expect("findings").iter().find(|finding| finding["code"] == code);
    let severity = found.map(|finding| finding["severity"].as_str().expect("text").to_owned());
    (report["fitness"] == "unfit", severity)
}

#[test]
fn a_trace_is_short_in_windows_however_long_it_is() {
    let day = 86_400;
    for (seconds, window, expected) in [
        (400, "3m", Some("unfit")),
        (400, "2m", Some("warning")),
        (400, "30s", Some("note")),
        (4 * day, "1m", None),
        (4 * day, "12h", Some("warning")),
        (4 * day, "1d", Some("warning")),
        (4 * day, "2d", Some("unfit")),
        (4 * day, "1000d", Some("unfit")),
        // The log of a day ends a little before midnight.
        (day - 400, "1m", None),
    ] {
        let rows =
            (0..=400).map(|i| format!("{},c{}\n", i * (seconds / 400), i % 150)).collect::<Vec<String>>().concat();
        let (unfit, found) = severity(&rows, window, "short");
        assert_eq!(found.as_deref(), expected, "{seconds} s in windows of {window}");
        assert_eq!(unfit, expected == Some("unfit"), "{seconds} s in windows of {window}");
    }
}

#[test]
fn a_trace_of_which_much_is_unreadable_is_not_fit() {
    for (bad, expected) in [(0, None), (1, Some("note")), (30, Some("warning")), (400, Some("unfit"))] {
        let good = (0..1000).map(|i| format!("{},c{}\n", i * 100, i % 150));
        let rows: String = good.chain((0..bad).map(|_| "soon,c1\n".to_owned())).collect();
        let (unfit, found) = severity(&rows, "1m", "bad-rows");
        assert_eq!(found.as_deref(), expected, "{bad} bad rows");
        assert_eq!(unfit, expected == Some("unfit"), "{bad} bad rows");
    }
}

#[test]
fn real_traces_that_show_little_are_not_fit() {
    for name in ["page_load.har", "formats/crowdsec_http_dos.log", "nginx_rotated.log.2", "taurus_jmeter.jtl.csv"] {
        let Some(path) = shared(name) else { continue };
        let said = stdout(&rlsim(Path::new("."), &["inspect", "--trace", &path.display().to_string()]));
        assert!(said.lines().next().is_some_and(|first| first.ends_with("not fit for choosing a limit")), "{said}");
    }
}

#[test]
fn throttling_errors_of_a_real_service_are_seen() {
    let Some(path) = shared("aws_cloudtrail_stratus.json") else { return };
    let path = path.display().to_string();
    let report = json(&rlsim(Path::new("."), &["inspect", "--trace", &path, "--export", "-"]));
    assert_eq!(
        (report["refused"]["column"].as_str(), report["refused"]["throttled"].as_u64()),
        (Some("errorCode"), Some(15))
    );
    assert!(codes(&report).contains(&"already-refused"), "{report}");
}

/// The statuses are counted while the input is read, so they are known of standard input too.
#[test]
fn refusals_are_counted_in_one_reading() {
    let mut text = String::from("time,client,status,response\n");
    for i in 0..30_000 {
        let status = if i % 3 == 0 { 429 } else { 200 };
        text.push_str(&format!("{},c{},ok,{status}\n", 1_715_501_730 + i / 10, i % 7));
    }
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rlsim"));
        command.args(["inspect", "--trace", "-", "--export", "-"]).args(words);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.stderr(std::process::Stdio::piped()).spawn().expect("the program runs");
        // A wrong column ends it before it has read everything.
        let _ = std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), text.as_bytes());
        child.wait_with_output().expect("it ends")
    };
    for words in [&[][..], &["--status-column", "response"], &["--status-column", "4"]] {
        let report = json(&run(words));
        assert_eq!(report["refused"]["too_many_requests"], 10_000, "{words:?}");
    }
    assert_eq!(json(&run(&["--status-column", "status"]))["refused"]["too_many_requests"], 0);
    let wrong = run(&["--status-column", "code"]);
    assert_eq!(wrong.status.code(), Some(1));
    let message = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(message.contains("no column \"code\" for --status-column; the columns are: time, client"), "{message}");
}
