//! `rlsim cluster`: the facts that it must reproduce, on random traffic.

use clap::Parser;
use proptest::prelude::*;
use ratelimit_core::Policy;
use rlsim::error::Error;
use rlsim::sim::cluster::{
    Answer, Arrival, Cluster, ClusterArgs, Delay, Exact, Faults, Outcome, Routing, Strategy as Sharing, Timeout,
    WhenDown, answers, run,
};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

const POLICIES: [&str; 6] = [
    "fixed-window:20/1s",
    "sliding-log:20/1s",
    "sliding-counter:20/1s",
    "token-bucket:20/1s",
    "token-bucket:20/1s,burst=7",
    "leaky-bucket:20/1s",
];

fn sharings() -> Vec<Sharing> {
    ["own-limit", "split-limit", "shared-store", "read-then-write", "sub-keys:3", "leases", "leases:4", "sync:100ms"]
        .map(|text| text.parse().unwrap())
        .to_vec()
}

fn cluster(servers: usize, policy: &str) -> Cluster {
    Cluster {
        servers,
        policy: policy.parse().unwrap(),
        routing: Routing::RoundRobin,
        delay: Delay::Constant(0),
        faults: Faults::default(),
        seed: 1,
    }
}

fn outcome(cluster: &Cluster, sharing: &str, arrivals: &[Arrival]) -> Outcome {
    run(cluster, sharing.parse().unwrap(), arrivals, &Exact::of(&cluster.policy, arrivals))
}

/// One unit every `gap` nanoseconds, of client 0.
fn steady(gap: u64, until: u64) -> Vec<Arrival> {
    (0..until / gap).map(|k| Arrival { at: k * gap, client: 0, cost: 1 }).collect()
}

fn traffic() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![Just(0u64), 0..5 * MS, 0..200 * MS];
    proptest::collection::vec((gap, 0..3u32, 1..4u64), 1..300).prop_map(|steps| {
        let mut at = 7 * SECOND;
        let arrival = |(gap, client, cost)| {
            at += gap;
            Arrival { at, client, cost }
        };
        steps.into_iter().map(arrival).collect()
    })
}

