//! Any number of threads admit exactly the bound, under a clock that stands still or is moved while they run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use ratelimit_core::{
    Algorithm, AllOf, FixedWindow, LeakyBucket, Nanos, Policy, SlidingCounter, SlidingLog, TokenBucket,
};
use ratelimit_store::{KeyedLimiter, Limiter, ManualClock};

const START: Nanos = Nanos::from_secs(1_000_000);

/// Runs `call` on each of `threads` threads until all have returned, and sums up what they say.
fn together(threads: u64, call: impl Fn(u64) -> u64 + Sync) -> u64 {
    let sum = AtomicU64::new(0);
    thread::scope(|scope| {
        for i in 0..threads {
            let (sum, call) = (&sum, &call);
            scope.spawn(move || sum.fetch_add(call(i), Ordering::Relaxed));
        }
    });
    sum.into_inner()
}

/// 32 threads at once and a limit of 1000: check and charge are one step.
fn admits_exactly<P: Algorithm + Clone + Send + Sync>(policy: P, bound: u64)
where
    P::State: Send,
{
    let single = Limiter::with_clock(policy.clone(), ManualClock::new(START));
    let keyed = KeyedLimiter::builder(policy).clock(ManualClock::new(START)).max_clients(10).build();
    let admitted = together(32, |_| (0..100).map(|_| u64::from(single.check().is_allowed())).sum());
    assert_eq!(admitted, bound);
    let admitted = together(32, |_| (0..100).map(|_| u64::from(keyed.check("one").is_allowed())).sum());
    assert_eq!(admitted, bound);
}

#[test]
fn thirty_two_threads_at_once() {
    let second = Duration::from_secs(1);
    admits_exactly(FixedWindow::per(1000, second).unwrap(), 1000);
    admits_exactly(SlidingLog::per(1000, second).unwrap(), 1000);
    admits_exactly(SlidingCounter::per(1000, second).unwrap(), 1000);
    admits_exactly(TokenBucket::per(1000, second).unwrap(), 1000);
    admits_exactly(LeakyBucket::per(1000, second).unwrap(), 1000);
    let both = [TokenBucket::per(1000, second).unwrap(), TokenBucket::per(5000, second).unwrap()];
    admits_exactly(AllOf::new(both), 1000);
    admits_exactly("sliding-log:1000/1s+token-bucket:2000/1s".parse::<Policy>().unwrap(), 1000);
}

/// 1000 per second, polled by 8 threads over 2 s of clock: the burst and 2000, whatever the threads do.
#[test]
fn eight_threads_over_two_seconds() {
    let clock = ManualClock::new(START);
    let policy = TokenBucket::per(1000, Duration::from_secs(1)).unwrap().burst(50).unwrap();
    let single = Limiter::with_clock(policy, clock.clone());
    let keyed = KeyedLimiter::builder(policy).clock(clock.clone()).build();
    let admitted = [AtomicU64::new(0), AtomicU64::new(0)];
    // All ask for more than is there before the clock moves on; 50 units are the burst, so none is lost.
    for _ in 0..=200 {
        admitted[0].fetch_add(together(8, |_| polls(|| single.check().is_allowed())), Ordering::Relaxed);
        admitted[1].fetch_add(together(8, |_| polls(|| keyed.check("one").is_allowed())), Ordering::Relaxed);
        clock.advance(Nanos::from_millis(10));
    }
    assert_eq!(admitted.map(AtomicU64::into_inner), [50 + 2_000, 50 + 2_000]);
}

/// Asks until it is refused.
fn polls(check: impl Fn() -> bool) -> u64 {
    (0..u64::MAX).take_while(|_| check()).count() as u64
}

/// Newcomers on all threads: never more clients than places, and every answer is counted once.
#[test]
fn a_full_table_stays_bounded_under_threads() {
    let policy = TokenBucket::per(1, Duration::from_secs(10)).unwrap();
    let clock = ManualClock::new(START);
    let limiter = KeyedLimiter::builder(policy).clock(clock.clone()).max_clients(500).build();
    let admitted = together(8, |thread| {
        (0..1_000_u64)
            .map(|i| {
                if i % 100 == 99 {
                    clock.advance(Nanos::from_secs(1));
                }
                assert!(limiter.len() <= 500);
                u64::from(limiter.check((thread * 1_000 + i).to_be_bytes()).is_allowed())
            })
            .sum()
    });
    let stats = limiter.stats();
    assert_eq!(stats.allowed, admitted);
    assert_eq!(stats.allowed + stats.denied, 8_000);
    assert!(stats.tracked <= 500);
    assert!(stats.overflow > 0);
    // Everybody is fresh in the end.
    clock.advance(Nanos::from_secs(100));
    limiter.sweep();
    assert!(limiter.is_empty());
}

/// Threads that bring the same newcomers while the table grows from its first pages to hundreds: no client is lost or kept
/// twice while a page is split.
#[test]
fn nobody_is_lost_while_the_table_grows() {
    let policy = TokenBucket::per(3, Duration::from_secs(3600)).unwrap();
    let limiter = KeyedLimiter::builder(policy).clock(ManualClock::new(START)).max_clients(20_000).build();
    let admitted = together(4, |thread| {
        let mut admitted = 0;
        for i in 0..10_000_u64 {
            // Each thread begins elsewhere.
            let key = ((i + thread * 2_500) % 10_000).to_be_bytes();
            admitted += u64::from(limiter.check(key).is_allowed());
        }
        admitted
    });
    assert_eq!(admitted, 3 * 10_000);
    assert_eq!(limiter.len(), 10_000);
}

/// The policy changes back and forth while the table grows: every client is migrated once at each change.
#[test]
fn a_live_change_meets_every_client_while_the_table_grows() {
    let per_hour = |limit| FixedWindow::per(limit, Duration::from_secs(3600)).unwrap();
    let limiter = KeyedLimiter::builder(per_hour(10)).clock(ManualClock::new(START)).max_clients(20_000).build();
    together(3, |thread| {
        if thread == 0 {
            for i in 0..100 {
                limiter.set_policy(per_hour(10 + i % 3));
            }
            limiter.set_policy(per_hour(10));
            return 0;
        }
        for i in 0..5_000_u64 {
            limiter.check_n((thread * 5_000 + i).to_be_bytes(), 4);
        }
        0
    });
    assert_eq!(limiter.len(), 10_000);
    for i in 5_000..15_000_u64 {
        assert!(limiter.peek(i.to_be_bytes(), 6).is_allowed());
        assert!(!limiter.peek(i.to_be_bytes(), 7).is_allowed());
    }
}
