//! Leases: a server takes a slice of a client's quota from the shared limiter and spends it on its own.
//!
//! For hot clients, whose every request would otherwise cost a round trip to the same slot of the same Redis.
//!
//! ```text
//! request ─▶ lease of the client ── enough left ─▶ allowed, without a round trip
//!                 │ empty, or its time is over
//!                 └─▶ take a slice (charged at once) ─▶ allowed, or denied until there may be more
//! ```
//!
//! # Guarantee
//!
//! A unit is charged before it is spent, and is spent at most one lifetime later. So all servers together admit in a
//! span T at most what the policy admits in `T + lifetime`. Beyond that, with Q the units that all servers hold of a client
//! at most, an eighth of the capacity at most:
//!
//! - Token bucket: never more than the policy's own bound, in any span. Slices leave Q units of the bucket free. Let V be
//!   the level of the shared bucket, E the level that a bucket would have which is charged when units are spent, and X what
//!   is held, all in units. Taking adds to V and X alike, spending moves from X to E, and draining lowers V and E alike
//!   while both are above 0; only while E is 0 does V drain alone, and then `E + X - V <= X <= Q`. So `E + X <= V + Q`
//!   always, and V is at most the burst less Q: E never exceeds the burst.
//! - Fixed window alone: never more than the limit in a window, since a slice ends with its window.
//! - Sliding log, sliding counter, several rules with a window: never more than the rule admits plus Q, in any window.
//!   (The token buckets among them keep their own bound.)
//!
//! This holds where all servers lease, with the same `servers`, and no more servers than that. A request that waits for
//! its own slice counts when it is charged, as one without a lease does.
//!
//! # What it costs
//!
//! Units in a lease are not there for other servers. A token bucket admits the burst less Q at once, and a larger cost
//! never passes; its rate is untouched. `remaining` is what the lease holds, and a denial may come up to a pause (50 ms at
//! most) early. A token bucket gets unspent slices back, less what has drained; of a window they expire, since a late
//! refund would be taken from a newer window. Leases are off where a server could hold less than 2 units, and for the
//! leaky bucket, whose delays are one queue.
//!
//! # When the shared limiter fails
//!
//! All requests that wait for a slice share the error of the one that takes it, so that none waits for longer than that
//! one; for a pause the next ones get it at once. What a failed or cancelled take has charged, if it was executed, is not
//! known and not spent: at most one slice, and then no more than what is missing each pause.

mod account;
mod backend;
mod builder;
mod error;
mod give_back;
mod lender;
#[cfg(test)]
mod machine;
mod refill;
mod table;
mod terms;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use ratelimit_core::{Decision, Nanos, Policy};

pub use builder::Builder;
pub use error::LeaseError;
pub use lender::{Grant, Lender, Slice};

use crate::cell::lock;
use crate::{Backend, Clock, SystemClock};
use give_back::Tasks;
use table::Table;
use terms::Terms;

/// A shared limiter whose quota this server spends by the slice. Clones are handles to the same leases.
///
/// Wrapped in a [`Fallback`](crate::Fallback), it is also safe from failures of the shared limiter.
///
/// ```no_run
/// use ratelimit_store::Leased;
/// use ratelimit_store::redis::SharedLimiter;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = "token-bucket:5000/1s".parse()?;
/// let shared = SharedLimiter::builder(policy).connect("redis://127.0.0.1:6379")?;
/// let limiter = Leased::builder(shared, policy).servers(8).build();
/// let decision = limiter.check_n(b"hot", 1).await?;
/// limiter.give_back_all().await; // before the server ends
/// # let _ = decision;
/// # Ok(())
/// # }
/// ```
pub struct Leased<L: Backend, C = SystemClock> {
    inner: Arc<Inner<L, C>>,
}

struct Inner<L: Backend, C> {
    lender: L,
    policy: Policy,
    /// `None` where leases are off.
    terms: Option<Terms>,
    table: Table<L::Error>,
    clock: C,
    counters: Counters,
    /// How long a request may wait for slices, and how many may wait at a time.
    patience: Duration,
    max_waiting: usize,
    waiting: AtomicUsize,
    tasks: Tasks,
}

#[derive(Debug, Default)]
struct Counters {
    decisions: AtomicU64,
    round_trips: AtomicU64,
}

/// What a [`Leased`] limiter has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeaseCounts {
    /// Decisions.
    pub decisions: u64,
    /// Calls of the shared limiter, those that gave slices back included.
    pub round_trips: u64,
}

impl<L: Lender> Leased<L> {
    /// Leases from `lender`, whose policy is `policy`.
    pub fn builder(lender: L, policy: Policy) -> Builder<L> {
        Builder::new(lender, &policy)
    }
}

impl<L: Backend, C> Clone for Leased<L, C> {
    fn clone(&self) -> Self {
        Leased { inner: Arc::clone(&self.inner) }
    }
}

impl<L: Backend, C> fmt::Debug for Leased<L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leased")
            .field("policy", &format_args!("{}", self.inner.policy))
            .field("terms", &self.inner.terms)
            .finish_non_exhaustive()
    }
}

