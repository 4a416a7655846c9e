//! What a recommendation rests on, against brute force: needs of clients, the burstiness curve, bounds, and the promise.

use std::num::NonZeroUsize;

use proptest::prelude::*;
use ratelimit_core::{Algorithm as _, Nanos, Policy};
use rlsim::inspect::inspect;
use rlsim::recommend::guarantee::{largest_limit, most_in_a_window};
use rlsim::recommend::need::clients;
use rlsim::recommend::{Promise, Recommendation, Task, burstiness, json, recommend, text, toml};
use rlsim::replay::{By, Grouped};
use rlsim::sweep::{Algorithm, measure};
use rlsim::trace::{Costs, Facts, Trace};

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;

fn trace(mut events: Vec<(u64, u32, u64)>) -> Trace {
    events.sort_by_key(|event| event.0);
    // Clients without an event are none: numbered as a reader does.
    let mut known: Vec<u32> = Vec::new();
    for event in &mut events {
        let place = known.iter().position(|client| *client == event.1).unwrap_or(known.len());
        if place == known.len() {
            known.push(event.1);
        }
        event.1 = u32::try_from(place).unwrap();
    }
    let clients = known.len();
    Trace {
        at: events.iter().map(|event| event.0).collect(),
        client: events.iter().map(|event| event.1).collect(),
        cost: Costs::Each(events.iter().map(|event| event.2).collect()),
        names: (0..clients).map(|client| format!("c{client}").into_bytes().into()).collect(),
        facts: Facts { events: events.len() as u64, rows: events.len() as u64, ..Facts::default() },
    }
}

/// Whether the policy refuses anything of these events.
fn refuses(policy: &Policy, events: &[(u64, u64)]) -> bool {
    let mut state = policy.fresh();
    events.iter().any(|(at, cost)| !policy.decide(&mut state, Nanos::new(*at), *cost).is_allowed())
}

