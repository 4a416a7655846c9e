//! The scripts decide as the core does, step by step, for every algorithm: the time is passed in, in microseconds.
#![cfg(feature = "redis")]

mod redis_common;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ratelimit_core::{Algorithm, Decision, Nanos, Policy, PolicyState, Rule};
use ratelimit_store::lease::{Grant, Slice};
use ratelimit_store::redis::ReplayLimiter;
use redis_common::{Server, policy, run};

/// One operation, so many microseconds later or earlier than the one before.
#[derive(Debug, Clone, Copy)]
struct Step {
    forward: i64,
    action: Action,
    cost: u64,
}

#[derive(Debug, Clone, Copy)]
enum Action {
    Check,
    Peek,
    Take,
    Slice,
    Charge,
    Refund,
}

/// Runs the steps through both, from `start` microseconds on.
async fn compare(policy: &Policy, shared: &ReplayLimiter, start: u64, steps: &[Step]) {
    let key = b"client";
    shared.reset(key).await.unwrap();
    let mut state = policy.fresh();
    let mut now = start;
    for (i, step) in steps.iter().enumerate() {
        now = now.saturating_add_signed(step.forward).min(1 << 52);
        let at = Nanos::from_micros(now);
        let place = || format!("{policy}, step {i} of {steps:?} from {start}");
        match step.action {
            Action::Check => {
                let expected = policy.decide(&mut state, at, step.cost);
                assert_eq!(shared.check_n_at(key, at, step.cost).await.unwrap(), expected, "{}", place());
            }
            Action::Peek => {
                let expected = policy.peek(&state, at, step.cost);
                assert_eq!(shared.peek_at(key, at, step.cost).await.unwrap(), expected, "{}", place());
            }
            Action::Take => {
                let Decision::Allowed { remaining, .. } = policy.peek(&state, at, 0) else {
                    panic!("cost 0 is allowed")
                };
                let units = remaining.min(step.cost).max(u64::from(step.cost > 0));
                let expected = policy.decide(&mut state, at, units);
                let grant = shared.take_at(key, at, step.cost).await.unwrap();
                assert_eq!(grant.decision, expected, "{}", place());
                assert_eq!(grant.units, if expected.is_allowed() { units } else { 0 }, "{}", place());
            }
            Action::Slice => {
                let slice = slice_of(policy, step.cost);
                let expected = granted(policy, &mut state, at, slice);
                assert_eq!(shared.take_at(key, at, slice).await.unwrap(), expected, "{}", place());
            }
            Action::Charge => {
                policy.charge(&mut state, at, step.cost);
                shared.charge_at(key, at, step.cost).await.unwrap();
            }
            Action::Refund => {
                policy.refund(&mut state, step.cost);
                shared.refund_at(key, at, step.cost).await.unwrap();
            }
        }
    }
}

/// A slice that keeps a part of a token bucket free. (The rest of the comparison knows no rules of their own.)
fn slice_of(policy: &Policy, cost: u64) -> Slice {
    let keep = match policy.rules() {
        [Rule::TokenBucket(bucket)] => bucket.capacity() / 4,
        [_] => 3,
        _ => 0,
    };
    Slice { least: cost.max(1), most: (2 * cost).max(1), keep }
}

/// What the core would grant.
fn granted(policy: &Policy, state: &mut PolicyState, at: Nanos, slice: Slice) -> Grant {
    let keep = if matches!(policy.rules(), [Rule::TokenBucket(_)]) { slice.keep } else { 0 };
    let capacity = policy.capacity() - keep;
    if slice.least > capacity {
        return Grant { units: 0, decision: Decision::Never { capacity } };
    }
    let Decision::Allowed { remaining, .. } = policy.peek(state, at, 0) else { panic!("cost 0 is allowed") };
    let room = remaining.saturating_sub(keep);
    let units = if room >= slice.least { room.min(slice.most) } else { 0 };
    let decision = if units > 0 { policy.decide(state, at, units) } else { policy.peek(state, at, slice.least + keep) };
    let decision = match decision {
        Decision::Allowed { reset_after, delay, .. } => {
            Decision::Allowed { remaining: room - units, reset_after, delay }
        }
        Decision::Denied { retry_after, reset_after, .. } => {
            Decision::Denied { retry_after, remaining: room, reset_after }
        }
        never @ Decision::Never { .. } => never,
    };
    Grant { units, decision }
}

/// Windows in microseconds, from the finest to a month.
fn windows() -> impl Strategy<Value = u64> {
    prop_oneof![1..60_u64, 1..20_000_u64, Just(1_000_000), Just(60_000_000), 1..2_592_000_000_000_u64]
}

fn starts() -> impl Strategy<Value = u64> {
    prop_oneof![0..1000_u64, Just(1_790_000_000_000_000), 0..(1_u64 << 51)]
}