/// Instants and costs of what one client gets, in time order.
fn admitted(arrivals: &[Arrival], answers: &[Option<Answer>], client: u32) -> Vec<(u64, u64)> {
    let pairs = arrivals.iter().zip(answers).filter(|(arrival, _)| arrival.client == client);
    let mut admitted: Vec<_> = pairs
        .filter_map(|(arrival, answer)| answer.filter(|answer| answer.allowed).map(|answer| (answer.at, arrival.cost)))
        .collect();
    admitted.sort_unstable();
    admitted
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_shared_store_without_delay_is_one_server(arrivals in traffic(), servers in 1..6usize) {
        for policy in POLICIES {
            prop_assert_eq!(outcome(&cluster(servers, policy), "shared-store", &arrivals).different, 0, "{}", policy);
        }
    }

    #[test]
    fn one_server_alone_is_exact_however_it_shares(arrivals in traffic()) {
        for policy in POLICIES {
            for sharing in ["own-limit", "split-limit", "shared-store", "sub-keys:1", "sync:100ms"] {
                let different = outcome(&cluster(1, policy), sharing, &arrivals).different;
                prop_assert_eq!(different, 0, "{} {}", policy, sharing);
            }
        }
    }

    /// A client that always meets the same server: nobody else knows anything of it.
    #[test]
    fn servers_that_share_no_client_are_exact(arrivals in traffic(), servers in 1..6usize, delay in 0..30 * MS) {
        for policy in ["sliding-counter:20/1s", "token-bucket:20/1s,burst=7"] {
            let mut cluster = cluster(servers, policy);
            cluster.routing = Routing::Sticky;
            cluster.delay = Delay::Random(delay);
            for sharing in ["own-limit", "sync:50ms", "sync:1s"] {
                prop_assert_eq!(outcome(&cluster, sharing, &arrivals).different, 0, "{} {}", policy, sharing);
            }
        }
    }

    #[test]
    fn a_split_limit_never_exceeds_it(arrivals in traffic(), servers in 1..8usize) {
        for (policy, most) in [("sliding-log:20/1s", 20), ("fixed-window:20/1s", 40), ("token-bucket:20/1s,burst=7", 27)] {
            let outcome = outcome(&cluster(servers, policy), "split-limit", &arrivals);
            prop_assert!(outcome.peak <= most, "{} {}", policy, outcome.peak);
        }
    }

    #[test]
    fn leases_never_exceed_the_bound(arrivals in traffic(), servers in 1..6usize, slice in 1..9u64, delay in 0..30 * MS) {
        let mut cluster = cluster(servers, "token-bucket:20/1s");
        cluster.delay = Delay::Random(delay);
        // A store that answers in time.
        cluster.faults.timeout = Timeout(100 * SECOND);
        let answers = answers(&cluster, Sharing::Leases(slice), &arrivals);
        // Units are charged when they are taken, and kept for a tenth of the window at most.
        let keep = SECOND / 10;
        let bound = |span: u64| 20 + 20 * span / SECOND;
        for client in 0..3 {
            let admitted = admitted(&arrivals, &answers, client);
            for (first, &(from, _)) in admitted.iter().enumerate() {
                let mut sum = 0;
                for &(at, cost) in &admitted[first..] {
                    sum += cost;
                    prop_assert!(sum <= bound(at - from + keep), "{} units in {} ns", sum, at - from);
                }
            }
            // From the beginning there is no grace at all.
            let mut sum = 0;
            for &(at, cost) in &admitted {
                sum += cost;
                prop_assert!(sum <= bound(at - arrivals[0].at));
            }
        }
    }

    #[test]
    fn splitting_a_leaky_bucket_never_shortens_the_summed_delay(arrivals in traffic(), servers in 2..6usize) {
        // Guerin 2019 (arXiv:1909.08969), for units of one size and until they have drained; a queue that refuses nothing, so that both
        // serve the same requests.
        let arrivals: Vec<_> = arrivals.into_iter().map(|arrival| Arrival { client: 0, cost: 1, ..arrival }).collect();
        let cluster = cluster(servers, "leaky-bucket:20/1s,burst=100000");
        let split = outcome(&cluster, "split-limit", &arrivals);
        let whole = Exact::of(&cluster.policy, &arrivals);
        prop_assert_eq!(split.units, whole.units);
        // One unit drains in 50 ms, and from a part of the rate in as many times that as there are parts.
        let drained = |waited: u128, parts: usize| waited + (arrivals.len() * parts) as u128 * 50 * u128::from(MS);
        prop_assert!(drained(split.delay_sum, servers) >= drained(whole.delay_sum, 1));
    }

    #[test]
    fn every_request_is_answered_once_whatever_goes_wrong(
        arrivals in traffic(),
        servers in 1..6usize,
        lost in 0..=100u32,
        times in (0..9u64, 0..4u64, 0..9u64, 0..9u64),
        when_down in prop::sample::select(vec![WhenDown::Open, WhenDown::Closed, WhenDown::Local]),
    ) {
        let (from, length, leave, join) = times;
        let at = |seconds: u64| format!("{}ms", 7000 + seconds * 500);
        let down = format!("{}..{}", at(from), at(from + length + 1)).parse().unwrap();
        let faults = Faults {
            store_down: Some(down),
            when_down,
            leave: Some(at(leave).parse().unwrap()),
            join: Some(at(join).parse().unwrap()),
            skew: Some("80ms".parse().unwrap()),
            lost,
            ..Faults::default()
        };
        let mut cluster = cluster(servers, "token-bucket:20/1s");
        cluster.faults = faults;
        cluster.delay = Delay::Random(3 * MS);
        cluster.routing = Routing::Random;
        for sharing in sharings() {
            let exact = Exact::of(&cluster.policy, &arrivals);
            let first = run(&cluster, sharing, &arrivals, &exact);
            prop_assert_eq!(first.unanswered, 0, "{}", sharing);
            prop_assert_eq!(format!("{first:?}"), format!("{:?}", run(&cluster, sharing, &arrivals, &exact)));
        }
    }
}

#[test]
fn each_its_own_limit_reaches_n_times_the_limit() {
    // Far more than every server may let through.
    let arrivals = steady(MS / 10, 5 * SECOND);
    for policy in POLICIES {
        for servers in [2, 10] {
            let outcome = outcome(&cluster(servers, policy), "own-limit", &arrivals);
            let exact = Exact::of(&policy.parse::<Policy>().unwrap(), &arrivals);
            let n = servers as u64;
            assert!(outcome.peak <= n * exact.peak && outcome.peak + n >= n * exact.peak, "{policy}");
            assert!(outcome.units + n * n >= n * exact.units, "{policy}: {} {}", outcome.units, exact.units);
        }
    }
    assert_eq!(outcome(&cluster(10, "sliding-log:20/1s"), "own-limit", &arrivals).peak, 200);
}

