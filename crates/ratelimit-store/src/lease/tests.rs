//! Many servers that lease from one limiter in memory, on a clock that the test moves.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::AtomicU8;
use std::task::{Context, Poll, Waker};

use ratelimit_core::Algorithm;
use tokio::time::Instant;

use super::*;
use crate::{Fallback, KeyedLimiter, ManualClock};

type Keyed = KeyedLimiter<Policy, crate::Fingerprint, ManualClock>;
type Server = Leased<Shared, ManualClock>;

/// How many units of the slice there is room for, or the denial of its least; `peek` decides a cost.
pub(super) fn take_at(slice: Slice, peek: impl Fn(u64) -> Decision) -> Result<u64, Decision> {
    let Decision::Allowed { remaining, .. } = peek(0) else { panic!("cost 0 always passes") };
    let room = remaining.saturating_sub(slice.keep);
    if room >= slice.least {
        return Ok(room.min(slice.most));
    }
    match peek(slice.least + slice.keep) {
        Decision::Denied { retry_after, reset_after, .. } => {
            Err(Decision::Denied { retry_after, remaining: room, reset_after })
        }
        other => panic!("{other:?}"),
    }
}

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Well,
    /// Nothing is executed, and calls fail after 50 ms.
    Dead,
    /// Takes are charged, and fail.
    Deaf,
    /// Everything takes 20 ms.
    Slow,
}

const MODES: [Mode; 4] = [Mode::Well, Mode::Dead, Mode::Deaf, Mode::Slow];

#[derive(Debug)]
struct Down;

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("down")
    }
}

impl std::error::Error for Down {}

/// A shared limiter in memory whose failures the test chooses.
#[derive(Clone)]
struct Shared {
    keyed: Keyed,
    mode: Arc<AtomicU8>,
}

impl Shared {
    fn set(&self, mode: Mode) {
        self.mode.store(mode as u8, Ordering::Relaxed);
    }

    fn mode(&self) -> Mode {
        MODES[usize::from(self.mode.load(Ordering::Relaxed))]
    }

    /// Waits as long as the mode says, and then does it.
    fn call<T: Send + 'static>(&self, call: impl FnOnce(&Keyed) -> T + Send + 'static) -> Boxed<T> {
        let shared = self.clone();
        Box::pin(async move {
            match shared.mode() {
                Mode::Well | Mode::Deaf => {}
                Mode::Slow => tokio::time::sleep(Duration::from_millis(20)).await,
                Mode::Dead => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    return Err(Down);
                }
            }
            Ok(call(&shared.keyed))
        })
    }

    /// The units that are free.
    fn room(&self, key: impl AsRef<[u8]>) -> u64 {
        match self.keyed.peek(key.as_ref(), 0) {
            Decision::Allowed { remaining, .. } => remaining,
            other => panic!("{other:?}"),
        }
    }
}

type Boxed<T> = Pin<Box<dyn Future<Output = Result<T, Down>> + Send>>;

impl Backend for Shared {
    type Error = Down;
    type Decide = Boxed<Decision>;
    type Change = Boxed<()>;

    fn check_n(&self, key: &[u8], cost: u64) -> Self::Decide {
        let key = key.to_vec();
        self.call(move |keyed| keyed.check_n(&key, cost))
    }

    fn peek(&self, key: &[u8], cost: u64) -> Self::Decide {
        let key = key.to_vec();
        self.call(move |keyed| keyed.peek(&key, cost))
    }

    fn charge(&self, key: &[u8], cost: u64) -> Self::Change {
        let key = key.to_vec();
        self.call(move |keyed| keyed.charge(&key, cost))
    }

    fn refund(&self, key: &[u8], cost: u64) -> Self::Change {
        let key = key.to_vec();
        self.call(move |keyed| {
            keyed.refund(&key, cost);
        })
    }

    fn reset(&self, key: &[u8]) -> Self::Change {
        let key = key.to_vec();
        self.call(move |keyed| {
            keyed.reset(&key);
        })
    }
}

impl Lender for Shared {
    async fn take(&self, key: &[u8], slice: Slice) -> Result<Grant, Down> {
        let key = key.to_vec();
        let grant = self
            .call(move |keyed| match take_at(slice, |cost| keyed.peek(&key, cost)) {
                Ok(units) => Grant { units, decision: keyed.check_n(&key, units) },
                Err(decision) => Grant { units: 0, decision },
            })
            .await?;
        if self.mode() == Mode::Deaf { Err(Down) } else { Ok(grant) }
    }
}

