//! The whole, on a shared limiter whose failures the test chooses and a clock that it moves.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use super::*;
use crate::ManualClock;

/// A shared limiter in memory that can be down.
struct Flaky {
    inner: KeyedLimiter<Policy, crate::Fingerprint, ManualClock>,
    down: AtomicBool,
    /// A part that is down, of which the clients' names begin with its number.
    down_part: AtomicU8,
    calls: AtomicU64,
}

/// The shared limiter is down, or the key is `bad`.
#[derive(Debug)]
enum Down {
    All,
    Key,
}

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("down")
    }
}

impl std::error::Error for Down {}

impl Flaky {
    fn result<T>(&self, key: &[u8], cost: u64, answer: Ready<Result<T, Infallible>>) -> Ready<Result<T, Down>> {
        // Known without asking, as the limiters on Redis know it.
        if cost == 0 || cost > self.inner.policy().capacity() {
            return ready(Ok(now(answer).unwrap_or_else(|never| match never {})));
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
        if self.down.load(Ordering::Relaxed) || part(key) == self.down_part.load(Ordering::Relaxed) {
            return ready(Err(Down::All));
        }
        if key == b"bad" {
            return ready(Err(Down::Key));
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
        self.result(key, cost, Backend::check_n(&self.inner, key, cost))
    }

    fn peek(&self, key: &[u8], cost: u64) -> Self::Decide {
        self.result(key, cost, Backend::peek(&self.inner, key, cost))
    }

    fn charge(&self, key: &[u8], cost: u64) -> Self::Change {
        self.result(key, cost, Backend::charge(&self.inner, key, cost))
    }

    fn refund(&self, key: &[u8], cost: u64) -> Self::Change {
        self.result(key, cost, Backend::refund(&self.inner, key, cost))
    }

    fn reset(&self, key: &[u8]) -> Self::Change {
        self.result(key, 1, Backend::reset(&self.inner, key))
    }

    /// Under one lock, which a test needs not.
    fn check_all(asked: &[(&Self, &[u8], u64)]) -> Option<DecideAll<Down>> {
        let asked: Vec<_> = asked.iter().map(|(shared, key, cost)| (Arc::clone(shared), key.to_vec(), *cost)).collect();
        Some(Box::pin(async move {
            let mut decisions = Vec::new();
            for (shared, key, cost) in &asked {
                decisions.push(Backend::peek(shared, key, *cost).await?);
            }
            let allowed = decisions.iter().all(Decision::is_allowed);
            for ((shared, key, cost), decision) in asked.iter().zip(&mut decisions) {
                if allowed {
                    *decision = shared.inner.check_n(key, *cost);
                } else if decision.is_allowed() {
                    *decision = shared.inner.peek(key, 0);
                }
            }
            Ok(decisions)
        }))
    }

    fn is_down(error: &Down) -> bool {
        matches!(error, Down::All)
    }

    fn part(&self, key: &[u8]) -> u8 {
        part(key)
    }
}

/// The digit with which the name begins.
fn part(key: &[u8]) -> u8 {
    key.first().map_or(0, |digit| digit.wrapping_sub(b'0'))
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
    scene_with(when_down, |builder| builder)
}

type OfFlaky = Builder<Arc<Flaky>, ManualClock>;

fn scene_with(when_down: WhenDown, more: impl FnOnce(OfFlaky) -> OfFlaky) -> Scene {
    let policy: Policy = "token-bucket:100/1h".parse().unwrap();
    let clock = ManualClock::new(Nanos::from_secs(1_790_000_000));
    let inner = KeyedLimiter::builder(policy).clock(clock.clone()).build();
    let shared = Arc::new(Flaky {
        inner,
        down: AtomicBool::new(false),
        down_part: AtomicU8::new(u8::MAX),
        calls: AtomicU64::new(0),
    });
    let builder = Fallback::builder(Arc::clone(&shared), policy)
        .servers(10)
        .when_down(when_down)
        .failures(3)
        .pauses(Nanos::from_millis(100), Nanos::from_secs(1))
        .clock(clock.clone());
    Scene { clock, shared, limiter: more(builder).build() }
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

/// A client that asks for too much, or for nothing, would keep everybody waiting for a server that is down.
#[test]
fn what_is_known_without_asking_shows_nothing() {
    let scene = scene(WhenDown::Local);
    scene.down(true);
    // In the same part as "a".
    let ask_nobody = || {
        for cost in [0, 101] {
            scene.check("again", cost);
            now(scene.limiter.peek(b"again", cost));
        }
        now(scene.limiter.charge(b"again", 0));
        now(scene.limiter.refund(b"again", 0, Source::Shared));
    };
    for _ in 0..9 {
        scene.check("a", 1);
        ask_nobody();
    }
    assert_eq!(scene.shared.calls(), 3, "the breaker has opened");
    scene.clock.advance(Nanos::from_millis(100));
    ask_nobody();
    for _ in 0..9 {
        scene.check("a", 1);
    }
    assert_eq!(scene.shared.calls(), 4, "one probe");
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
    assert!(now(scene.limiter.refund(b"a", 6, Source::Shared)));
    assert!(now(scene.limiter.peek(b"a", 1)).decision.is_allowed());
    assert_eq!(now(scene.limiter.reset(b"a")), Source::Shared);
    assert!(scene.check("a", 100).decision.is_allowed());
    scene.down(true);
    assert_eq!(now(scene.limiter.reset(b"a")), Source::Local);
    assert_eq!(now(scene.limiter.charge(b"a", 12)), Source::Local);
    assert!(!scene.check("a", 1).decision.is_allowed());
    assert!(now(scene.limiter.refund(b"a", 3, Source::Local)));
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
    assert!(!now(Backend::peek(backend, b"a", 1)).unwrap().is_allowed(), "nobody said whom to give it back to");
    now(Backend::reset(backend, b"a")).unwrap();
    now(Backend::charge(backend, b"a", 10)).unwrap();
    assert!(!now(Backend::peek(backend, b"a", 1)).unwrap().is_allowed());
    now(Backend::reset(backend, b"a")).unwrap();
    assert!(now(Backend::peek(backend, b"a", 1)).unwrap().is_allowed());
}

#[test]
fn a_refund_goes_to_whoever_charged() {
    let scene = scene(WhenDown::Local);
    // By other servers.
    scene.shared.inner.check_n("a", 100);
    scene.down(true);
    let local = scene.admitted("a", 20, Source::Local);
    assert_eq!(local, 10);
    scene.down(false);
    scene.clock.advance(Nanos::from_millis(200));
    for _ in 0..local {
        assert!(now(scene.limiter.refund(b"a", 1, Source::Local)));
        // Whoever does not say where it came from gives nothing back either.
        now(Backend::refund(&scene.limiter, b"a", 1)).unwrap();
    }
    assert!(!now(scene.limiter.refund(b"a", 1, Source::Open)));
    assert!(!scene.shared.inner.peek("a", 1).is_allowed(), "the shared limiter had charged none of them");
    // A minute after the last of them, 1.7 units have drained, and a refund is of the shared limiter's again.
    scene.clock.advance(Nanos::from_secs(60));
    now(Backend::refund(&scene.limiter, b"a", 4)).unwrap();
    assert!(scene.shared.inner.peek("a", 5).is_allowed());
}

#[test]
fn a_refund_of_the_shared_limiters_leaves_the_local_one_alone() {
    let scene = scene(WhenDown::Local);
    // The local limiter is charged for 10 of them.
    assert_eq!(scene.admitted("a", 60, Source::Shared), 60);
    for _ in 0..60 {
        assert!(now(scene.limiter.refund(b"a", 1, Source::Shared)));
    }
    scene.down(true);
    assert!(!now(scene.limiter.refund(b"a", 1, Source::Shared)), "it is down");
    assert_eq!(scene.admitted("a", 20, Source::Local), 0, "never more than was charged there");
}

/// A dead part of the shared limiter is not asked any more, and the others are.
#[test]
fn parts_are_down_on_their_own() {
    let scene = scene(WhenDown::Local);
    scene.shared.down_part.store(2, Ordering::Relaxed);
    for _ in 0..10 {
        assert_eq!(scene.check("1 alive", 1).source, Source::Shared);
        assert_eq!(scene.check("2 dead", 1).source, Source::Local);
    }
    let counts = scene.limiter.counts();
    assert_eq!((counts.failures, counts.opened), (3, 1), "successes elsewhere do not keep the breaker closed");
}

#[test]
fn one_clients_own_failures_open_no_breaker() {
    let scene = scene(WhenDown::Local);
    for _ in 0..10 {
        assert_eq!(scene.check("bad", 1).source, Source::Local);
    }
    assert_eq!(scene.check("good", 1).source, Source::Shared);
    let counts = scene.limiter.counts();
    assert_eq!((counts.failures, counts.opened), (10, 0));
}

/// Asks two scenes' limits at once, and returns who allows, and what each has left.
fn both(one: &Scene, other: &Scene, costs: [u64; 2]) -> [(bool, u64); 2] {
    let asked: [(_, &[u8], u64); 2] = [(&one.limiter, b"a", costs[0]), (&other.limiter, b"a", costs[1])];
    let answers = now(Fallback::check_all(&asked).expect("they can")).unwrap_or_else(|never| match never {});
    [0, 1].map(|i| (answers[i].is_allowed(), remaining(&answers[i])))
}

#[test]
fn several_limits_are_all_or_nothing_also_while_the_shared_limiter_is_down() {
    let (one, other) = (scene(WhenDown::Local), scene(WhenDown::Local));
    assert_eq!(both(&one, &other, [40, 1]), [(true, 60), (true, 99)]);
    assert_eq!(both(&one, &other, [61, 1]), [(false, 60), (true, 99)], "what is there, with nothing charged");
    assert_eq!(one.limiter.counts(), Counts { shared: 2, ..Counts::default() });

    // A tenth of each limit, of which the first has used its own with the shared admission, and the second one unit.
    for scene in [&one, &other] {
        scene.down(true);
    }
    for _ in 0..3 {
        assert_eq!(both(&one, &other, [1, 1]), [(false, 0), (true, 9)]);
    }
    one.limiter.inner.local.reset(b"a");
    assert_eq!(both(&one, &other, [4, 9]), [(true, 6), (true, 0)]);
    assert_eq!(both(&one, &other, [4, 1]), [(true, 6), (false, 0)]);
    let counts = Counts { shared: 2, local: 5, failures: 3, opened: 1, ..Counts::default() };
    assert_eq!([one.limiter.counts(), other.limiter.counts()], [counts; 2]);

    // One probe, which the other's breaker lets through as well.
    for scene in [&one, &other] {
        scene.down(false);
    }
    for scene in [&one, &other] {
        scene.clock.advance(Nanos::from_millis(100));
    }
    assert_eq!(both(&one, &other, [60, 1]), [(true, 0), (true, 98)]);
    assert_eq!(both(&one, &other, [0, 1]), [(true, 0), (true, 97)]);
}

#[test]
fn a_breaker_that_several_limits_share_lets_their_probe_through() {
    let scene = scene(WhenDown::Closed);
    let ask = |keys: [&[u8]; 2]| {
        let asked = keys.map(|key| (&scene.limiter, key, 1));
        let answers = now(Fallback::check_all(&asked).expect("they can")).unwrap_or_else(|never| match never {});
        answers.iter().all(Decision::is_allowed)
    };
    scene.down(true);
    assert!(!(0..3).any(|_| ask([b"a", b"b"])));
    scene.down(false);
    assert!(!ask([b"a", b"b"]), "the breaker is open");
    scene.clock.advance(Nanos::from_millis(100));
    assert!(ask([b"a", b"b"]) && ask([b"a", b"b"]));
    assert!(!ask([b"a", b"bad"]), "an error of one call opens nothing");
    assert!(ask([b"a", b"b"]));
}

#[test]
fn who_asked_is_told_when_it_goes_and_when_it_is_back() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let Scene { clock, shared, limiter } = {
        let told = Arc::clone(&told);
        scene_with(WhenDown::Local, move |builder| {
            builder.on_change(move |change| {
                told.lock().unwrap().push(match change {
                    Change::Down(error) => error.to_string(),
                    Change::Up => "up".to_owned(),
                });
            })
        })
    };
    let check = |key: &str| now(limiter.check_n(key.as_bytes(), 1)).source;
    let told = || std::mem::take(&mut *told.lock().unwrap());
    let later = |seconds| clock.set(clock.now().saturating_add(Nanos::from_secs(seconds)));

    assert_eq!(check("1a"), Source::Shared);
    shared.down.store(true, Ordering::Relaxed);
    for _ in 0..2 {
        check("1a");
    }
    assert!(told().is_empty(), "the breaker is closed");
    check("1a");
    assert_eq!(told(), ["down"]);
    // Another part, and probes that fail, are no news.
    for _ in 0..5 {
        check("2a");
        later(2);
        check("1a");
    }
    assert!(told().is_empty());

    shared.down.store(false, Ordering::Relaxed);
    later(2);
    assert_eq!(check("1a"), Source::Shared);
    assert!(told().is_empty(), "a part of it is still away");
    assert_eq!(check("2a"), Source::Shared);
    assert_eq!(told(), ["up"]);
    for _ in 0..3 {
        now(limiter.check_n(b"bad", 1));
    }
    assert!(told().is_empty(), "an error of the call's own");
    shared.down.store(true, Ordering::Relaxed);
    let all = [(&limiter, &b"1a"[..], 1), (&limiter, b"2a", 1)];
    for _ in 0..3 {
        now(Fallback::check_all(&all).unwrap()).unwrap();
    }
    assert_eq!(told(), ["down"], "once for several limits");
    shared.down.store(false, Ordering::Relaxed);
    later(2);
    now(Fallback::check_all(&all).unwrap()).unwrap();
    assert_eq!(told(), ["up"]);
}
