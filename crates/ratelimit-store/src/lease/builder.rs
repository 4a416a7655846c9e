//! The choices of a [`Leased`] limiter, and the terms of its leases that follow from them.

use std::sync::Arc;

use ratelimit_core::{Algorithm, Nanos, Policy, Rule};

use super::account::Terms;
use super::table::Table;
use super::{Counters, Inner, Leased, Lender};
use crate::{Clock, SystemClock};

/// The longest pause after a slice that was smaller than wanted.
const LONGEST_PAUSE: Nanos = Nanos::from_millis(50);
/// At most this part of the capacity is in leases.
const PART_OUT: u64 = 4;

/// The choices of a [`Leased`] limiter; from [`Leased::builder`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder<L, C = SystemClock> {
    lender: L,
    policy: Policy,
    servers: u64,
    lifetime: Nanos,
    max_clients: usize,
    clock: C,
}

impl<L: Lender> Builder<L> {
    pub(super) fn new(lender: L, policy: &Policy) -> Self {
        Builder {
            lender,
            policy: *policy,
            servers: 1,
            lifetime: Nanos::from_secs(1),
            max_clients: 10_000,
            clock: SystemClock::new(),
        }
    }
}

impl<L: Lender, C: Clock> Builder<L, C> {
    /// How many servers lease; with more than said, more than a quarter of the capacity may be out. 1 unless set.
    pub fn servers(self, servers: u64) -> Self {
        Builder { servers: servers.max(1), ..self }
    }

    /// How long after it was taken a slice may be spent; 1 s unless set.
    pub fn lifetime(self, lifetime: Nanos) -> Self {
        Builder { lifetime, ..self }
    }

    /// How many clients have leases at most; the others cost a round trip each request. 10 000 unless set.
    pub fn max_clients(self, max_clients: usize) -> Self {
        Builder { max_clients, ..self }
    }

    /// Reads the time from `clock`.
    pub fn clock<D: Clock>(self, clock: D) -> Builder<L, D> {
        Builder {
            lender: self.lender,
            policy: self.policy,
            servers: self.servers,
            lifetime: self.lifetime,
            max_clients: self.max_clients,
            clock,
        }
    }

    /// The limiter.
    pub fn build(self) -> Leased<L, C> {
        let terms = terms(&self.policy, self.servers, self.lifetime);
        let returns = self.policy.rules().iter().all(|rule| matches!(rule, Rule::TokenBucket(_) | Rule::Unlimited));
        Leased {
            inner: Arc::new(Inner {
                lender: self.lender,
                policy: self.policy,
                terms,
                returns,
                table: Table::new(self.max_clients),
                clock: self.clock,
                counters: Counters::default(),
            }),
        }
    }
}

/// `None` where a lease makes no sense.
fn terms(policy: &Policy, servers: u64, lifetime: Nanos) -> Option<Terms> {
    let largest = policy.capacity() / servers.saturating_mul(PART_OUT);
    let queues = policy.rules().iter().any(|rule| matches!(rule, Rule::LeakyBucket(_)));
    if queues || largest < 2 || lifetime == Nanos::ZERO {
        return None;
    }
    // A pause in which a bucket would run over would lose units.
    let fills = policy.rules().iter().filter_map(time_to_fill).min().unwrap_or(Nanos::MAX);
    let pause = Nanos::new(fills.get() / 8).min(LONGEST_PAUSE);
    Some(Terms { largest, lifetime, pause })
}

/// How long an empty bucket takes to fill; of a window, the window.
fn time_to_fill(rule: &Rule) -> Option<Nanos> {
    let quota = rule.quota()?;
    let units = rule.burst().unwrap_or(quota.limit());
    let nanos = u128::from(units) * u128::from(quota.window().get()) / u128::from(quota.limit());
    Some(Nanos::new(u64::try_from(nanos).unwrap_or(u64::MAX)))
}
