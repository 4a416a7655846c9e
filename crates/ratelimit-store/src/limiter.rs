//! One limit for everybody who shares it.

use std::sync::Arc;

use ratelimit_core::{Algorithm, Decision, Nanos};

use crate::cell::{Cell, lock};
use crate::sync::Mutex;
use crate::wait::{self, Gate, Lines, Pass, Pause, Wait, WaitError};
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
    shared: Arc<Shared<P>>,
    clock: C,
}

#[derive(Debug)]
struct Shared<P: Algorithm> {
    cell: Mutex<Cell<P>>,
    lines: Lines,
}

impl<P: Algorithm> Shared<P> {
    fn new(policy: P, lines: Lines) -> Arc<Self> {
        Arc::new(Shared { cell: Mutex::new(Cell::new(policy)), lines })
    }
}

impl<P: Algorithm, C: Clone> Clone for Limiter<P, C> {
    fn clone(&self) -> Self {
        Limiter { shared: Arc::clone(&self.shared), clock: self.clock.clone() }
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
        Limiter { shared: Shared::new(policy, Lines::default()), clock }
    }

    /// The same limit, afresh, with another bound for those who wait: 1024 unless set.
    #[must_use]
    pub fn max_waiting(self, waiters: usize) -> Self
    where
        P: Clone,
    {
        Limiter { shared: Shared::new(self.policy(), Lines::new(waiters, waiters)), clock: self.clock }
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
        lock(&self.shared.cell).decide(now, cost)
    }

    /// Decides one request of cost 1 as [`check`](Self::check) does, and says only whether it passes.
    pub fn allows(&self) -> bool {
        self.allows_n(1)
    }

    /// Decides as [`check_n`](Self::check_n) does, and says only whether the request passes.
    pub fn allows_n(&self, cost: u64) -> bool {
        self.allows_n_at(self.clock.now(), cost)
    }

    /// [`allows_n`](Self::allows_n) at `now`.
    pub fn allows_n_at(&self, now: Nanos, cost: u64) -> bool {
        lock(&self.shared.cell).admit(now, cost)
    }

    /// The decision that [`check_n`](Self::check_n) would take, with nothing charged.
    pub fn peek(&self, cost: u64) -> Decision {
        self.peek_at(self.clock.now(), cost)
    }

    /// [`peek`](Self::peek) at `now`.
    pub fn peek_at(&self, now: Nanos, cost: u64) -> Decision {
        lock(&self.shared.cell).peek(now, cost)
    }

    /// Records `cost` units whatever the limit, for costs that are known only afterwards: what exceeds the capacity is
    /// debt.
    pub fn charge(&self, cost: u64) {
        self.charge_at(self.clock.now(), cost);
    }

    /// [`charge`](Self::charge) at `now`.
    pub fn charge_at(&self, now: Nanos, cost: u64) {
        lock(&self.shared.cell).charge(now, cost);
    }

    /// Gives back `cost` units, the newest charge first; see [`Algorithm::refund`]. It depends on no time.
    pub fn refund(&self, cost: u64) {
        lock(&self.shared.cell).refund(cost);
        self.shared.lines.wake_first(&[]);
    }

    /// Forgets all that was used.
    pub fn reset(&self) {
        lock(&self.shared.cell).reset();
        self.shared.lines.wake_first(&[]);
    }

    /// The policy.
    pub fn policy(&self) -> P
    where
        P: Clone,
    {
        lock(&self.shared.cell).policy.clone()
    }

    /// Changes the policy while others decide. What was used stays used; see [`Algorithm::migrate`].
    pub fn set_policy(&self, policy: P) {
        self.set_policy_at(policy, self.clock.now());
    }

    /// [`set_policy`](Self::set_policy) at `now`.
    pub fn set_policy_at(&self, policy: P, now: Nanos) {
        lock(&self.shared.cell).migrate(policy, now);
        self.shared.lines.wake_first(&[]);
    }

    /// Whether nothing that was used still counts at `now`.
    pub fn is_fresh_at(&self, now: Nanos) -> bool {
        lock(&self.shared.cell).is_fresh(now)
    }
}

/// Waiting: see [`wait`].
impl<P: Algorithm + Clone, C: Clock> Limiter<P, C> {
    /// Blocks until the cost is allowed, and charges it.
    pub fn wait_until_allowed(&self, wait: impl Into<Wait>) -> Result<Decision, WaitError>
    where
        C: Pause,
    {
        wait::block(&self.shared.cell, &self.shared.lines, &self.clock, &[], wait.into())
    }

    /// Is ready when the cost is allowed, and charges it then; dropped before that, it charges nothing.
    #[cfg(feature = "async")]
    pub async fn until_allowed(&self, wait: impl Into<Wait>) -> Result<Decision, WaitError>
    where
        C: wait::Timer,
    {
        wait::until(&self.shared.cell, &self.shared.lines, &self.clock, &[], wait.into()).await
    }
}

/// One state, whatever the key.
impl<P: Algorithm + Clone> Gate for Mutex<Cell<P>> {
    type Policy = P;

    fn check(&self, _key: &[u8], now: Nanos, cost: u64) -> Pass {
        Pass { decision: lock(self).decide(now, cost), shared: false }
    }

    fn peek(&self, _key: &[u8], now: Nanos, cost: u64) -> Decision {
        lock(self).peek(now, cost)
    }

    #[cfg(feature = "async")]
    fn refund(&self, _key: &[u8], cost: u64, _shared: bool) {
        lock(self).refund(cost);
    }

    fn copy(&self, _key: &[u8], now: Nanos) -> (Cell<P>, Nanos) {
        (lock(self).clone(), now)
    }
}
