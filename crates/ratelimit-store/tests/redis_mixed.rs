//! Several rules of mixed kinds in one script, as one limiter and as one each, beside a core limiter for each: every action,
//! clocks that step back, costs up to the largest, slices that keep buckets free; and after each step what every key holds
//! and how long it lives.
#![cfg(feature = "redis")]

mod redis_common;

use std::time::Instant;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use ratelimit_core::{Algorithm, Decision, Nanos, Policy, PolicyState, Rule};
use ratelimit_store::lease::{Grant, Slice};
use ratelimit_store::redis::ReplayLimiter;
use redis_common::{Server, policy};

const CLIENT: &[u8] = b"client";
/// The largest whole number that is exact in Lua.
const MOST: u64 = (1 << 53) - 1;
/// With the time passed in, keys live an hour longer.
const GRACE_MS: u64 = 3_600_000;

#[derive(Debug, Clone, Copy)]
enum Action {
    Decide,
    Peek,
    Take,
    Charge,
    Refund,
    /// A decision under each rule as a limiter of its own, all in one step.
    Several,
}

#[derive(Debug, Clone, Copy)]
struct Step {
    /// In microseconds, from the step before.
    forward: i64,
    action: Action,
    cost: u64,
    /// Of a take.
    keep: u64,
}

/// One rule in the core.
struct One {
    rule: Rule,
    policy: Policy,
    state: PolicyState,
    window: u64,
    key: Vec<u8>,
    /// The latest time at which it was charged, of what is not given back.
    latest: u64,
}

/// What the core says of a cost that it does not refuse for ever.
struct Told {
    remaining: u64,
    retry: Option<Nanos>,
    reset: Nanos,
    delay: Nanos,
}

fn told(decision: Decision) -> Told {
    match decision {
        Decision::Allowed { remaining, reset_after, delay } => {
            Told { remaining, retry: None, reset: reset_after, delay }
        }
        Decision::Denied { retry_after, remaining, reset_after } => {
            Told { remaining, retry: Some(retry_after), reset: reset_after, delay: Nanos::ZERO }
        }
        Decision::Never { .. } => panic!("no larger cost is asked for"),
    }
}

impl One {
    fn new(rule: Rule) -> One {
        let policy = Policy::from(rule);
        let key = format!("{{mixed:client}}{rule}").into_bytes();
        One { rule, policy, state: policy.fresh(), window: rule.quota().unwrap().window().get() / 1000, key, latest: 0 }
    }

    fn peek(&self, now: u64, cost: u64) -> Told {
        told(self.policy.peek(&self.state, Nanos::from_micros(now), cost))
    }

    /// Until nothing is used, in microseconds, rounded up.
    fn fresh_in(&self, now: u64) -> u64 {
        self.peek(now, 0).reset.get().div_ceil(1000)
    }

    /// What stays free of it in a take.
    fn kept(&self, keep: u64) -> u64 {
        if matches!(self.rule, Rule::TokenBucket(_)) { keep } else { 0 }
    }

    fn room(&self, now: u64, keep: u64) -> u64 {
        self.peek(now, 0).remaining.saturating_sub(self.kept(keep))
    }

    fn used(&self, now: u64) -> u64 {
        self.policy.used(&self.state, Nanos::from_micros(now))
    }

    /// Charges what the scripts can count, which the core counts beyond.
    fn charge(&mut self, now: u64, cost: u64) {
        let room = match self.rule {
            Rule::FixedWindow(_) | Rule::TokenBucket(_) | Rule::LeakyBucket(_) => MOST - self.used(now),
            Rule::SlidingLog(_) => (1 << 52) - 1 - self.used(now),
            Rule::SlidingCounter(_) => {
                // At the beginning of the next window all of the present one counts.
                let next = (now.max(self.latest) / self.window + 1) * self.window;
                MOST / self.window.max(1000) - self.used(next)
            }
            Rule::Unlimited => 0,
        };
        self.latest = self.latest.max(now);
        self.policy.charge(&mut self.state, Nanos::from_micros(now), cost.min(room));
    }
}

