//! Policies of a service's own that panic: the limiter goes on as if the call had not been made.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ratelimit_core::{Algorithm, BucketState, Decision, Nanos, Policy, SlidingLog, TokenBucket};
use ratelimit_store::{Exact, KeyedLimiter, Limiter, ManualClock};

const NOW: Nanos = Nanos::from_secs(1_000);

/// A token bucket that panics at a call that is set beforehand.
#[derive(Debug, Clone)]
struct Foreign {
    bucket: TokenBucket,
    fuses: Arc<Fuses>,
    /// As if it held what need not be whole after a panic.
    hook: PhantomData<Arc<dyn Fn() + Send + Sync>>,
}

/// How many calls of each kind are left until one panics; 0 where none will.
#[derive(Debug, Default)]
struct Fuses {
    decide: AtomicU32,
    is_fresh: AtomicU32,
    migrate: AtomicU32,
}

fn burn(fuse: &AtomicU32) {
    let left = fuse.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
    assert_ne!(left, Ok(1), "the fuse is burnt");
}

impl Algorithm for Foreign {
    type State = BucketState;
    fn fresh(&self) -> BucketState {
        self.bucket.fresh()
    }
    fn capacity(&self) -> u64 {
        self.bucket.capacity()
    }
    fn decide(&self, state: &mut BucketState, now: Nanos, cost: u64) -> Decision {
        burn(&self.fuses.decide);
        self.bucket.decide(state, now, cost)
    }
    fn charge(&self, state: &mut BucketState, now: Nanos, cost: u64) {
        self.bucket.charge(state, now, cost);
    }
    fn refund(&self, state: &mut BucketState, cost: u64) {
        self.bucket.refund(state, cost);
    }
    fn used(&self, state: &BucketState, now: Nanos) -> u64 {
        self.bucket.used(state, now)
    }
    fn is_fresh(&self, state: &BucketState, now: Nanos) -> bool {
        burn(&self.fuses.is_fresh);
        self.bucket.is_fresh(state, now)
    }
    fn migrate(&self, old: &Self, state: &BucketState, now: Nanos) -> BucketState {
        burn(&self.fuses.migrate);
        self.bucket.migrate(&old.bucket, state, now)
    }
}

/// 100 units, one of which comes back each `seconds`; the clients lie in one page.
fn limiter(seconds: u64) -> (KeyedLimiter<Foreign>, Foreign) {
    let bucket = TokenBucket::per(1, Duration::from_secs(seconds)).unwrap().burst(100).unwrap();
    let policy = Foreign { bucket, fuses: Arc::default(), hook: PhantomData };
    (KeyedLimiter::builder(policy.clone()).max_clients(12).build(), policy)
}

/// Whether the call panics.
fn panics<T>(call: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_err()
}

#[test]
fn a_decision_that_panics_takes_no_place() {
    let (limiter, policy) = limiter(1);
    for i in 0..12_u8 {
        policy.fuses.decide.store(1, Ordering::Relaxed);
        assert!(panics(|| limiter.check_at([i], NOW)));
    }
    assert!(limiter.is_empty());
    assert!(limiter.check_at("another", NOW).is_allowed());
    assert_eq!(limiter.stats().overflow, 0);
}

#[test]
fn a_sweep_that_panics_forgets_nobody_wrongly() {
    for nth in 1..=20 {
        let (limiter, policy) = limiter(1);
        for i in 0..10_u8 {
            limiter.check_n_at([i], NOW, if i % 2 == 0 { 1 } else { 100 });
        }
        let later = NOW.saturating_add(Nanos::from_secs(5));
        policy.fuses.is_fresh.store(nth, Ordering::Relaxed);
        assert_eq!(panics(|| limiter.sweep_at(later)), nth <= 10, "the page is asked once for each client");
        policy.fuses.is_fresh.store(0, Ordering::Relaxed);
        assert!((0..10_u8).all(|i| i % 2 == 0 || !limiter.check_n_at([i], later, 90).is_allowed()), "{nth}");
        limiter.sweep_at(later);
        assert_eq!(limiter.len(), 5, "{nth}");
    }
}

#[test]
fn a_change_that_panics_can_be_repeated() {
    let (panicking, policy) = limiter(10);
    let (other, _) = limiter(10);
    let slower = Foreign {
        bucket: TokenBucket::per(1, Duration::from_secs(1_000)).unwrap().burst(100).unwrap(),
        ..policy.clone()
    };
    for limiter in [&panicking, &other] {
        (0..10_u8).for_each(|i| assert!(limiter.check_n_at([i], NOW, 100).is_allowed()));
    }
    // The first is for what newcomers share.
    policy.fuses.migrate.store(7, Ordering::Relaxed);
    assert!(panics(|| panicking.set_policy_at(slower.clone(), NOW)));
    assert_eq!(panicking.check_at([0], NOW).retry_after(), Some(Nanos::from_secs(10)), "still under the old policy");
    panicking.set_policy_at(slower.clone(), NOW);
    other.set_policy_at(slower, NOW);
    for i in 0..10_u8 {
        assert_eq!(panicking.check_at([i], NOW), other.check_at([i], NOW));
        assert_eq!(panicking.check_at([i], NOW).retry_after(), Some(Nanos::from_secs(1_000)));
    }
}

#[test]
fn a_plan_that_panics_is_not_given() {
    let (limiter, policy) = limiter(10);
    let faster = Foreign { bucket: TokenBucket::per(100, Duration::from_secs(1)).unwrap(), ..policy.clone() };
    limiter.check_n_at("alice", NOW, 100);
    policy.fuses.migrate.store(1, Ordering::Relaxed);
    assert!(panics(|| limiter.set_policy_of_at("alice", Some(faster.clone()), NOW)));
    assert_eq!(limiter.policy_of("alice").bucket, policy.bucket);
    assert_eq!(limiter.check_at("alice", NOW).retry_after(), Some(Nanos::from_secs(10)));
    limiter.set_policy_of_at("alice", Some(faster), NOW);
    assert_eq!(limiter.check_at("alice", NOW).retry_after(), Some(Nanos::from_millis(10)));
}

/// What a service may do with a limiter: hand it to other threads, and use it on after a panic was caught.
#[test]
fn limiters_go_everywhere() {
    fn goes_everywhere<T: Send + Sync + UnwindSafe + RefUnwindSafe>() {}
    goes_everywhere::<KeyedLimiter<Policy>>();
    goes_everywhere::<KeyedLimiter<SlidingLog, Exact, ManualClock>>();
    goes_everywhere::<Limiter<TokenBucket>>();
    goes_everywhere::<KeyedLimiter<Foreign>>();
}