/// Steps that fall around the points where something changes in a window of `window` us with `limit` units.
fn steps(window: u64, limit: u64) -> impl Strategy<Value = Vec<Step>> {
    let unit = (window / limit).max(1).cast_signed();
    let window = window.cast_signed();
    let forward = prop_oneof![
        4 => Just(0_i64),
        2 => 1..3_i64,
        4 => 0..=unit,
        3 => 0..=window,
        2 => window - 1..=window + 1,
        1 => 0..=3 * window,
        1 => -window..=0,
    ];
    let action = prop_oneof![
        8 => Just(Action::Check),
        2 => Just(Action::Peek),
        1 => Just(Action::Take),
        2 => Just(Action::Slice),
        1 => Just(Action::Charge),
        2 => Just(Action::Refund),
    ];
    let cost = prop_oneof![5 => Just(1_u64), 1 => Just(0), 3 => 1..=limit, 1 => 1..=2 * limit + 2];
    let step = (forward, action, cost).prop_map(|(forward, action, cost)| Step { forward, action, cost });
    prop::collection::vec(step, 1..50)
}

/// A policy text, when to begin, and what to do.
fn stories(rule: fn(u64, u64, u64) -> String) -> impl Strategy<Value = (String, u64, Vec<Step>)> {
    (windows(), prop_oneof![1..8_u64, 1..200_u64], 1..40_u64).prop_flat_map(move |(window, limit, burst)| {
        (Just(rule(window, limit, burst)), starts(), steps(window, limit.max(burst)))
    })
}