/// What all rules together answer: the least room, the longest waits.
fn expected(rules: &mut [One], now: u64, step: Step, slice: Slice) -> Grant {
    let keep = if matches!(step.action, Action::Take) { slice.keep } else { 0 };
    let room = rules.iter().map(|one| one.room(now, keep)).min().unwrap();
    let cost = match step.action {
        Action::Take if room >= slice.least => room.min(slice.most),
        Action::Take => slice.least,
        _ => step.cost,
    };
    if cost > room {
        let retry = |one: &One| {
            let asked = if cost > one.room(now, keep) { cost + one.kept(keep) } else { 0 };
            one.peek(now, asked).retry
        };
        let retry_after = rules.iter().filter_map(retry).max().unwrap();
        let reset_after = rules.iter().map(|one| one.peek(now, 0).reset).max().unwrap();
        return Grant { units: 0, decision: Decision::Denied { retry_after, remaining: room, reset_after } };
    }
    let tell = |one: &mut One| {
        let answer = one.peek(now, cost);
        if !matches!(step.action, Action::Peek) {
            one.charge(now, cost);
        }
        answer
    };
    let answers: Vec<Told> = rules.iter_mut().map(tell).collect();
    assert!(answers.iter().all(|answer| answer.retry.is_none()));
    let reset_after = answers.iter().map(|answer| answer.reset).max().unwrap();
    let delay = answers.iter().map(|answer| answer.delay).max().unwrap();
    Grant { units: cost, decision: Decision::Allowed { remaining: room - cost, reset_after, delay } }
}

/// Waits beyond 2^53 us, for a client in the deepest debt whose clock has stepped back as well, are a microsecond off.
fn assert_equal(told: &Grant, expected: &Grant, place: &str) {
    let rounded = |decision: Decision| {
        let round = |wait: Nanos| if wait.get() / 1000 > MOST { Nanos::new(u64::MAX) } else { wait };
        match decision {
            Decision::Denied { retry_after, remaining, reset_after } => {
                Decision::Denied { retry_after: round(retry_after), remaining, reset_after: round(reset_after) }
            }
            Decision::Allowed { remaining, reset_after, delay } => {
                Decision::Allowed { remaining, reset_after: round(reset_after), delay: round(delay) }
            }
            never @ Decision::Never { .. } => never,
        }
    };
    assert_eq!((told.units, rounded(told.decision)), (expected.units, rounded(expected.decision)), "{place}");
}

/// What limiters of one rule each answer together: each for itself, and with nothing charged if one refuses.
fn expected_of_several(rules: &mut [One], now: u64, costs: &[u64]) -> Vec<Decision> {
    let peek = |one: &One, cost| one.policy.peek(&one.state, Nanos::from_micros(now), cost);
    let answers: Vec<Decision> = rules.iter().zip(costs).map(|(one, &cost)| peek(one, cost)).collect();
    if !answers.iter().all(Decision::is_allowed) {
        let idle = |(one, answer): (&One, Decision)| if answer.is_allowed() { peek(one, 0) } else { answer };
        return rules.iter().zip(answers).map(idle).collect();
    }
    rules.iter_mut().zip(costs).for_each(|(one, &cost)| one.charge(now, cost));
    answers
}

/// What a key holds, and how many milliseconds it lives on: -1 for ever, -2 where there is none.
fn look(admin: &mut redis::Connection, key: &[u8]) -> (Option<Vec<u8>>, i64) {
    redis::pipe().cmd("GET").arg(key).cmd("PTTL").arg(key).query(admin).unwrap()
}

/// The rules in the core, and on the server as one limiter and as one each, which have the same keys.
struct Sides {
    rules: Vec<One>,
    all: ReplayLimiter,
    each: Vec<ReplayLimiter>,
}

impl Sides {
    fn new(server: &Server, texts: &[String]) -> Sides {
        let text = texts.join("+");
        let rules = policy(&text).rules().iter().map(|&rule| One::new(rule)).collect();
        let each = texts.iter().map(|text| server.replay(text, "mixed")).collect();
        Sides { rules, all: server.replay(&text, "mixed"), each }
    }

    /// Takes the step on both sides and compares the answers: whether anything may have been written.
    async fn take(&mut self, now: u64, step: Step, place: &str) -> bool {
        let at = Nanos::from_micros(now);
        match step.action {
            Action::Decide | Action::Peek | Action::Take => self.ask(now, step, place).await,
            Action::Several => self.ask_each(now, step.cost, place).await,
            Action::Charge => {
                self.all.charge_at(CLIENT, at, step.cost).await.unwrap();
                for one in &mut self.rules {
                    one.charge(now, step.cost);
                }
                true
            }
            Action::Refund => {
                self.all.refund_at(CLIENT, at, step.cost).await.unwrap();
                for one in &mut self.rules {
                    one.policy.refund(&mut one.state, step.cost);
                }
                true
            }
        }
    }