fn events() -> impl Strategy<Value = Vec<(u64, u32, u64)>> {
    prop::collection::vec((0_u64..300, 0_u32..3, 0_u64..4), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn a_need_refuses_nothing_and_one_less_refuses_something(events in events(), window in 1_u64..90, rate in 1_u64..20) {
        let trace = trace(events);
        let grouped = Grouped::new(&trace);
        for (range, client) in grouped.starts.windows(2).map(|pair| pair[0]..pair[1]).zip(clients(&grouped)) {
            let mine: Vec<(u64, u64)> = range.map(|i| (grouped.at[i], grouped.cost.get(i))).collect();
            for (algorithm, need) in [
                (Algorithm::FixedWindow, client.fixed_window(window)),
                (Algorithm::SlidingLog, client.sliding_log(window)),
                (Algorithm::SlidingCounter, client.sliding_counter(window)),
            ] {
                let enough = algorithm.policy(need.max(1), window, None).unwrap();
                prop_assert!(!refuses(&enough, &mine), "{}", enough);
                if need > 1 {
                    let less = algorithm.policy(need - 1, window, None).unwrap();
                    prop_assert!(refuses(&less, &mine), "{}", less);
                }
            }
            let burst = client.burst(rate, window);
            for algorithm in [Algorithm::TokenBucket, Algorithm::LeakyBucket] {
                let enough = algorithm.policy(rate, window, Some(burst)).unwrap();
                prop_assert!(!refuses(&enough, &mine), "{}", enough);
                if burst > 1 {
                    let less = algorithm.policy(rate, window, Some(burst - 1)).unwrap();
                    prop_assert!(refuses(&less, &mine), "{}", less);
                }
            }
        }
    }

    #[test]
    fn the_exact_curve_is_the_largest_need_at_every_rate(events in events(), rates in prop::collection::vec((1_u64..400, 1_u64..400), 1..30)) {
        let trace = trace(events);
        let grouped = Grouped::new(&trace);
        let curve = burstiness(&grouped);
        prop_assert!(curve.complete);
        for (limit, window) in rates {
            let need = clients(&grouped).map(|client| client.burst(limit, window)).max().unwrap();
            prop_assert_eq!(curve.burst(limit, window), need, "{}/{}: {:?}", limit, window, curve);
        }
    }

    #[test]
    fn no_traffic_passes_more_than_the_bound(events in events(), limit in 1_u64..8, burst in 1_u64..12, window in 1_u64..60) {
        let trace = trace(events);
        let largest = (0..trace.at.len()).map(|i| trace.cost.get(i)).max().unwrap_or(1);
        for algorithm in Algorithm::ALL {
            let policy = algorithm.policy(limit, window, Some(burst)).unwrap();
            let found = measure(&trace, By::Global, &[(policy, window)], (0, 0), NonZeroUsize::MIN)[0];
            let bound = most_in_a_window(algorithm, limit, burst, window, largest);
            prop_assert!(found.peak <= bound, "{} let {} through, bound {}", policy, found.peak, bound);
            if let Some(limit) = largest_limit(algorithm, bound, burst, window, largest) {
                let policy = algorithm.policy(limit, window, Some(burst)).unwrap();
                let found = measure(&trace, By::Global, &[(policy, window)], (0, 0), NonZeroUsize::MIN)[0];
                prop_assert!(found.peak <= bound, "{} let {} through, bound {}", policy, found.peak, bound);
            }
        }
    }
}

fn advised(trace: &Trace, promise: Promise, window_ns: u64, fit_millionths: u64, threads: usize) -> Recommendation {
    let task = Task {
        promise,
        window_ns,
        algorithms: Algorithm::ALL.to_vec(),
        fit_millionths,
        threads: NonZeroUsize::new(threads).unwrap(),
        command: vec!["rlsim".into(), "recommend".into()],
    };
    recommend(trace, &task, &inspect(trace, window_ns, None, Vec::new())).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Each answer, fitted on the whole trace, keeps its promise there, and with the limit of a window algorithm one lower it
    /// would not.
    #[test]
    fn promises_to_clients_are_kept_and_no_limit_is_larger_than_needed(
        events in events(), percent in 0_u64..100, window in 1_u64..90, below in any::<bool>(),
    ) {
        let trace = trace(events);
        let millionths = percent * 10_000;
        let promise = if below {
            Promise::KeepClientsBelow { millionths: millionths.max(1) }
        } else {
            Promise::LimitedClients { millionths }
        };
        let found = advised(&trace, promise, window, 1_000_000, 1);
        let grouped = Grouped::new(&trace);
        let peaks: Vec<u64> = clients(&grouped).map(|client| client.sliding_log(window)).collect();
        let mut sorted = peaks.clone();
        sorted.sort_unstable();
        let hundredths = usize::try_from(percent).unwrap();
        let rank = (sorted.len() * hundredths).div_ceil(100).max(1) - 1;
        let holds = |policy: &Policy| {
            let limited = |client: usize| {
                let range = grouped.starts[client]..grouped.starts[client + 1];
                refuses(policy, &range.map(|i| (grouped.at[i], grouped.cost.get(i))).collect::<Vec<_>>())
            };
            let limited: Vec<usize> = (0..peaks.len()).filter(|client| limited(*client)).collect();
            if below {
                limited.iter().all(|client| peaks[*client] > sorted[rank])
            } else {
                limited.len() as u64 * 1_000_000 <= peaks.len() as u64 * millionths
            }
        };
        prop_assert_eq!(found.answers.len(), 5);
        for answer in &found.answers {
            let policy: Policy = answer.policy.parse().unwrap();
            prop_assert!(holds(&policy), "{} for {:?}", policy, promise);
            if answer.parameters.burst.is_none() && answer.parameters.limit > 1 {
                let algorithm = Algorithm::ALL.into_iter().find(|a| a.name() == answer.algorithm).unwrap();
                let less = algorithm.policy(answer.parameters.limit - 1, window, None).unwrap();
                prop_assert!(!holds(&less), "{} would do for {:?}", less, promise);
            }
        }
    }

    #[test]
    fn a_service_never_sees_more_than_it_was_promised(events in events(), most in 4_u64..30, window in 2_u64..90) {
        let trace = trace(events);
        let found = advised(&trace, Promise::ServiceAtMost { units: most, window_ns: window }, window, 500_000, 1);
        for answer in &found.answers {
            prop_assert!(answer.most_in_a_window <= most && answer.measured.peak <= most, "{:?}", answer);
            prop_assert!(answer.check.is_none_or(|check| check.holds));
        }
    }
}

/// Clients that `policy` limits anywhere in the trace.
fn limited(trace: &Trace, policy: &Policy) -> u64 {
    let grouped = Grouped::new(trace);
    let refused = |pair: &&[usize]| {
        let events: Vec<(u64, u64)> = (pair[0]..pair[1]).map(|i| (grouped.at[i], grouped.cost.get(i))).collect();
        refuses(policy, &events)
    };
    grouped.starts.windows(2).filter(refused).count() as u64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Wherever the trace is cut, the advised policy keeps the promise on all of it, and only then is it said to hold.
    #[test]
    fn an_answer_keeps_its_promise_on_the_whole_trace(
        events in events(), percent in 0_u64..60, window in 1_u64..400, fit in 1_u64..10,
    ) {
        let trace = trace(events);
        let found = advised(&trace, Promise::LimitedClients { millionths: percent * 10_000 }, window, fit * 100_000, 1);
        let may_be = trace.names.len() as u64 * percent / 100;
        for answer in &found.answers {
            prop_assert!(limited(&trace, &answer.policy.parse().unwrap()) <= may_be, "{:?}", answer);
            prop_assert!(answer.measured.limited <= may_be, "{:?}", answer);
            let (Some(rest), Some(whole)) = (answer.check, answer.whole) else { continue };
            prop_assert_eq!(whole.holds, limited(&trace, &answer.fitted.parse().unwrap()) <= may_be);
            prop_assert_eq!(answer.is_confirmed(), rest.holds && whole.holds);
            prop_assert!(!answer.is_confirmed() || answer.policy == answer.fitted);
        }
        let answer = &found.answers[found.recommended];
        prop_assert_eq!(text(&found).contains("it holds on the rest"), answer.is_confirmed());
        prop_assert_eq!(text(&found).contains("confirmed by nothing unseen"), !answer.is_confirmed());
        if found.warnings.iter().any(|warning| warning.advice.starts_with("the answer keeps every client")) {
            prop_assert_eq!(answer.measured.limited, 0);
        }
    }
}

#[test]
fn a_demand_across_the_cut_is_not_said_to_hold() {
    // Four at the end of the fit and four at the beginning of the rest: each part needs four in a minute, both together eight.
    let far = (0..100).map(|i| (i * 10 * MINUTE, 1, 1));
    let across = (0..8).map(|i| (70 * 10 * MINUTE - 4 * SECOND + i * SECOND, 0, 1));
    let trace = trace(far.chain(across).collect());
    for millionths in [0, 1_000] {
        let found = advised(&trace, Promise::LimitedClients { millionths }, MINUTE, 686_000, 1);
        for answer in found.answers.iter().filter(|answer| answer.algorithm == "sliding-log") {
            assert_eq!((answer.fitted.as_str(), answer.policy.as_str()), ("sliding-log:4/1m", "sliding-log:8/1m"));
            assert!(answer.check.unwrap().holds && !answer.whole.unwrap().holds, "{answer:?}");
        }
        let said = text(&found);
        assert!(
            said.contains(
                "holds on the rest (34 requests, 2 clients, 4.83 h), but not on the whole trace: 1 of 2 clients"
            ),
            "{said}"
        );
        // What failed is not the policy of its row.
        assert!(said.contains("first fit, on the rest"), "{said}");
        let row = said.lines().find(|line| line.starts_with("sliding-log:8/1m ")).unwrap_or_default();
        assert!(row.contains(" 4/1m fails on all (1 of 2) "), "{said}");
        assert!(toml(&found).contains("confirmed by nothing unseen"));
        let picture = rlsim::chart::burst_curve(&found).unwrap();
        assert!(picture.contains("(confirmed by nothing unseen)"), "the title says so");
    }
}

#[test]
fn an_answer_that_holds_and_refuses_less_is_not_passed_over_in_silence() {
    let minute = |minute: u64| minute * MINUTE;
    let mut events: Vec<(u64, u32, u64)> = (0..90).map(|i| (u64::from(i) * SECOND, 100 + i, 1)).collect();
    // Ten a minute; ten at once; thirteen across the edge of a window.
    events.extend((0..100).map(|i| (minute(2) + i * 6 * SECOND, 0, 1)));
    events.extend((0..10).map(|_| (minute(3), 1, 1)));
    events.extend((0..13).map(|i| (minute(5) + i * SECOND / 10 - SECOND / 2, 2, 1)));
    // Twelve in one window, the cut in the middle of them.
    events.extend((0..12).map(|i| (minute(20) + i * SECOND, 3, 1)));
    // Beyond the percentile: fourteen, evenly.
    events.extend((0..14).map(|i| (minute(22) + i * 4_200_000_000, 4, 1)));
    events.extend((0..20).map(|i| (minute(24) + u64::from(i) * SECOND, 300 + i, 1)));
    let before = events.iter().filter(|event| event.0 < minute(20) + 6 * SECOND).count() as u64;
    let fit = before * 1_000_000 / events.len() as u64 + 1;
    let found = advised(&trace(events), Promise::KeepClientsBelow { millionths: 990_000 }, MINUTE, fit, 1);
    let best = &found.answers[found.recommended];
    assert_eq!((best.fitted.as_str(), best.policy.as_str()), ("fixed-window:10/1m", "fixed-window:12/1m"));
    let bucket = found.answers.iter().find(|answer| answer.algorithm == "token-bucket").unwrap();
    assert!(bucket.is_confirmed() && bucket.measured.refused() < best.measured.refused(), "{bucket:?}");
    let said = text(&found);
    let expected = "(fixed-window is chosen by the bound of its first fit alone, 20 against ";
    let line = said.lines().find(|line| line.starts_with(expected)).unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains(&format!(": {} holds and refuses less", bucket.policy)), "{line}");
}