/// The result of a future that never waits.
fn now<F: Future>(future: F) -> F::Output {
    match Box::pin(future).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing here waits"),
    }
}

struct Fleet {
    clock: ManualClock,
    shared: Shared,
    servers: Vec<Server>,
}

fn fleet(policy: &str, servers: u64) -> Fleet {
    fleet_of(policy, servers, |builder| builder)
}

type Choices = Builder<Shared, ManualClock>;

fn fleet_of(policy: &str, servers: u64, choose: impl Fn(Choices) -> Choices) -> Fleet {
    let policy: Policy = policy.parse().unwrap();
    let clock = ManualClock::new(Nanos::from_secs(1_790_000_000));
    let shared = Shared { keyed: KeyedLimiter::builder(policy).clock(clock.clone()).build(), mode: Arc::default() };
    let leased = || choose(Leased::builder(shared.clone(), policy).servers(servers).clock(clock.clone())).build();
    let servers = (0..servers).map(|_| leased()).collect();
    Fleet { clock, shared, servers }
}

impl Fleet {
    fn check(&self, server: usize, key: &str, cost: u64) -> Decision {
        now(self.servers[server].check_n(key.as_bytes(), cost)).unwrap()
    }

    /// How many of `requests` of cost 1 are admitted.
    fn admitted(&self, server: usize, key: &str, requests: u64) -> u64 {
        (0..requests).map(|_| u64::from(self.check(server, key, 1).is_allowed())).sum()
    }

    fn counts(&self) -> LeaseCounts {
        self.servers.iter().map(Leased::counts).fold(LeaseCounts::default(), |sum, counts| LeaseCounts {
            decisions: sum.decisions + counts.decisions,
            round_trips: sum.round_trips + counts.round_trips,
        })
    }
}

/// A small generator for traffic; the seed is in the code.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// The most units in any window that ends with an admission.
fn most_in(admitted: &[u64], window: u64) -> u64 {
    let mut first = 0;
    let within = admitted.iter().enumerate().map(|(i, &at)| {
        while admitted[first] + window <= at {
            first += 1;
        }
        (i - first + 1) as u64
    });
    within.max().unwrap_or(0)
}

/// 8 servers and 10 000 requests a second, most of them of few clients, with a lender that answers at once: within the
/// bound in every span, close to the exact limiter, and with a twentieth of the round trips.
#[test]
fn skewed_traffic_over_eight_servers() {
    const SECONDS: u64 = 5;
    const TICK: u64 = 100_000;
    for policy in ["token-bucket:2000/1s", "sliding-log:2000/1s", "fixed-window:2000/1s", "sliding-counter:2000/1s"] {
        let fleet = fleet(policy, 8);
        let rule: Policy = policy.parse().unwrap();
        let exact = KeyedLimiter::builder(rule).clock(fleet.clock.clone()).build();
        // Charged with what the servers admit: the bound itself.
        let bound = KeyedLimiter::builder(rule).clock(fleet.clock.clone()).build();
        let held = Terms::new(&rule, 8, Nanos::from_secs(1)).unwrap().largest * 8;
        let mut random = Random(1);
        // Six clients: a half of the requests by the first, a quarter by the second, and so on.
        let mut admitted: [Vec<u64>; 6] = Default::default();
        let mut exactly = [0_u64; 6];
        for _ in 0..SECONDS * 10_000 {
            fleet.clock.advance(Nanos::new(TICK));
            let at = fleet.clock.now().get();
            let client = (0..5).find(|_| random.below(2) == 0).unwrap_or(5);
            // Servers are not equally busy either.
            let server = random.below(8).min(random.below(12));
            let key = format!("client-{client}");
            if fleet.check(server as usize, &key, 1).is_allowed() {
                admitted[client].push(at);
                let within = bound.check(&key).is_allowed();
                if policy.starts_with("token") || policy.starts_with("fixed") {
                    assert!(within, "{policy}: client {client} at {at}");
                }
            }
            exactly[client] += u64::from(exact.check(&key).is_allowed());
        }
        for (client, admitted) in admitted.iter().enumerate() {
            if policy.starts_with("sliding-log") {
                let most = most_in(admitted, 1_000_000_000);
                assert!(most <= 2000 + held, "{policy}: client {client}: {most}");
            }
            let share = admitted.len() as u64 * 100 / exactly[client];
            assert!(share >= 95, "{policy}: client {client}: {share} % of {}", exactly[client]);
        }
        let counts = fleet.counts();
        assert!(counts.decisions >= 20 * counts.round_trips, "{policy}: {counts:?}");
    }
}

