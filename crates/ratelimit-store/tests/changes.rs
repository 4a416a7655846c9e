//! Live changes: of everybody's policy, of one client's; and shadow mode.

use std::time::Duration;

use ratelimit_core::{Decision, FixedWindow, Nanos, Policy, TokenBucket};
use ratelimit_store::{KeyedLimiter, Limiter, ManualClock};

const SECOND: Nanos = Nanos::from_secs(1);

fn policy(text: &str) -> Policy {
    text.parse().unwrap()
}

fn remaining(decision: Decision) -> u64 {
    match decision {
        Decision::Allowed { remaining, .. } | Decision::Denied { remaining, .. } => remaining,
        Decision::Never { .. } => 0,
    }
}

#[test]
fn a_new_limit_keeps_what_was_used() {
    let limiter = KeyedLimiter::builder(policy("fixed-window:10/1h")).clock(ManualClock::new(SECOND)).build();
    for i in 0..1_000_u64 {
        limiter.check_n(i.to_be_bytes(), 1 + i % 10);
    }
    for change in ["fixed-window:15/1h", "sliding-log:15/1h", "token-bucket:15/1h+fixed-window:20/1h"] {
        limiter.set_policy(policy(change));
        assert_eq!(limiter.policy(), policy(change));
        for i in 0..1_000_u64 {
            assert_eq!(remaining(limiter.peek(i.to_be_bytes(), 0)), 14 - i % 10, "{change}, client {i}");
        }
    }
    limiter.set_policy(policy("unlimited"));
    limiter.sweep();
    assert!(limiter.is_empty());
}

#[test]
fn the_shared_state_changes_too() {
    let limiter = KeyedLimiter::builder(policy("fixed-window:10/1h")).max_clients(0).build();
    limiter.check_n_at("anyone", SECOND, 10);
    limiter.set_policy_at(policy("fixed-window:12/1h"), SECOND);
    assert_eq!(remaining(limiter.peek_at("other", SECOND, 0)), 2);
}

#[test]
fn a_plan_of_its_own() {
    let limiter = KeyedLimiter::builder(policy("fixed-window:10/1h")).clock(ManualClock::new(SECOND)).build();
    limiter.check_n("gold", 4);
    limiter.check_n("plain", 4);
    limiter.set_policy_of("gold", Some(policy("fixed-window:1000/1h")));
    limiter.set_policy_of("new", Some(policy("token-bucket:50/1m")));
    assert_eq!(remaining(limiter.peek("gold", 0)), 996);
    assert_eq!(remaining(limiter.peek("plain", 0)), 6);
    assert_eq!(remaining(limiter.check_n("new", 10)), 40);
    // Another policy for everybody passes those by that have their own.
    limiter.set_policy(policy("fixed-window:20/1h"));
    assert_eq!(remaining(limiter.peek("gold", 0)), 996);
    assert_eq!(remaining(limiter.peek("plain", 0)), 16);
    assert_eq!(limiter.policy_of("gold"), policy("fixed-window:1000/1h"));
    assert_eq!(limiter.policy_of("plain"), policy("fixed-window:20/1h"));
    limiter.set_policy_of("gold", None);
    assert_eq!(remaining(limiter.peek("gold", 0)), 16);
    assert_eq!(limiter.policy_of("gold"), limiter.policy());
    // The plan outlives the state: a client that was forgotten comes back to it.
    limiter.set_policy_of("new", Some(policy("token-bucket:60/1m")));
    limiter.reset("new");
    assert_eq!(remaining(limiter.peek("new", 0)), 60);
}

#[test]
fn plans_by_exact_key() {
    let limiter = KeyedLimiter::builder(policy("fixed-window:10/1h")).exact_keys().build();
    for i in 0..100_u64 {
        limiter.set_policy_of(i.to_be_bytes(), Some(policy(&format!("fixed-window:{}/1h", 100 + i))));
    }
    for i in 0..100_u64 {
        assert_eq!(remaining(limiter.peek_at(i.to_be_bytes(), SECOND, 0)), 100 + i);
    }
}

#[test]
fn the_single_limiter_changes_too() {
    let limiter = Limiter::with_clock(FixedWindow::per(10, Duration::from_secs(60)).unwrap(), ManualClock::new(SECOND));
    limiter.check_n(10);
    limiter.set_policy(FixedWindow::per(12, Duration::from_secs(60)).unwrap());
    assert_eq!(remaining(limiter.peek(0)), 2);
    assert_eq!(limiter.policy().quota().limit(), 12);
}

#[test]
fn shadow_mode_counts_and_admits() {
    let policy = TokenBucket::per(2, Duration::from_secs(60)).unwrap();
    let limiter = KeyedLimiter::builder(policy).shadow(true).clock(ManualClock::new(SECOND)).build();
    for _ in 0..5 {
        assert!(limiter.check("alice").is_allowed());
    }
    assert!(limiter.check_n("alice", 3).is_allowed());
    let stats = limiter.stats();
    assert_eq!((stats.allowed, stats.denied, stats.never), (2, 3, 1));
    assert!(!limiter.peek("alice", 1).is_allowed());
}

/// Plans that were set while the table was small are found after it has grown, changed and taken away; and a page knows
/// those of its own clients only once it changes.
#[test]
fn plans_outlive_the_growth_of_the_table() {
    let limiter = KeyedLimiter::builder(policy("fixed-window:10/1h")).clock(ManualClock::new(SECOND)).build();
    let plan = |i: u64| policy(if i.is_multiple_of(2) { "fixed-window:20/1h" } else { "fixed-window:30/1h" });
    let client = |i: u64| (i + (1 << 40)).to_be_bytes();
    for i in 0..5_000_u64 {
        limiter.set_policy_of(client(i), Some(plan(i)));
    }
    for i in 0..50_000_u64 {
        limiter.check(i.to_be_bytes());
    }
    limiter.set_policy(policy("fixed-window:11/1h"));
    for i in 0..5_000_u64 {
        assert_eq!(limiter.policy_of(client(i)), plan(i));
        assert_eq!(remaining(limiter.check(client(i))), if i.is_multiple_of(2) { 19 } else { 29 });
        limiter.set_policy_of(client(i), if i.is_multiple_of(3) { None } else { Some(plan(i + 1)) });
    }
    for i in 0..5_000_u64 {
        let expected = if i.is_multiple_of(3) { policy("fixed-window:11/1h") } else { plan(i + 1) };
        assert_eq!(limiter.policy_of(client(i)), expected);
    }
    assert!((0..50_000_u64).all(|i| limiter.policy_of(i.to_be_bytes()) == policy("fixed-window:11/1h")));
    assert_eq!(remaining(limiter.peek(1_u64.to_be_bytes(), 0)), 10);
}