#[test]
fn an_attack_that_is_not_kept_out_is_said_first() {
    // Each request of the attack from a client of its own.
    let normal = (0..360).flat_map(|i| (0..50).map(move |c| (i * 10 * SECOND + u64::from(c) * 7_000_000, c, 1)));
    let attack = (0..3000_u32).map(|i| (30 * MINUTE + u64::from(i) * 20_000_000, 1000 + i, 1));
    let trace = trace(normal.chain(attack).collect());
    let promise = Promise::Attack { from_ns: 30 * MINUTE, until_ns: 31 * MINUTE };
    let found = advised(&trace, promise, MINUTE, 700_000, 1);
    let said = text(&found);
    assert!(
        said.starts_with("This limit does not keep the attack out: of the 3300 requests in the interval"),
        "{said}"
    );
    assert!(!said.contains("it holds"), "{said}");
    assert!(toml(&found).starts_with("# This limit does not keep the attack out"));
}

#[test]
fn a_trace_without_names_is_spoken_of_as_requests() {
    let mut trace = trace((0..400).map(|i| (i * 500_000_000, 0, 1)).collect());
    trace.names = vec![Box::from(&b""[..])];
    let found = advised(&trace, Promise::LimitedClients { millionths: 1_000 }, SECOND, 700_000, 1);
    let said = text(&found);
    for (expected, times) in [
        ("Recommended for all requests together, as the trace names no clients: ", 1),
        ("The promise: no request is ever refused.", 1),
        ("95 % to 100 %", 1),
        ("99 %  ", 0),
        ("0 of 1 client", 0),
        ("for each client:", 0),
    ] {
        assert_eq!(said.matches(expected).count(), times, "{expected}: {said}");
    }
}

