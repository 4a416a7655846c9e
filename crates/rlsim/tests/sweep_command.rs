//! `rlsim sweep` as a person runs it.

use std::path::Path;
use std::process::{Command, Output};

fn rlsim(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rlsim")).args(words).current_dir(folder).output().expect("the program runs")
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// A request every second for ten minutes, and 30 at once every minute.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mut rows = String::from("time,client\n");
    for second in 0..600 {
        let requests = if second % 60 == 0 { 30 } else { 1 };
        rows.push_str(&format!("{second},a\n").repeat(requests));
    }
    std::fs::write(folder.path().join("t.csv"), rows).expect("a file");
    folder
}

#[test]
fn table_csv_json_and_picture_tell_the_same() {
    let folder = folder();
    let words =
        ["sweep", "--trace", "t.csv", "--limit", "20..100 step 20/1m", "--algorithm", "sliding-log,token-bucket"];
    let table = text(&rlsim(folder.path(), &words));
    assert_eq!(
        table.lines().filter(|line| line.contains("/1m")).count(),
        10 + table.matches("knee: ").count(),
        "{table}"
    );
    let exports = ["--export", "s.csv", "s.json", "s.svg"];
    text(&rlsim(folder.path(), &[&words[..], &exports].concat()));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
    let report: serde_json::Value = serde_json::from_str(&read("s.json")).expect("JSON");
    assert_eq!(report["schema"], "rlsim.sweep/1");
    let points = report["points"].as_array().expect("points");
    assert_eq!((points.len(), read("s.csv").lines().count()), (10, 11));
    // 89 in any 60 s: 20 pass a limit of 20, the others not.
    assert_eq!((points[0]["policy"].as_str(), points[0]["peak"].as_u64()), (Some("sliding-log:20/1m"), Some(20)));
    assert_eq!((points[4]["limit"].as_u64(), points[4]["denied"].as_u64()), (Some(100), Some(0)));
    assert!(read("s.svg").contains("<desc id=\"sweep-desc\">"));
}

#[test]
fn multiples_of_the_traces_own_rate() {
    let folder = folder();
    let words =
        ["sweep", "--trace", "t.csv", "--limit", "0.5x..1x step 0.5x,0.5p", "--window", "10s,1m", "--algorithm"];
    let csv = text(&rlsim(folder.path(), &[&words[..], &["fixed-window", "--export=csv:-"]].concat()));
    let limits: Vec<&str> = csv.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    // 890 requests in 599 s: 14.86 in 10 s and 89.1 in a minute; at most 39 in 10 s and 89 in a minute.
    let expected = [
        "fixed-window:8/10s",
        "fixed-window:15/10s",
        "fixed-window:20/10s",
        "fixed-window:45/1m",
        "fixed-window:90/1m",
    ];
    assert_eq!(limits[..5], expected);
    assert_eq!(limits[5], "fixed-window:45/1m");
}

#[test]
fn mistakes_are_usage_errors_that_help() {
    let folder = folder();
    for (words, expected) in [
        (&["--limit", "50..100"][..], "expected FROM..TO step STEP"),
        (&["--limit", "abc"], "joined by commas, a range such as 50..500 step 50, or `auto`"),
        (&["--limit", "50/1m", "--window", "1s"], "given twice"),
        (&["--limit", "50/1x"], "expected a whole number and one of"),
        (&["--window", "0s"], "at least 1 ns"),
        (&["--burst", "0"], "refuse everything"),
        (&["--export", "x.md"], "ends in .svg, .png, .json, .csv"),
    ] {
        let output = rlsim(folder.path(), &[&["sweep", "--trace", "t.csv"], words].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
    }
}

/// Client `i` asks for `120 / i` at one instant, so that refusals fall ever slower as the limit rises.
fn uneven() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let rows: Vec<String> = (1..=40).map(|i| format!("{},c{i}\n", 100 * i).repeat(120 / i)).collect();
    std::fs::write(folder.path().join("t.csv"), format!("time,client\n{}", rows.concat())).expect("a file");
    folder
}

