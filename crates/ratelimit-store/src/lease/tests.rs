//! Many servers that lease from one limiter in memory, on a clock that the test moves.

use std::convert::Infallible;
use std::task::{Context, Poll, Waker};

use ratelimit_core::Nanos;

use super::*;
use crate::{KeyedLimiter, ManualClock};

type Shared = KeyedLimiter<Policy, crate::Fingerprint, ManualClock>;

impl Lender for Shared {
    /// As much as there is; the test's tasks run one after another, so nobody comes in between.
    async fn take(&self, key: &[u8], most: u64) -> Result<Grant, Infallible> {
        let decision = KeyedLimiter::check_n(self, key, most);
        let Decision::Denied { remaining, .. } = decision else { return Ok(Grant { units: most, decision }) };
        let decision = KeyedLimiter::check_n(self, key, remaining.max(1));
        Ok(Grant { units: if decision.is_allowed() { remaining } else { 0 }, decision })
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
    servers: Vec<Leased<Shared, ManualClock>>,
}

fn fleet(policy: &str, servers: u64) -> Fleet {
    let policy: Policy = policy.parse().unwrap();
    let clock = ManualClock::new(Nanos::from_secs(1_790_000_000));
    let shared = KeyedLimiter::builder(policy).clock(clock.clone()).build();
    let leased = || Leased::builder(shared.clone(), policy).servers(servers).clock(clock.clone()).build();
    let servers = (0..servers).map(|_| leased()).collect();
    Fleet { clock, shared, servers }
}

impl Fleet {
    fn check(&self, server: usize, key: &str, cost: u64) -> Decision {
        now(self.servers[server].check_n(key.as_bytes(), cost)).unwrap()
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

/// 8 servers and 10 000 requests a second, most of them of few clients: within the bound, close to it where the demand is
/// steady, and with a twentieth of the round trips.
#[test]
fn skewed_traffic_over_eight_servers() {
    const SECONDS: u64 = 5;
    for policy in ["token-bucket:2000/1s", "sliding-log:2000/1s", "fixed-window:2000/1s", "sliding-counter:2000/1s"] {
        let fleet = fleet(policy, 8);
        let exact = KeyedLimiter::builder(policy.parse::<Policy>().unwrap()).clock(fleet.clock.clone()).build();
        let mut random = Random(1);
        // Six clients: a half of the requests by the first, a quarter by the second, and so on.
        let mut admitted = [0_u64; 6];
        let mut exactly = [0_u64; 6];
        for _ in 0..SECONDS * 10_000 {
            fleet.clock.advance(Nanos::new(100_000));
            let client = (0..5).find(|_| random.below(2) == 0).unwrap_or(5);
            // Servers are not equally busy either.
            let server = random.below(8).min(random.below(12));
            let key = format!("client-{client}");
            admitted[client] += u64::from(fleet.check(server as usize, &key, 1).is_allowed());
            exactly[client] += u64::from(exact.check(&key).is_allowed());
        }
        for client in 0..6 {
            let bound = 2000 * (SECONDS + 1);
            assert!(admitted[client] <= bound, "{policy}: client {client}: {} of {bound}", admitted[client]);
            let share = admitted[client] * 100 / exactly[client];
            assert!(share >= 95, "{policy}: client {client}: {share} % of {}", exactly[client]);
        }
        let counts = fleet.counts();
        assert!(counts.decisions >= 20 * counts.round_trips, "{policy}: {counts:?}");
    }
}

#[test]
fn what_servers_hold_is_charged_and_comes_back() {
    let fleet = fleet("token-bucket:64/1h", 2);
    for i in 0..20 {
        assert!(fleet.check(i % 2, "a", 1).is_allowed());
    }
    let room = |fleet: &Fleet| match fleet.shared.peek("a", 0) {
        Decision::Allowed { remaining, .. } => remaining,
        other => panic!("{other:?}"),
    };
    assert!(room(&fleet) < 44, "slices are charged when taken");
    fleet.clock.advance(Nanos::from_millis(1001));
    let given_back: u64 = fleet.servers.iter().map(|server| now(server.give_back_expired())).sum();
    assert!(given_back > 0);
    assert_eq!(room(&fleet), 44, "the unspent came back");
    assert!(fleet.check(0, "a", 1).is_allowed());
    now(fleet.servers[0].give_back_all());
    assert_eq!(room(&fleet), 43);
}

#[test]
fn a_window_gets_nothing_back() {
    let fleet = fleet("fixed-window:64/1h", 2);
    for _ in 0..6 {
        fleet.check(0, "a", 1);
    }
    fleet.clock.advance(Nanos::from_secs(2));
    assert_eq!(now(fleet.servers[0].give_back_expired()), 0);
    assert_eq!(now(fleet.servers[0].give_back_all()), 0);
}

#[test]
fn at_small_limits_and_for_queues_leases_are_off() {
    for policy in ["token-bucket:63/1s", "leaky-bucket:10000/1s"] {
        let fleet = fleet(policy, 8);
        for i in 0..100 {
            let exact = fleet.shared.peek("a", 1);
            assert_eq!(fleet.check(i % 8, "a", 1), exact, "{policy}");
        }
        let counts = fleet.counts();
        assert_eq!(counts.decisions, counts.round_trips, "{policy}");
    }
}

#[test]
fn costs_larger_than_a_slice_and_than_the_whole() {
    let fleet = fleet("token-bucket:64/1s", 2);
    assert!(fleet.check(0, "a", 40).is_allowed());
    assert!(!fleet.check(1, "a", 40).is_allowed());
    assert_eq!(fleet.check(1, "a", 65), Decision::Never { capacity: 64 });
    assert!(fleet.check(1, "a", 0).is_allowed() || fleet.check(1, "a", 1).is_allowed());
}

#[test]
fn changes_reach_the_lease_or_the_shared_limiter() {
    let fleet = fleet("token-bucket:64/1h", 1);
    let server = &fleet.servers[0];
    assert!(fleet.check(0, "a", 16).is_allowed());
    now(server.refund(b"a", 16)).unwrap();
    let before = server.counts().round_trips;
    assert!(fleet.check(0, "a", 16).is_allowed());
    assert_eq!(server.counts().round_trips, before, "spent again from the lease");
    now(server.charge(b"a", 100)).unwrap();
    assert!(!now(server.peek(b"a", 1)).unwrap().is_allowed());
    now(server.reset(b"a")).unwrap();
    assert!(now(server.peek(b"a", 64)).unwrap().is_allowed());
    now(server.refund(b"a", 1)).unwrap();
    assert!(now(Backend::check_n(server, b"a", 64)).unwrap().is_allowed());
}
