//! The command line of `compare` as a person meets it: what must come out, and what mistakes are told.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs `rlsim` in a folder of its own; `{traces}` in a word is the project's folder of traces.
fn rlsim(folder: &Path, words: &str) -> Output {
    let traces = root().join("traces");
    let words = words.split_whitespace().map(|word| word.replace("{traces}", &traces.to_string_lossy()));
    Command::new(env!("CARGO_BIN_EXE_rlsim")).args(words).current_dir(folder).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn report(words: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let output = rlsim(folder.path(), &format!("compare {words} --no-chart --export -"));
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn allowed(report: &Value) -> Vec<(String, u64)> {
    let policies = report["policies"].as_array().unwrap();
    policies
        .iter()
        .map(|policy| (policy["name"].as_str().unwrap().to_owned(), policy["requests"]["allowed"].as_u64().unwrap()))
        .collect()
}

fn five(numbers: [u64; 5]) -> Vec<(String, u64)> {
    let names = ["fixed-window", "sliding-log", "sliding-counter", "token-bucket", "leaky-bucket"];
    names.into_iter().map(str::to_owned).zip(numbers).collect()
}

#[test]
fn the_tutorials_burst_and_edge() {
    let burst = report("--trace {traces}/burst.csv");
    assert_eq!(allowed(&burst), five([200, 100, 101, 100, 100]));
    assert_eq!(burst["policies"][0]["peak"]["overshoot"], 2.0);
    assert_eq!(burst["policies"][0]["peak"]["units"], 200);
    let edge = report("--trace {traces}/edge.csv --limit 5/10s");
    assert_eq!(allowed(&edge), five([10, 5, 5, 5, 5]));
}

#[test]
fn a_real_log_loses_nothing() {
    let shared = std::env::var_os("SHARED_TRACES").map_or_else(|| root().join("../shared/traces"), PathBuf::from);
    let log = shared.join("apache_combined.log");
    if !log.exists() {
        eprintln!("skipped: {} is absent", log.display());
        return;
    }
    let report = report(&format!("--trace {} --limit 20/1m", log.display()));
    let trace = &report["meta"]["trace"];
    assert_eq!((trace["events"].as_u64(), trace["clients"].as_u64()), (Some(10_000), Some(1753)));
    assert_eq!(trace["rows"].as_u64(), Some(10_000));
    for policy in report["policies"].as_array().unwrap() {
        let requests = &policy["requests"];
        let count = |key: &str| requests[key].as_u64().unwrap();
        assert_eq!(count("offered"), 10_000);
        assert_eq!(count("allowed") + count("denied") + count("never"), 10_000);
    }
}

#[test]
fn a_chart_is_written_by_default_and_not_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let output = rlsim(folder.path(), "compare --trace {traces}/burst.csv");
    assert!(stderr(&output).lines().any(|line| line == "wrote burst-compare.svg"), "{}", stderr(&output));
    let chart = std::fs::read_to_string(folder.path().join("burst-compare.svg")).unwrap();
    assert!(chart.starts_with("<svg") && chart.contains("200 in 0.2 s = 2.0x"));
    roxmltree::Document::parse(&chart).expect("a browser that opens the file by itself reads it as strict XML");
    let again = tempfile::tempdir().unwrap();
    rlsim(again.path(), "compare --trace {traces}/burst.csv --threads 1");
    assert_eq!(std::fs::read_to_string(again.path().join("burst-compare.svg")).unwrap(), chart);

    for words in ["--no-chart", "--export other.svg"] {
        let folder = tempfile::tempdir().unwrap();
        assert!(rlsim(folder.path(), &format!("compare --trace {{traces}}/burst.csv {words}")).status.success());
        assert!(!folder.path().join("burst-compare.svg").exists(), "{words}");
    }
}

#[test]
fn the_report_does_not_depend_on_threads() {
    let folder = tempfile::tempdir().unwrap();
    let run = |threads: u32| {
        let words =
            format!("compare --trace {{traces}}/burst.csv --export r.json r.csv r.md --no-chart --threads {threads}");
        assert!(rlsim(folder.path(), &words).status.success());
        ["r.json", "r.csv", "r.md"].map(|name| std::fs::read_to_string(folder.path().join(name)).unwrap())
    };
    let (one, four) = (run(1), run(4));
    assert_eq!(one, four);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "no temporary file stays");
}