#[test]
fn a_knee_is_told_with_what_comes_after_it() {
    let folder = uneven();
    let words = |limits| ["sweep", "--trace", "t.csv", "--limit", limits, "--algorithm", "sliding-log"];
    let said = text(&rlsim(folder.path(), &words("5,10,20,40,80,120")));
    // By hand, of 502 requests: above 40 are 120 and 60, so 100 are refused; above 80 is 120, so 40 are. From corner to corner
    // the refusals of the limits fall short of the straight line by 0.19, 0.34, 0.39 and 0.23.
    let expected = "knee: sliding-log:40/1m refuses 19.9 % of the requests and lets through at most 40 in any 60 s: the curve \
                    bends here; its next point, sliding-log:80/1m, refuses 8 % and lets 80 through\n";
    assert!(said.ends_with(expected), "{said}");
    let few = text(&rlsim(folder.path(), &words("5,10,20,40")));
    assert!(!few.contains("knee"), "{few}");
}

fn warnings(folder: &Path, words: &[&str]) -> Vec<String> {
    let output = rlsim(folder, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    said.lines().filter(|line| line.starts_with("warning: ")).map(str::to_owned).collect()
}

#[test]
fn what_is_odd_about_the_trace_is_said_as_recommend_says_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |rows: Vec<String>| {
        std::fs::write(folder.path().join("t.csv"), format!("time,client\n{}", rows.concat())).expect("a file");
    };
    // 150 clients in twelve hours, all of them in minute 5.
    write((0..1500).map(|i| format!("{},c{}\n", i / 125 * 3600 + 300 + i % 125 * 60 / 125, i % 150)).collect());
    let said = warnings(folder.path(), &["sweep", "--trace", "t.csv", "--limit", "5,10", "--window", "1s,1m"]);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("warning: 99 % of the requests fall into minute 5 of the hour"), "{said:?}");
    assert!(said[1].starts_with("warning: the clock ticks every 1 s"), "{said:?}");
    let recommended = text(&rlsim(folder.path(), &["recommend", "--trace", "t.csv", "--window", "1s"]));
    for warning in &said {
        let found = warning.split("; ").next().unwrap_or_default();
        assert!(recommended.contains(found), "{found}: {recommended}");
    }
}

#[test]
fn more_than_one_bad_row_in_a_hundred_is_a_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    for (bad, expected) in [(1, false), (2, true)] {
        let rows: String =
            (0..99).map(|i| format!("{i}.5,c{i}\n")).chain((0..bad).map(|_| "?,x\n".to_owned())).collect();
        std::fs::write(folder.path().join("t.csv"), format!("time,client\n{rows}")).expect("a file");
        let commands: [&[&str]; 3] = [
            &["sweep", "--trace", "t.csv", "--limit", "5"],
            &["compare", "--trace", "t.csv", "--no-chart"],
            &["compare", "--trace", "t.csv", "--stream"],
        ];
        for words in commands {
            let said = warnings(folder.path(), words);
            let share = "warning: 2 of 101 rows could not be read (2 %); ";
            assert_eq!(said.iter().any(|line| line.starts_with(share)), expected, "{words:?}: {said:?}");
            assert_eq!(said.iter().any(|line| line.contains("could not be read")), expected, "{words:?}: {said:?}");
        }
    }
}

#[test]
fn a_few_events_say_nothing_of_a_clock() {
    let folder = tempfile::tempdir().expect("a folder");
    for (events, told) in [(9, false), (30, true)] {
        let rows: Vec<String> = (0..events).map(|i| format!("{},c\n", 1000 * i)).collect();
        std::fs::write(folder.path().join("t.csv"), format!("time_s,client\n{}", rows.concat())).expect("a file");
        let output = rlsim(folder.path(), &["compare", "--trace", "t.csv", "--no-chart", "--limit", "5/1m"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said.contains("ticks every"), told, "{said}");
    }
}
