//! `--from` and `--until`: exactly the events in between, whatever their format, their unit and the way they are read; the rest
//! is counted as skipped.

mod common_trace;

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common_trace::{failure, read};
use proptest::prelude::*;
use rlsim::error::Error;
use rlsim::trace::{Answers, Between, Block, Input, ReadOptions, TimeIs, TimeUnit, Trace, load, sorted_stream};

const SECOND: u64 = 1_000_000_000;

fn between(from: &str, until: &str) -> ReadOptions {
    let bound = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
    ReadOptions { between: Between { from: bound(from), until: bound(until) }, ..ReadOptions::default() }
}

/// The times in seconds, and what was skipped.
fn kept(text: &str, options: &ReadOptions) -> (Vec<u64>, u64) {
    let trace = read(text, options);
    (trace.at.iter().map(|at| at / SECOND).collect(), trace.facts.skipped)
}

const DATES: &str =
    "time,client\n2024-05-12T08:00:00Z,a\n2024-05-12T09:00:00Z,b\n2024-05-12T10:00:00Z,\n2024-05-13T00:00:00Z,a\n";
const EIGHT: u64 = 1_715_500_800;

#[test]
fn dates_numbers_and_days_bound_a_trace_of_dates() {
    let hour = 3_600;
    for (from, until, zone, hours) in [
        ("", "", None, &[0, 1, 2, 16][..]),
        ("2024-05-12T09:00:00Z", "2024-05-12T10:00:00Z", None, &[1]),
        ("2024-05-12 09:00:00.000000001", "", None, &[2, 16]),
        ("2024-05-12 11:00", "", Some("Europe/Berlin"), &[1, 2, 16]),
        ("12/May/2024:11:00:00 +0200", "", Some("America/New_York"), &[1, 2, 16]),
        ("1715504400", "1715508000000", None, &[1]),
        ("2024-05-13", "2024-05-14", None, &[16]),
        ("", "2024-05-13", Some("Europe/Berlin"), &[0, 1, 2]),
    ] {
        let options = ReadOptions { timezone: zone.map(str::to_owned), ..between(from, until) };
        let expect: Vec<u64> = hours.iter().map(|after| EIGHT + after * hour).collect();
        assert_eq!(kept(DATES, &options), (expect, 4 - hours.len() as u64), "{from} {until}");
    }
}

#[test]
fn numbers_count_as_those_of_the_trace_do() {
    let guessed = "t,client\n1000,a\n3000,a\n9000,b\n";
    assert_eq!(kept(guessed, &between("3000", "9000")), (vec![3], 2));
    let said = ReadOptions { time_unit: Some(TimeUnit::Seconds), ..between("3000", "9000") };
    assert_eq!(kept(guessed, &said), (vec![3000], 2));
    assert_eq!(kept("time_us\n1000000\n3000000\n", &between("2000000.5", "")), (vec![3], 1));
    assert_eq!(kept("t\n1715501730\n1715501731\n", &between("2024-05-12T08:15:31Z", "")), (vec![1_715_501_731], 1));
}

/// The request counts at its start, also where the unit of its times is found at the end.
#[test]
fn starts_decide_where_ends_are_recorded() {
    let text = "t,duration\n10.5,1000\n12.5,1000\n13.5,4000\n";
    let options = ReadOptions {
        time_is: TimeIs::End,
        duration_column: Some(rlsim::trace::Column::Name("duration".into())),
        ..between("9.5", "11")
    };
    assert_eq!(kept(text, &options), (vec![9, 9], 1));
}