#[test]
fn what_servers_hold_is_charged_and_comes_back() {
    let fleet = fleet("token-bucket:64/1h", 2);
    for i in 0..12 {
        assert!(fleet.check(i % 2, "a", 1).is_allowed());
    }
    assert!(fleet.shared.room("a") < 52, "slices are charged when taken");
    fleet.clock.advance(Nanos::from_millis(1001));
    let given_back: u64 = fleet.servers.iter().map(|server| now(server.give_back_expired())).sum();
    assert!(given_back > 0);
    assert_eq!(fleet.shared.room("a"), 52, "the unspent came back");
    assert!(fleet.check(0, "a", 1).is_allowed());
    now(fleet.servers[0].give_back_all());
    assert_eq!(fleet.shared.room("a"), 51);
}

#[test]
fn units_of_a_lease_that_is_over_go_back_although_the_client_asks_again() {
    let fleet = fleet("token-bucket:640/1h", 1);
    assert_eq!(fleet.admitted(0, "k", 6), 6);
    assert_eq!(fleet.shared.room("k"), 633, "1, 2 and 4");
    fleet.clock.advance(Nanos::from_secs(2));
    fleet.check(0, "k", 1);
    now(fleet.servers[0].give_back_all());
    assert_eq!(fleet.shared.room("k"), 633, "7 were spent");
}

#[test]
fn slices_double_over_the_wire_too() {
    let fleet = fleet("token-bucket:100000/1h", 1);
    let mut before = fleet.shared.room("k");
    let mut slices = Vec::new();
    for _ in 0..200 {
        fleet.check(0, "k", 1);
        let room = fleet.shared.room("k");
        if room != before {
            slices.push(before - room);
            before = room;
        }
    }
    assert_eq!(slices, [1, 2, 4, 8, 16, 32, 64, 128]);
}

/// What others may spend meanwhile is never minted again.
#[test]
fn a_slice_that_comes_back_late_mints_nothing() {
    for back_after in [1, 60, 1800, 3600, 86_400] {
        let fleet = fleet("token-bucket:64/1h", 1);
        assert_eq!(fleet.admitted(0, "k", 9), 9);
        fleet.clock.advance(Nanos::from_secs(back_after));
        let room = fleet.shared.room("k");
        let mut admitted = 0;
        while fleet.shared.keyed.check_n("k", 1).is_allowed() {
            admitted += 1;
        }
        let given_back = now(fleet.servers[0].give_back_expired());
        let drained = 64 * back_after / 3600;
        assert!(given_back <= 6_u64.saturating_sub(drained), "{given_back} after {back_after} s");
        while fleet.shared.keyed.check_n("k", 1).is_allowed() {
            admitted += 1;
        }
        assert!(admitted <= 64 && admitted <= room + 6, "{admitted} after {back_after} s");
    }
}

#[test]
fn refunds_mint_nothing() {
    // Given back more than was ever admitted, a window's recorded charges go, those of the one unit in the lease too.
    for (policy, most) in [("fixed-window:64/1h", 65), ("token-bucket:64/1h", 64)] {
        let fleet = fleet(policy, 1);
        assert!(fleet.check(0, "k", 1).is_allowed());
        now(fleet.servers[0].refund(b"k", 1_000_000)).unwrap();
        let admitted = fleet.admitted(0, "k", 5000);
        assert!(admitted <= most, "{policy}: {admitted}");
    }
}

#[test]
fn cost_zero_passes_and_charges_nothing_whatever_the_lease() {
    let fleet = fleet("fixed-window:64/1h", 1);
    let free = |fleet: &Fleet| fleet.check(0, "k", 0).is_allowed();
    for _ in 0..5 {
        assert!(free(&fleet), "without a lease");
        fleet.clock.advance(Nanos::from_secs(2));
    }
    assert_eq!(fleet.shared.room("k"), 64);
    fleet.shared.keyed.check_n("k", 64);
    assert!(!fleet.check(0, "k", 1).is_allowed());
    assert!(free(&fleet), "dry");
    fleet.clock.advance(Nanos::from_secs(2));
    assert!(free(&fleet), "over");
    fleet.shared.set(Mode::Deaf);
    assert!(now(fleet.servers[0].check_n(b"k", 1)).is_err());
    assert!(free(&fleet), "dead");
    assert_eq!(fleet.shared.room("k"), 0);
}

