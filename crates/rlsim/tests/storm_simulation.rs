//! `rlsim storm`: conservation on any scenario, and the facts that the built-in ones are there to show.

use clap::Parser;
use proptest::prelude::*;
use rlsim::error::Error;
use rlsim::sim::storm::{Compared, Outcome, Recovery, Scenario, StormArgs, compare, run};

#[derive(Parser)]
#[command(no_binary_name = true)]
struct Typed {
    #[command(flatten)]
    storm: StormArgs,
}

fn typed(words: &[&str]) -> StormArgs {
    Typed::try_parse_from(words).unwrap_or_else(|error| panic!("{words:?}: {error}")).storm
}

/// Standard output and what was said beside it.
fn output(words: &[&str]) -> Result<(String, String), Error> {
    let (mut out, mut talk) = (Vec::new(), Vec::new());
    typed(words).run(&mut out, &mut talk)?;
    Ok((String::from_utf8(out).unwrap(), String::from_utf8(talk).unwrap()))
}

fn built_in(name: &str) -> Scenario {
    Scenario::parse(Scenario::built_in(name).unwrap(), name).unwrap()
}

fn variant<'a>(compared: &'a [Compared], name: &str) -> &'a Outcome {
    compared.iter().find(|variant| variant.name == name).unwrap_or_else(|| panic!("no variant {name}")).first()
}

/// Every attempt ends exactly once, every request too.
fn assert_conserved(outcome: &Outcome) {
    assert_eq!(outcome.requests, outcome.ends.served + outcome.gave_up + outcome.in_flight);
    assert_eq!(outcome.in_flight, 0, "drained");
    assert_eq!(outcome.attempts, outcome.ends.total());
    assert!(outcome.first_try <= outcome.ends.served);
    assert!(outcome.requests <= outcome.attempts + outcome.withheld);
    assert_eq!(outcome.groups.iter().map(|group| group.requests).sum::<u64>(), outcome.requests);
    assert_eq!(outcome.groups.iter().map(|group| group.served).sum::<u64>(), outcome.ends.served);
    let [p50, p95, p99, longest] = outcome.wait;
    assert!(p50 <= p95 && p95 <= p99 && p99 <= longest);
}

