//! Waiting in the blocking form, on a manual clock that the first in line moves on: nothing sleeps.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use ratelimit_core::{Decision, LeakyBucket, Nanos, Policy, TokenBucket};
use ratelimit_store::{Clock, KeyedLimiter, Limiter, ManualClock, Wait, WaitError};

const START: Nanos = Nanos::from_secs(1_000);

fn one_per_second(burst: u64) -> TokenBucket {
    TokenBucket::per(1, Duration::from_secs(1)).unwrap().burst(burst).unwrap()
}

#[test]
fn it_passes_at_the_exact_instant() {
    let clock = ManualClock::new(START);
    let limiter = Limiter::with_clock(one_per_second(5), clock.clone());
    limiter.wait_until_allowed(5).unwrap();
    assert_eq!(clock.now(), START);
    limiter.wait_until_allowed(3).unwrap();
    assert_eq!(clock.now(), START.saturating_add(Nanos::from_secs(3)));
    assert!(!limiter.check().is_allowed());
}

#[test]
fn what_is_in_vain_fails_at_once_and_charges_nothing() {
    let clock = ManualClock::new(START);
    let limiter = KeyedLimiter::builder(one_per_second(5)).clock(clock.clone()).build();
    assert_eq!(limiter.wait_until_allowed("a", 6), Err(WaitError::Never { capacity: 5 }));
    limiter.wait_until_allowed("a", 5).unwrap();
    let needed = Nanos::from_secs(2);
    let short = Wait::for_cost(2).within(Nanos::new(needed.get() - 1));
    assert_eq!(limiter.wait_until_allowed("a", short), Err(WaitError::TooLate { needed }));
    assert_eq!(limiter.wait_until_allowed("a", Wait::for_cost(2).by(START)), Err(WaitError::TooLate { needed }));
    assert_eq!(clock.now(), START, "failed without sleeping");
    limiter.wait_until_allowed("a", Wait::for_cost(2).within(needed)).unwrap();
    assert_eq!(clock.now(), START.saturating_add(needed));
    // Only those that passed were charged, and asking first is not being denied.
    let stats = limiter.stats();
    assert_eq!((stats.allowed, stats.denied), (2, 0));
    limiter.wait_until_allowed("b", Wait::for_cost(5).within(Nanos::ZERO)).unwrap();
}

#[test]
fn a_leaky_bucket_is_left_at_its_turn() {
    let clock = ManualClock::new(START);
    let policy = LeakyBucket::per(1, Duration::from_secs(1)).unwrap().burst(2).unwrap();
    let limiter = KeyedLimiter::builder(policy).clock(clock.clone()).build();
    for second in 0..10 {
        let Ok(Decision::Allowed { delay: Nanos::ZERO, .. }) = limiter.wait_until_allowed("a", 1) else {
            panic!("its turn is now")
        };
        assert_eq!(clock.now(), START.saturating_add(Nanos::from_secs(second)));
    }
    let needed = Nanos::from_secs(1);
    let hurry = Wait::for_cost(1).within(Nanos::from_millis(999));
    assert_eq!(limiter.wait_until_allowed("a", hurry), Err(WaitError::TooLate { needed }));
}

#[test]
fn jitter_only_ever_waits_longer() {
    for _ in 0..100 {
        let clock = ManualClock::new(START);
        let limiter = Limiter::with_clock(one_per_second(1), clock.clone());
        limiter.check();
        limiter.wait_until_allowed(Wait::for_cost(1).jitter(Nanos::from_millis(100))).unwrap();
        let waited = clock.now().saturating_sub(START);
        assert!(waited >= Nanos::from_secs(1) && waited <= Nanos::from_millis(1_100), "{waited}");
    }
}

