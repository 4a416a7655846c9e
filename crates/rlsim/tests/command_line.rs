//! What the command line says to mistakes, and to a reader that goes away.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn rlsim(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rlsim")).args(words).current_dir(folder).output().expect("the program runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A trace of two clients, one request a second each.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = (0..400).map(|i| format!("{},c{}\n", i / 2, i % 2)).collect::<Vec<String>>().concat();
    std::fs::write(folder.path().join("t.csv"), format!("time_s,client\n{rows}")).expect("a file");
    folder
}

/// Words after `rlsim`, and what the message says.
const MISTAKES: &[(&[&str], &[&str])] = &[
    // No message of a parser that says nothing of what was expected.
    (&["cluster", "--lost", "half"], &["--lost", "whole percent from 0 to 100"]),
    (&["compare", "--trace", "t.csv", "--threads", "0"], &["--threads", "a whole number from 1 on", "all cores"]),
    (&["sweep", "--trace", "t.csv", "--threads", "0"], &["a whole number from 1 on"]),
    (&["storm", "--threads", "x"], &["a whole number from 1 on"]),
    (&["generate", "poisson", "--clients", "18446744073709551615"], &["--clients", "from 1 to 4294967295"]),
    (&["compare", "--trace", "t.csv", "--burst", "-1"], &["--burst", "a whole number of units, 1 or more"]),
    (&["compare", "--trace", "t.csv", "--limit", "-5/1m"], &["--limit", "at character 1: expected a whole number"]),
    (&["generate", "poisson", "--add", ""], &["in --add \"\": expected a pattern with its options"]),
    (&["sweep", "--trace", "t.csv", "--limit", "1..10 step 0"], &["a step of 0"]),
    (&["sweep", "--trace", "t.csv", "--limit", "18446744073709551616"], &["too large, expected at most"]),
    (&["compare", "--trace", "t.csv", "--limit", "5/300000d"], &["longer than 584 years"]),
    // Policy text names its option, and what was nearly right.
    (&["compare", "--trace", "t.csv", "--policy", "100/1m"], &["--policy: expected the name", "is --limit"]),
    (&["compare", "--trace", "t.csv", "--policy", "token_bucket:5/1m"], &["did you mean `token-bucket`?"]),
    (&["compare", "--trace", "t.csv", "--limit", "1.5/s"], &["a whole number in digits alone", "`3/2s`"]),
    (&["compare", "--trace", "t.csv", "--limit", "1k/1m"], &["a whole number in digits alone"]),
    (&["compare", "--trace", "t.csv", "--limit", "100/min"], &["ns, us, ms, s, m, h or d"]),
    // What would mean nothing.
    (&["recommend", "--trace", "t.csv", "--fit", "0%"], &["--fit", "more than 0%"]),
    (&["inspect", "--trace", "t.csv", "--window", "0s"], &["--window 0s: expected at least 1 ns"]),
    (&["generate", "spike", "--at", "100h"], &["--at 100h: the trace ends after 1m"]),
    (&["generate", "poisson", "--cost", "exp:0"], &["--cost", "a mean of 1 or more"]),
    (&["generate", "poisson", "--prefix", "a,b"], &["--prefix", "letters, digits"]),
    (&["generate", "poisson", "--prefix", "a\"b"], &["--prefix", "letters, digits"]),
    (&["generate", "poisson", "--prefix", "a\nb"], &["--prefix", "letters, digits"]),
    (&["storm", "--heat-map", "--replicates", "3"], &["cannot be used with"]),
    // Work without end.
    (&["generate", "poisson", "--clients", "1000000000", "--zipf", "1"], &["--clients 1000000000 with --zipf"]),
    (&["cluster", "--pattern", "poisson --rate 1000000000/s --duration 1000s"], &["too many to simulate", "--rate"]),
    // A trace without its option.
    (&["inspect", "t.csv"], &["tip: a trace is named with --trace t.csv"]),
    (&["compare", "t.csv"], &["tip: a trace is named with --trace t.csv"]),
];

#[test]
fn mistakes_say_what_was_expected_and_where() {
    let folder = folder();
    for (words, parts) in MISTAKES {
        let output = rlsim(folder.path(), words);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(output.stdout.is_empty(), "{words:?}");
        for part in *parts {
            assert!(said.contains(part), "{words:?}: {part} is not in {said}");
        }
    }
    // clap names the option once.
    let said = stderr(&rlsim(folder.path(), &["recommend", "--trace", "t.csv", "--attack", "5m"]));
    assert_eq!(said.matches("--attack").count(), 1, "{said}");
}