#[test]
fn a_generated_trace_is_compared_through_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let made = rlsim(folder.path(), "generate poisson --rate 50/s --duration 60s --clients 20 --seed 7");
    let mut child = Command::new(env!("CARGO_BIN_EXE_rlsim"))
        .args(["compare", "--trace", "-"])
        .current_dir(folder.path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &made.stdout).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && stdout(&output).contains("leaky-bucket"));
    assert!(folder.path().join("stdin-compare.svg").exists());
}

#[test]
fn policies_are_chosen_and_named() {
    let report = report(
        "--trace {traces}/burst.csv --policy login=token-bucket:5/1m,burst=7 --policy unlimited \
         --policy fixed-window:100/1m+token-bucket:10/1s",
    );
    assert_eq!(
        allowed(&report),
        [("login".to_owned(), 7), ("unlimited".to_owned(), 200), ("fixed-window+token-bucket".to_owned(), 12)]
    );
    let policies = &report["policies"];
    assert_eq!(policies[0]["policy"], "token-bucket:5/1m,burst=7");
    assert_eq!(policies[0]["burst"], 7);
    assert!(policies[1]["peak"].is_null() && policies[1]["limit"].is_null() && policies[2]["efficiency"].is_null());

    let folder = tempfile::tempdir().unwrap();
    let file =
        "[[policy]]\nname = \"a\"\npolicy = \"sliding-log:100/1m\"\n[[policy]]\npolicy = \"leaky-bucket:5/1s\"\n";
    std::fs::write(folder.path().join("p.toml"), file).unwrap();
    let output = rlsim(folder.path(), "compare --trace {traces}/burst.csv --policies p.toml --no-chart --export csv:-");
    let text = stdout(&output);
    let names: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!(names, ["a", "leaky-bucket"], "{text}");
}

#[test]
fn a_global_limit_counts_all_clients_together() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (0..30).map(|i| format!("{},c{}", i / 3, i % 10)).collect();
    std::fs::write(folder.path().join("t.csv"), format!("time_s,client\n{}\n", rows.join("\n"))).unwrap();
    let output = rlsim(folder.path(), "compare --trace t.csv --limit 2/1s --by global --no-chart --export -");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Three requests in each of ten seconds: the sum of min(3, 2).
    assert_eq!(report["policies"][0]["requests"]["allowed"], 20);
    assert!(report["policies"][0]["peak"]["client"].is_null());
}

/// Words, exit code, and what the message must hold.
const MISTAKES: &[(&str, i32, &[&str])] = &[
    ("compare", 2, &["--trace"]),
    ("compare --trace missing.csv", 1, &["missing.csv"]),
    ("compare --trace {traces}/burst.csv --limit 0/1m", 2, &["limit is 0", "--limit 100/1m"]),
    ("compare --trace {traces}/burst.csv --limit 100", 2, &["at character 4", "expected `/`"]),
    ("compare --trace {traces}/burst.csv --limit 5/1x", 2, &["unit of time", "100/1m"]),
    ("compare --trace {traces}/burst.csv --limit 99999999999999999999/1s", 2, &["too large"]),
    ("compare --trace {traces}/burst.csv --burst 0", 2, &["burst is 0"]),
    ("compare --trace {traces}/burst.csv --policy token-bucket:5/1x", 2, &["^", "unit of time"]),
    (
        "compare --trace {traces}/burst.csv --policy fixed-window:5/1s,burst=2",
        2,
        &["only token-bucket and leaky-bucket"],
    ),
    ("compare --trace {traces}/burst.csv --policy a=unlimited --policy a=unlimited", 2, &["given twice"]),
    ("compare --trace {traces}/burst.csv --policy unlimited --limit 5/1s", 2, &["policy text"]),
    ("compare --trace {traces}/burst.csv --policies missing.toml", 1, &["missing.toml"]),
    ("compare --trace {traces}/burst.csv --export out.txt", 2, &["out.txt", ".svg", ".json"]),
    ("compare --trace {traces}/burst.csv --export missing/out.json", 1, &["missing", "cannot be written"]),
    ("compare --trace {traces}/burst.csv --export .json", 2, &["expected a name"]),
    ("compare --trace {traces}/burst.csv --time-column when", 1, &["when", "time, client"]),
    ("compare --trace {traces}/burst.csv --client-column who", 1, &["who", "time, client"]),
    ("compare --trace {traces}/burst.csv --threads 0", 2, &["--threads"]),
    ("compare --trace {traces}/burst.csv --client alica", 1, &["alica", "burst.csv has one client", "\"alice\""]),
    ("compare --trace {traces}/burst.csv --client alice --export x.svg", 2, &["client:FILE.svg"]),
    ("compare --trace {traces}/burst.csv --client alice --no-chart", 2, &["nothing that is written shows the client"]),
    ("compare --trace {traces}/burst.csv --export envelope:x.json", 2, &["envelope:FILE.svg", ".html"]),
    ("inspect --trace {traces}/burst.csv --export envelope:x.svg", 2, &["does not write that kind", ".svg"]),
    ("comparee", 2, &["compare"]),
];

