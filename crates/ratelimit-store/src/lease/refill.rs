//! What a request does that its lease cannot serve: it takes a slice, waits for another's, or asks the shared limiter alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ratelimit_core::{Algorithm, Decision};
use tokio::time::Instant;

use super::account::Step;
use super::give_back::Unspent;
use super::lender::{Lender, Slice};
use super::table::Lease;
use super::terms::Terms;
use super::{Inner, LeaseError};
use crate::cell::lock;
use crate::deadline::deadline as deadline_in;
use crate::{Backend, Clock};

type Answer<T, L> = Result<T, LeaseError<<L as Backend>::Error>>;

impl<L: Lender + 'static, C: Clock + 'static> Inner<L, C> {
    pub(super) fn counted(&self) {
        self.counters.round_trips.fetch_add(1, Ordering::Relaxed);
    }

    /// Where leases are off.
    pub(super) async fn plainly(&self, key: &[u8], cost: u64) -> Answer<Decision, L> {
        let capacity = self.policy.capacity();
        if cost > capacity {
            return Ok(Decision::Never { capacity });
        }
        self.counted();
        self.lender.check_n(key, cost).await.map_err(LeaseError::lender)
    }

    pub(super) async fn peek(&self, key: &[u8], cost: u64) -> Answer<Decision, L> {
        self.counted();
        self.lender.peek(key, cost).await.map_err(LeaseError::lender)
    }

    /// One request without a lease, which leaves as much free as slices do.
    pub(super) async fn alone(self: &Arc<Self>, key: &[u8], cost: u64, terms: &Terms) -> Answer<Decision, L> {
        self.tidy(terms).await;
        self.counted();
        let grant = self.lender.take(key, Slice::exactly(cost, terms.keep)).await.map_err(LeaseError::lender)?;
        Ok(grant.decision)
    }

    /// Has a few leases that are over given back.
    async fn tidy(self: &Arc<Self>, terms: &Terms) {
        if self.tasks.have_room() {
            self.give_back_later(self.table.close_expired(self.clock.now(), terms, 2)).await;
        }
    }

    /// One request takes the slice, and the others wait for it. However many slices a request waits for, it waits no longer
    /// than allowed.
    pub(super) async fn refill(
        self: &Arc<Self>,
        lease: &Arc<Lease<L::Error>>,
        key: &[u8],
        cost: u64,
        terms: &Terms,
    ) -> Answer<Decision, L> {
        let mut place: Option<Place<'_>> = None;
        loop {
            // Made before the account is asked, so that nothing that happens afterwards is missed.
            let landed = lease.landed.notified();
            let (step, back) = {
                let mut account = lock(&lease.account);
                let now = self.clock.now();
                let back = account.expire(now, terms);
                (account.ask_again(now, cost, terms), back)
            };
            let unspent: Vec<_> = back.map(|back| Unspent::new(key, lease, back)).into_iter().collect();
            self.give_back_later(unspent).await;
            let deadline = place.as_ref().map(|place| place.deadline);
            match step {
                Step::Decided(decision) => return Ok(decision),
                Step::Failed(error) => return Err(LeaseError::Lender(error)),
                Step::Alone => return self.within(deadline, self.alone(key, cost, terms)).await?,
                Step::Take(slice) => {
                    // Two calls are no longer than a wait may be, also for a request that has not waited.
                    let both = deadline.unwrap_or_else(|| deadline_in(self.patience));
                    let taken = self.within(deadline, self.take(lease, key, cost, slice, terms)).await??;
                    if let Some(decision) = taken {
                        return Ok(decision);
                    }
                    return self.within(Some(both), self.alone(key, cost, terms)).await?;
                }
                Step::Wait { attempt } => {
                    if place.is_none() {
                        place = Some(Place::new(self)?);
                    }
                    self.within(place.as_ref().map(|place| place.deadline), landed).await?;
                    if let Some(error) = lock(&lease.account).failure_of(attempt) {
                        return Err(LeaseError::Lender(error));
                    }
                }
            }
        }
    }

    async fn take(
        self: &Arc<Self>,
        lease: &Lease<L::Error>,
        key: &[u8],
        cost: u64,
        slice: Slice,
        terms: &Terms,
    ) -> Answer<Option<Decision>, L> {
        // Nothing may come between the plan and this.
        let mut flight = Flight { lease, landed: false };
        self.tidy(terms).await;
        let asked_at = self.clock.now();
        self.counted();
        let answer = self.lender.take(key, slice).await;
        let now = self.clock.now();
        let mut account = lock(&lease.account);
        flight.landed = true;
        match answer {
            Ok(grant) => Ok(account.granted((asked_at, now), cost, slice, grant, terms)),
            Err(error) => {
                let error = Arc::new(error);
                account.failed(now, Arc::clone(&error), terms);
                Err(LeaseError::Lender(error))
            }
        }
    }

    /// Ends a wait at its deadline, if it has one.
    async fn within<F: Future>(&self, deadline: Option<Instant>, future: F) -> Answer<F::Output, L> {
        let Some(deadline) = deadline else { return Ok(future.await) };
        let timely = tokio::time::timeout_at(deadline, future).await;
        timely.map_err(|_| LeaseError::Timeout { after: self.patience })
    }
}

/// A take that is under way. However it ends, those who wait for it are woken.
struct Flight<'a, E> {
    lease: &'a Lease<E>,
    landed: bool,
}

impl<E> Drop for Flight<'_, E> {
    fn drop(&mut self) {
        if !self.landed {
            lock(&self.lease.account).cancelled();
        }
        self.lease.landed.notify_waiters();
    }
}

/// Room for a request that waits, given back when dropped.
struct Place<'a> {
    waiting: &'a AtomicUsize,
    deadline: Instant,
}

impl<'a> Place<'a> {
    fn new<L: Lender, C>(inner: &'a Inner<L, C>) -> Answer<Self, L> {
        let deadline = deadline_in(inner.patience);
        let place = Place { waiting: &inner.waiting, deadline };
        if inner.waiting.fetch_add(1, Ordering::Relaxed) >= inner.max_waiting {
            return Err(LeaseError::Busy { waiting: inner.max_waiting });
        }
        Ok(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