#[test]
fn a_split_limit_loses_under_skew() {
    // Exactly the limit, all of it allowed by one limiter.
    let arrivals = steady(SECOND / 20, 20 * SECOND);
    let mut cluster = cluster(10, "token-bucket:20/1s");
    assert_eq!(outcome(&cluster, "split-limit", &arrivals).needless, 0, "even routing");
    cluster.routing = Routing::Weighted(vec![20, 1]);
    let skewed = outcome(&cluster, "split-limit", &arrivals);
    assert!(skewed.efficiency < 0.6 && skewed.needless > 160, "{}", skewed.efficiency);
    cluster.routing = Routing::Sticky;
    assert!(outcome(&cluster, "split-limit", &arrivals).efficiency < 0.2, "one client, one server");
}

#[test]
fn a_race_lets_through_what_an_atomic_store_refuses() {
    let arrivals = steady(MS / 10, SECOND);
    let mut cluster = cluster(10, "token-bucket:20/1s");
    assert_eq!(outcome(&cluster, "read-then-write", &arrivals).excess, 0, "no delay, no race");
    cluster.delay = Delay::Constant(MS);
    assert_eq!(outcome(&cluster, "shared-store", &arrivals).excess, 0);
    assert!(outcome(&cluster, "read-then-write", &arrivals).overshoot > 5.0);
}

#[test]
fn sub_keys_spread_the_load_and_leases_avoid_it() {
    let arrivals = steady(MS, 20 * SECOND);
    let mut cluster = cluster(4, "token-bucket:1000/1s");
    cluster.delay = Delay::Constant(MS);
    let [one, four, leases] =
        ["shared-store", "sub-keys:4", "leases:50"].map(|text| outcome(&cluster, text, &arrivals));
    assert!(four.hottest < one.hottest / 3);
    assert!(leases.store_operations * 20 < one.store_operations, "{}", leases.store_operations);
    assert!(leases.efficiency > 0.95 && leases.excess == 0, "{}", leases.efficiency);
}

#[test]
fn news_that_comes_later_costs_more() {
    // Ten times the limit, from every server.
    let arrivals = steady(5 * MS, 20 * SECOND);
    let overshoot = |interval: &str| outcome(&cluster(10, "token-bucket:20/1s"), interval, &arrivals).overshoot;
    let [fast, medium, slow] = ["sync:10ms", "sync:200ms", "sync:2s"].map(overshoot);
    assert!(fast <= medium && medium < slow, "{fast} {medium} {slow}");
    assert!(fast < 1.6 && slow > 2.5, "{fast} {slow}");
}

/// An answer that comes after the timeout is none: the server falls back at the timeout, and to nothing else.
#[test]
fn a_store_that_is_slow_is_a_store_that_does_not_answer() {
    let arrivals = steady(50 * MS, 10 * SECOND);
    for sharing in ["shared-store", "sub-keys:3", "read-then-write", "leases"] {
        for (timeout, delay, slow) in
            [(0, 0, false), (40 * MS, 20 * MS, false), (40 * MS - 1, 20 * MS, true), (1, 20 * MS, true), (0, 1, true)]
        {
            let mut cluster = cluster(4, "token-bucket:100/1s");
            cluster.delay = Delay::Constant(delay);
            cluster.faults = Faults { timeout: Timeout(timeout), when_down: WhenDown::Closed, ..Faults::default() };
            let found = outcome(&cluster, sharing, &arrivals);
            let (waited, admitted) = if slow { (timeout, 0) } else { (2 * delay, 200) };
            assert_eq!(found.units, admitted, "{sharing}: {timeout} ns for {delay} ns");
            assert_eq!(found.unanswered, 0);
            assert!(found.latency[1] <= waited, "{sharing}: {:?} of {waited}", found.latency);
            assert!(found.store_operations > 0, "the store does its work all the same");
        }
    }
    // With the default, the server's part of the limit.
    let mut cluster = cluster(4, "token-bucket:100/1s");
    cluster.delay = Delay::Constant(20 * MS);
    cluster.faults.timeout = Timeout(MS);
    let found = outcome(&cluster, "shared-store", &arrivals);
    assert_eq!((found.latency, found.units), ([MS, MS], 200));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// However long messages take and however coarse the clock is: nobody who refuses nothing exceeds anything.
    #[test]
    fn nothing_limited_is_nothing_exceeded(arrivals in traffic(), delay in 0..300 * MS, coarse in any::<bool>()) {
        let step = if coarse { SECOND } else { 1 };
        let arrivals: Vec<_> = arrivals.into_iter().map(|arrival| Arrival { at: arrival.at / step * step, ..arrival }).collect();
        let mut cluster = cluster(5, "token-bucket:100000/1s");
        cluster.delay = Delay::Random(delay);
        for sharing in sharings() {
            let exact = Exact::of(&cluster.policy, &arrivals);
            let found = run(&cluster, sharing, &arrivals, &exact);
            prop_assert_eq!((found.peak, found.excess, found.needless), (exact.peak, 0, 0), "{}", sharing);
        }
    }
}

