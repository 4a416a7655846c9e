//! Unspent units on their way back to the shared limiter.

use std::sync::{Arc, Mutex};

use ratelimit_core::Nanos;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use super::account::Back;
use super::table::Lease;
use super::terms::Terms;
use super::{Inner, Lender};
use crate::Clock;
use crate::cell::lock;

/// So many tasks give back at a time; then leases that are over wait.
const MOST_TASKS: usize = 16;

/// Units of one client that are to be given back. Dropped before they were sent, they are its lease's again.
#[derive(Debug)]
pub(super) struct Unspent<E> {
    key: Box<[u8]>,
    lease: Arc<Lease<E>>,
    back: Option<Back>,
}

impl<E> Unspent<E> {
    pub(super) fn new(key: &[u8], lease: &Arc<Lease<E>>, back: Back) -> Self {
        Unspent { key: key.into(), lease: Arc::clone(lease), back: Some(back) }
    }
}

impl<E> Drop for Unspent<E> {
    fn drop(&mut self) {
        if let Some(back) = self.back.take() {
            lock(&self.lease.account).put_back(back);
        }
    }
}

/// Units that have been sent. Dropped before the answer is there, it is not known whether they are back.
struct Sent<'a, E> {
    lease: &'a Lease<E>,
    back: Back,
    now: Nanos,
    terms: &'a Terms,
    arrived: bool,
}

impl<E> Drop for Sent<'_, E> {
    fn drop(&mut self) {
        let mut account = lock(&self.lease.account);
        if self.arrived {
            account.returned(self.back);
        } else {
            account.not_returned(self.now, self.back, self.terms);
        }
    }
}

/// The tasks that give back, so that no request waits for them.
#[derive(Debug, Default)]
pub(super) struct Tasks(Mutex<JoinSet<u64>>);

impl Tasks {
    /// Whether there is room for another.
    pub(super) fn have_room(&self) -> bool {
        let mut tasks = lock(&self.0);
        while tasks.try_join_next().is_some() {}
        tasks.len() < MOST_TASKS
    }

    fn spawn(&self, task: impl Future<Output = u64> + Send + 'static, runtime: &Handle) {
        lock(&self.0).spawn_on(task, runtime);
    }

    /// Waits for all that are under way: how many units have gone back.
    pub(super) async fn join(&self) -> u64 {
        let mut tasks = std::mem::take(&mut *lock(&self.0));
        let mut sum = 0;
        while let Some(units) = tasks.join_next().await {
            sum += units.unwrap_or(0);
        }
        sum
    }
}

impl<L: Lender + 'static, C: Clock + 'static> Inner<L, C> {
    /// Gives units back without making anybody wait, where there is a runtime to do it.
    pub(super) async fn give_back_later(self: &Arc<Self>, unspent: Vec<Unspent<L::Error>>) {
        if unspent.is_empty() {
            return;
        }
        match Handle::try_current() {
            Ok(runtime) => {
                let inner = Arc::clone(self);
                self.tasks.spawn(async move { inner.give_back(unspent).await }, &runtime);
            }
            Err(_) => {
                self.give_back(unspent).await;
            }
        }
    }

    /// Gives units back, one client after the other, until a call fails: the rest waits for better times. Returns how many
    /// went back.
    pub(super) async fn give_back(&self, unspent: Vec<Unspent<L::Error>>) -> u64 {
        let Some(terms) = &self.terms else { return 0 };
        let mut sum = 0;
        for mut unspent in unspent {
            let Some(back) = unspent.back.take() else { continue };
            let mut sent = Sent { lease: &unspent.lease, back, now: self.clock.now(), terms, arrived: false };
            self.counted();
            sent.arrived = self.lender.refund(&unspent.key, back.units).await.is_ok();
            sent.now = self.clock.now();
            if !sent.arrived {
                break;
            }
            sum += back.units;
        }
        sum
    }
}
