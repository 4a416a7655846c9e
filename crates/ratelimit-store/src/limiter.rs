//! One limit for everybody who shares it.

use std::sync::{Arc, Mutex};

use ratelimit_core::{Algorithm, Decision, Nanos};

use crate::cell::{Cell, lock};
use crate::{Clock, SystemClock};

/// One shared limit. Clones are handles to the same state, cheap to make and to send to other threads.
///
/// Each call takes one lock for one decision of the core: with any number of threads exactly the bound of the algorithm
/// is admitted, never one more or less.
///
/// ```
/// use std::time::Duration;
/// use ratelimit_core::TokenBucket;
/// use ratelimit_store::Limiter;
///
/// let limiter = Limiter::new(TokenBucket::per(100, Duration::from_secs(60))?);
/// let elsewhere = limiter.clone();
/// std::thread::spawn(move || assert!(elsewhere.check().is_allowed())).join().unwrap();
/// assert!(limiter.check_n(99).is_allowed());
/// assert!(!limiter.check().is_allowed());
/// # Ok::<(), ratelimit_core::QuotaError>(())
/// ```
#[derive(Debug)]
pub struct Limiter<P: Algorithm, C = SystemClock> {
    cell: Arc<Mutex<Cell<P>>>,
    clock: C,
}

impl<P: Algorithm, C: Clone> Clone for Limiter<P, C> {
    fn clone(&self) -> Self {
        Limiter { cell: Arc::clone(&self.cell), clock: self.clock.clone() }
    }
}

impl<P: Algorithm> Limiter<P> {
    /// The limit on the clock of the machine.
    pub fn new(policy: P) -> Self {
        Self::with_clock(policy, SystemClock::new())
    }
}

impl<P: Algorithm, C: Clock> Limiter<P, C> {
    /// The limit on another clock.
    pub fn with_clock(policy: P, clock: C) -> Self {
        Limiter { cell: Arc::new(Mutex::new(Cell::new(policy))), clock }
    }

    /// The clock that the forms without a time read.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// Decides one request of cost 1, and charges it if it is allowed.
    pub fn check(&self) -> Decision {
        self.check_n(1)
    }

    /// Decides one request of `cost` units, and charges it if it is allowed.
    pub fn check_n(&self, cost: u64) -> Decision {
        self.check_n_at(self.clock.now(), cost)
    }

    /// [`check`](Self::check) at `now`.
    pub fn check_at(&self, now: Nanos) -> Decision {
        self.check_n_at(now, 1)
    }

    /// [`check_n`](Self::check_n) at `now`.
    pub fn check_n_at(&self, now: Nanos, cost: u64) -> Decision {
        lock(&self.cell).decide(now, cost)
    }

    /// The decision that [`check_n`](Self::check_n) would take, with nothing charged.
    pub fn peek(&self, cost: u64) -> Decision {
        self.peek_at(self.clock.now(), cost)
    }

    /// [`peek`](Self::peek) at `now`.
    pub fn peek_at(&self, now: Nanos, cost: u64) -> Decision {
        lock(&self.cell).peek(now, cost)
    }

    /// Records `cost` units whatever the limit, for costs that are known only afterwards: what exceeds the capacity is
    /// debt.
    pub fn charge(&self, cost: u64) {
        self.charge_at(self.clock.now(), cost);
    }

    /// [`charge`](Self::charge) at `now`.
    pub fn charge_at(&self, now: Nanos, cost: u64) {
        lock(&self.cell).charge(now, cost);
    }

    /// Gives back `cost` units, the newest charge first; see [`Algorithm::refund`]. It depends on no time.
    pub fn refund(&self, cost: u64) {
        lock(&self.cell).refund(cost);
    }

    /// Forgets all that was used.
    pub fn reset(&self) {
        lock(&self.cell).reset();
    }

    /// The policy.
    pub fn policy(&self) -> P
    where
        P: Clone,
    {
        lock(&self.cell).policy.clone()
    }

    /// Changes the policy while others decide. What was used stays used; see [`Algorithm::migrate`].
    pub fn set_policy(&self, policy: P) {
        self.set_policy_at(policy, self.clock.now());
    }

    /// [`set_policy`](Self::set_policy) at `now`.
    pub fn set_policy_at(&self, policy: P, now: Nanos) {
        lock(&self.cell).migrate(policy, now);
    }

    /// Whether nothing that was used still counts at `now`.
    pub fn is_fresh_at(&self, now: Nanos) -> bool {
        lock(&self.cell).is_fresh(now)
    }
}