#[test]
fn faults_that_cannot_happen_are_refused() {
    for (words, part) in [
        (&["--servers", "1", "--leave", "1s"][..], "--leave with one server"),
        (&["--servers", "1", "--join", "1s"], "--join with one server"),
        (&["--leave", "1000d"], "--leave 1000d: the last request comes 12 s after the beginning"),
        (&["--join", "13s"], "--join 13s: the last request"),
        (&["--store-down", "13s..20s"], "--store-down 13s: the last request"),
        (&["--pattern", "constant --rate 1000000/s --duration 1h"], "too many to simulate; a lower --rate"),
    ] {
        let small = if words[0] == "--pattern" { &SMALL[4..] } else { &SMALL[..] };
        let error = output(&[small, words].concat()).unwrap_err();
        assert!(matches!(error, Error::Usage(_)) && error.to_string().contains(part), "{error}");
    }
}

/// Times of faults count from the first request of a trace, whatever its clock says.
#[test]
fn faults_count_from_the_beginning_of_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let admitted = |start: u64| {
        let rows = (0..200).map(|i| format!("{},c\n", start + i)).collect::<Vec<String>>().concat();
        std::fs::write(&path, format!("time_s,client\n{rows}")).unwrap();
        let words = ["--trace", path.to_str().unwrap()];
        let faults = ["--store-down", "50s..100s", "--when-down", "closed", "--no-chart", "--strategy", "shared-store"];
        let text = output(&[&words[..], &faults].concat()).unwrap();
        text.lines().find(|line| line.starts_with("shared-store")).unwrap().to_owned()
    };
    assert_eq!(admitted(0), admitted(1_700_000_000));
    assert!(admitted(1_700_000_000).contains(" 150 "), "{}", admitted(1_700_000_000));
}

#[test]
fn a_store_that_is_down_exposes_or_refuses() {
    let arrivals = steady(SECOND / 100, 20 * SECOND);
    let exposure = |when_down| {
        let mut cluster = cluster(4, "token-bucket:20/1s");
        cluster.faults = Faults { store_down: Some("5s..10s".parse().unwrap()), when_down, ..Faults::default() };
        outcome(&cluster, "shared-store", &arrivals).exposure.unwrap()
    };
    assert_eq!(exposure(WhenDown::Open), 400, "500 came, 100 were allowed");
    assert_eq!(exposure(WhenDown::Closed), -100);
    let local = exposure(WhenDown::Local);
    assert!((0..=20).contains(&local), "each server's part, from a full bucket: {local}");
}

#[test]
fn clocks_that_differ_pull_the_edges_of_windows_apart() {
    // Forty requests on either side of an edge.
    let arrivals: Vec<_> = (0..80).map(|k| Arrival { at: SECOND - 40 * MS + k * MS, client: 0, cost: 1 }).collect();
    let mut cluster = cluster(2, "fixed-window:20/1s");
    assert_eq!(outcome(&cluster, "split-limit", &arrivals).peak, 40);
    cluster.faults.skew = Some("500ms".parse().unwrap());
    assert_eq!(
        outcome(&cluster, "split-limit", &arrivals).peak,
        30,
        "one of the two clocks is in the middle of a window"
    );
}

#[test]
fn waiting_for_a_turn_can_be_shorter_in_parts() {
    // Two at once: the second waits for the first, unless each has a queue of its own. What the parts win here they lose
    // while the units drain.
    let arrivals = [Arrival { at: 0, client: 0, cost: 1 }; 2];
    let cluster = cluster(2, "leaky-bucket:20/1s,burst=100");
    assert_eq!(outcome(&cluster, "split-limit", &arrivals).delay_sum, 0);
    assert_eq!(Exact::of(&cluster.policy, &arrivals).delay_sum, u128::from(50 * MS));
}

