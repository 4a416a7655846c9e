//! The whole, on a shared limiter whose failures the test chooses and a clock that it moves.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use super::*;
use crate::ManualClock;

/// A shared limiter in memory that can be down.
struct Flaky {
    inner: KeyedLimiter<Policy, crate::Fingerprint, ManualClock>,
    down: AtomicBool,
    calls: AtomicU64,
}

#[derive(Debug)]
struct Down;

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("down")
    }
}

impl std::error::Error for Down {}

impl Flaky {
    fn result<T>(&self, answer: Ready<Result<T, Infallible>>) -> Ready<Result<T, Down>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if self.down.load(Ordering::Relaxed) {
            return ready(Err(Down));
        }
        ready(Ok(now(answer).unwrap_or_else(|never| match never {})))
    }

    fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

impl Backend for Arc<Flaky> {
    type Error = Down;
    type Decide = Ready<Result<Decision, Down>>;
    type Change = Ready<Result<(), Down>>;

    fn check_n(&self, key: &[u8], cost: u64) -> Self::Decide {
        self.result(Backend::check_n(&self.inner, key, cost))
    }

    fn peek(&self, key: &[u8], cost: u64) -> Self::Decide {
        self.result(Backend::peek(&self.inner, key, cost))
    }

    fn charge(&self, key: &[u8], cost: u64) -> Self::Change {
        self.result(Backend::charge(&self.inner, key, cost))
    }

    fn refund(&self, key: &[u8], cost: u64) -> Self::Change {
        self.result(Backend::refund(&self.inner, key, cost))
    }

    fn reset(&self, key: &[u8]) -> Self::Change {
        self.result(Backend::reset(&self.inner, key))
    }
}

/// The result of a future that never waits.
fn now<F: Future>(future: F) -> F::Output {
    match Box::pin(future).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing here waits"),
    }
}

struct Scene {
    clock: ManualClock,
    shared: Arc<Flaky>,
    limiter: Fallback<Arc<Flaky>, ManualClock>,
}

/// 100 an hour over 10 servers, and a breaker that opens at the third failure.
fn scene(when_down: WhenDown) -> Scene {
    let policy: Policy = "token-bucket:100/1h".parse().unwrap();
    let clock = ManualClock::new(Nanos::from_secs(1_790_000_000));
    let inner = KeyedLimiter::builder(policy).clock(clock.clone()).build();
    let shared = Arc::new(Flaky { inner, down: AtomicBool::new(false), calls: AtomicU64::new(0) });
    let limiter = Fallback::builder(Arc::clone(&shared), policy)
        .servers(10)
        .when_down(when_down)
        .failures(3)
        .pauses(Nanos::from_millis(100), Nanos::from_secs(1))
        .clock(clock.clone())
        .build();
    Scene { clock, shared, limiter }
}

impl Scene {
    fn check(&self, key: &str, cost: u64) -> Answer {
        now(self.limiter.check_n(key.as_bytes(), cost))
    }

    /// How many of `requests` are admitted, and all by `source`.
    fn admitted(&self, key: &str, requests: u32, source: Source) -> u32 {
        (0..requests)
            .map(|_| {
                let answer = self.check(key, 1);
                assert_eq!(answer.source, source);
                u32::from(answer.decision.is_allowed())
            })
            .sum()
    }

    fn down(&self, down: bool) {
        self.shared.down.store(down, Ordering::Relaxed);
    }
}

#[test]
fn while_it_works_the_shared_limiter_decides() {
    let scene = scene(WhenDown::Local);
    assert_eq!(scene.admitted("a", 150, Source::Shared), 100);
    assert_eq!(scene.limiter.counts(), Counts { shared: 150, ..Counts::default() });
}

#[test]
fn when_it_is_down_this_servers_share_is_left() {
    let scene = scene(WhenDown::Local);
    scene.down(true);
    assert_eq!(scene.admitted("a", 50, Source::Local), 10);
    assert_eq!(scene.shared.calls(), 3, "then the breaker is open");
    let counts = scene.limiter.counts();
    assert_eq!(counts, Counts { local: 50, failures: 3, opened: 1, ..Counts::default() });
}