impl<L: Lender + 'static, C: Clock + 'static> Leased<L, C> {
    /// Decides one request of `cost` units by the client `key`: from the lease, or after taking a slice. Cost 0 always
    /// passes, and asks nobody.
    ///
    /// # Errors
    /// When a slice had to be taken and the shared limiter failed, or too many requests wait.
    pub async fn check_n(&self, key: &[u8], cost: u64) -> Result<Decision, LeaseError<L::Error>> {
        let inner = &self.inner;
        inner.counters.decisions.fetch_add(1, Ordering::Relaxed);
        let Some(terms) = &inner.terms else { return inner.plainly(key, cost).await };
        if cost > terms.capacity {
            return Ok(Decision::Never { capacity: terms.capacity });
        }
        let now = inner.clock.now();
        if cost == 0 {
            let lease = inner.table.find(key);
            return Ok(lease.and_then(|lease| lock(&lease.account).peek(now, 0)).unwrap_or(NOTHING));
        }
        let (lease, unspent) = inner.table.lease(key, now, terms);
        inner.give_back_later(unspent).await;
        let Some(lease) = lease else { return inner.alone(key, cost, terms).await };
        let decided = lock(&lease.account).ask(now, cost);
        match decided {
            Some(decision) => Ok(decision),
            None => inner.refill(&lease, key, cost, terms).await,
        }
    }

    /// The decision that [`check_n`](Self::check_n) would take, with nothing charged: from the lease, or that of the shared
    /// limiter, one round trip or two.
    ///
    /// # Errors
    /// When the shared limiter fails.
    pub async fn peek(&self, key: &[u8], cost: u64) -> Result<Decision, LeaseError<L::Error>> {
        let inner = &self.inner;
        let keep = inner.terms.map_or(0, |terms| terms.keep);
        if let Some(terms) = inner.terms {
            if cost > terms.capacity {
                return Ok(Decision::Never { capacity: terms.capacity });
            }
            let lease = inner.table.find(key);
            if let Some(decision) = lease.and_then(|lease| lock(&lease.account).peek(inner.clock.now(), cost)) {
                return Ok(decision);
            }
        }
        let decision = inner.peek(key, cost).await?;
        let Decision::Allowed { remaining, reset_after, delay } = decision else { return Ok(decision) };
        if cost == 0 || remaining >= keep {
            return Ok(Decision::Allowed { remaining: remaining.saturating_sub(keep), reset_after, delay });
        }
        // It needs units that are kept free: when it will not need them any more.
        match inner.peek(key, cost.saturating_add(keep)).await? {
            Decision::Denied { retry_after, remaining, reset_after } => {
                Ok(Decision::Denied { retry_after, remaining: remaining.saturating_sub(keep), reset_after })
            }
            Decision::Allowed { .. } | Decision::Never { .. } => Ok(decision),
        }
    }

    /// Records `cost` units in the shared limiter, whatever the limit.
    ///
    /// # Errors
    /// When the shared limiter fails.
    pub async fn charge(&self, key: &[u8], cost: u64) -> Result<(), LeaseError<L::Error>> {
        self.inner.counted();
        self.inner.lender.charge(key, cost).await.map_err(LeaseError::lender)
    }

    /// Gives `cost` units back: to the lease as far as they were spent of its present slice, the rest to the shared
    /// limiter, which takes back no more than it has recorded.
    ///
    /// # Errors
    /// When the shared limiter fails.
    pub async fn refund(&self, key: &[u8], cost: u64) -> Result<(), LeaseError<L::Error>> {
        let inner = &self.inner;
        let lease = inner.table.find(key);
        let rest = lease.map_or(cost, |lease| lock(&lease.account).unspend(inner.clock.now(), cost));
        if rest == 0 {
            return Ok(());
        }
        inner.counted();
        inner.lender.refund(key, rest).await.map_err(LeaseError::lender)
    }

    /// Forgets the client, here and in the shared limiter. Other servers keep their leases for their time.
    ///
    /// # Errors
    /// When the shared limiter fails.
    pub async fn reset(&self, key: &[u8]) -> Result<(), LeaseError<L::Error>> {
        let inner = &self.inner;
        if let (Some(terms), Some(lease)) = (&inner.terms, inner.table.find(key)) {
            let mut account = lock(&lease.account);
            if let Some(back) = account.close(inner.clock.now(), terms) {
                // With the client's state its units go too.
                account.returned(back);
            }
        }
        inner.counted();
        inner.lender.reset(key).await.map_err(LeaseError::lender)
    }

    /// Gives back what has not been spent of leases that are over. Calls that ask the shared limiter have others do so too, a
    /// few leases at a time; a server that has fallen quiet gives back by calling this now and then. Ends at the first
    /// failure. Returns how many units went back.
    pub async fn give_back_expired(&self) -> u64 {
        let inner = &self.inner;
        let Some(terms) = &inner.terms else { return 0 };
        inner.give_back(inner.table.close_expired(inner.clock.now(), terms, usize::MAX)).await
    }

    /// Ends all leases and gives back what has not been spent, and waits for what is on its way already: before a server
    /// ends, when no requests come any more. Ends at the first failure; what is left stays charged. Returns how many
    /// units went back.
    pub async fn give_back_all(&self) -> u64 {
        let inner = &self.inner;
        let Some(terms) = &inner.terms else { return 0 };
        let before = inner.tasks.join().await;
        before + inner.give_back(inner.table.close_all(inner.clock.now(), terms)).await
    }

    /// What it has done so far.
    pub fn counts(&self) -> LeaseCounts {
        let counters = &self.inner.counters;
        LeaseCounts {
            decisions: counters.decisions.load(Ordering::Relaxed),
            round_trips: counters.round_trips.load(Ordering::Relaxed),
        }
    }
}

/// The answer to cost 0 for a client without a lease.
const NOTHING: Decision = Decision::Allowed { remaining: 0, reset_after: Nanos::ZERO, delay: Nanos::ZERO };
