//! Waiting as futures, in tokio's paused time: nothing sleeps.
#![cfg(feature = "async")]

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratelimit_core::{FixedWindow, LeakyBucket, Nanos, TokenBucket};
use ratelimit_store::{Clock, KeyedLimiter, Limiter, TokioClock, Wait, WaitError};
use tokio::time::{sleep, timeout};

fn one_per_second(burst: u64) -> TokenBucket {
    TokenBucket::per(1, Duration::from_secs(1)).unwrap().burst(burst).unwrap()
}

fn limiter(burst: u64) -> Limiter<TokenBucket, TokioClock> {
    Limiter::with_clock(one_per_second(burst), TokioClock::new())
}

#[tokio::test(start_paused = true)]
async fn first_come_first_served() {
    let limiter = limiter(1);
    let start = limiter.clock().now();
    let passed = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for i in 0..50_u64 {
        let (limiter, passed) = (limiter.clone(), Arc::clone(&passed));
        tasks.push(tokio::spawn(async move {
            limiter.until_allowed(1).await.unwrap();
            let after = limiter.clock().now().saturating_sub(start);
            passed.lock().unwrap().push((i, after.as_secs_ceil()));
        }));
        tokio::task::yield_now().await;
    }
    for task in tasks {
        task.await.unwrap();
    }
    // Each at its own second, in the order of asking.
    assert_eq!(*passed.lock().unwrap(), (0..50).map(|i| (i, i)).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_wait_charges_nothing_and_lets_the_next_one_pass() {
    let limiter = limiter(2);
    limiter.until_allowed(2).await.unwrap();
    // The first wants 2 and is given up after a second, when one unit is there: the second in line gets it at once.
    let (first, second) = (limiter.clone(), limiter.clone());
    let first = async move { timeout(Duration::from_secs(1), first.until_allowed(2)).await.is_err() };
    let start = limiter.clock().now();
    let second = async move {
        second.until_allowed(1).await.unwrap();
        second.clock().now().saturating_sub(start)
    };
    let (given_up, waited) = tokio::join!(first, second);
    assert!(given_up);
    assert!(waited <= Nanos::from_millis(1_002), "{waited}");
    assert!(!limiter.check().is_allowed());
    sleep(Duration::from_secs(2)).await;
    assert!(limiter.check_n(2).is_allowed());
}

#[tokio::test(start_paused = true)]
async fn dropping_at_every_moment_leaves_nothing_behind() {
    let limiter = KeyedLimiter::builder(one_per_second(1)).clock(TokioClock::new()).max_waiting(3, 10).build();
    limiter.until_allowed("a", 1).await.unwrap();
    for millis in 0..200 {
        let mut waits = Vec::new();
        for _ in 0..4 {
            waits.push(Box::pin(limiter.until_allowed("a", 1)));
        }
        for wait in &mut waits {
            assert!(timeout(Duration::ZERO, wait.as_mut()).await.is_err());
        }
        // One first, three behind: that is all.
        assert_eq!(limiter.until_allowed("a", 1).await, Err(WaitError::QueueFull { waiting: 4 }));
        assert!(timeout(Duration::from_millis(millis % 5), waits[0].as_mut()).await.is_err());
        drop(waits);
        limiter.reset("a");
        limiter.check("a");
    }
    assert_eq!(limiter.stats().allowed, 201);
    assert_eq!(limiter.until_allowed("a", 1).await.map(|passed| passed.is_allowed()), Ok(true));
}

#[tokio::test(start_paused = true)]
async fn deadlines() {
    let limiter = limiter(1);
    limiter.check();
    let start = limiter.clock().now();
    let mut ahead = pin!(limiter.until_allowed(1));
    assert!(timeout(Duration::ZERO, ahead.as_mut()).await.is_err());
    // One is ahead: two seconds, and a deadline just before that fails without sleeping.
    let needed = limiter.until_allowed(Wait::for_cost(1).within(Nanos::from_millis(1_900))).await;
    let Err(WaitError::TooLate { needed }) = needed else { panic!("{needed:?}") };
    assert!(needed > Nanos::from_millis(1_990) && needed <= Nanos::from_secs(2), "{needed}");
    assert!(limiter.clock().now().saturating_sub(start) <= Nanos::from_millis(5));
    // Those who do not stand in line take what was expected: then the deadline holds all the same.
    let waiting = limiter.until_allowed(Wait::for_cost(1).within(Nanos::from_millis(2_100)));
    let robber = async {
        for _ in 0..50 {
            sleep(Duration::from_millis(100)).await;
            limiter.charge(1);
        }
    };
    let waiting = async {
        let result = waiting.await;
        (result, limiter.clock().now().saturating_sub(start))
    };
    let ((result, waited), ()) = tokio::join!(waiting, robber);
    assert!(matches!(result, Err(WaitError::TooLate { .. })), "{result:?}");
    assert!(waited <= Nanos::from_millis(2_110), "{waited}");
}

#[tokio::test(start_paused = true)]
async fn a_leaky_bucket_wait_dropped_during_its_delay_gives_its_place_back() {
    let policy = LeakyBucket::per(1, Duration::from_secs(10)).unwrap().burst(2).unwrap();
    let limiter = KeyedLimiter::builder(policy).clock(TokioClock::new()).build();
    limiter.until_allowed("a", 1).await.unwrap();
    assert!(timeout(Duration::from_secs(1), limiter.until_allowed("a", 1)).await.is_err());
    // Without it the bucket holds what is left of the first unit, and one more fits.
    let start = limiter.clock().now();
    limiter.until_allowed("a", 1).await.unwrap();
    let waited = limiter.clock().now().saturating_sub(start);
    assert!(waited >= Nanos::from_millis(8_990) && waited <= Nanos::from_millis(9_005), "{waited}");
}

#[tokio::test(start_paused = true)]
async fn clients_have_lines_of_their_own() {
    let limiter = KeyedLimiter::builder(one_per_second(1)).clock(TokioClock::new()).build();
    limiter.check("slow");
    limiter.charge("slow", 1_000);
    let mut slow = pin!(limiter.until_allowed("slow", 1));
    assert!(timeout(Duration::ZERO, slow.as_mut()).await.is_err());
    timeout(Duration::ZERO, limiter.until_allowed("fast", 1)).await.unwrap().unwrap();
}

/// Tokio's timer rounds up to the millisecond: a wait that was promised does not fail for it.
#[tokio::test(start_paused = true)]
async fn a_timer_that_wakes_late_does_not_break_a_promise() {
    let limiter = Limiter::with_clock(TokenBucket::per(1, Duration::from_micros(1_500)).unwrap(), TokioClock::new());
    limiter.check();
    for _ in 0..20 {
        limiter.until_allowed(Wait::for_cost(1).within(Nanos::from_micros(1_500))).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn full_lines_do_not_stop_a_client_that_need_not_wait() {
    let limiter = KeyedLimiter::builder(TokenBucket::per(1, Duration::from_secs(1)).unwrap());
    let limiter = limiter.clock(TokioClock::new()).max_waiting(10, 3).build();
    limiter.check("a");
    let mut waits: Vec<_> = (0..4).map(|_| Box::pin(limiter.until_allowed("a", 1))).collect();
    for wait in &mut waits {
        assert!(tokio::time::timeout(Duration::ZERO, wait.as_mut()).await.is_err());
    }
    assert!(limiter.until_allowed("b", 1).await.is_ok());
    assert_eq!(limiter.until_allowed("b", 1).await, Err(WaitError::QueueFull { waiting: 0 }));
}

#[tokio::test(start_paused = true)]
async fn a_reset_wakes_the_first_in_line() {
    let day = FixedWindow::per(1, Duration::from_secs(86_400)).unwrap();
    let limiter = KeyedLimiter::builder(day).clock(TokioClock::new()).build();
    limiter.check("a");
    let begun = limiter.clock().now();
    let waiter = limiter.clone();
    let waiter = tokio::spawn(async move { waiter.until_allowed("a", 1).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    limiter.reset("a");
    waiter.await.unwrap().unwrap();
    assert_eq!(limiter.clock().now().saturating_sub(begun), Nanos::from_secs(1));
}

/// In a full table the delay was that of the shared state, and there it is given back.
#[tokio::test(start_paused = true)]
async fn dropped_in_its_delay_it_charges_nothing_without_a_place_either() {
    let policy = LeakyBucket::per(1, Duration::from_secs(10)).unwrap().burst(2).unwrap();
    for places in [0, 5] {
        let limiter = KeyedLimiter::builder(policy).clock(TokioClock::new()).max_clients(places).build();
        limiter.until_allowed("a", 1).await.unwrap();
        assert!(tokio::time::timeout(Duration::from_secs(1), limiter.until_allowed("a", 1)).await.is_err());
        assert!(limiter.peek("a", 1).is_allowed(), "{places} places");
    }
}

/// One a second: whoever gives up, no two pass within one.
#[tokio::test(start_paused = true)]
async fn giving_up_a_place_in_the_middle_brings_nobody_together() {
    let limiter =
        Limiter::with_clock(LeakyBucket::per(1, Duration::from_secs(1)).unwrap().burst(15).unwrap(), TokioClock::new());
    let begun = limiter.clock().now();
    let passes = |limiter: &Limiter<LeakyBucket, TokioClock>| {
        let limiter = limiter.clone();
        tokio::spawn(async move {
            limiter.until_allowed(1).await.unwrap();
            limiter.clock().now().saturating_sub(begun)
        })
    };
    let first = passes(&limiter);
    tokio::task::yield_now().await;
    let gives_up = passes(&limiter);
    tokio::task::yield_now().await;
    let third = passes(&limiter);
    tokio::task::yield_now().await;
    gives_up.abort();
    assert!(gives_up.await.unwrap_err().is_cancelled());
    let fourth = passes(&limiter);
    let at = [first.await.unwrap(), third.await.unwrap(), fourth.await.unwrap()];
    assert_eq!(at.map(Nanos::as_secs_ceil), [0, 2, 3]);
    // The last in the bucket gives its place back.
    let last = passes(&limiter);
    tokio::task::yield_now().await;
    last.abort();
    assert!(last.await.unwrap_err().is_cancelled());
    assert_eq!(passes(&limiter).await.unwrap().as_secs_ceil(), 4);
}