#[test]
fn a_dry_lease_asks_again_after_a_pause() {
    let fleet = fleet("token-bucket:64/1h", 2);
    fleet.admitted(0, "k", 5);
    while fleet.check(1, "k", 1).is_allowed() {}
    fleet.clock.advance(Nanos::from_millis(1001));
    let retry = fleet.check(1, "k", 1).retry_after().unwrap();
    assert!(retry > Nanos::from_secs(40), "the next unit drains in {retry}");
    assert_eq!(now(fleet.servers[0].give_back_expired()), 2);
    fleet.clock.advance(Nanos::from_millis(49));
    assert!(!fleet.check(1, "k", 1).is_allowed());
    fleet.clock.advance(Nanos::from_millis(1));
    assert_eq!(fleet.admitted(1, "k", 5), 2, "what the other server gave back");
}

#[test]
fn takes_that_fail_although_they_were_executed_burn_a_slice_and_then_what_is_missing() {
    let fleet = fleet("token-bucket:1000/1h", 1);
    fleet.admitted(0, "k", 64);
    let before = fleet.shared.room("k");
    fleet.shared.set(Mode::Deaf);
    for _ in 0..1000 {
        while now(fleet.servers[0].check_n(b"k", 1)).is_ok() {}
    }
    assert!(before - fleet.shared.room("k") <= 125, "one slice, and nothing more during the pause");
    let before = fleet.shared.room("k");
    for _ in 0..100 {
        fleet.clock.advance(Nanos::from_millis(5));
        assert!(now(fleet.servers[0].check_n(b"k", 1)).is_err());
    }
    assert!(before - fleet.shared.room("k") <= 10, "one each pause of 50 ms");
}

#[test]
fn leases_that_are_over_make_room_for_others() {
    for policy in ["token-bucket:1000/1s", "fixed-window:1000/1s"] {
        let fleet = fleet_of(policy, 1, |builder| builder.max_clients(64));
        for i in 0..5000 {
            fleet.admitted(0, &format!("client {i}"), 2);
        }
        fleet.clock.advance(Nanos::from_secs(86_400));
        let before = fleet.counts();
        for hot in 0..50 {
            fleet.admitted(0, &format!("hot {hot}"), 100);
            fleet.clock.advance(Nanos::from_secs(10));
        }
        let counts = fleet.counts();
        let (decisions, trips) = (counts.decisions - before.decisions, counts.round_trips - before.round_trips);
        assert!(trips * 4 < decisions, "{policy}: {trips} round trips for {decisions} decisions");
    }
}

#[test]
fn a_window_gets_nothing_back() {
    let fleet = fleet("fixed-window:64/1h", 2);
    fleet.admitted(0, "a", 6);
    fleet.clock.advance(Nanos::from_secs(2));
    let room = fleet.shared.room("a");
    assert_eq!(now(fleet.servers[0].give_back_expired()), 0);
    assert_eq!(now(fleet.servers[0].give_back_all()), 0);
    assert_eq!(fleet.shared.room("a"), room);
}

#[test]
fn at_small_limits_and_for_queues_leases_are_off() {
    for policy in ["token-bucket:127/1s", "leaky-bucket:10000/1s"] {
        let fleet = fleet(policy, 8);
        for i in 0..200 {
            let exact = fleet.shared.keyed.peek("a", 1);
            assert_eq!(fleet.check(i % 8, "a", 1), exact, "{policy}");
        }
        assert_eq!(fleet.check(0, "a", 10_001), Decision::Never { capacity: fleet.servers[0].inner.policy.capacity() });
        let counts = fleet.counts();
        assert_eq!(counts.decisions, counts.round_trips + 1, "{policy}");
    }
}