/// Only what is kept is counted: clients, answers, empty names, disorder, beside all that is skipped or bad anyway.
#[test]
fn what_is_said_is_of_the_events_kept() {
    let text =
        "t,client,status\n# a comment\n1,a,200\n2,-,429\n\nx,b,429\n9,c,200\n8,-,503\n7,d,429\n99999999999,e,429\n";
    let mut options = between("1", "8");
    options.answers = Answers::ByUsualNames;
    options.time_unit = Some(TimeUnit::Seconds);
    let trace = read(text, &options);
    let facts = &trace.facts;
    assert_eq!((facts.rows, facts.events, facts.bad, facts.blank, facts.skipped), (9, 3, 2, 1, 3));
    assert_eq!(trace.names, [&b"a"[..], b"-", b"d"].map(Box::from));
    assert_eq!((facts.reordered, facts.resolution_ns), (0, SECOND));
    let refused = facts.answers.refused(&options.answers).unwrap();
    assert_eq!((refused.too_many_requests, refused.unavailable), (2, 0));
    assert!(facts.notes.iter().any(|note| note.starts_with("1 event has an empty client")), "{:?}", facts.notes);
    // The same with a unit that is guessed at the end.
    options.time_unit = None;
    assert_eq!(read(text, &options).facts.answers, facts.answers);
    // What is not kept is counted where all is.
    let all = read(text, &ReadOptions { between: Between::default(), ..options });
    assert_eq!(all.facts.answers.refused(&Answers::ByUsualNames).unwrap().unavailable, 1);
    assert_eq!(all.facts.reordered, 2);
}

#[test]
fn nothing_left_names_the_span_of_the_trace() {
    assert_eq!(
        failure(DATES, &between("2025-01-01", "")),
        "FILE: no event is left by --from 2025-01-01: the trace spans 2024-05-12T08:00:00Z to 2024-05-13T00:00:00Z"
    );
    let message = failure("t\n3.5\n0.25\n", &between("1", "2"));
    assert_eq!(message, "FILE: no event is left by --from 1 --until 2: the trace spans 0.25 s to 3.5 s");
    assert!(failure("t\nx\n", &between("1", "2")).contains("no readable record"));
}

#[test]
fn what_lies_between_nothing_is_a_mistake_of_typing() {
    for (from, until) in [("2024-05-12", "2024-05-12"), ("5", "4"), ("1715504400", "2024-05-12")] {
        let Err(Error::Usage(message)) = common_trace::try_read(DATES, &between(from, until)) else { panic!("{from}") };
        assert!(message.contains(&format!("--from {from} --until {until}: nothing lies between")), "{message}");
    }
}

/// Reads by blocks; the columns, names of the clients of events, and the facts' counts.
fn streamed(input: &Input, options: &ReadOptions) -> Result<Trace, Error> {
    let (mut at, mut client, mut cost) = (Vec::new(), Vec::new(), Vec::new());
    let mut each = |block: Block<'_>| {
        at.extend_from_slice(block.at);
        client.extend_from_slice(block.client);
        cost.extend_from_slice(block.cost);
        cost.resize(at.len(), 1);
        Ok(())
    };
    let (names, facts) = sorted_stream(std::slice::from_ref(input), options, &mut each)?;
    Ok(Trace { at, client, cost: rlsim::trace::Costs::Each(cost), names, facts })
}

/// The client of each event by name, and its cost.
fn events(trace: &Trace) -> Vec<(u64, &[u8], u64)> {
    let event = |i: usize| (trace.at[i], &*trace.names[trace.client[i] as usize], trace.cost.get(i));
    (0..trace.at.len()).map(event).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Read whole, by blocks, and by any number of threads: those events of the whole trace that lie in between.
    #[test]
    fn the_events_in_between(
        gaps in prop::collection::vec((0..9_u64, 0..4_u8, 1..4_u64), 1..80),
        from in 0..400_u64,
        length in 1..400_u64,
        threads in 1..4_usize,
        named: bool,
    ) {
        let mut at = 0;
        let rows: Vec<String> = gaps.iter().map(|(gap, client, cost)| {
            at += gap;
            format!("{at},c{client},{cost}\n")
        }).collect();
        let column = if named { "time_ms" } else { "time" };
        let text = format!("{column},client,cost\n{}", rows.concat());
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let input = Input::File(file.path().to_owned());
        let whole = load(std::slice::from_ref(&input), &ReadOptions::default()).unwrap();
        let unit = if named { 1_000_000 } else { SECOND };
        let expect: Vec<_> =
            events(&whole).into_iter().filter(|(at, ..)| (from * unit..(from + length) * unit).contains(at)).collect();
        let mut options = between(&from.to_string(), &(from + length).to_string());
        options.threads = NonZeroUsize::new(threads);
        for found in [load(std::slice::from_ref(&input), &options), streamed(&input, &options)] {
            match found {
                Ok(found) => {
                    prop_assert_eq!(events(&found), expect.clone());
                    let facts = &found.facts;
                    prop_assert_eq!((facts.rows, facts.events), (gaps.len() as u64, expect.len() as u64));
                    prop_assert_eq!(facts.rows, facts.events + facts.skipped);
                }
                Err(error) => prop_assert!(expect.is_empty() && error.to_string().contains("no event is left")),
            }
        }
    }
}