    async fn ask(&mut self, now: u64, step: Step, place: &str) -> bool {
        let at = Nanos::from_micros(now);
        let capacity = self.rules.iter().map(|one| one.policy.capacity()).min().unwrap();
        let step = Step { cost: step.cost.min(capacity), ..step };
        let slice = self.slice(capacity, step);
        let expected = expected(&mut self.rules, now, step, slice);
        let told = match step.action {
            Action::Take => self.all.take_at(CLIENT, at, slice).await.unwrap(),
            Action::Peek => Grant { decision: self.all.peek_at(CLIENT, at, step.cost).await.unwrap(), ..expected },
            _ => Grant { decision: self.all.check_n_at(CLIENT, at, step.cost).await.unwrap(), ..expected },
        };
        assert_equal(&told, &expected, place);
        expected.units > 0 && !matches!(step.action, Action::Peek)
    }

    /// What a step takes: no more than can ever be there beside what it keeps.
    fn slice(&self, capacity: u64, step: Step) -> Slice {
        let buckets = self.rules.iter().filter(|one| one.kept(1) > 0);
        let burst = buckets.map(|one| one.policy.capacity()).min().unwrap_or(u64::MAX);
        let keep = step.keep.min(burst - 1);
        let most = capacity.min(burst - keep);
        let least = step.cost.clamp(1, most);
        Slice { least, most: least.saturating_mul(3).min(most), keep }
    }

    async fn ask_each(&mut self, now: u64, cost: u64, place: &str) -> bool {
        let its_cost = |(one, place): (&One, u64)| (cost / (1 + place)).min(one.policy.capacity());
        let costs: Vec<u64> = self.rules.iter().zip(0..).map(its_cost).collect();
        let expected = expected_of_several(&mut self.rules, now, &costs);
        let asked: Vec<_> = self.each.iter().zip(&costs).map(|(one, &cost)| (one, CLIENT, cost)).collect();
        let told = ReplayLimiter::check_all_at(&asked, Nanos::from_micros(now)).await.unwrap().expect("one server");
        assert_eq!(told.len(), expected.len());
        for (&told, &expected) in told.iter().zip(&expected) {
            let grant = |decision| Grant { units: 0, decision };
            assert_equal(&grant(told), &grant(expected), place);
        }
        expected.iter().all(Decision::is_allowed)
    }
}

/// A key is there as long as anything is used, and no longer than that and the hour.
fn assert_lives(one: &mut One, now: u64, changed: bool, is_there: bool, lives: i64, gone_ms: u64, place: &str) {
    let place = format!("{} of {place}: {lives} ms", one.rule);
    assert_eq!(is_there, lives >= 0, "{place}");
    if !is_there {
        assert_eq!(one.fresh_in(now), 0, "{place}");
        one.latest = 0;
    } else if changed {
        let (fresh, lives) = (one.fresh_in(now).max(1).div_ceil(1000), lives.cast_unsigned());
        let least = (GRACE_MS + fresh).saturating_sub(gone_ms);
        assert!((least..=GRACE_MS + fresh + 1).contains(&lives), "{place}, fresh in {fresh} ms");
    }
}

async fn compare(sides: &mut Sides, admin: &mut redis::Connection, start: u64, steps: &[Step]) {
    sides.all.reset(CLIENT).await.unwrap();
    let mut now = start;
    for (i, &step) in steps.iter().enumerate() {
        now = now.saturating_add_signed(step.forward).min(1 << 52);
        let rules: Vec<String> = sides.rules.iter().map(|one| one.rule.to_string()).collect();
        let place = format!("{}, step {i} at {now} of {steps:?} from {start}", rules.join("+"));
        let before: Vec<_> = sides.rules.iter().map(|one| look(admin, &one.key).0).collect();
        let began = Instant::now();
        let written = sides.take(now, step, &place).await;
        for (one, was) in sides.rules.iter_mut().zip(&before) {
            let (is, lives) = look(admin, &one.key);
            let gone_ms = u64::try_from(began.elapsed().as_millis()).unwrap() + 1;
            let changed = is != *was;
            assert!(written || !changed, "{} of {place}", one.rule);
            assert_lives(one, now, changed, is.is_some(), lives, gone_ms, &place);
        }
    }
}