/// Twenty threads, one unit a second: each passes at a second of its own.
#[test]
fn threads_pass_one_after_the_other() {
    let clock = ManualClock::new(START);
    let limiter = KeyedLimiter::builder(one_per_second(1)).clock(clock.clone()).build();
    let passed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                limiter.wait_until_allowed("a", 1).unwrap();
                passed.lock().unwrap().push(());
            });
        }
    });
    assert_eq!(passed.into_inner().unwrap().len(), 20);
    assert_eq!(clock.now(), START.saturating_add(Nanos::from_secs(19)));
    assert_eq!(limiter.stats().allowed, 20);
}

#[test]
fn a_live_change_reaches_those_who_wait() {
    let clock = ManualClock::new(START);
    let limiter = Limiter::with_clock("token-bucket:5/1s".parse::<Policy>().unwrap(), clock);
    limiter.set_policy("token-bucket:2/1s".parse().unwrap());
    assert_eq!(limiter.wait_until_allowed(5), Err(WaitError::Never { capacity: 2 }));
}

#[test]
fn shadow_mode_lets_nobody_wait() {
    let clock = ManualClock::new(START);
    let limiter = KeyedLimiter::builder(one_per_second(1)).clock(clock.clone()).shadow(true).build();
    for _ in 0..5 {
        assert!(limiter.wait_until_allowed("a", 1).unwrap().is_allowed());
    }
    assert_eq!(clock.now(), START);
    assert_eq!(limiter.stats().denied, 4);
}

#[test]
fn errors_say_what_to_do() {
    let text = |error: WaitError| error.to_string();
    assert_eq!(
        text(WaitError::Never { capacity: 5 }),
        "this cost can never be allowed: at most 5 units fit, ask for fewer at a time"
    );
    assert_eq!(
        text(WaitError::TooLate { needed: Nanos::from_millis(1500) }),
        "the deadline is too near: the wait would take another 1500ms"
    );
    assert!(text(WaitError::QueueFull { waiting: 3 }).contains("max_waiting"));
}

#[test]
fn jitter_ends_at_the_deadline() {
    for _ in 0..100 {
        let clock = ManualClock::new(START);
        let limiter = Limiter::with_clock(one_per_second(1), clock.clone());
        limiter.check();
        let wait = Wait::for_cost(1).within(Nanos::from_secs(2)).jitter(Nanos::from_secs(3600));
        limiter.wait_until_allowed(wait).unwrap();
        assert!(clock.now() <= START.saturating_add(Nanos::from_secs(2)));
    }
}

#[test]
fn cost_zero_waits_for_nobody() {
    let limiter = KeyedLimiter::builder(one_per_second(1)).clock(ManualClock::new(START)).build();
    limiter.charge("a", 1_000);
    let at_once = Wait::for_cost(0).within(Nanos::ZERO);
    assert!(limiter.wait_until_allowed("a", at_once).unwrap().is_allowed());
}

/// On a clock that never moves by itself: only being woken ends the wait.
#[test]
fn units_that_become_free_wake_the_first_in_line() {
    #[derive(Clone)]
    struct Parking(ManualClock);
    impl Clock for Parking {
        fn now(&self) -> Nanos {
            self.0.now()
        }
    }
    impl ratelimit_store::Pause for Parking {
        fn pause(&self, _: Nanos) {
            thread::park();
        }
    }
    type Keyed = KeyedLimiter<TokenBucket, ratelimit_store::Fingerprint, Parking>;
    let frees: [fn(&Keyed); 4] = [
        |limiter| assert!(limiter.reset("a")),
        |limiter| assert!(limiter.refund("a", 1)),
        |limiter| limiter.set_policy(one_per_second(2)),
        |limiter| limiter.set_policy_of("a", Some(one_per_second(2))),
    ];
    for free in frees {
        let limiter = KeyedLimiter::builder(one_per_second(1)).clock(Parking(ManualClock::new(START))).build();
        limiter.check("a");
        thread::scope(|scope| {
            let waiter = scope.spawn(|| limiter.wait_until_allowed("a", 1).unwrap());
            // Before or after the waiter has asked: either way it must pass.
            free(&limiter);
            waiter.join().unwrap();
        });
        assert_eq!(limiter.stats().allowed, 2);
    }
}
