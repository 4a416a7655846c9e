//! The choices of a [`Leased`] limiter.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use ratelimit_core::{Nanos, Policy};

use super::give_back::Tasks;
use super::table::Table;
use super::terms::Terms;
use super::{Counters, Inner, Leased, Lender};
use crate::{Clock, SystemClock};

/// The choices of a [`Leased`] limiter; from [`Leased::builder`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder<L, C = SystemClock> {
    lender: L,
    policy: Policy,
    servers: u64,
    lifetime: Nanos,
    max_clients: usize,
    patience: Duration,
    max_waiting: usize,
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
            patience: Duration::from_millis(50),
            max_waiting: 10_000,
            clock: SystemClock::new(),
        }
    }
}

impl<L: Lender, C: Clock> Builder<L, C> {
    /// How many servers lease, the same for all of them; with more than said, more may be held than is kept free, and the
    /// bound is that of the lifetime alone. 1 unless set.
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

    /// How long a request may wait for slices that others take, its own included after such a wait; 50 ms unless set. A
    /// request that has not waited is bounded by the shared limiter's timeout, and by this if it needs a second call, since
    /// others have spent what it had counted on.
    pub fn timeout(self, patience: Duration) -> Self {
        Builder { patience, ..self }
    }

    /// How many requests may wait for others' slices at a time; further ones fail at once. 10 000 unless set.
    pub fn max_waiting(self, max_waiting: usize) -> Self {
        Builder { max_waiting, ..self }
    }

    /// Reads the time from `clock`.
    pub fn clock<D: Clock>(self, clock: D) -> Builder<L, D> {
        Builder {
            lender: self.lender,
            policy: self.policy,
            servers: self.servers,
            lifetime: self.lifetime,
            max_clients: self.max_clients,
            patience: self.patience,
            max_waiting: self.max_waiting,
            clock,
        }
    }

    /// The limiter.
    pub fn build(self) -> Leased<L, C> {
        Leased {
            inner: Arc::new(Inner {
                terms: Terms::new(&self.policy, self.servers, self.lifetime),
                lender: self.lender,
                policy: self.policy,
                table: Table::new(self.max_clients),
                clock: self.clock,
                counters: Counters::default(),
                patience: self.patience,
                max_waiting: self.max_waiting,
                waiting: AtomicUsize::new(0),
                tasks: Tasks::default(),
            }),
        }
    }
}
