//! Inputs on which published limiters forget the wrong client, or none.

use std::time::Duration;

use ratelimit_core::{Decision, FixedWindow, Nanos, Policy, TokenBucket, Unlimited};
use ratelimit_store::{KeyForm, KeyedLimiter, ManualClock};

const SECOND: Nanos = Nanos::from_secs(1);

fn bucket(limit: u64, secs: u64) -> TokenBucket {
    TokenBucket::per(limit, Duration::from_secs(secs)).unwrap()
}

#[test]
fn one_shot_keys_are_bounded() {
    let limiter = KeyedLimiter::builder(bucket(1, 3600)).max_clients(5_000).build();
    for i in 0..100_000_u64 {
        limiter.check_at(i.to_be_bytes(), SECOND);
    }
    assert_eq!(limiter.len(), 5_000);
    let stats = limiter.stats();
    assert_eq!(stats.overflow, 95_000);
    // The first 5000 had a state of their own, and all the others together one unit.
    assert_eq!((stats.allowed, stats.denied), (5_001, 94_999));
}

#[test]
fn an_exhausted_client_is_never_forgotten() {
    exhausted_client_meets(200_000);
}

/// The same at full length: 10 million newcomers. `cargo test --release -p ratelimit-store -- --ignored`
#[test]
#[ignore = "ten seconds in release"]
fn an_exhausted_client_is_never_forgotten_by_ten_million() {
    exhausted_client_meets(10_000_000);
}

/// A client in debt, and then one-shot keys while time passes: newcomers come and are forgotten, the debtor stays.
fn exhausted_client_meets(newcomers: u64) {
    let limiter = KeyedLimiter::builder(bucket(10, 10)).max_clients(1_000).build();
    let day = 86_400;
    limiter.charge_at("debtor", SECOND, 10 + day);
    let step = day * 1_000_000_000 / newcomers;
    for i in 0..newcomers {
        let now = SECOND.saturating_add(Nanos::new(i * step));
        limiter.check_at(i.to_be_bytes(), now);
        if i % 97 == 0 {
            assert!(!limiter.check_at("debtor", now).is_allowed(), "after {i}");
        }
    }
    assert!(limiter.len() <= 1_000);
    // It pays one unit a second, and not 1 ns sooner.
    let paid = Nanos::from_secs(1 + day + 1);
    assert!(!limiter.check_at("debtor", Nanos::new(paid.get() - 1)).is_allowed());
    assert!(limiter.check_at("debtor", paid).is_allowed());
}

#[test]
fn a_full_table_evicts_only_who_is_fresh() {
    let limiter = KeyedLimiter::builder(bucket(2, 10)).max_clients(3).build();
    limiter.check_n_at("exhausted", Nanos::ZERO, 2);
    limiter.check_n_at("half", Nanos::ZERO, 1);
    limiter.check_n_at("also", Nanos::ZERO, 2);
    // Nobody is fresh before 5 s: newcomers share one state.
    assert!(limiter.check_n_at("new", SECOND, 1).is_allowed());
    assert!(limiter.check_n_at("newer", SECOND, 1).is_allowed());
    assert!(!limiter.check_n_at("newest", SECOND, 1).is_allowed());
    assert_eq!(limiter.stats().overflow, 3);
    // At 5 s "half" is, and its place is free for one newcomer.
    let now = Nanos::from_secs(5);
    assert!(limiter.check_n_at("newest", now, 2).is_allowed());
    assert_eq!(limiter.len(), 3);
    assert_eq!(limiter.stats().evicted, 1);
    assert_eq!(limiter.peek_at("exhausted", now, 0), limiter.peek_at("also", now, 0));
    assert!(!limiter.peek_at("exhausted", now, 2).is_allowed());
}

#[test]
fn debt_of_a_day_outlives_every_sweep() {
    let policy: Policy = "token-bucket:1/1m+fixed-window:10/1d".parse().unwrap();
    let limiter = KeyedLimiter::builder(policy).max_clients(100).build();
    limiter.charge_at("debtor", Nanos::ZERO, 10);
    for minute in 1..1_440 {
        let now = Nanos::from_secs(60 * minute);
        limiter.check_at(minute.to_be_bytes(), now);
        limiter.sweep_at(now);
    }
    assert!(!limiter.check_at("debtor", Nanos::from_secs(86_399)).is_allowed());
    assert!(limiter.check_at("debtor", Nanos::from_secs(86_400)).is_allowed());
}

