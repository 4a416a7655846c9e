//! The vectors, models, laws and bounds of the conformance crate against a live server, the time passed in: the entry
//! shares the body of the scripts that ask the server for it.
#![cfg(feature = "redis")]

mod redis_common;

use std::cell::Cell;
use std::process::Command;

use ratelimit_conformance::spec::Kind;
use ratelimit_conformance::strategy::Family;
use ratelimit_conformance::subject::{Abilities, Client, Domain, Subject};
use ratelimit_conformance::{laws, suite, vectors};
use ratelimit_core::{Decision, Nanos, Policy};
use ratelimit_store::redis::{ReplayLimiter, SharedLimiter};
use redis_common::{PATIENCE, Server};
use tokio::runtime::Runtime;

/// A server, and a prefix of its own for each client.
struct Live {
    server: Server,
    clients: Cell<u64>,
    longest_window: u64,
    most_units: u64,
}

impl Live {
    /// For properties: so far inside the exact range that no trace of charges gets to where they saturate.
    fn start() -> Live {
        Live { server: Server::start(&[]), clients: Cell::new(0), longest_window: 1 << 24, most_units: 1 << 20 }
    }

    /// For vectors, which do not saturate: whatever the scripts take.
    fn start_wide() -> Live {
        Live { longest_window: 1 << 51, most_units: u64::MAX, ..Live::start() }
    }
}

struct Replayed {
    limiter: ReplayLimiter,
    runtime: Runtime,
}

impl Subject for Live {
    type Client = Replayed;

    fn domain(&self) -> Domain {
        let can = Abilities { used: false, is_fresh: false, migrate: false, ..Abilities::ALL };
        Domain {
            tick: Nanos::new(1000),
            latest: 1 << 51,
            longest_window: self.longest_window,
            most_units: self.most_units,
            can,
            ..Domain::FULL
        }
    }

    fn client(&self, policy: &Policy) -> Option<Self::Client> {
        let client = self.clients.get();
        self.clients.set(client + 1);
        let limiter = SharedLimiter::builder(*policy)
            .timeout(PATIENCE)
            .prefix(client.to_string())
            .connect_replay(&self.server.url())
            .ok()?;
        Some(Replayed { limiter, runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap() })
    }
}

/// Durations are told in nanoseconds, and compared in ticks.
fn in_ticks(decision: Decision) -> Decision {
    let up = |nanos: Nanos| Nanos::from_micros(nanos.get().div_ceil(1000));
    match decision {
        Decision::Allowed { remaining, reset_after, delay } => {
            Decision::Allowed { remaining, reset_after: up(reset_after), delay: up(delay) }
        }
        Decision::Denied { retry_after, remaining, reset_after } => {
            Decision::Denied { retry_after: up(retry_after), remaining, reset_after: up(reset_after) }
        }
        never @ Decision::Never { .. } => never,
    }
}

impl Client for Replayed {
    fn decide(&mut self, now: Nanos, cost: u64) -> Decision {
        in_ticks(self.runtime.block_on(self.limiter.check_n_at(b"client", now, cost)).unwrap())
    }

    fn peek(&mut self, now: Nanos, cost: u64) -> Decision {
        in_ticks(self.runtime.block_on(self.limiter.peek_at(b"client", now, cost)).unwrap())
    }

    fn charge(&mut self, now: Nanos, cost: u64) {
        self.runtime.block_on(self.limiter.charge_at(b"client", now, cost)).unwrap();
    }

    fn refund(&mut self, now: Nanos, cost: u64) {
        self.runtime.block_on(self.limiter.refund_at(b"client", now, cost)).unwrap();
    }
}

/// Cases of each property: a step is a round trip here.
const CASES: &str = "24";

/// The model, the laws 1 to 9 with the bounds, and the promises of a family; `test` is the caller, which runs again in a process with fewer cases, unless their number was
/// chosen from outside.
fn laws_of(family: Family, test: &str) {
    if std::env::var_os("PROPTEST_CASES").is_none() {
        let status = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--ignored", "--nocapture"])
            .env("PROPTEST_CASES", CASES)
            .status();
        assert!(status.unwrap().success());
        return;
    }
    let live = Live::start();
    suite::run_family(&live, family);
}

#[test]
#[ignore = "needs redis-server"]
fn fixed_window() {
    laws_of(Family::Only(Kind::FixedWindow), "fixed_window");
}

#[test]
#[ignore = "needs redis-server"]
fn sliding_log() {
    laws_of(Family::Only(Kind::SlidingLog), "sliding_log");
}

#[test]
#[ignore = "needs redis-server"]
fn sliding_counter() {
    laws_of(Family::Only(Kind::SlidingCounter), "sliding_counter");
}

#[test]
#[ignore = "needs redis-server"]
fn token_bucket() {
    laws_of(Family::Only(Kind::TokenBucket), "token_bucket");
}

#[test]
#[ignore = "needs redis-server"]
fn leaky_bucket() {
    laws_of(Family::Only(Kind::LeakyBucket), "leaky_bucket");
}

#[test]
#[ignore = "needs redis-server"]
fn several_rules() {
    laws_of(Family::AllOf, "several_rules");
}

#[test]
#[ignore = "needs redis-server"]
fn policies() {
    laws_of(Family::Policy, "policies");
}

#[test]
#[ignore = "needs redis-server"]
fn leaky_as_a_meter_is_token() {
    laws::leaky_as_a_meter_is_token(&Live::start());
}

#[test]
#[ignore = "needs redis-server"]
fn vectors_and_known_failures() {
    let live = Live::start_wide();
    suite::run_known_failures(&live);
    vectors::run_limiters(&live);
}
