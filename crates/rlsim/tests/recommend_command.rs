//! `rlsim recommend` as a person runs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn rlsim(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rlsim")).args(words).current_dir(folder).output().expect("the program runs")
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
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

/// 1500 clients with three requests each, and one with 40 in a minute.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mut rows: Vec<(u32, String)> = (0..4500).map(|i| (i * 20, format!("c{}", i % 1500))).collect();
    rows.extend((0..40).map(|i| (30_000 + i, "greedy".to_owned())));
    rows.sort();
    let rows: Vec<String> = rows.iter().map(|(at, client)| format!("{at},{client}")).collect();
    std::fs::write(folder.path().join("t.csv"), format!("time,client\n{}\n", rows.join("\n"))).expect("a file");
    folder
}

#[test]
fn the_policy_is_read_back_and_keeps_the_promise() {
    let folder = folder();
    let words = ["recommend", "--trace", "t.csv", "--export", "policy.toml", "r.json", "curve.svg"];
    let said = text(&rlsim(folder.path(), &words));
    assert!(said.starts_with("Recommended for each client: "), "{said}");
    assert!(said.contains("at most 0.1 % of the clients are ever limited"), "{said}");
    let compared = rlsim(folder.path(), &["compare", "--trace", "t.csv", "--policies", "policy.toml", "--export", "-"]);
    let report: serde_json::Value = serde_json::from_str(&text(&compared)).expect("JSON");
    let policy = &report["policies"][0];
    assert_eq!(policy["name"], "recommended");
    assert_eq!(policy["clients"]["limited"], 1, "only the greedy one");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
    let json: serde_json::Value = serde_json::from_str(&read("r.json")).expect("JSON");
    assert_eq!(json["schema"], "rlsim.recommend/1");
    let best = &json["answers"][usize::try_from(json["recommended"].as_u64().expect("an index")).expect("small")];
    assert_eq!(best["policy"], policy["policy"]);
    assert_eq!(best["measured"]["peak"], policy["peak"]["units"]);
    assert_eq!(best["measured"]["denied"], policy["requests"]["denied"]);
    assert_eq!(json["levels"].as_array().map(Vec::len), Some(4));
    assert!(read("curve.svg").contains("all clients"));
    // The text ends with the file.
    assert!(
        said.ends_with(read("policy.toml").lines().last().map(|line| format!("{line}\n")).expect("a line").as_str())
    );
}

#[test]
fn every_promise_has_its_option() {
    let folder = folder();
    for (promise, expected) in [
        (&["--limited-clients", "0%"][..], "no client is ever limited"),
        (&["--keep-clients-below", "p99"], "no client up to the 99th percentile"),
        (&["--service-at-most", "10/1s"], "Recommended for all clients together: "),
        (&["--attack", "30000s..30100s"], "requests in the interval of the attack it refuses"),
        (&["--algorithm", "sliding-log", "--window", "1h"], "Recommended for each client: sliding-log:"),
        (&["--fit", "100%"], "confirmed by nothing unseen"),
    ] {
        let said = text(&rlsim(folder.path(), &[&["recommend", "--trace", "t.csv"], promise].concat()));
        assert!(said.contains(expected), "{promise:?}: {said}");
    }
    for (words, expected) in [
        (&["--limited-clients", "5"][..], "expected a percentage"),
        (&["--keep-clients-below", "99"], "expected a percentile"),
        (&["--service-at-most", "10"], "expected UNITS/WINDOW"),
        (&["--attack", "1h"], "expected FROM..TO"),
        (&["--attack", "1h..1h10m"], "70m, not 1h10m"),
        (&["--attack", "2h..1h"], "ends before it starts"),
        (&["--attack", "900h..901h"], "all of the trace or none of it"),
        (&["--attack", "1h..2h", "--limited-clients", "1%"], "cannot be used with"),
        (&["--window", "0s"], "at least 1 ns"),
    ] {
        let output = rlsim(folder.path(), &[&["recommend", "--trace", "t.csv"], words].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
    }
}

#[test]
fn a_trace_that_is_not_fit_is_called_so_before_any_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows: String =
        (0..300).map(|i| if i % 3 == 0 { "?,x\n".into() } else { format!("{i}.5,c{}\n", i % 50) }).collect();
    std::fs::write(folder.path().join("t.csv"), format!("time,client\n{rows}")).expect("a file");
    let words = ["recommend", "--trace", "t.csv", "--window", "10s"];
    let said = text(&rlsim(folder.path(), &words));
    let first = said.lines().next().unwrap_or_default();
    let why = "Not fit for choosing a limit: 100 of 300 rows could not be read (33.3 %); for what it is worth: ";
    assert!(first.starts_with(why) && first.ends_with(" for each client"), "{said}");
    assert!(!said.contains("Recommended"), "{said}");
    let file = text(&rlsim(folder.path(), &[&words[..], &["--export", "toml:-"]].concat()));
    assert!(file.starts_with(&format!("# {why}")), "{file}");
    let curve = text(&rlsim(folder.path(), &[&words[..], &["--export", "svg:-"]].concat()));
    assert!(curve.contains("(not fit for choosing a limit: 100 of 300 rows could not be read (33.3 %))"), "{curve}");
}

