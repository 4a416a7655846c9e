//! `compare --stream`: every number that it gives equals the one without it, and the others are null.

use std::fmt::Write as _;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use proptest::prelude::*;
use rlsim::compare::Comparison;
use rlsim::error::Error;
use rlsim::metrics::Depth;
use rlsim::replay::{By, NamedPolicy, unique_names};
use rlsim::report::Report;
use rlsim::trace::{Input, ReadOptions, load};
use serde_json::Value;

fn policies(texts: &[String]) -> Vec<NamedPolicy> {
    unique_names(texts.iter().map(|text| (None, text.parse().expect("a policy"))).collect()).unwrap()
}

/// The five, the baseline, and several limits at once; with buckets that hold more than the limit.
fn all(quota: &str, burst: u64) -> Vec<NamedPolicy> {
    let windows = ["fixed-window", "sliding-log", "sliding-counter"].map(|name| format!("{name}:{quota}"));
    let buckets = ["token-bucket", "leaky-bucket"].map(|name| format!("{name}:{quota},burst={burst}"));
    let others = ["unlimited".to_owned(), format!("fixed-window:{quota}+leaky-bucket:{quota}")];
    policies(&[&windows[..], &buckets, &others].concat())
}

fn comparison(policies: Vec<NamedPolicy>, by: By, threads: usize) -> Comparison {
    let threads = NonZeroUsize::new(threads).unwrap();
    Comparison { policies, by, threads, depth: Depth::Everything, command: vec!["rlsim".into()] }
}

/// The report as JSON without the numbers that need all events, which must be there or not as `measured` says.
fn common(report: &Report, measured: bool) -> Value {
    let mut value = serde_json::to_value(report).unwrap();
    value.as_object_mut().unwrap().remove("offered");
    for policy in value["policies"].as_array_mut().unwrap() {
        let waits = policy["delay_ns"]["max"].as_u64().is_some_and(|max| max > 0);
        let percentiles = if waits { &["p50", "p95", "p99"][..] } else { &[] };
        for percentile in percentiles {
            assert_eq!(policy["delay_ns"][percentile].is_null(), !measured, "{policy}");
            policy["delay_ns"][percentile] = Value::Null;
        }
        for key in ["envelope", "series", "retry"] {
            assert_eq!(policy[key].is_null(), !measured, "{key}: {policy}");
            policy[key] = Value::Null;
        }
        // Null without a quota or a state too, so these are null in a stream and anything otherwise.
        for key in ["over_limit_time", "memory"] {
            assert!(measured || policy[key].is_null(), "{key}: {policy}");
            policy[key] = Value::Null;
        }
    }
    value
}

fn same(inputs: &[Input], comparison: &Comparison) {
    let options = ReadOptions::default();
    let whole = comparison.run(&load(inputs, &options).unwrap());
    let (streamed, facts) = comparison.run_stream(inputs, &options).unwrap();
    assert_eq!(facts.events, whole.meta.trace.events);
    assert_eq!(common(&streamed, false), common(&whole, true));
    assert_eq!(rlsim::report::table(&streamed), rlsim::report::table(&whole));
    assert_eq!(streamed.meta.names, whole.meta.names);
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file() && path.extension().is_none_or(|ending| ending != "md"));
    files.sort();
    files
}

/// Every trace of the project and every fixture: sorted ones give the same numbers, the others are refused.
#[test]
fn every_trace_of_the_project() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut sorted, mut refused) = (0, 0);
    for path in [files(&here.join("../../traces")), files(&here.join("tests/traces"))].concat() {
        let inputs = [Input::File(path.clone())];
        let Ok(trace) = load(&inputs, &ReadOptions::default()) else { continue };
        if trace.facts.reordered == 0 {
            same(&inputs, &comparison(all("5/10s", 7), By::Client, 2));
            same(&inputs, &comparison(all("100/1m", 100), By::Global, 1));
            sorted += 1;
        } else {
            let error = comparison(all("5/10s", 7), By::Client, 2).run_stream(&inputs, &ReadOptions::default());
            assert!(error.unwrap_err().to_string().contains("not in time order"), "{}", path.display());
            refused += 1;
        }
    }
    assert!(sorted > 20 && refused > 0, "{sorted} sorted, {refused} refused");
}

/// The real files that live beside the project, where they are there.
#[test]
fn every_shared_trace() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = std::env::var_os("SHARED_TRACES").map_or(beside, PathBuf::from);
    if !folder.exists() {
        println!("skipped: {} is absent", folder.display());
        return;
    }
    for path in [files(&folder), files(&folder.join("formats"))].concat() {
        let inputs = [Input::File(path.clone())];
        let Ok(trace) = load(&inputs, &ReadOptions::default()) else { continue };
        let comparison = comparison(policies(&["token-bucket:20/1m".into()]), By::Client, 2);
        if trace.facts.reordered == 0 {
            same(&inputs, &comparison);
        } else {
            assert!(comparison.run_stream(&inputs, &ReadOptions::default()).is_err(), "{}", path.display());
        }
    }
}