/// Enough rows for several blocks and threads, some of them bad.
#[test]
fn many_rows_on_many_threads() {
    let row =
        |i: u64| format!("{},c{},{}\n", 1_715_501_730 + i / 10, i * 7 % 1_000, if i % 1_000 == 3 { "x" } else { "1" });
    let text = format!("time,client,cost\n{}", (0..200_000).map(row).collect::<String>());
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let input = Input::File(file.path().to_owned());
    let mut options = between("1715502730", "1715512730");
    let mut found = Vec::new();
    for threads in [1, 4] {
        options.threads = NonZeroUsize::new(threads);
        found.push(load(std::slice::from_ref(&input), &options).unwrap());
    }
    assert_eq!(found[0], found[1]);
    let facts = &found[0].facts;
    assert_eq!((facts.rows, facts.events, facts.bad, facts.skipped), (200_000, 99_900, 200, 99_900));
    assert_eq!(events(&found[0]), events(&streamed(&input, &options).unwrap()));
}

/// What lies outside may be in any order: a stream needs the events in between to be sorted.
#[test]
fn a_stream_looks_at_the_order_of_what_is_kept() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"t,client\n9,z\n1,y\n3,a\n4,a\n2,b\n").unwrap();
    let input = Input::File(file.path().to_owned());
    assert_eq!(streamed(&input, &between("3", "5")).unwrap().at, [3 * SECOND, 4 * SECOND]);
    let error = streamed(&input, &between("2", "5")).unwrap_err().to_string();
    assert!(error.contains(":6: not in time order"), "{error}");
}

fn rlsim(words: &str, input: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces");
    let words = words.split_whitespace().map(|word| word.replace("{traces}", &traces.to_string_lossy()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_rlsim"));
    command.args(words).current_dir(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A mistake is told before anything is read.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn every_command_that_reads_a_trace_takes_both() {
    let cut: String = DATES.split_inclusive('\n').take(3).collect();
    for command in ["compare --limit 1/1h", "compare --stream", "inspect", "sweep", "recommend --fit 100%", "cluster"] {
        let simulation = if command == "cluster" { " --servers 2 --strategy own-limit" } else { "" };
        let chart = if matches!(command, "compare --limit 1/1h" | "cluster") { " --no-chart" } else { "" };
        let command = format!("{command} --trace -{simulation}{chart}");
        let part = rlsim(&format!("{command} --from 2024-05-12 --until 2024-05-12T10:00Z"), DATES);
        let stderr = String::from_utf8_lossy(&part.stderr).into_owned();
        assert!(part.status.success(), "{command}: {stderr}");
        let whole = rlsim(&command, &cut);
        // inspect shows how many records were skipped.
        let shown = |output: &Output| {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.replace("rows       4 =", "rows       2 =").replace("2 skipped", "0 skipped")
        };
        assert_eq!(shown(&part), shown(&whole), "{command}");
        let wrong = rlsim(&format!("{command} --from 2024-05-12 --until 2024-05-11"), DATES);
        assert_eq!(wrong.status.code(), Some(2), "{command}");
        let none = rlsim(&format!("{command} --until 2024-05-12"), DATES);
        let message = String::from_utf8_lossy(&none.stderr).into_owned();
        assert_eq!(none.status.code(), Some(1), "{command}: {message}");
        assert!(
            message.contains("the trace spans 2024-05-12T08:00:00Z to 2024-05-13T00:00:00Z"),
            "{command}: {message}"
        );
    }
    let pattern = rlsim("cluster --from 2024-05-12", "");
    assert_eq!(pattern.status.code(), Some(2), "a pattern has no dates");
}
