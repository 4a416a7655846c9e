//! The choices of a keyed limiter.

use std::marker::PhantomData;
use std::sync::Arc;

use ratelimit_core::Algorithm;

use super::key::{Exact, Fingerprint, KeyForm};
use super::table::Table;
use super::{DEFAULT_MAX_CLIENTS, KeyedLimiter};
use crate::wait::{self, Lines};
use crate::{Clock, SystemClock};

/// Builds a [`KeyedLimiter`]; from [`KeyedLimiter::builder`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder<P, K = Fingerprint, C = SystemClock> {
    pub(super) policy: P,
    pub(super) max_clients: usize,
    pub(super) clock: C,
    shadow: bool,
    /// Waiters for one client, and in all.
    waiting: (usize, usize),
    form: PhantomData<K>,
}

impl<P: Algorithm> Builder<P> {
    pub(super) fn new(policy: P) -> Self {
        Builder {
            policy,
            max_clients: DEFAULT_MAX_CLIENTS,
            clock: SystemClock::new(),
            shadow: false,
            waiting: (wait::A_CLIENT, wait::IN_ALL),
            form: PhantomData,
        }
    }
}

impl<P: Algorithm, K: KeyForm, C: Clock> Builder<P, K, C> {
    /// Keeps at most so many clients; one million unless set. Memory is taken as clients come. With 0, all clients share one state.
    pub fn max_clients(self, max_clients: usize) -> Self {
        Builder { max_clients, ..self }
    }

    /// Shadow mode, to try a limit on live traffic: decides, charges and counts as always, but everything passes.
    /// [`KeyedLimiter::stats`] says what would have been denied, [`KeyedLimiter::peek`] who would be.
    pub fn shadow(self, shadow: bool) -> Self {
        Builder { shadow, ..self }
    }

    /// Lets so many wait for one client, and so many in all; 1024 and 65 536 unless set. See [`wait`](crate::wait).
    pub fn max_waiting(self, for_a_client: usize, in_all: usize) -> Self {
        Builder { waiting: (for_a_client, in_all), ..self }
    }

    /// Keeps the keys themselves, and not only fingerprints of them: see [`Exact`].
    pub fn exact_keys(self) -> Builder<P, Exact, C> {
        let Builder { policy, max_clients, clock, shadow, waiting, form: _ } = self;
        Builder { policy, max_clients, clock, shadow, waiting, form: PhantomData }
    }

    /// Reads the time from `clock`.
    pub fn clock<D: Clock>(self, clock: D) -> Builder<P, K, D> {
        let Builder { policy, max_clients, clock: _, shadow, waiting, form } = self;
        Builder { policy, max_clients, clock, shadow, waiting, form }
    }

    /// The limiter.
    pub fn build(self) -> KeyedLimiter<P, K, C>
    where
        P: Clone,
    {
        let table = Table::new(self.policy.clone(), self.max_clients);
        self.build_on(table)
    }

    pub(super) fn build_on(self, table: Table<P, K>) -> KeyedLimiter<P, K, C> {
        KeyedLimiter {
            table: Arc::new(table),
            lines: Arc::new(Lines::new(self.waiting.0, self.waiting.1)),
            clock: self.clock,
            shadow: self.shadow,
        }
    }
}