#[test]
fn the_local_limiter_is_warm_but_in_no_debt() {
    let scene = scene(WhenDown::Local);
    assert_eq!(scene.admitted("half", 6, Source::Shared), 6);
    assert_eq!(scene.admitted("busy", 90, Source::Shared), 90);
    assert!(scene.check("once", 15).decision.is_allowed());
    scene.down(true);
    assert_eq!(scene.admitted("half", 50, Source::Local), 4);
    assert_eq!(scene.admitted("busy", 50, Source::Local), 0);
    assert_eq!(scene.admitted("once", 50, Source::Local), 0);
    // Its share is 1 every 6 minutes: with debt it would wait for longer.
    scene.clock.set(scene.clock.now().saturating_add(Nanos::from_secs(360)));
    scene.down(true);
    assert_eq!(scene.admitted("busy", 50, Source::Local), 1);
}

#[test]
fn probes_find_it_back() {
    let scene = scene(WhenDown::Local);
    scene.down(true);
    scene.admitted("a", 5, Source::Local);
    scene.clock.advance(Nanos::from_millis(100));
    assert_eq!(scene.check("a", 1).source, Source::Local, "the probe failed");
    scene.down(false);
    scene.clock.advance(Nanos::from_millis(199));
    assert_eq!(scene.check("a", 1).source, Source::Local, "the second pause is twice as long");
    scene.clock.advance(Nanos::from_millis(1));
    assert_eq!(scene.check("a", 1).source, Source::Shared);
    assert_eq!(scene.check("a", 1).source, Source::Shared);
}

#[test]
fn a_cost_beyond_the_share_is_later_and_beyond_the_whole_is_never() {
    let scene = scene(WhenDown::Local);
    scene.down(true);
    assert_eq!(scene.check("a", 101).decision, Decision::Never { capacity: 100 });
    let Decision::Denied { retry_after, remaining, .. } = scene.check("a", 50).decision else { panic!("not now") };
    assert_eq!((retry_after, remaining), (Nanos::from_millis(100), 10));
    assert!(scene.check("a", 0).decision.is_allowed());
}

#[test]
fn closed_refuses_and_open_allows_and_both_say_so() {
    let closed = scene(WhenDown::Closed);
    closed.down(true);
    assert_eq!(closed.admitted("a", 9, Source::Closed), 0);
    assert_eq!(closed.check("a", 1).decision.retry_after(), Some(Nanos::from_millis(100)));
    assert!(closed.check("a", 0).decision.is_allowed());
    assert_eq!(closed.limiter.counts().closed, 11);

    let open = scene(WhenDown::Open);
    open.down(true);
    assert_eq!(open.admitted("a", 200, Source::Open), 200);
    assert_eq!(open.check("a", 101).decision, Decision::Never { capacity: 100 });
    assert_eq!(open.limiter.counts().open, 200);
}

#[test]
fn changes_reach_the_shared_limiter_or_else_the_local_one() {
    let scene = scene(WhenDown::Local);
    assert_eq!(now(scene.limiter.charge(b"a", 105)), Source::Shared);
    assert!(!scene.check("a", 1).decision.is_allowed());
    assert_eq!(now(scene.limiter.refund(b"a", 6)), Source::Shared);
    assert!(now(scene.limiter.peek(b"a", 1)).decision.is_allowed());
    assert_eq!(now(scene.limiter.reset(b"a")), Source::Shared);
    assert!(scene.check("a", 100).decision.is_allowed());
    scene.down(true);
    assert_eq!(now(scene.limiter.reset(b"a")), Source::Local);
    assert_eq!(now(scene.limiter.charge(b"a", 12)), Source::Local);
    assert!(!scene.check("a", 1).decision.is_allowed());
    assert_eq!(now(scene.limiter.refund(b"a", 3)), Source::Local);
    assert_eq!(now(scene.limiter.peek(b"a", 1)).source, Source::Local);
    assert!(scene.check("a", 1).decision.is_allowed());
}

#[test]
fn it_is_a_backend_that_never_fails() {
    let scene = scene(WhenDown::Local);
    scene.down(true);
    let backend = &scene.limiter;
    assert!(now(Backend::check_n(backend, b"a", 10)).unwrap().is_allowed());
    now(Backend::refund(backend, b"a", 10)).unwrap();
    now(Backend::charge(backend, b"a", 10)).unwrap();
    assert!(!now(Backend::peek(backend, b"a", 1)).unwrap().is_allowed());
    now(Backend::reset(backend, b"a")).unwrap();
    assert!(now(Backend::peek(backend, b"a", 1)).unwrap().is_allowed());
}