#[test]
fn costs_larger_than_a_slice_and_than_what_is_lent() {
    let fleet = fleet("token-bucket:64/1h", 2);
    assert_eq!(fleet.check(1, "a", 57), Decision::Never { capacity: 56 }, "8 are kept free");
    assert!(fleet.check(0, "a", 40).is_allowed());
    assert_eq!(fleet.shared.room("a"), 24, "exactly the cost");
    let denied = fleet.check(1, "a", 17);
    assert_eq!(denied, now(fleet.servers[1].peek(b"a", 17)).unwrap(), "peek decides alike");
    let Decision::Denied { retry_after, remaining, .. } = denied else { panic!("{denied:?}") };
    assert_eq!((retry_after, remaining), (Nanos::new(3_600_000_000_000 / 64), 16));
    assert!(fleet.check(1, "a", 16).is_allowed());
    assert!(!fleet.check(1, "a", 1).is_allowed());
    assert!(fleet.check(1, "a", 0).is_allowed());
}

#[test]
fn changes_reach_the_lease_or_the_shared_limiter() {
    let fleet = fleet("token-bucket:64/1h", 1);
    let server = &fleet.servers[0];
    assert!(fleet.check(0, "a", 8).is_allowed());
    now(server.refund(b"a", 8)).unwrap();
    let before = server.counts().round_trips;
    assert!(fleet.check(0, "a", 8).is_allowed());
    assert_eq!(server.counts().round_trips, before, "spent again from the lease");
    now(server.charge(b"a", 100)).unwrap();
    assert!(!now(server.peek(b"a", 1)).unwrap().is_allowed());
    now(server.reset(b"a")).unwrap();
    assert!(now(server.peek(b"a", 56)).unwrap().is_allowed());
    now(server.refund(b"a", 1)).unwrap();
    assert!(now(Backend::check_n(server, b"a", 56)).unwrap().is_allowed());
}

/// Requests at once for one client, through a [`Fallback`] as well: how long the longest takes.
async fn longest<F: Future<Output = ()> + Send + 'static>(tasks: u64, task: impl Fn() -> F) -> Duration {
    let begun = Instant::now();
    let tasks: Vec<_> = (0..tasks).map(|_| tokio::spawn(task())).collect();
    for task in tasks {
        task.await.unwrap();
    }
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn requests_at_once_share_one_failure() {
    let fleet = fleet("token-bucket:10000/1s", 1);
    fleet.shared.set(Mode::Dead);
    let server = fleet.servers[0].clone();
    let limiter = Fallback::builder(server.clone(), server.inner.policy).clock(fleet.clock.clone()).build();
    let took = longest(200, || {
        let limiter = limiter.clone();
        async move {
            limiter.check(b"hot").await;
        }
    })
    .await;
    assert!(took <= Duration::from_millis(60), "{took:?}");
    assert_eq!(server.counts().round_trips, 1);
}