#[test]
fn a_percentile_that_is_the_largest_client_is_said_to_be() {
    let trace = trace((0..300).map(|i| (i * SECOND, u32::try_from(i % 150).unwrap(), 1)).collect());
    for (millionths, expected) in [(999_900, true), (990_000, false), (1_000_000, false)] {
        let found = advised(&trace, Promise::KeepClientsBelow { millionths }, SECOND, 1_000_000, 1);
        let said = text(&found).contains("the 99.99th percentile of 150 clients is the largest of them");
        assert_eq!(said, expected, "{millionths}");
    }
}

/// 50 clients with a request every ten seconds for an hour; one of them floods for a minute in the middle.
fn with_attack() -> Trace {
    let normal = (0..360).flat_map(|i| (0..50).map(move |c| (i * 10 * SECOND + u64::from(c) * 7_000_000, c, 1)));
    let attack = (0..3000).map(|i| (30 * MINUTE + i * 20_000_000, 7, 1));
    trace(normal.chain(attack).collect())
}

#[test]
fn an_attack_is_told_apart_from_normal_traffic() {
    let trace = with_attack();
    let promise = Promise::Attack { from_ns: 30 * MINUTE, until_ns: 31 * MINUTE };
    let found = advised(&trace, promise, MINUTE, 700_000, 2);
    let answer = &found.answers[found.recommended];
    assert_eq!(answer.measured.refused() - answer.measured.inside_refused, 0, "nothing else is refused");
    // Six in a minute are normal; a token bucket lets the attacker spend its burst and its rate.
    assert!(answer.measured.inside_refused > 2900, "{answer:?}");
    assert!(
        text(&found).contains("of the 70800 others none") || text(&found).contains("others none"),
        "{}",
        text(&found)
    );
    assert!(answer.check.is_some_and(|check| check.holds), "{answer:?}");
}

