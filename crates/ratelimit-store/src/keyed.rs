//! A limit for each client.

mod answer;
mod builder;
mod change;
mod hash;
mod key;
mod latch;
mod page;
mod pages;
mod rules;
#[cfg(feature = "serde")]
pub mod snapshot;
mod stats;
mod table;
mod tags;

use std::fmt;
use std::sync::Arc;

use ratelimit_core::{Algorithm, Decision, Nanos};

pub use builder::Builder;
pub use key::{Exact, Fingerprint, KeyForm};
#[cfg(feature = "serde")]
pub use snapshot::{RestoreError, Snapshot};
pub use stats::Stats;

use crate::wait::{self, Lines, Pause, Wait, WaitError};
use crate::{Clock, SystemClock};
use answer::{Answer, Brief};
use table::Table;

/// Clients kept unless another number is asked for.
pub const DEFAULT_MAX_CLIENTS: usize = 1_000_000;

/// A limit of its own for each client, told apart by its key. Clones are handles to the same clients.
///
/// Keys are bytes: `&str`, `&[u8]`, `String`, `&id.to_be_bytes()`. A call hashes the key, takes one lock that about a dozen
/// clients share, and asks the core for one decision; for a known client nothing is allocated.
///
/// ```
/// use std::time::Duration;
/// use ratelimit_core::TokenBucket;
/// use ratelimit_store::KeyedLimiter;
///
/// let limiter = KeyedLimiter::new(TokenBucket::per(2, Duration::from_secs(60))?);
/// assert!(limiter.check("alice").is_allowed());
/// assert!(limiter.check("alice").is_allowed());
/// assert!(!limiter.check("alice").is_allowed());
/// assert!(limiter.check("bob").is_allowed());
/// # Ok::<(), ratelimit_core::QuotaError>(())
/// ```
///
/// # When it is full
///
/// At most [`max_clients`](Builder::max_clients) are kept. A client is forgotten only when its state is fresh, so
/// that forgetting it changes no answer: on the way, a page at a time, and before a page grows, when it has been fresh for
/// ten seconds; at once when the place is needed. When the table is full
/// and no place can be freed (the newcomer's own page and up to 32 others are looked into), newcomers share one state
/// under the same policy until there is room. They are limited together, and counted in [`Stats::overflow`]; nobody is
/// ever unlimited, and nobody who is kept and exhausted is ever forgotten. What [`charge`](Self::charge) records for a
/// client without a place fills the shared state at most: debt beyond that is lost, so that it keeps no other newcomer out
/// for longer than a full state does.
///
/// # Threads
///
/// A lock is held for some dozen nanoseconds, and for microseconds while a page grows or is swept. Who finds it taken looks again,
/// first at once, then each time it is scheduled, and after that asleep for up to a millisecond: a holder
/// that lost its core gets one soon, also where the waiter has the higher priority.
///
/// # Time
///
/// Time may step back (law 5 of the core). A client that was forgotten at some time meets no earlier time afterwards
/// (law 7): until the clock has caught up, calls are decided at the time of that forgetting.
pub struct KeyedLimiter<P: Algorithm, K = Fingerprint, C = SystemClock> {
    table: Arc<Table<P, K>>,
    lines: Arc<Lines>,
    clock: C,
    shadow: bool,
}

impl<P: Algorithm, K, C: Clone> Clone for KeyedLimiter<P, K, C> {
    fn clone(&self) -> Self {
        KeyedLimiter {
            table: Arc::clone(&self.table),
            lines: Arc::clone(&self.lines),
            clock: self.clock.clone(),
            shadow: self.shadow,
        }
    }
}

impl<P: Algorithm, K: KeyForm, C: Clock> fmt::Debug for KeyedLimiter<P, K, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedLimiter").field("tracked", &self.len()).finish_non_exhaustive()
    }
}

impl<P: Algorithm + Clone> KeyedLimiter<P> {
    /// At most a million clients, kept by fingerprint, on the clock of the machine.
    pub fn new(policy: P) -> Self {
        Self::builder(policy).build()
    }

    /// The same with other choices.
    pub fn builder(policy: P) -> Builder<P> {
        Builder::new(policy)
    }
}