#[derive(Parser)]
#[command(no_binary_name = true)]
struct Typed {
    #[command(flatten)]
    cluster: ClusterArgs,
}

fn output(words: &[&str]) -> Result<String, Error> {
    let typed = Typed::try_parse_from(words).unwrap_or_else(|error| panic!("{words:?}: {error}")).cluster;
    let mut out = Vec::new();
    typed.run(&mut out, &mut Vec::new())?;
    Ok(String::from_utf8(out).unwrap())
}

const SMALL: [&str; 5] = [
    "--policy",
    "token-bucket:50/1s",
    "--pattern",
    "spike --rate 50/s --times 40 --at 4s --for 3s --duration 12s",
    "--no-chart",
];

#[test]
fn the_table_says_ten_times_for_ten_servers() {
    let text = output(&[&SMALL[..], &["--servers", "10"]].concat()).unwrap();
    assert!(
        text.starts_with("Each with the whole limit: 10 servers let through 10.0x what token-bucket:50/1s may."),
        "{text}"
    );
    let row = text.lines().find(|line| line.starts_with("own-limit")).unwrap();
    assert!(row.contains("10.0x"), "{row}");
}

#[test]
fn a_sweep_says_how_late_the_news_may_come() {
    let pattern = "spike --rate 20/s --times 40 --at 2s --for 2s --duration 6s";
    let words = ["--policy", "token-bucket:20/1s", "--pattern", pattern, "--no-chart", "--sweep"];
    let text = output(&words).unwrap();
    assert!(text.starts_with("20 servers that hear of each other every 10 ms let 1."), "{text}");
    let json = output(&[&words[..], &["--export", "-"]].concat()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["cells"].as_array().unwrap().len(), 28);
}

#[test]
fn where_nothing_exceeds_the_limit_the_finding_is_what_is_refused() {
    let words = ["--policy", "token-bucket:50/1s", "--pattern", "constant --rate 50/s --duration 10s", "--no-chart"];
    let more = ["--routing", "weighted:20,1", "--strategy", "split-limit", "shared-store"];
    let text = output(&[&words[..], &more].concat()).unwrap();
    assert!(text.starts_with("Each with its part of the limit: 10 servers refuse "), "{text}");
}

#[test]
fn the_charts_of_the_docs_are_those_that_are_written() {
    let sweep = "spike --rate 100/s --times 40 --at 10s --for 5s --duration 40s";
    for (words, name) in [
        (vec!["--servers", "10"], "cluster.svg"),
        (vec!["--sweep", "--policy", "token-bucket:100/1s", "--pattern", sweep], "cluster-sweep.svg"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        output(&[&words[..], &["--export", path.to_str().unwrap()]].concat()).unwrap();
        let shown = std::fs::read_to_string(format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(std::fs::read_to_string(path).unwrap() == shown, "docs/{name} is stale: write it anew with {words:?}");
    }
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let words = |threads| [&SMALL[..], &["--export", "-", "--threads", threads]].concat();
    let one = output(&words("1")).unwrap();
    assert_eq!(one, output(&words("3")).unwrap());
    let json: serde_json::Value = serde_json::from_str(&one).unwrap();
    assert_eq!(json["schema"], "rlsim.cluster/1");
}

#[test]
fn traces_are_read_and_mistakes_explained() {
    let burst = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/burst.csv");
    let words = ["--trace", burst, "--policy", "fixed-window:100/1m", "--servers", "2", "--no-chart"];
    let text =
        output(&[&words[..], &["--strategy", "own-limit", "shared-store", "--delay", "constant:0s"]].concat()).unwrap();
    assert!(text.lines().any(|line| line.starts_with("own-limit") && line.contains("200")), "{text}");
    for (words, part) in [
        (["--pattern", "poison --rate 1/s", "--no-chart"], "in --pattern \"poison --rate 1/s\""),
        (["--pattern", "poisson --rows 0", "--no-chart"], "has no requests"),
        (["--trace", "absent.csv", "--no-chart"], "absent.csv"),
    ] {
        let error = output(&words).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
    for words in [["--servers", "0"], ["--policy", "x"], ["--strategy", "magic"], ["--lost", "101"], ["--routing", "x"]]
    {
        assert!(Typed::try_parse_from(words).is_err(), "{words:?}");
    }
}