#[test]
fn scenarios_with_too_much_work_are_refused() {
    let folder = folder();
    let built_in = rlsim(folder.path(), &["storm", "polite-queue", "--print"]);
    let text = String::from_utf8(built_in.stdout).expect("TOML");
    let counted = |count: &str| {
        let changed =
            |line: &str| if line.starts_with("count = ") { format!("count = {count}\n") } else { format!("{line}\n") };
        std::fs::write(folder.path().join("own.toml"), text.lines().map(changed).collect::<String>()).expect("a file");
        rlsim(folder.path(), &["storm", "own.toml", "--no-chart"])
    };
    let output = counted("4000000000");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("`count` makes 4 000 000 000 clients, expected at most 1 000 000"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for words in
        [&["completions", "bash"][..], &["completions", "zsh"], &["man"], &["generate", "poisson", "--rate", "9999/s"]]
    {
        let mut child = Command::new(env!("CARGO_BIN_EXE_rlsim"))
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut out = child.stdout.take().expect("a pipe");
        out.read_exact(&mut [0; 10]).expect("a beginning");
        drop(out);
        let output = child.wait_with_output().expect("an end");
        assert!(output.status.success() && output.stderr.is_empty(), "{words:?}: {}", stderr(&output));
    }
}

#[test]
fn names_of_clients_are_read_back() {
    for prefix in ["", "-x", "tenant/", "é", "a:b@c+d_e.f"] {
        let made = rlsim(Path::new("."), &["generate", "poisson", &format!("--prefix={prefix}"), "--clients", "3"]);
        let text = String::from_utf8(made.stdout).expect("text");
        let mut lines = text.lines();
        // The comment is the command: typed again, it gives the same bytes.
        let command = lines.next().and_then(|line| line.strip_prefix("# rlsim ")).expect("a comment").to_owned();
        assert!(lines.skip(1).all(|row| row.split_once(',').is_some_and(|(_, name)| name.starts_with(prefix))));
        let again = rlsim(Path::new("."), &command.split(' ').collect::<Vec<_>>());
        assert_eq!(String::from_utf8(again.stdout).expect("text"), text, "{command}");
    }
}

#[test]
fn help_lists_the_exit_codes() {
    let said = String::from_utf8(rlsim(Path::new("."), &["--help"]).stdout).expect("text");
    for line in ["  0  done", "  1  failed", "  2  a mistake on the command line", "  3  an --assert did not hold"] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

/// A policy for a service is compared for all clients together, without a word on the command line.
#[test]
fn a_policy_file_says_whom_it_limits() {
    let folder = folder();
    let advise = ["recommend", "--trace", "t.csv", "--service-at-most", "100/1m", "--export", "s.toml"];
    assert!(rlsim(folder.path(), &advise).status.success());
    let compare = |words: &[&str]| {
        let all = [&["compare", "--trace", "t.csv", "--no-chart", "--export", "-"], words].concat();
        let output = rlsim(folder.path(), &all);
        let report: Option<serde_json::Value> = serde_json::from_slice(&output.stdout).ok();
        (report.map(|report| report["policies"][0]["requests"]["denied"].as_u64()), stderr(&output))
    };
    let (by_file, _) = compare(&["--policies", "s.toml"]);
    assert_eq!(by_file, compare(&["--policies", "s.toml", "--by", "global"]).0);
    // 120 a minute come, 60 of each client: only together they are too many.
    assert!(by_file.flatten().is_some_and(|denied| denied > 50), "{by_file:?}");
    for (words, expected) in [
        (&["--policies", "s.toml", "--by", "client"][..], "--by limits each client, and s.toml all clients together"),
        (
            &["--policies", "s.toml", "--policies", "c.toml"],
            "s.toml limits all clients together, and c.toml each client",
        ),
        (&["--policies", "bad.toml"], "bad.toml"),
    ] {
        let policy = "[[policy]]\npolicy = \"token-bucket:1/1s\"\n";
        std::fs::write(folder.path().join("c.toml"), format!("by = \"client\"\n{policy}")).expect("a file");
        std::fs::write(folder.path().join("bad.toml"), format!("by = \"planet\"\n{policy}")).expect("a file");
        let (report, said) = compare(words);
        assert!(report.is_none() && said.contains(expected), "{words:?}: {said}");
    }
}

#[test]
fn policies_come_from_standard_input_too() {
    let folder = folder();
    let run = |trace: &str| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_rlsim"))
            .args(["compare", "--trace", trace, "--policies", "-", "--no-chart"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let policy = b"[[policy]]\nname = \"login\"\npolicy = \"token-bucket:5/1m\"\n";
        let _ = std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), policy);
        child.wait_with_output().expect("an end")
    };
    let output = run("t.csv");
    assert!(String::from_utf8_lossy(&output.stdout).contains("\nlogin "), "{}", stderr(&output));
    let twice = run("-");
    assert_eq!(twice.status.code(), Some(2));
    assert!(stderr(&twice).contains("standard input can be read once"), "{}", stderr(&twice));
}

#[test]
fn an_assertion_that_holds_is_said() {
    let folder = folder();
    let words = ["compare", "--trace", "t.csv", "--no-chart", "--assert", "sliding-log.peak.overshoot <= 1"];
    let output = rlsim(folder.path(), &words);
    assert!(output.status.success());
    assert!(stderr(&output).contains("holds: sliding-log.peak.overshoot <= 1\n"), "{}", stderr(&output));
    let broken = rlsim(folder.path(), &[&words[..], &["--assert", "sliding-log.peak.overshoot < 0.1"]].concat());
    assert_eq!(broken.status.code(), Some(3));
    assert!(stderr(&broken).contains("holds: sliding-log.peak.overshoot <= 1\n"), "{}", stderr(&broken));
}

/// Simulations write what other commands write, in the same words.
#[test]
fn simulations_export_as_other_commands_do() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let polite = rlsim(folder.path(), &["storm", "polite-queue", "--print"]).stdout;
    std::fs::write(path("mine.json"), &polite).expect("a file");
    for (command, chart) in [
        (&["storm", "mine.json", "--only", "wait as told"][..], "mine-storm.svg"),
        (&["cluster", "--trace", "t.csv", "--servers", "2", "--strategy", "own-limit"], "cluster.svg"),
    ] {
        let run = |words: &[&str]| rlsim(folder.path(), &[command, words].concat());
        let table = run(&[]);
        assert!(table.status.success(), "{}", stderr(&table));
        assert!(stderr(&table).ends_with(&format!("wrote {chart}\n")), "{}", stderr(&table));
        let svg = std::fs::read(path(chart)).expect("the chart");
        let json = run(&["--no-chart", "--export", "-"]).stdout;
        assert!(json.starts_with(b"{\n  \"") && json.ends_with(b"}\n"));
        std::fs::remove_file(path(chart)).expect("the chart");
        assert_eq!(run(&["--export", "svg:-"]).stdout, svg);
        let named = run(&["--export", "json:a.txt", "svg:b"]);
        assert_eq!(named.stdout, table.stdout);
        assert_eq!((std::fs::read(path("a.txt")).unwrap(), std::fs::read(path("b")).unwrap()), (json, svg));
        assert!(!path(chart).exists(), "one chart is enough");
        let other = run(&["--export", "x.md"]);
        assert_eq!(other.status.code(), Some(2));
        assert!(
            stderr(&other).contains("expected a name that ends in .svg, .png, .json, or `-`"),
            "{}",
            stderr(&other)
        );
        #[cfg(feature = "png")]
        {
            assert!(run(&["--export", "c.png"]).status.success());
            assert!(std::fs::read(path("c.png")).unwrap().starts_with(b"\x89PNG"));
            assert!(!path(chart).exists(), "a PNG is the chart");
        }
    }
    let lost = rlsim(folder.path(), &["storm", "mine.json", "--export", "mine.json"]);
    assert_eq!(lost.status.code(), Some(1));
    assert!(stderr(&lost).contains("it is read here too and would be lost"), "{}", stderr(&lost));
    assert_eq!(std::fs::read(path("mine.json")).unwrap(), polite);
}

/// Ctrl-C while a command works leaves nothing half-written, and the old file as it was.
#[test]
#[cfg(unix)]
fn an_interrupt_leaves_no_file() {
    let commands: [&[&str]; 3] = [
        &["compare", "--trace", "-"],
        &["storm", "metastable", "--replicates", "10000"],
        &["cluster", "--pattern", "poisson --rate 5000/s --duration 500s"],
    ];
    for command in commands {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("x.json"), "old").expect("a file");
        let files = || std::fs::read_dir(folder.path()).expect("the folder").count();
        let mut child = Command::new(env!("CARGO_BIN_EXE_rlsim"))
            .args(command)
            .args(["--export", "x.json"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        // Waiting would close it, and so end what reads it.
        let _stdin = child.stdin.take();
        // The file, its successor, and the chart's.
        while files() < 3 {
            assert_eq!(child.try_wait().expect("a state"), None, "{command:?} ended early");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
        assert_eq!(child.wait().expect("an end").code(), Some(130), "{command:?}");
        assert_eq!(files(), 1, "{command:?}");
        assert_eq!(std::fs::read_to_string(folder.path().join("x.json")).expect("the file"), "old");
    }
}