#[tokio::test(start_paused = true)]
async fn no_request_waits_for_longer_than_allowed() {
    let fleet = fleet("token-bucket:10000/1h", 1);
    // Each of them waits for one slice after another: 20 ms each.
    fleet.shared.set(Mode::Slow);
    let server = fleet.servers[0].clone();
    let took = longest(2000, || {
        let server = server.clone();
        async move {
            match server.check_n(b"hot", 1).await {
                Ok(_) | Err(LeaseError::Timeout { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    })
    .await;
    assert!(took <= Duration::from_millis(60), "{took:?}");
}

/// Others spend what it had counted on while its slice is on the way, so that it asks once more: in all no longer than allowed.
#[tokio::test(start_paused = true)]
async fn a_second_call_is_no_longer_than_a_wait_may_be() {
    for (allowed, answered) in [(30, false), (50, true)] {
        let fleet = fleet_of("token-bucket:10000/1h", 1, |builder| builder.timeout(Duration::from_millis(allowed)));
        let server = &fleet.servers[0];
        for _ in 0..6 {
            assert!(server.check_n(b"hot", 1).await.unwrap().is_allowed());
        }
        fleet.shared.set(Mode::Slow);
        let begun = Instant::now();
        let (large, small) = tokio::join!(server.check_n(b"hot", 100), server.check_n(b"hot", 1));
        let took = begun.elapsed().as_millis();
        assert!(small.unwrap().is_allowed());
        match large {
            Ok(decision) => assert!(answered && decision.is_allowed() && (40..=45).contains(&took), "{took} ms"),
            Err(error) => {
                assert!(!answered && matches!(error, LeaseError::Timeout { .. }), "{error}");
                assert!((30..=35).contains(&took), "{took} ms");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn requests_that_wait_are_bounded() {
    let fleet = fleet_of("token-bucket:10000/1h", 1, |builder| builder.max_waiting(3).timeout(Duration::from_secs(1)));
    fleet.shared.set(Mode::Slow);
    let tasks: Vec<_> = (0..10)
        .map(|_| {
            let server = fleet.servers[0].clone();
            tokio::spawn(async move { server.check_n(b"hot", 1).await })
        })
        .collect();
    let mut busy = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(decision) => assert!(decision.is_allowed()),
            Err(LeaseError::Busy { waiting: 3 }) => busy += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(busy, 6, "one takes, three wait");
    assert!(fleet.servers[0].check_n(b"hot", 1).await.is_ok(), "their places are free again");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_take_hands_over_to_those_who_wait() {
    let fleet = fleet("token-bucket:100000/1h", 1);
    fleet.shared.set(Mode::Slow);
    let server = &fleet.servers[0];
    let taking = server.check_n(b"k", 1);
    let waiting = {
        let server = server.clone();
        async move { server.check_n(b"k", 1).await }
    };
    let short = Duration::from_millis(5);
    let (taken, waited) =
        tokio::join!(tokio::time::timeout(short, taking), tokio::time::timeout(Duration::from_millis(40), waiting));
    assert!(taken.is_err(), "cancelled");
    assert!(waited.unwrap().unwrap().is_allowed(), "the other one takes");
    for _ in 0..20 {
        let _cancelled = tokio::time::timeout(short, server.check_n(b"k", 2)).await;
    }
    assert!(fleet.shared.room("k") >= 99_990, "slices do not grow meanwhile");
}

/// Requests whose callers go away lose nothing of what other clients' leases give back.
#[tokio::test(start_paused = true)]
async fn cancelled_requests_lose_no_other_clients_units() {
    let fleet = fleet("token-bucket:640/1h", 1);
    let server = &fleet.servers[0];
    let clients: Vec<[u8; 4]> = (0..200_u32).map(u32::to_be_bytes).collect();
    for client in &clients {
        for _ in 0..10 {
            server.check_n(client, 1).await.unwrap();
        }
    }
    fleet.clock.advance(Nanos::from_secs(2));
    fleet.shared.set(Mode::Slow);
    for i in 0..64 {
        let key = format!("other {i}");
        let _cancelled = tokio::time::timeout(Duration::from_millis(10), server.check_n(key.as_bytes(), 1)).await;
    }
    fleet.shared.set(Mode::Well);
    server.give_back_all().await;
    for client in &clients {
        assert_eq!(fleet.shared.room(client), 630, "10 were spent");
    }
}

/// A call that gives back and is given up puts back what it has not sent.
#[tokio::test(start_paused = true)]
async fn giving_back_can_be_given_up() {
    let fleet = fleet("token-bucket:640/1h", 1);
    let server = &fleet.servers[0];
    for client in 0..20_u32 {
        for _ in 0..10 {
            server.check_n(&client.to_be_bytes(), 1).await.unwrap();
        }
    }
    fleet.shared.set(Mode::Slow);
    let given_up = tokio::time::timeout(Duration::from_millis(50), server.give_back_all()).await;
    assert!(given_up.is_err());
    fleet.shared.set(Mode::Well);
    assert_eq!(server.give_back_all().await, 17 * 5, "two are back, and one was on its way");
}

#[tokio::test(start_paused = true)]
async fn a_slice_that_comes_after_a_reset_is_not_lost() {
    for all in [false, true] {
        let fleet = fleet("token-bucket:640/1h", 1);
        let server = &fleet.servers[0];
        server.check_n(b"k", 1).await.unwrap();
        fleet.shared.set(Mode::Slow);
        let taking = {
            let server = server.clone();
            tokio::spawn(async move { server.check_n(b"k", 1).await })
        };
        tokio::time::sleep(Duration::from_millis(1)).await;
        if all {
            server.give_back_all().await;
        } else {
            lock(&server.inner.table.find(b"k").unwrap().account)
                .close(fleet.clock.now(), &server.inner.terms.unwrap());
        }
        assert!(taking.await.unwrap().unwrap().is_allowed());
        fleet.shared.set(Mode::Well);
        assert_eq!(server.give_back_all().await, 1, "the other unit of the slice");
        assert_eq!(fleet.shared.room("k"), 638);
    }
}