/// Rules of all kinds around one window, so that their edges meet.
fn rule(window: u64, limit: u64, kind: u8) -> String {
    match kind {
        0 => format!("token-bucket:{limit}/{window}us,burst={}", limit + 2),
        1 => format!("token-bucket:{}/{}us,burst={limit}", limit + 1, 2 * window),
        // Their delays are often told apart by nanoseconds only.
        2 => format!("leaky-bucket:{}/{window}us,burst={}", limit + 1, limit + 2),
        3 => format!("leaky-bucket:{limit}/{window}us,burst={}", limit + 1),
        4 => format!("fixed-window:{}/{window}us", limit + 1),
        5 => format!("fixed-window:{}/{}us", limit + 4, 3 * window),
        6 => format!("sliding-counter:{}/{window}us", limit + 1),
        7 => format!("sliding-counter:{}/{}us", limit + 3, window + 7),
        8 => format!("sliding-log:{}/{window}us", limit + 1),
        _ => format!("sliding-log:{}/{}us", limit + 3, 2 * window),
    }
}

/// Steps around the edges of `window`, of which so many are charges (beside 15 others).
fn steps(window: u64, limit: u64, costs: BoxedStrategy<u64>, charges: u32) -> impl Strategy<Value = Vec<Step>> {
    let unit = (window / limit).max(1).cast_signed();
    let window = window.cast_signed();
    let forward = prop_oneof![
        4 => Just(0_i64),
        2 => 1..3_i64,
        4 => 0..=unit,
        3 => 0..=window,
        2 => window - 1..=window + 1,
        1 => 0..=4 * window,
        2 => -2 * window..=0,
    ];
    let action = prop_oneof![
        6 => Just(Action::Decide),
        1 => Just(Action::Peek),
        3 => Just(Action::Take),
        charges => Just(Action::Charge),
        2 => Just(Action::Refund),
        3 => Just(Action::Several),
    ];
    let step = (forward, action, costs, 0..=limit).prop_map(|(forward, action, cost, keep)| Step {
        forward,
        action,
        cost,
        keep,
    });
    prop::collection::vec(step, 1..40)
}

type Story = (Vec<String>, u64, Vec<Step>);

