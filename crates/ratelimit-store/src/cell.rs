//! A policy with the one state it is applied to: what a [`Limiter`](crate::Limiter) locks, and what the clients share
//! that a full [`KeyedLimiter`](crate::KeyedLimiter) has no room for.

use std::sync::{PoisonError, TryLockError};

use ratelimit_core::{Algorithm, Decision, Nanos};

use crate::sync::{Mutex, MutexGuard};

/// Locks, also after a panic elsewhere: the core never panics, and its states are plain data that are whole between
/// any two calls.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same, unless somebody else holds it.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// One policy, one state.
#[derive(Debug, Clone)]
pub(crate) struct Cell<P: Algorithm> {
    pub(crate) policy: P,
    pub(crate) state: P::State,
}

impl<P: Algorithm> Cell<P> {
    pub(crate) fn new(policy: P) -> Self {
        let state = policy.fresh();
        Cell { policy, state }
    }

    pub(crate) fn decide(&mut self, now: Nanos, cost: u64) -> Decision {
        self.policy.decide(&mut self.state, now, cost)
    }

    pub(crate) fn admit(&mut self, now: Nanos, cost: u64) -> bool {
        self.policy.admit(&mut self.state, now, cost)
    }

    pub(crate) fn peek(&self, now: Nanos, cost: u64) -> Decision {
        self.policy.peek(&self.state, now, cost)
    }

    pub(crate) fn charge(&mut self, now: Nanos, cost: u64) {
        self.policy.charge(&mut self.state, now, cost);
    }

    /// As [`charge`](Self::charge), with as much of the cost as is free: no debt.
    pub(crate) fn charge_up_to_capacity(&mut self, now: Nanos, cost: u64) {
        let free = self.policy.capacity().saturating_sub(self.policy.used(&self.state, now));
        self.charge(now, cost.min(free));
    }

    pub(crate) fn refund(&mut self, cost: u64) {
        self.policy.refund(&mut self.state, cost);
    }

    pub(crate) fn is_fresh(&self, now: Nanos) -> bool {
        self.policy.is_fresh(&self.state, now)
    }

    pub(crate) fn migrate(&mut self, policy: P, now: Nanos) {
        self.state = policy.migrate(&self.policy, &self.state, now);
        self.policy = policy;
    }

    pub(crate) fn reset(&mut self) {
        self.state = self.policy.fresh();
    }
}
