//! The vectors, models, laws and bounds of the conformance crate, through both limiters.

use ratelimit_conformance::subject::{Abilities, Client, Domain, Subject};
use ratelimit_core::{Decision, Nanos, Policy};
use ratelimit_store::{Exact, Fingerprint, KeyForm, KeyedLimiter, Limiter};

struct Single;

struct Shared(Limiter<Policy>);

impl Subject for Single {
    type Client = Shared;

    fn domain(&self) -> Domain {
        Domain { can: Abilities { used: false, ..Abilities::ALL }, ..Domain::FULL }
    }

    fn client(&self, policy: &Policy) -> Option<Self::Client> {
        Some(Shared(Limiter::new(*policy)))
    }
}

impl Client for Shared {
    fn decide(&mut self, now: Nanos, cost: u64) -> Decision {
        self.0.check_n_at(now, cost)
    }

    fn admit(&mut self, now: Nanos, cost: u64) -> bool {
        self.0.allows_n_at(now, cost)
    }

    fn peek(&mut self, now: Nanos, cost: u64) -> Decision {
        self.0.peek_at(now, cost)
    }

    fn charge(&mut self, now: Nanos, cost: u64) {
        self.0.charge_at(now, cost);
    }

    fn refund(&mut self, _now: Nanos, cost: u64) {
        self.0.refund(cost);
    }

    fn is_fresh(&mut self, now: Nanos) -> bool {
        self.0.is_fresh_at(now)
    }

    fn migrate(&mut self, to: &Policy, now: Nanos) {
        self.0.set_policy_at(*to, now);
    }
}

/// One client in a table of a few pages.
struct Keyed<K>(KeyedLimiter<Policy, K>);

/// Alone. In traces this short nobody is forgotten yet, so time steps back as far as the states themselves let it.
struct ByFingerprint;

impl Subject for ByFingerprint {
    type Client = Keyed<Fingerprint>;

    fn domain(&self) -> Domain {
        Domain { can: Abilities { used: false, is_fresh: false, ..Abilities::ALL }, ..Domain::FULL }
    }

    fn client(&self, policy: &Policy) -> Option<Self::Client> {
        Some(Keyed(KeyedLimiter::builder(*policy).max_clients(96).build()))
    }
}

/// Beside a neighbour that comes and goes. Then time may not fall behind the latest forgetting.
struct ByExactKey;

struct Beside(Keyed<Exact>);

impl Subject for ByExactKey {
    type Client = Beside;

    fn domain(&self) -> Domain {
        let can = Abilities { used: false, is_fresh: false, step_back: false, ..Abilities::ALL };
        Domain { can, ..Domain::FULL }
    }

    fn client(&self, policy: &Policy) -> Option<Self::Client> {
        Some(Beside(Keyed(KeyedLimiter::builder(*policy).max_clients(96).exact_keys().build())))
    }
}

impl Client for Beside {
    fn decide(&mut self, now: Nanos, cost: u64) -> Decision {
        for neighbour in 0..5_u8 {
            self.0.0.check_n_at([neighbour], now, 1);
        }
        self.0.decide(now, cost)
    }

    fn admit(&mut self, now: Nanos, cost: u64) -> bool {
        self.0.admit(now, cost)
    }

    fn peek(&mut self, now: Nanos, cost: u64) -> Decision {
        self.0.peek(now, cost)
    }

    fn charge(&mut self, now: Nanos, cost: u64) {
        self.0.charge(now, cost);
    }

    fn refund(&mut self, now: Nanos, cost: u64) {
        self.0.refund(now, cost);
    }

    fn migrate(&mut self, to: &Policy, now: Nanos) {
        self.0.migrate(to, now);
    }
}

impl<K: KeyForm> Client for Keyed<K> {
    fn decide(&mut self, now: Nanos, cost: u64) -> Decision {
        self.0.check_n_at("client", now, cost)
    }

    fn admit(&mut self, now: Nanos, cost: u64) -> bool {
        self.0.allows_n_at("client", now, cost)
    }

    fn peek(&mut self, now: Nanos, cost: u64) -> Decision {
        self.0.peek_at("client", now, cost)
    }

    fn charge(&mut self, now: Nanos, cost: u64) {
        self.0.charge_at("client", now, cost);
    }

    fn refund(&mut self, _now: Nanos, cost: u64) {
        self.0.refund("client", cost);
    }

    fn migrate(&mut self, to: &Policy, now: Nanos) {
        self.0.set_policy_at(*to, now);
    }
}

mod single {
    use super::Single;
    ratelimit_conformance::suite!(Single);
}

mod by_fingerprint {
    use super::ByFingerprint;
    ratelimit_conformance::suite!(ByFingerprint);
}

mod by_exact_key {
    use super::ByExactKey;
    ratelimit_conformance::suite!(ByExactKey);
}