#[test]
fn mistakes_are_told_with_their_place_and_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    for (words, code, parts) in MISTAKES {
        let output = rlsim(folder.path(), words);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(*code), "{words}: {said}");
        for part in *parts {
            assert!(said.contains(part), "{words}: expected {part:?} in: {said}");
        }
        assert!(output.stdout.is_empty(), "{words}: nothing on stdout");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a mistake leaves no file behind");
}

/// A file, and what must be said of it.
const BAD_ROWS: &[(&str, &[&str])] = &[
    ("time_s,client,cost\n1,a,1\n2,a,-3\n", &["t.csv:3:", "-3"]),
    ("time_s,client,cost\n1,a,1\n2,a,1.5\n", &["t.csv:3:", "1.5"]),
    ("time_s,client,cost\n1,a,1\n2,a,\n", &["t.csv:3:"]),
    ("time_s,client\n1,a\nsoon,a\n", &["t.csv:3:", "soon"]),
    ("time_s,client\n1,a\n99999999999999999999999,a\n", &["t.csv:3:"]),
    ("time_s,client\n1,a\n-5,a\n", &["t.csv:3:", "-5"]),
];

#[test]
fn bad_rows_are_counted_and_shown_or_fatal() {
    for (text, parts) in BAD_ROWS {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("t.csv"), text).unwrap();
        let output = rlsim(folder.path(), "compare --trace t.csv --no-chart --export -");
        let said = stderr(&output);
        assert!(output.status.success(), "{text}: {said}");
        for part in *parts {
            assert!(said.contains(part), "{text}: expected {part:?} in: {said}");
        }
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let trace = &report["meta"]["trace"];
        assert_eq!(
            (trace["rows"].as_u64(), trace["events"].as_u64(), trace["bad"].as_u64()),
            (Some(2), Some(1), Some(1))
        );

        let output = rlsim(folder.path(), "compare --trace t.csv --no-chart --on-error fail");
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(stderr(&output).contains(parts[0]), "{text}: {}", stderr(&output));
    }
}

#[test]
fn an_empty_trace_says_why() {
    let folder = tempfile::tempdir().unwrap();
    for (text, part) in [("", "empty"), ("time_s,client\n", "no"), ("time_s,client\nx,y\n", "1")] {
        std::fs::write(folder.path().join("t.csv"), text).unwrap();
        let output = rlsim(folder.path(), "compare --trace t.csv");
        assert_eq!(output.status.code(), Some(1), "{text:?}");
        assert!(stderr(&output).contains(part), "{text:?}: {}", stderr(&output));
        assert!(!folder.path().join("t-compare.svg").exists());
    }
}

#[test]
fn help_completions_and_manual_come_out() {
    let folder = tempfile::tempdir().unwrap();
    for words in ["--help", "--version", "compare --help", "completions bash", "man"] {
        let output = rlsim(folder.path(), words);
        assert!(output.status.success() && stdout(&output).contains("rlsim"), "{words}");
    }
}

#[test]
fn the_store_of_a_service_gives_the_same_report() {
    let folder = tempfile::tempdir().unwrap();
    let made =
        rlsim(folder.path(), "generate poisson --rate 50/s --duration 60s --clients 20 --zipf 1 --cost 1..5 --seed 7");
    std::fs::write(folder.path().join("t.csv"), &made.stdout).unwrap();
    for by in ["client", "global"] {
        let run = |engine: &str| {
            let words = format!(
                "compare --trace t.csv --by {by} --engine {engine} --no-chart --export - --policy fixed-window:30/10s \
                 --policy sliding-log:30/10s --policy sliding-counter:30/10s --policy token-bucket:30/10s,burst=9 \
                 --policy leaky-bucket:30/10s --policy token-bucket:9/1s+fixed-window:100/1m --policy unlimited"
            );
            let output = rlsim(folder.path(), &words);
            assert!(output.status.success(), "{}", stderr(&output));
            let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
            for policy in report["policies"].as_array_mut().unwrap() {
                policy.as_object_mut().unwrap().remove("state_bytes");
            }
            report["policies"].clone()
        };
        assert_eq!(run("flat"), run("keyed"), "--by {by}");
    }
}