impl<P: Algorithm, K: KeyForm, C: Clock> KeyedLimiter<P, K, C> {
    /// The clock that the forms without a time read.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// Decides one request of cost 1 by the client `key`, and charges it if it is allowed.
    #[inline]
    pub fn check(&self, key: impl AsRef<[u8]>) -> Decision {
        self.check_n(key, 1)
    }

    /// Decides one request of `cost` units by the client `key`, and charges it if it is allowed.
    #[inline]
    pub fn check_n(&self, key: impl AsRef<[u8]>, cost: u64) -> Decision {
        self.check_n_at(key, self.clock.now(), cost)
    }

    /// Decides as [`check`](Self::check) does, and says only whether the request passes: faster by what the rest of a decision
    /// takes to compute. [`peek`](Self::peek) tells it afterwards, at the price of another call.
    #[inline]
    pub fn allows(&self, key: impl AsRef<[u8]>) -> bool {
        self.allows_n(key, 1)
    }

    /// Decides as [`check_n`](Self::check_n) does, and says only whether the request passes.
    #[inline]
    pub fn allows_n(&self, key: impl AsRef<[u8]>, cost: u64) -> bool {
        self.allows_n_at(key, self.clock.now(), cost)
    }

    /// [`allows_n`](Self::allows_n) at `now`.
    #[inline]
    pub fn allows_n_at(&self, key: impl AsRef<[u8]>, now: Nanos, cost: u64) -> bool {
        let answer: Brief = self.table.check(key.as_ref(), now, cost);
        self.shadow || answer.is_allowed()
    }

    /// [`check`](Self::check) at `now`.
    #[inline]
    pub fn check_at(&self, key: impl AsRef<[u8]>, now: Nanos) -> Decision {
        self.check_n_at(key, now, 1)
    }

    /// [`check_n`](Self::check_n) at `now`.
    #[inline]
    pub fn check_n_at(&self, key: impl AsRef<[u8]>, now: Nanos, cost: u64) -> Decision {
        if self.shadow {
            return admitted(self.table.check(key.as_ref(), now, cost));
        }
        self.table.check(key.as_ref(), now, cost)
    }

    /// The decision that [`check_n`](Self::check_n) would take, with nothing charged.
    pub fn peek(&self, key: impl AsRef<[u8]>, cost: u64) -> Decision {
        self.peek_at(key, self.clock.now(), cost)
    }

    /// [`peek`](Self::peek) at `now`.
    pub fn peek_at(&self, key: impl AsRef<[u8]>, now: Nanos, cost: u64) -> Decision {
        self.table.peek(key.as_ref(), now, cost)
    }

    /// Records `cost` units whatever the limit, for costs that are known only afterwards: what exceeds the capacity is
    /// debt.
    pub fn charge(&self, key: impl AsRef<[u8]>, cost: u64) {
        self.charge_at(key, self.clock.now(), cost);
    }

    /// [`charge`](Self::charge) at `now`.
    pub fn charge_at(&self, key: impl AsRef<[u8]>, now: Nanos, cost: u64) {
        self.table.charge(key.as_ref(), now, cost);
    }

    /// Gives back `cost` units, the newest charge first; see [`Algorithm::refund`]. It depends on no time. `false` when
    /// the client is not kept: then there is nothing to give back, and what it used of the shared state stays used.
    pub fn refund(&self, key: impl AsRef<[u8]>, cost: u64) -> bool {
        let key = key.as_ref();
        let kept = self.table.refund(key, cost);
        self.lines.wake_first(key);
        kept
    }

    /// Forgets all that the client has used. `false` when the client was not kept.
    pub fn reset(&self, key: impl AsRef<[u8]>) -> bool {
        let key = key.as_ref();
        let kept = self.table.reset(key);
        self.lines.wake_first(key);
        kept
    }

    /// The policy of the clients that have none of their own.
    pub fn policy(&self) -> P
    where
        P: Clone,
    {
        self.table.policy()
    }