/// A trace as text: gaps, clients and costs.
fn text(events: &[(u64, u8, u64)]) -> String {
    let mut text = String::from("time_ns,client,cost\n");
    let mut at = 0;
    for (gap, client, cost) in events {
        at += gap;
        let _ = writeln!(text, "{at},c{client},{cost}");
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_sorted_trace(
        events in prop::collection::vec((prop_oneof![Just(0), 0..30_u64, 0..400_u64], 0..5_u8, 0..6_u64), 1..120),
        limit in 1..9_u64,
        window in prop_oneof![1..5_u64, 20..500_u64],
        burst in 1..20_u64,
        global: bool,
        threads in 1..4_usize,
    ) {
        let file = file(&text(&events));
        let by = if global { By::Global } else { By::Client };
        let comparison = comparison(all(&format!("{limit}/{window}ns"), burst), by, threads);
        same(&[Input::File(file.path().to_owned())], &comparison);
    }
}

#[test]
fn many_blocks_and_several_files() {
    let part = |from: u64| {
        let mut text = String::from("time,client\n");
        for i in from..from + 35_000 {
            let _ = writeln!(text, "{}.{:02},c{}", 1_715_501_730 + i / 50, i % 50 * 2, i * i % 97);
        }
        file(&text)
    };
    let (first, second) = (part(0), part(35_000));
    let inputs = [&first, &second].map(|file| Input::File(file.path().to_owned()));
    same(&inputs, &comparison(all("10/30s", 15), By::Client, 3));
    let backwards = [inputs[1].clone(), inputs[0].clone()];
    let error =
        comparison(all("10/30s", 15), By::Client, 2).run_stream(&backwards, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains(&format!("{}:2: not in time order", first.path().display())), "{error}");
}

#[test]
fn a_client_of_bad_records_only_is_no_client() {
    let file = file("time,client,cost\n1,a,1\n2,b,x\n2,c,1\n3,b,1\n");
    same(&[Input::File(file.path().to_owned())], &comparison(all("1/2s", 1), By::Client, 1));
    let lost = self::file("time,client,cost\n1,a,1\n99999999999999999999,b,1\n2,c,1\n");
    same(&[Input::File(lost.path().to_owned())], &comparison(all("1/2s", 1), By::Client, 1));
}

/// The first rows say milliseconds (all multiples of 1000), most of them together seconds.
#[test]
fn a_unit_that_the_rest_contradicts_is_an_error() {
    let mut text = String::from("t,client\n");
    for i in 0..70_000_u64 {
        let _ = writeln!(text, "{},c", if i < 25_000 { i * 1000 } else { 25_000_001 + i * 2 });
    }
    let file = file(&text);
    let inputs = [Input::File(file.path().to_owned())];
    let run = |options: &ReadOptions| comparison(all("5/10s", 5), By::Client, 2).run_stream(&inputs, options);
    let Err(Error::Failed(message)) = run(&ReadOptions::default()) else { panic!("the guesses differ") };
    assert!(message.contains("look like ms, all of them together like s: say which with --time-unit"), "{message}");
    assert!(run(&ReadOptions { time_unit: Some(rlsim::trace::TimeUnit::Seconds), ..ReadOptions::default() }).is_ok());
}

fn rlsim(words: &str, input: &str) -> Output {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces");
    let folder = tempfile::tempdir().unwrap();
    let words = words.split_whitespace().map(|word| word.replace("{traces}", &traces.to_string_lossy()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_rlsim"));
    command.args(words).current_dir(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A refusal does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no file is left");
    output
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_command_reads_files_and_stdin() {
    let whole = rlsim("compare --trace {traces}/burst.csv --no-chart", "");
    let burst = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/burst.csv")).unwrap();
    for streamed in
        [rlsim("compare --trace {traces}/burst.csv --stream", ""), rlsim("compare --trace - --stream", &burst)]
    {
        assert!(streamed.status.success(), "{}", stderr(&streamed));
        assert_eq!(String::from_utf8_lossy(&streamed.stdout), String::from_utf8_lossy(&whole.stdout));
    }
    let json = rlsim("compare --trace {traces}/burst.csv --stream --export -", "");
    let report: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(report["policies"][0]["peak"]["overshoot"], 2.0);
    assert!(report["policies"][0]["series"].is_null());
}

#[test]
fn what_a_stream_cannot_do_is_said_before_it_is_read() {
    for (words, code, reason) in [
        ("--export a.svg", 2, "--stream keeps none: expected a name that ends in .json, .csv or .md"),
        ("--export a.html", 2, "leave out --stream"),
        ("--engine keyed", 2, "cannot be used with"),
        ("--assert fixed-window.over_limit_time<0.1", 2, "over_limit_time needs all events at once"),
        ("--assert fixed-window.retry.herd<2", 2, "retry.herd needs all events at once"),
        ("--assert fixed-window.peak.units<2", 3, "found 200"),
        ("--assert fixed-window.contested>=0", 0, ""),
    ] {
        let output = rlsim(&format!("compare --trace {{traces}}/burst.csv --stream {words}"), "");
        assert_eq!(output.status.code(), Some(code), "{words}: {}", stderr(&output));
        assert!(stderr(&output).contains(reason), "{words}: {}", stderr(&output));
    }
}

#[test]
fn input_out_of_order_shows_where_and_what_helps() {
    let output = rlsim("compare --trace - --stream", "time,client\n1715501731,a\n1715501730,b\n");
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    assert!(message.contains("stdin:3: not in time order: this event lies 1000000000 ns before"), "{message}");
    assert!(message.contains("leave it out, and any order will do, or sort"), "{message}");
}