#[test]
fn a_client_is_drawn_beside_the_comparison_or_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let output = rlsim(folder.path(), "compare --trace {traces}/burst.csv --client alice");
    let said = stderr(&output);
    assert!(said.contains("wrote burst-compare.svg\nwrote burst-client.svg"), "{said}");
    assert!(file("burst-client.svg").contains("alice: 200 requests"));

    rlsim(folder.path(), "compare --trace {traces}/burst.csv --client alice --export client:x.svg page.html");
    assert_eq!(file("x.svg"), file("burst-client.svg"));
    assert!(file("page.html").contains("id=\"client-title\""));
    rlsim(folder.path(), "compare --trace {traces}/burst.csv --export page.html");
    assert!(!file("page.html").contains("id=\"client-title\""));

    // Without a name it is the client that is refused most.
    std::fs::write(folder.path().join("t.csv"), "time_s,client\n1,a\n2,a\n3,a\n1,b\n1,b\n1,b\n1,c\n").unwrap();
    rlsim(folder.path(), "compare --trace t.csv --limit 1/1s --export client:t.svg");
    let title = file("t.svg").lines().nth(1).unwrap().to_owned();
    assert!(title.contains(">b: 3 requests, of which each policy refuses 2</title>"), "{title}");
}

#[test]
fn each_chart_can_be_written_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.csv"), "time_s,client\n1,a\n2,a\n3,a\n1,b\n").unwrap();
    let charts = ["envelope", "raster", "ranked", "client"];
    let words: Vec<_> = charts.iter().map(|chart| format!("{chart}:{chart}.svg")).collect();
    let output = rlsim(folder.path(), &format!("compare --trace t.csv --limit 2/10s --export {}", words.join(" ")));
    assert!(output.status.success(), "{}", stderr(&output));
    for chart in charts {
        let text = std::fs::read_to_string(folder.path().join(format!("{chart}.svg"))).unwrap();
        assert!(text.contains(&format!("id=\"{chart}-title\"")), "{chart}");
        let piped = rlsim(folder.path(), &format!("compare --trace t.csv --limit 2/10s --export {chart}:-"));
        assert_eq!(stdout(&piped), text, "{chart}");
    }
    assert!(!folder.path().join("t-compare.svg").exists(), "a picture was asked for");

    let output = rlsim(folder.path(), "compare --trace {traces}/burst.csv --export ranked:r.svg other.json");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("two clients or more"), "{}", stderr(&output));
    assert!(!folder.path().join("other.json").exists(), "nothing is written when one export fails");
}

#[test]
#[cfg(feature = "png")]
fn a_chart_is_a_png_by_its_ending() {
    let folder = tempfile::tempdir().unwrap();
    let output = rlsim(folder.path(), "compare --trace {traces}/burst.csv --export x.png client:y.png envelope:z.png");
    assert!(output.status.success(), "{}", stderr(&output));
    let pictures = ["x.png", "y.png", "z.png"].map(|name| std::fs::read(folder.path().join(name)).unwrap());
    assert!(pictures.iter().all(|picture| picture.starts_with(b"\x89PNG")));
    assert!(pictures[0] != pictures[1] && pictures[1] != pictures[2]);
}

#[test]
fn memory_at_the_peak_is_measured_where_it_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (0..90).map(|i| format!("{}.{}00,c{}", i / 10, i % 10, i % 30)).collect();
    std::fs::write(folder.path().join("t.csv"), format!("time_s,client\n{}\n", rows.join("\n"))).unwrap();
    let words = "compare --trace t.csv --limit 5/1s --no-chart --export -";
    let report: Value = serde_json::from_slice(&rlsim(folder.path(), words).stdout).unwrap();
    let memory = |i: usize| report["policies"][i]["memory"].clone();
    // Ten clients a second, each with one request: the fixed window forgets all of them at the edge.
    assert_eq!(memory(0), serde_json::json!({ "peak_bytes": 160, "states": 10, "at_ns": 900_000_000 }));
    assert_eq!(memory(1)["states"], 10);
    assert_eq!(memory(1)["peak_bytes"], 10 * report["policies"][1]["state_bytes"].as_u64().unwrap());
    // A token is back after a fifth of a second.
    assert_eq!(memory(3)["states"], 2);
    let held = "compare --trace t.csv --limit 5/1s --no-chart --assert fixed-window.memory.states<=9";
    let output = rlsim(folder.path(), held);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("found 10"), "{}", stderr(&output));
}

