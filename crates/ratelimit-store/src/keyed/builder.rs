//! The choices of a keyed limiter.

use std::marker::PhantomData;
use std::sync::Arc;

use ratelimit_core::Algorithm;

use super::key::{Exact, Fingerprint, KeyForm};
use super::table::Table;
use super::{DEFAULT_MAX_CLIENTS, KeyedLimiter};
use crate::{Clock, SystemClock};

/// Builds a [`KeyedLimiter`]; from [`KeyedLimiter::builder`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder<P, K = Fingerprint, C = SystemClock> {
    policy: P,
    max_clients: usize,
    clock: C,
    form: PhantomData<K>,
}

impl<P: Algorithm> Builder<P> {
    pub(super) fn new(policy: P) -> Self {
        Builder { policy, max_clients: DEFAULT_MAX_CLIENTS, clock: SystemClock::new(), form: PhantomData }
    }
}

impl<P: Algorithm, K: KeyForm, C: Clock> Builder<P, K, C> {
    /// Keeps at most so many clients; one million unless set. Two bytes a client are allocated at once (64 a page of
    /// thirty-two), the rest as clients come. With 0, all clients share one state.
    pub fn max_clients(self, max_clients: usize) -> Self {
        Builder { max_clients, ..self }
    }

    /// Keeps the keys themselves, and not only fingerprints of them: see [`Exact`].
    pub fn exact_keys(self) -> Builder<P, Exact, C> {
        Builder { policy: self.policy, max_clients: self.max_clients, clock: self.clock, form: PhantomData }
    }

    /// Reads the time from `clock`.
    pub fn clock<D: Clock>(self, clock: D) -> Builder<P, K, D> {
        Builder { policy: self.policy, max_clients: self.max_clients, clock, form: PhantomData }
    }

    /// The limiter.
    pub fn build(self) -> KeyedLimiter<P, K, C>
    where
        P: Clone,
    {
        KeyedLimiter { table: Arc::new(Table::new(self.policy, self.max_clients)), clock: self.clock }
    }
}