/// Compares on as many stories as proptest makes.
fn hold(cases: u32, stories: impl Strategy<Value = (String, u64, Vec<Step>)>) {
    let server = Server::start(&[]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    )
    .run(&stories, |(text, start, steps)| {
        let policy = policy(&text);
        let shared = server.replay(&text, "equal");
        runtime.block_on(compare(&policy, &shared, start, &steps));
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
#[ignore = "needs redis-server"]
fn token_bucket() {
    hold(150, stories(|window, limit, burst| format!("token-bucket:{limit}/{window}us,burst={burst}")));
}

#[test]
#[ignore = "needs redis-server"]
fn leaky_bucket() {
    hold(150, stories(|window, limit, burst| format!("leaky-bucket:{limit}/{window}us,burst={burst}")));
}

#[test]
#[ignore = "needs redis-server"]
fn fixed_window() {
    hold(150, stories(|window, limit, _| format!("fixed-window:{limit}/{window}us")));
}

#[test]
#[ignore = "needs redis-server"]
fn sliding_counter() {
    hold(150, stories(|window, limit, _| format!("sliding-counter:{limit}/{window}us")));
}

#[test]
#[ignore = "needs redis-server"]
fn sliding_log() {
    hold(150, stories(|window, limit, _| format!("sliding-log:{limit}/{window}us")));
}

#[test]
#[ignore = "needs redis-server"]
fn several_rules() {
    hold(
        150,
        stories(|window, limit, burst| {
            let rules = [
                format!("token-bucket:{limit}/{window}us,burst={burst}"),
                format!("sliding-log:{}/{}us", limit + 3, window * 2),
                format!("leaky-bucket:{burst}/{window}us,burst={limit}"),
                format!("sliding-counter:{limit}/{}us", window + 7),
                format!("fixed-window:{}/{}us", limit * 3, window * 5),
            ];
            // Any three of them.
            rules
                .into_iter()
                .cycle()
                .skip(if limit > 4 { 0 } else { 3 })
                .step_by(if burst > 20 { 2 } else { 1 })
                .take(3)
                .collect::<Vec<_>>()
                .join("+")
        }),
    );
}

/// Several limits in one step, beside the core's: looked at one by one, and charged if all allow.
async fn compare_several(policies: &[Policy], shared: &[ReplayLimiter], start: u64, steps: &[(Step, Vec<u64>)]) {
    let clients = [b"alice", b"bobby"];
    for (one, client) in shared.iter().flat_map(|one| clients.map(|client| (one, client))) {
        one.reset(client).await.unwrap();
    }
    // Each policy's clients.
    let mut states: Vec<Vec<PolicyState>> =
        policies.iter().map(|policy| clients.iter().map(|_| policy.fresh()).collect()).collect();
    let mut now = start;
    for (i, (step, costs)) in steps.iter().enumerate() {
        now = now.saturating_add_signed(step.forward).min(1 << 52);
        let at = Nanos::from_micros(now);
        // One client at all, or each policy's own.
        let whose = |place: usize| if step.cost == 1 { 0 } else { (i + place) % clients.len() };
        let cost = |place: usize| costs[place] % (policies[place].capacity() + 1);
        let asked: Vec<(&ReplayLimiter, &[u8], u64)> =
            (0..shared.len()).map(|place| (&shared[place], &clients[whose(place)][..], cost(place))).collect();
        let answers = ReplayLimiter::check_all_at(&asked, at).await.unwrap().expect("one server");
        let peek = |place: usize, cost| policies[place].peek(&states[place][whose(place)], at, cost);
        let expected: Vec<Decision> = if (0..policies.len()).all(|place| peek(place, cost(place)).is_allowed()) {
            let mut charge = |place: usize| policies[place].decide(&mut states[place][whose(place)], at, cost(place));
            (0..policies.len()).map(&mut charge).collect()
        } else {
            let answer = |place| match peek(place, cost(place)) {
                Decision::Allowed { .. } => peek(place, 0),
                refused => refused,
            };
            (0..policies.len()).map(answer).collect()
        };
        assert_eq!(answers, expected, "step {i} of {steps:?} from {start}");
    }
}

#[test]
#[ignore = "needs redis-server"]
fn several_limits_in_one_step() {
    let server = Server::start(&[]);
    let texts = [
        "token-bucket:7/20ms,burst=9",
        "fixed-window:12/30ms",
        "sliding-log:9/25ms",
        "sliding-counter:11/25ms",
        "leaky-bucket:7/20ms,burst=8",
        "token-bucket:3/10ms",
    ];
    let policies = texts.map(policy);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let shared: Vec<ReplayLimiter> = texts.iter().map(|text| server.replay(text, "several")).collect();
    let step = (steps(20_000, 5), prop::collection::vec(0..6_u64, texts.len()));
    let step = step.prop_map(|(steps, costs)| (steps[0], costs));
    let stories = (2..=texts.len(), starts(), prop::collection::vec(step, 1..60));
    let config = Config { cases: 60, failure_persistence: None, ..Config::default() };
    let rng = proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha);
    let result = TestRunner::new_with_rng(config, rng).run(&stories, |(limits, start, steps)| {
        runtime.block_on(compare_several(&policies[..limits], &shared[..limits], start, &steps));
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// Hundreds of entries, which are read and written in part: begun, worked off, cut, given back, and begun again.
#[test]
#[ignore = "needs redis-server"]
fn a_long_log() {
    let server = Server::start(&[]);
    let text = "sliding-log:300/1ms";
    let mut seed = 7_u64;
    let mut next = move |bound: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % bound
    };
    let steps: Vec<Step> = (0..3000)
        .map(|i| {
            // In turn a stream below the limit, one above it, and pauses in which some or all of it expires.
            let forward = match (i / 400) % 3 {
                0 => next(8),
                1 => next(3),
                _ if next(50) == 0 => next(1500),
                _ => next(4),
            };
            let forward = if next(40) == 0 { -next(200).cast_signed() } else { forward.cast_signed() };
            let action = match next(30) {
                0 => Action::Refund,
                1 => Action::Charge,
                2 => Action::Peek,
                _ => Action::Check,
            };
            let cost = if next(20) == 0 { next(120) } else { 1 };
            Step { forward, action, cost }
        })
        .collect();
    run(async { compare(&policy(text), &server.replay(text, "long"), 1_790_000_000_000_000, &steps).await });
}

/// Quotas one step inside the range in which the scripts are exact, at times up to the last.
#[test]
#[ignore = "needs redis-server"]
fn at_the_edge_of_exactness() {
    let server = Server::start(&[]);
    // 2^53 - 1 = 6361 * 69431 * 20394401.
    for (text, unit) in [
        ("token-bucket:7/1416003655831us,burst=6361", 202_286_236_547),
        ("token-bucket:9007199254740/1us,burst=9007199254740991", 1),
        ("leaky-bucket:9007199254739/1us,burst=9007199254739", 1),
        ("sliding-counter:6361/1416003655831us", 222_607_083),
        ("fixed-window:9007199254740991/2251799813685248us", 1),
        ("sliding-log:4503599627370495/16777216us", 1),
    ] {
        let policy = policy(text);
        let capacity = policy.capacity();
        let check = |forward, cost| Step { forward, action: Action::Check, cost };
        let steps = [
            check(0, capacity - 1),
            check(0, 1),
            check(0, 1),
            check(unit, 1),
            check(unit - 1, 2),
            check(1, 2),
            Step { forward: 1, action: Action::Refund, cost: capacity / 2 },
            check(-unit, capacity / 3),
            check(1 << 50, capacity),
            check(1, capacity),
        ];
        run(async {
            let shared = server.replay(text, "edge");
            for start in [0, 1, 1_790_000_000_000_123, (1 << 52) - (1 << 50), 1 << 52] {
                compare(&policy, &shared, start, &steps).await;
            }
        });
    }
}