#[test]
fn requests_that_no_wait_helps_are_hinted_at() {
    let folder = tempfile::tempdir().unwrap();
    let hint = |costs: &str, more: &str| {
        let rows: Vec<String> = costs.split(' ').enumerate().map(|(i, cost)| format!("{i}.5,{cost}")).collect();
        std::fs::write(folder.path().join("t.csv"), format!("time_s,cost\n{}\n", rows.join("\n"))).unwrap();
        let output = rlsim(folder.path(), &format!("compare --trace t.csv --no-chart {more}"));
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output).lines().find(|line| line.starts_with("note: never:")).map(str::to_owned)
    };
    for stream in ["", "--stream"] {
        let one = hint("1 9 2", &format!("--policy log=sliding-log:5/1s {stream}")).unwrap();
        assert!(one.contains("never: 1 request costs more at once than log can ever admit"), "{one}");
        let two = hint("9 9 2", &format!("--limit 5/1s {stream}")).unwrap();
        assert!(two.contains("never: 2 requests cost more at once than fixed-window can ever admit"), "{two}");
        assert_eq!(hint("9 9 2", &format!("--limit 9/1s {stream}")), None);
    }
}

/// A log whose stamps were all moved into one minute of the hour says nothing about limits a minute.
#[test]
fn stamps_that_avoid_most_of_the_clock_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (0..600_u64).map(|i| (i / 6 * 3_600 + 300 + i * 7 % 60).to_string()).collect();
    std::fs::write(folder.path().join("t.csv"), format!("time_s\n{}\n", rows.join("\n"))).unwrap();
    let told =
        "99 % of the requests fall into minute 5 of the hour, in each of 100 hours with any: stamps were rewritten";
    for (words, warned) in [
        ("--limit 5/1m", true),
        ("--limit 5/1h", false),
        ("--policy token-bucket:9/1h+fixed-window:5/1s", true),
        ("--policy unlimited", false),
    ] {
        let words = format!("compare --trace t.csv --no-chart {words}");
        assert_eq!(stderr(&rlsim(folder.path(), &words)).contains(told), warned, "{words}");
    }
    rlsim(folder.path(), "compare --trace t.csv --export page.html");
    assert!(std::fs::read_to_string(folder.path().join("page.html")).unwrap().contains(told), "the page says so too");
}

/// Nobody means to replace a log by a report about it: whatever is read is not written, by whatever name it is called.
#[test]
fn what_is_read_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let log = std::fs::read(root().join("traces/burst.csv")).unwrap();
    let policies = "[[policy]]\nname = \"ours\"\npolicy = \"token-bucket:5/1s\"\n";
    for name in ["log.csv", "log.json", "log.md", "log.svg", "limits.toml"] {
        std::fs::write(folder.path().join(name), if name == "limits.toml" { policies.as_bytes() } else { &log })
            .unwrap();
    }
    std::fs::create_dir(folder.path().join("logs")).unwrap();
    for words in [
        "compare --trace log.csv --export log.csv",
        "compare --trace log.csv --export json:log.csv",
        "compare --trace log.csv --export csv:./logs/../log.csv",
        "compare --trace log.svg log.csv --export log.svg",
        "compare --trace log.csv --policies limits.toml --export csv:limits.toml",
        "inspect --trace log.md --export log.md",
        "sweep --trace log.csv --export log.csv",
        "recommend --trace log.json --export log.json",
        "cluster --trace log.json --export log.json",
    ] {
        let output = rlsim(folder.path(), words);
        assert_eq!(output.status.code(), Some(1), "{words}: {}", stderr(&output));
        assert!(stderr(&output).contains("it is read here too and would be lost"), "{words}: {}", stderr(&output));
    }
    for name in ["log.csv", "log.json", "log.md", "log.svg"] {
        assert_eq!(std::fs::read(folder.path().join(name)).unwrap(), log, "{name}");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("limits.toml")).unwrap(), policies);
}
