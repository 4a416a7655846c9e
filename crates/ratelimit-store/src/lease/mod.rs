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
//! span T at most what the policy admits in `T + lifetime`, and since the start no more than the policy's bound.
//!
//! # What it costs
//!
//! Units in a lease are not there for other servers: at most a quarter of the capacity is out at a time. `remaining` is what
//! the lease holds, and a denial may come up to a pause (50 ms at most) early. A token bucket gets unspent slices back;
//! of a window they expire, since a late refund would be taken from a newer window. Leases are off where a slice would be
//! less than 2 units, and for the leaky bucket, whose delays are one queue.

mod account;
mod builder;
mod lender;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ratelimit_core::{Algorithm, Decision, Policy};

pub use builder::Builder;
pub use lender::{Grant, Lender};

use crate::cell::lock;
use crate::{Backend, Clock, SystemClock};
use account::{Step, Terms};
use table::{Lease, Table};

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
pub struct Leased<L, C = SystemClock> {
    inner: Arc<Inner<L, C>>,
}

struct Inner<L, C> {
    lender: L,
    policy: Policy,
    /// `None` where leases are off.
    terms: Option<Terms>,
    /// Whether unspent slices may be given back.
    returns: bool,
    table: Table,
    clock: C,
    counters: Counters,
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

impl<L, C> Clone for Leased<L, C> {
    fn clone(&self) -> Self {
        Leased { inner: Arc::clone(&self.inner) }
    }
}

impl<L, C> fmt::Debug for Leased<L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leased")
            .field("policy", &format_args!("{}", self.inner.policy))
            .field("terms", &self.inner.terms)
            .finish_non_exhaustive()
    }
}

impl<L: Lender, C: Clock> Leased<L, C> {
    /// Decides one request of `cost` units by the client `key`: from the lease, or after taking a slice.
    ///
    /// # Errors
    /// When a slice had to be taken and the shared limiter failed.
    pub async fn check_n(&self, key: &[u8], cost: u64) -> Result<Decision, L::Error> {
        let inner = &*self.inner;
        inner.counters.decisions.fetch_add(1, Ordering::Relaxed);
        let capacity = inner.policy.capacity();
        if cost > capacity {
            return Ok(Decision::Never { capacity });
        }
        let Some(terms) = &inner.terms else { return inner.directly(key, cost).await };
        let now = inner.clock.now();
        let Some(lease) = inner.table.lease(key, now) else { return inner.directly(key, cost).await };
        if let Step::Decided(decision) = lock(&lease.account).ask(now, cost, terms) {
            return Ok(decision);
        }
        inner.refill(&lease, key, cost, terms).await
    }

    /// The decision of the shared limiter on `cost`, with nothing charged; leases are not counted as free.
    ///
    /// # Errors
    /// When the shared limiter fails.
    pub async fn peek(&self, key: &[u8], cost: u64) -> Result<Decision, L::Error> {
        self.inner.counted();
        self.inner.lender.peek(key, cost).await
    }

    /// Records `cost` units in the shared limiter, whatever the limit.
    ///
    /// # Errors
    /// When the shared limiter fails.
    pub async fn charge(&self, key: &[u8], cost: u64) -> Result<(), L::Error> {
        self.inner.counted();
        self.inner.lender.charge(key, cost).await
    }

    /// Gives `cost` units back: to the lease while there is one, or else to the shared limiter.
    ///
    /// # Errors
    /// When the shared limiter fails.
    pub async fn refund(&self, key: &[u8], cost: u64) -> Result<(), L::Error> {
        let inner = &*self.inner;
        if let Some(lease) = inner.table.find(key)
            && lock(&lease.account).unspend(inner.clock.now(), cost)
        {
            return Ok(());
        }
        inner.counted();
        inner.lender.refund(key, cost).await
    }

    /// Forgets the client, here and in the shared limiter. Other servers keep their leases for their time.
    ///
    /// # Errors
    /// When the shared limiter fails.
    pub async fn reset(&self, key: &[u8]) -> Result<(), L::Error> {
        self.inner.table.forget(key);
        self.inner.counted();
        self.inner.lender.reset(key).await
    }

    /// Gives back what has not been spent of leases that are over. Calls that take slices do so too, a few leases at a time; a
    /// server that has fallen quiet gives back by calling this now and then. Returns how many units went back.
    pub async fn give_back_expired(&self) -> u64 {
        let now = self.inner.clock.now();
        self.inner.give_back(self.inner.table.close_expired(now, usize::MAX)).await
    }

    /// Ends all leases and gives back what has not been spent: before a server ends. Returns how many units went back.
    pub async fn give_back_all(&self) -> u64 {
        self.inner.give_back(self.inner.table.close_all()).await
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

impl<L: Lender, C: Clock> Inner<L, C> {
    fn counted(&self) {
        self.counters.round_trips.fetch_add(1, Ordering::Relaxed);
    }

    async fn directly(&self, key: &[u8], cost: u64) -> Result<Decision, L::Error> {
        self.counted();
        self.lender.check_n(key, cost).await
    }

    /// One task takes the slice, and the others wait for it.
    async fn refill(&self, lease: &Lease, key: &[u8], cost: u64, terms: &Terms) -> Result<Decision, L::Error> {
        let _turn = lease.taking.lock().await;
        let now = self.clock.now();
        let step = lock(&lease.account).ask_again(now, cost, terms);
        let (wanted, give_back) = match step {
            Step::Decided(decision) => return Ok(decision),
            Step::Take { units, give_back } => (units.min(self.policy.capacity()), give_back),
        };
        let mut unspent = self.table.close_expired(now, 2);
        if give_back > 0 {
            unspent.push((key.into(), give_back));
        }
        self.give_back(unspent).await;
        self.counted();
        let grant = self.lender.take(key, wanted).await?;
        let now = self.clock.now();
        Ok(lock(&lease.account).add(now, cost, wanted, grant, terms))
    }

    /// What cannot be given back, because the policy does not allow it or the shared limiter fails, has expired.
    async fn give_back(&self, unspent: Vec<(Box<[u8]>, u64)>) -> u64 {
        let mut sum = 0;
        for (key, units) in unspent {
            if self.returns && units > 0 {
                self.counted();
                if self.lender.refund(&key, units).await.is_ok() {
                    sum += units;
                }
            }
        }
        sum
    }
}

impl<L, C> Backend for Leased<L, C>
where
    L: Lender + 'static,
    C: Clock + 'static,
{
    type Error = L::Error;
    type Decide = Pin<Box<dyn Future<Output = Result<Decision, Self::Error>> + Send>>;
    type Change = Pin<Box<dyn Future<Output = Result<(), Self::Error>> + Send>>;

    fn check_n(&self, key: &[u8], cost: u64) -> Self::Decide {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { Leased::check_n(&limiter, &key, cost).await })
    }

    fn peek(&self, key: &[u8], cost: u64) -> Self::Decide {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { Leased::peek(&limiter, &key, cost).await })
    }

    fn charge(&self, key: &[u8], cost: u64) -> Self::Change {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { Leased::charge(&limiter, &key, cost).await })
    }

    fn refund(&self, key: &[u8], cost: u64) -> Self::Change {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { Leased::refund(&limiter, &key, cost).await })
    }

    fn reset(&self, key: &[u8]) -> Self::Change {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { Leased::reset(&limiter, &key).await })
    }
}