    /// Changes the policy of all clients that have none of their own, while others decide. What a client has used stays
    /// used, see [`Algorithm::migrate`]; page by page, so that no caller waits for more than one page.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ratelimit_core::TokenBucket;
    /// use ratelimit_store::KeyedLimiter;
    ///
    /// let limiter = KeyedLimiter::new(TokenBucket::per(2, Duration::from_secs(3600))?);
    /// limiter.check_n("alice", 2);
    /// limiter.set_policy(TokenBucket::per(5, Duration::from_secs(3600))?);
    /// assert!(!limiter.check_n("alice", 4).is_allowed());
    /// assert!(limiter.check_n("alice", 3).is_allowed());
    /// # Ok::<(), ratelimit_core::QuotaError>(())
    /// ```
    pub fn set_policy(&self, policy: P)
    where
        P: Clone,
    {
        self.set_policy_at(policy, self.clock.now());
    }

    /// [`set_policy`](Self::set_policy) at `now`.
    #[expect(clippy::needless_pass_by_value, reason = "the limiter takes the policy over, as when it is built")]
    pub fn set_policy_at(&self, policy: P, now: Nanos)
    where
        P: Clone,
    {
        self.table.set_policy(&policy, now);
        self.lines.wake_firsts();
    }

    /// The policy that holds for the client.
    pub fn policy_of(&self, key: impl AsRef<[u8]>) -> P
    where
        P: Clone,
    {
        self.table.policy_of(key.as_ref())
    }

    /// Gives the client a policy of its own (a plan, an exception), or takes it away with `None`. What it has used stays
    /// used. For clients under different algorithms let `P` be [`Policy`](ratelimit_core::Policy).
    ///
    /// Own policies are kept until they are taken away and do not count as clients. In a full table a client that is not
    /// kept shares the state of the newcomers, under the common policy.
    pub fn set_policy_of(&self, key: impl AsRef<[u8]>, policy: Option<P>)
    where
        P: Clone,
    {
        self.set_policy_of_at(key, policy, self.clock.now());
    }

    /// [`set_policy_of`](Self::set_policy_of) at `now`.
    pub fn set_policy_of_at(&self, key: impl AsRef<[u8]>, policy: Option<P>, now: Nanos)
    where
        P: Clone,
    {
        let key = key.as_ref();
        self.table.set_own_policy(key, policy, now);
        self.lines.wake_first(key);
    }

    /// Number of clients kept: those with something used, and fresh ones that no sweep has met yet.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether no client is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets every client that is fresh now, and says how many they were. Never needed: the calls sweep as they go.
    /// Visits all clients.
    pub fn sweep(&self) -> usize {
        self.sweep_at(self.clock.now())
    }

    /// [`sweep`](Self::sweep) at `now`.
    pub fn sweep_at(&self, now: Nanos) -> usize {
        self.table.sweep(now)
    }

    /// What has been decided so far. Visits all pages, a few milliseconds for a million clients.
    pub fn stats(&self) -> Stats {
        self.table.stats()
    }
}

/// Waiting: see [`wait`]. Each client has a line of its own. In shadow mode nobody waits.
impl<P: Algorithm + Clone, K: KeyForm, C: Clock> KeyedLimiter<P, K, C> {
    /// Blocks until the client's cost is allowed, and charges it.
    pub fn wait_until_allowed(&self, key: impl AsRef<[u8]>, wait: impl Into<Wait>) -> Result<Decision, WaitError>
    where
        C: Pause,
    {
        let wait = wait.into();
        if self.shadow {
            return Ok(self.check_n(key, wait.cost()));
        }
        wait::block(&*self.table, &self.lines, &self.clock, key.as_ref(), wait)
    }

    /// Is ready when the client's cost is allowed, and charges it then; dropped before that, it charges nothing.
    #[cfg(feature = "async")]
    pub async fn until_allowed(&self, key: impl AsRef<[u8]>, wait: impl Into<Wait>) -> Result<Decision, WaitError>
    where
        C: wait::Timer,
    {
        let wait = wait.into();
        if self.shadow {
            return Ok(self.check_n(key, wait.cost()));
        }
        wait::until(&*self.table, &self.lines, &self.clock, key.as_ref(), wait).await
    }
}

/// What shadow mode answers: everything passes at once.
fn admitted(decision: Decision) -> Decision {
    let (remaining, reset_after) = match decision {
        Decision::Allowed { remaining, reset_after, .. } | Decision::Denied { remaining, reset_after, .. } => {
            (remaining, reset_after)
        }
        Decision::Never { .. } => (0, Nanos::ZERO),
    };
    Decision::Allowed { remaining, reset_after, delay: Nanos::ZERO }
}
