//! The adversary of each algorithm is admitted whole and reaches the bound of the design.

mod generate_common;

use generate_common::typed;
use ratelimit_core::{Algorithm, Nanos, Policy};

/// The instants of the adversary's requests, each of which the policy admits.
fn admitted(policy: &str, more: &str) -> Vec<u64> {
    let command = format!("adversary --against {policy} {more}");
    let instants: Vec<u64> = typed(&command).events().unwrap().map(|row| row.at).collect();
    let policy: Policy = policy.parse().unwrap();
    let mut state = policy.fresh();
    for &at in &instants {
        assert!(policy.decide(&mut state, Nanos::new(at), 1).is_allowed(), "{policy} at {at}");
    }
    instants
}

/// After every request, as many are in as the bound allows for the span since the first.
fn assert_reaches(policy: &str, more: &str, last_span: u64, bound: impl Fn(u128) -> u128) {
    let instants = admitted(policy, more);
    let last_of_instant = instants.iter().enumerate().filter(|&(i, at)| instants.get(i + 1) != Some(at));
    let mut checked = 0;
    for (index, at) in last_of_instant.filter(|&(_, at)| at - instants[0] <= last_span) {
        assert_eq!(index as u128 + 1, bound(u128::from(at - instants[0])), "{policy}: span {}", at - instants[0]);
        checked += 1;
    }
    assert!(checked > 1, "{policy}: the trace has several instants");
}

const MINUTE: u64 = 60_000_000_000;

#[test]
fn fixed_window_lets_twice_the_limit_through_in_a_nanosecond() {
    let instants = admitted("fixed-window:100/1m", "--duration 3m --start 2026-01-01T00:00:30Z");
    assert_eq!(instants[199] - instants[0], 1);
    assert_reaches("fixed-window:7/10s", "--duration 20s", 9_999_999_999, |t| if t == 0 { 7 } else { 14 });
}

#[test]
fn sliding_log_lets_the_limit_through() {
    assert_reaches("sliding-log:100/1m", "--duration 10m", 10 * MINUTE, |t| 100 * (t / u128::from(MINUTE) + 1));
}

#[test]
fn sliding_counter_lets_almost_twice_the_limit_through() {
    for (policy, limit) in [("sliding-counter:100/1m", 100), ("sliding-counter:7/1m", 7)] {
        let window = u128::from(MINUTE);
        let bound = |t: u128| if t == 0 { limit } else { limit + (limit * (t - 1)).div_ceil(window) };
        assert_reaches(policy, "--duration 3m", MINUTE, bound);
    }
}

#[test]
fn buckets_let_their_burst_and_their_rate_through() {
    let bound = |burst: u128| move |t: u128| burst + 100 * t / u128::from(MINUTE);
    assert_reaches("token-bucket:100/1m", "--duration 10m", 10 * MINUTE, bound(100));
    assert_reaches("token-bucket:100/1m,burst=20", "--duration 10m", 10 * MINUTE, bound(20));
    assert_reaches("leaky-bucket:100/1m", "--duration 10m", 10 * MINUTE, bound(100));
}

#[test]
fn several_limits_are_all_obeyed() {
    let instants = admitted("token-bucket:10/1s+fixed-window:100/1m", "--duration 5m");
    // The burst of ten before the first edge, and a full window after each of four.
    assert_eq!(instants.len(), 410);
}

#[test]
fn each_of_several_clients_attacks_alone() {
    let rows: Vec<_> =
        typed("adversary --against fixed-window:10/1s --clients 3 --duration 2s").events().unwrap().collect();
    for client in 0..3 {
        let mine: Vec<_> = rows.iter().filter(|row| row.client == client).map(|row| row.at).collect();
        assert_eq!(mine.len(), 20);
        assert_eq!(mine[19] - mine[0], 1);
    }
}

#[test]
fn what_cannot_be_attacked_is_said() {
    for (command, part) in [
        ("adversary --against unlimited", "nothing limits this policy"),
        ("adversary --against fixed-window:10/1s --cost 5", "leave out --zipf and --cost"),
    ] {
        let error = typed(command).run(&mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}