/// A brief answer is counted as a whole one is, and shadow mode lets it pass.
#[test]
fn brief_answers_are_counted_too() {
    let builder = || KeyedLimiter::builder(bucket(2, 1)).max_clients(1);
    let limiter = builder().build();
    let allows = |key: &str, cost| limiter.allows_n_at(key, Nanos::ZERO, cost);
    assert_eq!([1, 1, 1, 0, 3].map(|cost| allows("alice", cost)), [true, true, false, true, false]);
    assert!(allows("bob", 2) && !allows("carol", 1), "newcomers share one state");
    let stats = limiter.stats();
    assert_eq!((stats.allowed, stats.denied, stats.never, stats.overflow), (4, 2, 1, 2));
    let shadow = builder().shadow(true).build();
    assert!([2, 1, 3].into_iter().all(|cost| shadow.allows_n_at("alice", Nanos::ZERO, cost)));
    let stats = shadow.stats();
    assert_eq!((stats.allowed, stats.denied, stats.never), (1, 1, 1));
}

#[test]
fn a_bound_beyond_all_memory_takes_none() {
    let limiter = KeyedLimiter::builder(bucket(2, 1)).max_clients(usize::MAX).build();
    assert!((0..100_000_u32).all(|key| limiter.allows_n_at(key.to_be_bytes(), Nanos::ZERO, 2)));
    assert!(!(0..100_000_u32).any(|key| limiter.allows_n_at(key.to_be_bytes(), Nanos::ZERO, 1)));
    assert_eq!(limiter.len(), 100_000);
}

#[test]
fn idle_clients_are_dropped_by_the_calls_of_others() {
    let limiter = KeyedLimiter::builder(bucket(10, 1)).max_clients(3_200).build();
    for i in 0..3_000_u64 {
        limiter.check_at(i.to_be_bytes(), Nanos::ZERO);
    }
    assert_eq!(limiter.len(), 3_000);
    for i in 0..10_000 {
        limiter.check_at("busy", Nanos::new(20_000_000_000 + 1_000_000 * i));
    }
    assert_eq!(limiter.len(), 1);
    assert_eq!(limiter.stats().evicted, 3_000);
}

#[test]
fn a_million_places_and_nobody_in_them() {
    let limiter = KeyedLimiter::new(Unlimited);
    for i in 0..1_000_u64 {
        assert!(limiter.check_n(i.to_be_bytes(), u64::MAX).is_allowed());
    }
    // Who uses nothing is not kept.
    assert!(limiter.is_empty());
    let limiter = KeyedLimiter::new(bucket(10, 1));
    assert_eq!(limiter.check_n("alice", 11), Decision::Never { capacity: 10 });
    limiter.check_n("alice", 0);
    limiter.peek("alice", 1);
    limiter.charge("alice", 0);
    assert!(limiter.is_empty());
}

#[test]
fn no_place_at_all_is_one_shared_limit() {
    let limiter = KeyedLimiter::builder(bucket(2, 1)).max_clients(0).build();
    assert!(limiter.check_at("a", SECOND).is_allowed());
    limiter.charge_at("b", SECOND, 1);
    assert!(!limiter.check_at("c", SECOND).is_allowed());
    assert!(!limiter.peek_at("d", SECOND, 1).is_allowed());
    assert!(!limiter.refund("a", 1));
    assert_eq!(limiter.len(), 0);
}

/// Law 7: forgetting at 10 s must not let a call at 1 s find the past empty.
#[test]
fn time_does_not_fall_behind_a_forgetting() {
    let limiter = KeyedLimiter::builder(bucket(10, 10)).max_clients(1).build();
    limiter.check_n_at("alice", Nanos::ZERO, 10);
    assert_eq!(limiter.sweep_at(Nanos::from_secs(10)), 1);
    // A caller whose clock is behind is decided at 10 s, and answered in its own terms.
    let Decision::Allowed { remaining: 0, reset_after, delay: Nanos::ZERO } = limiter.check_n_at("alice", SECOND, 10)
    else {
        panic!("allowed, as at 10 s")
    };
    assert_eq!(reset_after, Nanos::from_secs(19));
    assert_eq!(limiter.check_n_at("alice", SECOND, 1).retry_after(), Some(Nanos::from_secs(10)));
    assert!(!limiter.check_n_at("alice", Nanos::new(11_000_000_000 - 1), 1).is_allowed());
    assert!(limiter.check_n_at("alice", Nanos::from_secs(11), 1).is_allowed());
}