#[test]
fn an_answer_that_does_not_hold_on_the_rest_says_so() {
    // The first two thirds are quiet; then every client asks for five at once.
    let quiet = (0..2000).map(|i| (i * SECOND, u32::try_from(i % 100).unwrap(), 1));
    let loud = (0..1000).map(|i| (2000 * SECOND + i / 500 * MINUTE, u32::try_from(i % 100).unwrap(), 1));
    let trace = trace(quiet.chain(loud).collect());
    let found = advised(&trace, Promise::LimitedClients { millionths: 10_000 }, MINUTE, 600_000, 1);
    for answer in &found.answers {
        let check = answer.check.expect("there is a rest");
        assert!(!check.holds && check.limited == 100 && check.may_be_limited == 1, "{answer:?}");
        assert!(answer.measured.limited <= 1, "the refit on all of the trace keeps the promise there: {answer:?}");
        assert_ne!(answer.policy, answer.fitted);
    }
    assert!(text(&found).contains("confirmed by nothing unseen"), "{}", text(&found));
    let whole = advised(&trace, Promise::LimitedClients { millionths: 10_000 }, MINUTE, 1_000_000, 1);
    assert!(whole.split.rest.is_none() && whole.answers.iter().all(|answer| answer.check.is_none()));
}

#[test]
fn the_same_bytes_for_any_number_of_threads() {
    let trace = with_attack();
    let promises = [
        Promise::LimitedClients { millionths: 1_000 },
        Promise::KeepClientsBelow { millionths: 990_000 },
        Promise::ServiceAtMost { units: 500, window_ns: MINUTE },
        Promise::Attack { from_ns: 30 * MINUTE, until_ns: 31 * MINUTE },
    ];
    for promise in promises {
        let on = |threads: usize| {
            let found = advised(&trace, promise, MINUTE, 700_000, threads);
            (text(&found), json(&found).unwrap(), toml(&found), rlsim::chart::burst_curve(&found).unwrap())
        };
        assert!(on(1) == on(5), "{promise:?}");
    }
}

#[test]
fn what_cannot_be_promised_is_said() {
    let trace = trace(vec![(0, 0, 50), (SECOND, 0, 50), (2 * SECOND, 0, 50)]);
    let task = |promise| Task {
        promise,
        window_ns: SECOND,
        algorithms: vec![Algorithm::LeakyBucket],
        fit_millionths: 700_000,
        threads: NonZeroUsize::MIN,
        command: Vec::new(),
    };
    let inspection = inspect(&trace, SECOND, None, Vec::new());
    let service = task(Promise::ServiceAtMost { units: 10, window_ns: SECOND });
    let error = recommend(&trace, &service, &inspection).unwrap_err().to_string();
    assert!(error.contains("a single request may cost 50 units"), "{error}");
    for (from_ns, until_ns) in [(0, 10 * SECOND), (5 * SECOND, 6 * SECOND)] {
        let error = recommend(&trace, &task(Promise::Attack { from_ns, until_ns }), &inspection).unwrap_err();
        assert!(error.to_string().contains("all of the trace or none of it"), "{error}");
    }
}