/// Compares as many stories as are wanted.
fn hold(cases: u32, stories: impl Strategy<Value = Story>) {
    let server = Server::start(&[]);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let result = TestRunner::new_with_rng(config, rng).run(&stories, |(texts, start, steps)| {
        tell(&server, &texts, start, &steps);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

fn tell(server: &Server, texts: &[String], start: u64, steps: &[Step]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(compare(&mut Sides::new(server, texts), &mut server.admin(), start, steps));
}

fn starts() -> impl Strategy<Value = u64> {
    prop_oneof![0..1000_u64, Just(1_790_000_000_000_000), 0..(1_u64 << 51)]
}

/// Any one to four kinds.
fn kinds() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::subsequence((0..10_u8).collect::<Vec<_>>(), 1..=4)
}

#[test]
#[ignore = "needs redis-server"]
fn mixed_rules_decide_as_the_core() {
    hold(
        300,
        (kinds(), prop_oneof![1..60_u64, 1..20_000_u64, Just(60_000_000)], 1..12_u64).prop_flat_map(
            |(kinds, window, limit)| {
                let costs = prop_oneof![5 => Just(1_u64), 1 => Just(0), 3 => 1..=limit, 1 => 1..=3 * limit + 2].boxed();
                let texts = kinds.into_iter().map(|kind| rule(window, limit, kind)).collect::<Vec<_>>();
                (Just(texts), starts(), steps(window, limit, costs, 1))
            },
        ),
    );
}

/// Buckets whose parts are units, so that the core can be told where they saturate.
fn whole(kind: u8, limit: u64) -> String {
    match kind {
        0 => format!("token-bucket:{limit}/1us,burst={}", 3 * limit),
        1 => format!("leaky-bucket:{limit}/1us,burst={}", 2 * limit),
        2 => format!("fixed-window:{limit}/50us"),
        3 => format!("sliding-counter:{limit}/40us"),
        _ => format!("sliding-log:{limit}/30us"),
    }
}

#[test]
#[ignore = "needs redis-server"]
fn the_largest_costs_are_recorded_as_far_as_they_are_exact() {
    let kinds = prop::sample::subsequence((0..5_u8).collect::<Vec<_>>(), 1..=4);
    hold(
        150,
        (kinds, prop_oneof![1..9_u64, Just(1_000_000_007), Just(1 << 42)]).prop_flat_map(|(kinds, limit)| {
            let most = [MOST, MOST - 1, 1 << 52, (1 << 52) - 1, MOST / 1000, MOST / 3, u64::MAX, limit, 1, 0];
            let costs = prop_oneof![prop::sample::select(most.to_vec()), 0..=MOST].boxed();
            let texts = kinds.into_iter().map(|kind| whole(kind, limit)).collect::<Vec<_>>();
            (Just(texts), starts(), steps(25, limit.min(25), costs, 10))
        }),
    );
}

/// A log that is written in part lives as long as its newest entry counts, also by a clock that has stepped back.
#[test]
#[ignore = "needs redis-server"]
fn a_long_log_is_kept_until_it_is_fresh() {
    let step = |forward, action| Step { forward, action, cost: 1, keep: 0 };
    let mut steps = vec![step(1000, Action::Decide); 200];
    for action in [Action::Charge, Action::Decide, Action::Several, Action::Take, Action::Refund] {
        steps.extend([step(-900_000_000, action), step(900_001_000, action)]);
    }
    tell(&Server::start(&[]), &["sliding-log:300/1h".into()], 1_790_000_000_000_000, &steps);
}

/// Of a log that is written in part: what has expired when something was charged does not count again when that is given
/// back and the clock steps back, and what is given back is none of it.
#[test]
#[ignore = "needs redis-server"]
fn what_a_long_log_has_forgotten_stays_forgotten() {
    let server = Server::start(&[]);
    let step = |forward, action, cost| Step { forward, action, cost, keep: 0 };
    for entries in [150, 180, 200] {
        for back in [1, 60, 95, 99, 100, 101, 300] {
            let mut steps = vec![step(10, Action::Decide, 1); entries];
            steps.extend([step(0, Action::Refund, back), step(-600, Action::Decide, 1), step(0, Action::Peek, 300)]);
            steps.extend([step(0, Action::Charge, 400), step(700, Action::Refund, 300), step(0, Action::Peek, 300)]);
            tell(&server, &["sliding-log:300/1ms".into()], 1_790_000_000_000_000, &steps);
        }
    }
}

/// Whole microseconds tie: the longer of two delays is the one that is rounded up by less.
#[test]
#[ignore = "needs redis-server"]
fn delays_are_compared_to_the_nanosecond() {
    let rules = ["leaky-bucket:8/20us", "leaky-bucket:7/20us"].map(String::from);
    let step = Step { forward: 0, action: Action::Decide, cost: 1, keep: 0 };
    tell(&Server::start(&[]), &rules, 1000, &[step; 7]);
}

/// The cumulative units of a log begin again at 2^52, in the midst of entries that count.
#[test]
#[ignore = "needs redis-server"]
fn a_log_counts_on_when_its_units_begin_again() {
    let step = |forward, action, cost| Step { forward, action, cost, keep: 0 };
    let server = Server::start(&[]);
    for units in [(1 << 51) - 9, (1 << 51) - 2, 1 << 51, (1 << 51) + 5] {
        let mut steps = vec![step(0, Action::Charge, 1 << 51), step(10, Action::Charge, units)];
        steps.extend([step(25, Action::Charge, 7), step(2, Action::Charge, 3), step(0, Action::Decide, 1)]);
        // 5 of the last 10 are left, and then what was recorded before.
        steps.extend([step(1, Action::Refund, 5), step(0, Action::Decide, 1), step(0, Action::Refund, units)]);
        steps.extend([step(0, Action::Peek, 1), step(25, Action::Decide, 2), step(0, Action::Peek, 5)]);
        tell(&server, &["sliding-log:5/30us".into()], 1_790_000_000_000_000, &steps);
    }
}