#[test]
fn refund_and_reset() {
    let clock = ManualClock::new(SECOND);
    let limiter = KeyedLimiter::builder(FixedWindow::per(5, Duration::from_secs(60)).unwrap())
        .clock(clock.clone())
        .exact_keys()
        .build();
    assert!(limiter.check_n("alice", 5).is_allowed());
    assert!(limiter.refund("alice", 2));
    assert!(limiter.check_n("alice", 2).is_allowed());
    assert!(limiter.reset("alice"));
    assert!(!limiter.reset("alice"));
    assert!(!limiter.refund("alice", 1));
    assert!(limiter.check_n("alice", 5).is_allowed());
    clock.advance(Nanos::from_secs(59));
    assert!(limiter.check_n("alice", 5).is_allowed());
}

/// Many keys in one page, long ones among them: nobody is mistaken for another.
#[test]
fn keys_are_told_apart_in_both_forms() {
    fn told_apart(limiter: &KeyedLimiter<TokenBucket, impl KeyForm>) {
        let keys: Vec<String> = (0..2_000).map(|i| format!("{i:0width$}", width = i % 40)).collect();
        for key in &keys {
            assert!(limiter.check_at(key, SECOND).is_allowed(), "{key}");
        }
        for key in &keys {
            assert!(!limiter.check_at(key, SECOND).is_allowed(), "{key}");
        }
        assert_eq!(limiter.len(), 2_000);
        for key in &keys {
            assert!(limiter.reset(key), "{key}");
        }
        assert!(limiter.is_empty());
    }
    told_apart(&KeyedLimiter::builder(bucket(1, 60)).max_clients(2_000).build());
    told_apart(&KeyedLimiter::builder(bucket(1, 60)).max_clients(2_000).exact_keys().build());
}

/// 1200 exhausted clients in as many places, at `SECOND`; ten units last half an hour.
fn exhausted() -> KeyedLimiter<TokenBucket> {
    let limiter = KeyedLimiter::builder(bucket(10, 1_800)).max_clients(1_200).build();
    for i in 0..1_200_u64 {
        assert!(limiter.check_n_at(i.to_be_bytes(), SECOND, 10).is_allowed());
    }
    limiter
}

/// One caller whose clock is an hour ahead forgets a page's clients; others must not go on doing so at the right time.
#[test]
fn a_clock_that_runs_ahead_once_costs_no_more_than_once() {
    let limiter = exhausted();
    limiter.check_n_at("ahead", SECOND.saturating_add(Nanos::from_secs(3_600)), 10);
    let forgotten = limiter.stats().evicted;
    assert!(forgotten > 0 && forgotten < 100);
    for i in 0..20_000_u64 {
        limiter.check_n_at((i + (1 << 40)).to_be_bytes(), SECOND, 10);
    }
    assert_eq!(limiter.stats().evicted, forgotten, "nobody is fresh at the right time");
}

#[test]
fn a_forecast_forgets_nobody() {
    let limiter = exhausted();
    let later = SECOND.saturating_add(Nanos::from_secs(3_600));
    for i in 0..2_000_u64 {
        // Then there will be room.
        assert!(limiter.peek_at((i + (1 << 40)).to_be_bytes(), later, 10).is_allowed());
    }
    assert_eq!(limiter.stats().evicted, 0);
    assert!((0..1_200_u64).all(|i| !limiter.check_at(i.to_be_bytes(), SECOND).is_allowed()));
}

/// Newcomers to a full table share one state: one of them who is charged a lot fills it, and no more.
#[test]
fn the_debt_of_one_newcomer_does_not_keep_all_others_out() {
    let limiter = KeyedLimiter::builder(bucket(1, 1)).max_clients(1).build();
    limiter.check_n_at("kept", SECOND, 1);
    limiter.charge_at("debtor", SECOND, 100_000);
    assert_eq!(limiter.check_at("other", SECOND).retry_after(), Some(SECOND));
}