fn scenario() -> impl Strategy<Value = String> {
    let load = prop_oneof![
        (1..60u32).prop_map(|rate| format!("arrivals = \"poisson --rate {rate}/s\"")),
        (1..40u32).prop_map(|burst| format!("arrivals = \"cron --burst {burst} --every 1s --spread 0s\"")),
        (1..2000u32).prop_map(|think| format!("think = \"{think}ms\"")),
    ];
    let retry = prop::sample::select(vec![
        "give-up",
        "at-once",
        "fixed:70ms",
        "exponential:20ms..1s",
        "exponential:20ms..1s,full",
        "exponential:20ms..1s,equal",
        "exponential:20ms..1s,decorrelated",
        "retry-after",
        "retry-after,jitter",
        "50% retry-after + 50% at-once",
    ]);
    let limiter = prop::sample::select(vec![
        "",
        "limiter = \"token-bucket:10/1s,burst=3\"\nlimit-by = \"global\"",
        "limiter = \"leaky-bucket:10/1s\"\nlimit-by = \"global\"",
        "limiter = \"sliding-counter:2/1s\"\nhints = \"seconds\"",
        "limiter = \"fixed-window:1/1s\"\nhints = \"exact\"",
        "limiter = \"sliding-log:3/1s\"\nhints = \"none\"",
    ]);
    let throttle = prop::sample::select(vec!["", "throttle = \"budget:10%\"", "throttle = \"adaptive:2\""]);
    let trigger = prop::sample::select(vec![
        "",
        "[trigger]\nwhat = \"outage\"\nfrom = \"1s\"\nto = \"2s\"",
        "[trigger]\nwhat = \"slowdown\"\ntimes = 5\nfrom = \"1s\"\nto = \"2s\"",
        "[trigger]\nwhat = \"flash-crowd\"\nrate = \"50/s\"\nthink = \"10ms\"\nfrom = \"1s\"\nto = \"2s\"",
    ]);
    let server = (1..5u32, 1..80u32, 0..30u32, 0..=100u32, any::<bool>(), 1..50u32);
    (load, (retry, throttle), limiter, trigger, server, 1..12u32, 1..900u32).prop_map(
        |(
            load,
            (retry, throttle),
            limiter,
            trigger,
            (workers, service, queue, refusal, random, latency),
            attempts,
            timeout,
        )| {
            format!(
                "question = \"?\"\nduration = \"3s\"\ndrain = \"1h\"\n[server]\nworkers = {workers}\n\
                 service = \"{service}ms\"\nqueue = {queue}\nrefusal-percent = {refusal}\nrandom-service = {random}\n\
                 latency = \"{latency}ms\"\n{limiter}\n{trigger}\n[[clients]]\nname = \"c\"\ncount = 9\n{load}\n\
                 retry = \"{retry}\"\nattempts = {attempts}\ntimeout = \"{timeout}ms\"\n{throttle}\n"
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_attempt_and_every_request_ends_once(text in scenario(), seed in any::<u64>()) {
        let scenario = Scenario::parse(&text, "generated").unwrap();
        let outcome = run(&scenario, seed).unwrap();
        assert_conserved(&outcome);
        let again = run(&scenario, seed).unwrap();
        prop_assert_eq!(format!("{outcome:?}"), format!("{again:?}"));
    }
}

#[test]
fn a_polite_queue_serves_what_a_storm_loses() {
    let mut scenario = built_in("polite-queue");
    scenario.compare.retain(|variant| ["retry at once", "wait as told"].contains(&variant.name.as_str()));
    let compared = compare(&scenario, 1, 1, 2).unwrap();
    let (storm, queue) = (variant(&compared, "retry at once"), variant(&compared, "wait as told"));
    assert_conserved(queue);
    assert_conserved(storm);
    assert!(queue.amplification() < 2.0 && storm.amplification() > 50.0);
    let duration = scenario.duration();
    assert!(queue.goodput(duration) > 1.8 * storm.goodput(duration));
    assert_eq!((queue.recovery, storm.recovery), (Recovery::After(0), Recovery::Never));
}

#[test]
fn jitter_takes_a_herd_apart() {
    let compared = compare(&built_in("synchronized-retry"), 1, 1, 2).unwrap();
    assert_eq!(variant(&compared, "back off, no jitter").herd, 400);
    for name in ["back off, equal jitter", "back off, full jitter", "back off, decorrelated"] {
        assert!(variant(&compared, name).herd < 20, "{name}");
    }
}

#[test]
fn a_metastable_failure_outlives_its_trigger() {
    let compared = compare(&built_in("metastable"), 1, 1, 2).unwrap();
    assert_eq!(variant(&compared, "four tries").recovery, Recovery::Never);
    // Jitter does not help against it: the queue is full of work that nobody waits for.
    assert_eq!(variant(&compared, "four tries, full jitter").recovery, Recovery::Never);
    let budget = variant(&compared, "four tries, retry budget");
    assert!(budget.amplification() < 1.1);
    assert!(variant(&compared, "four tries, adaptive").withheld > 0);
    for name in [
        "one try",
        "four tries, short queue",
        "four tries, limit in front",
        "limit in front, wait as told",
        "four tries, retry budget",
        "four tries, adaptive",
    ] {
        assert!(matches!(variant(&compared, name).recovery, Recovery::After(_)), "{name}");
    }
    assert!(variant(&compared, "four tries").wasted > 5 * variant(&compared, "four tries, short queue").wasted);
}

#[test]
fn a_limit_for_each_protects_the_others() {
    let compared = compare(&built_in("noisy-neighbour"), 1, 1, 2).unwrap();
    let tenants = |name| variant(&compared, name).group_share(0);
    assert!(tenants("a limit for each") > 0.99);
    assert!(tenants("one limit for all") < tenants("no limit") && tenants("no limit") < 0.7);
}

#[test]
fn starting_apart_beats_coming_back_apart() {
    let compared = compare(&built_in("top-of-the-hour"), 1, 1, 2).unwrap();
    assert_eq!(variant(&compared, "started over 30 s").attempts, variant(&compared, "started over 30 s").requests);
    assert!(variant(&compared, "on the dot, every second").herd > 400);
}

#[test]
fn behaviours_of_ones_own_and_mixtures_are_compared() {
    let mix = "90% retry-after,jitter + 10% at-once";
    let (text, _) =
        output(&["synchronized-retry", "--retry", "give-up", "--retry", mix, "--no-chart", "--replicates", "3"])
            .unwrap();
    assert!(text.contains("give-up") && text.contains(mix) && text.contains("mean of 3 seeds from 1"), "{text}");
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let words =
        |threads| ["synchronized-retry", "--export", "-", "--no-chart", "--replicates", "3", "--threads", threads];
    let (one, _) = output(&words("1")).unwrap();
    assert_eq!(one, output(&words("4")).unwrap().0);
    let json: serde_json::Value = serde_json::from_str(&one).unwrap();
    assert_eq!(json["schema"], "rlsim.storm/1");
    assert_eq!(json["variants"][0]["outcomes"].as_array().unwrap().len(), 3);
}

#[test]
fn the_output_says_the_finding_and_names_the_chart() {
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("s.svg");
    let (text, talk) = output(&["synchronized-retry", "--export", chart.to_str().unwrap()]).unwrap();
    assert!(
        text.starts_with("After an outage that all clients notice at once, what spreads their return?\n"),
        "{text}"
    );
    assert!(text.contains("attempts for each."), "{text}");
    assert!(talk.ends_with("s.svg\n") && talk.starts_with("wrote "), "{talk}");
    assert!(std::fs::read_to_string(chart).unwrap().contains("an outage from 20 s to 23 s"));
}

#[test]
fn the_charts_of_the_docs_are_those_that_are_written() {
    for name in ["polite-queue", "metastable"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chart.svg");
        output(&[name, "--export", path.to_str().unwrap()]).unwrap();
        let shown = format!("{}/../../docs/{name}-storm.svg", env!("CARGO_MANIFEST_DIR"));
        let fresh = std::fs::read_to_string(path).unwrap() == std::fs::read_to_string(shown).unwrap();
        assert!(fresh, "docs/{name}-storm.svg is stale: write it anew with rlsim storm {name}");
    }
}

#[test]
fn a_heat_map_says_where_a_server_never_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.toml");
    // A tenth of the metastable scenario.
    let text = Scenario::built_in("metastable").unwrap();
    let text =
        text.replace("workers = 10", "workers = 1").replace("queue = 1000", "queue = 100").replace("160/s", "16/s");
    std::fs::write(&path, text).unwrap();
    let words = [path.to_str().unwrap(), "--heat-map", "--only", "four tries", "--no-chart"];
    let text = output(&words).unwrap().0;
    assert!(text.starts_with("\"four tries\": in ") && text.contains(" never"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&output(&[&words[..], &["--export", "-"]].concat()).unwrap().0).unwrap();
    let cells = json["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 36);
    // One row a load, rising: also where clients wait for an answer, and so ask a slower server for less.
    let eighth = Scenario::built_in("polite-queue").unwrap();
    let eighth =
        eighth.replace("workers = 8", "workers = 1").replace("queue = 40", "queue = 5").replace("600\n", "75\n");
    let path = folder.path().join("polite.toml");
    std::fs::write(&path, eighth).unwrap();
    let polite = output(&[path.to_str().unwrap(), "--heat-map", "--no-chart", "--export", "-"]).unwrap().0;
    let polite: serde_json::Value = serde_json::from_str(&polite).unwrap();
    for (cells, rows) in [(cells, 6), (polite["cells"].as_array().unwrap(), 6)] {
        let mut loads: Vec<u64> = cells.iter().map(|cell| cell["load_percent"].as_u64().unwrap()).collect();
        assert!(loads.is_sorted(), "{loads:?}");
        loads.dedup();
        assert_eq!(loads.len(), rows, "{loads:?}");
    }
    for (words, part) in [
        (["noisy-neighbour", "--heat-map", "--no-chart", "--seed=1"], "no [trigger]"),
        (["metastable", "--only", "five tries", "--no-chart"], "expected one of \"four tries\""),
    ] {
        let error = output(&words).unwrap_err();
        assert!(error.exit_code() == 2 && error.to_string().contains(part), "{error}");
    }
}

#[test]
fn scenarios_of_ones_own_start_from_a_printed_one() {
    for name in Scenario::names() {
        let (text, _) = output(&[name, "--print"]).unwrap();
        assert!(Scenario::parse(&text, name).is_ok());
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, Scenario::built_in("synchronized-retry").unwrap()).unwrap();
    let mine = output(&[path.to_str().unwrap(), "--no-chart"]).unwrap().0;
    assert_eq!(mine, output(&["synchronized-retry", "--no-chart"]).unwrap().0);
}

#[test]
fn mistakes_say_where_and_what_was_expected() {
    let good = Scenario::built_in("polite-queue").unwrap();
    for (old, new, part) in [
        ("workers = 8", "workers = 0", "workers, service and latency above zero"),
        ("workers = 8", "wrkers = 8", "unknown field `wrkers`"),
        ("service = \"50ms\"", "service = \"50\"", "expected a whole number and one of ns us ms s m h d"),
        ("think = \"6s\"", "arrivals = \"poison --rate 1/s\"", "expected a pattern of rlsim generate"),
        ("think = \"6s\"", "think = \"6s\"\narrivals = \"poisson --rate 1/s\"", "expected either `arrivals`"),
        ("token-bucket:1/5s,burst=3", "token-bucket:0/5s", "limit"),
        ("from = \"10s\"", "from = \"40s\"", "expected from < to"),
        ("refusal-percent = 10", "refusal-percent = 101", "expected 0 to 100"),
        ("retry = \"at-once\"", "retry = \"soon\"", "expected give-up, at-once"),
        ("name = \"wait as told\"", "name = \"x\"\nclients = \"nobody\"", "no group is called that"),
    ] {
        assert!(good.contains(old), "{old}");
        let error = Scenario::parse(&good.replacen(old, new, 1), "mine.toml").unwrap_err().to_string();
        assert!(error.starts_with("mine.toml: ") && error.contains(part), "{error}");
    }
    for (words, part) in [
        (["polite-cue", "--no-chart"], "no scenario \"polite-cue\"; expected a TOML file or one of polite-queue"),
        (["absent.toml", "--no-chart"], "absent.toml: "),
        (["polite-queue", "--export=x.md"], "expected a name that ends in .svg, .png, .json"),
    ] {
        let error = output(&words).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains(part), "{error}");
    }
}