/// Every trace there is: a promise is never said to hold where the whole trace breaks it.
#[test]
fn no_real_trace_gets_a_false_promise() {
    for name in [
        "apache_combined.log",
        "aws_cloudtrail_stratus.json",
        "iis_w3c.log",
        "nginx_rotated.log.2",
        "page_load.har",
        "taurus_jmeter.jtl.csv",
    ] {
        let Some(path) = shared(name) else { continue };
        let path = path.display().to_string();
        for (share, millionths) in [("0%", 0), ("0.1%", 1_000)] {
            for window in ["1m", "100d"] {
                let words = ["recommend", "--trace", &path, "--limited-clients", share, "--window", window];
                let said = text(&rlsim(Path::new("."), &[&words[..], &["--export", "-"]].concat()));
                let json: serde_json::Value = serde_json::from_str(&said).expect("JSON");
                for answer in json["answers"].as_array().expect("answers") {
                    let number = |key: &str| answer["measured"][key].as_u64().expect("a number");
                    let may_be = number("clients") * millionths / 1_000_000;
                    assert!(number("limited") <= may_be, "{name} {share} {window}: {answer}");
                }
            }
        }
    }
}

#[test]
fn the_policy_file_carries_the_warnings() {
    let Some(path) = shared("apache_combined.log") else { return };
    let path = path.display().to_string();
    let written = text(&rlsim(Path::new("."), &["recommend", "--trace", &path, "--export", "toml:-"]));
    for expected in [
        "# warning: 99 % of the requests fall into minute 5 of the hour, in each of 84 hours with any",
        "may be up to 60 times too high",
        "confirmed by nothing unseen",
    ] {
        assert!(written.contains(expected), "{expected}: {written}");
    }
}

#[test]
fn a_newcomer_gets_a_defended_limit_with_two_commands() {
    let Some(path) = shared("apache_combined.log") else { return };
    let path = path.display().to_string();
    let inspected = text(&rlsim(Path::new("."), &["inspect", "--trace", &path]));
    assert!(inspected.contains("usable for choosing a limit, with 1 warning"), "{inspected}");
    let said = text(&rlsim(Path::new("."), &["recommend", "--trace", &path]));
    for expected in [
        "Recommended for each client: token-bucket:69/1m,burst=13\n",
        "The promise: at most 0.1 % of the clients are ever limited.\n",
        "does not hold on the rest (3000 requests, 573 clients, 25 h): 1 of 573 clients limited, none allowed.\n",
        "On the whole trace it refuses 0.34 % of the requests (34 of 10 000) and limits 1 of 1753 clients.\n",
        "Whatever comes, a client gets at most 81 units through in any 60 s; here it was 79.\n",
        "warning: 99 % of the requests fall into minute 5 of the hour",
        "warning: 573 clients are too few to show a share of 0.1 %",
        "[[policy]]\nname = \"recommended\"\npolicy = \"token-bucket:69/1m,burst=13\"\n",
    ] {
        assert!(said.contains(expected), "{expected}\nnot in\n{said}");
    }
}
