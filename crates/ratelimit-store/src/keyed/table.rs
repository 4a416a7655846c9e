//! All clients: a fixed array of pages, each behind a lock of its own, and what they share.
//!
//! The number of pages follows from `max_clients`, thirty-two clients to a page when all places are taken, so the table
//! never has to be rebuilt: it grows page by page, and the most expensive call moves one page.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use ratelimit_core::{Algorithm, Decision, Nanos};

use super::hash::KeyHash;
use super::key::KeyForm;
use super::page::{Answers, Page, Place, fresh_at};
use super::rules::Rules;
use super::stats::Stats;
use crate::cell::{Cell, lock};
use crate::wait::Gate;

/// Clients to a page when the table is full.
const CLIENTS_A_PAGE: usize = 32;
/// More pages than this are not made: 16 MiB of them empty. Beyond 8 million clients the pages are longer instead.
const MOST_PAGES: usize = 1 << 18;
/// Pages that a newcomer looks into for a client to forget, when the table is full.
const PAGES_TO_ASK: usize = 32;

/// See the module.
pub(super) struct Table<P: Algorithm, K> {
    pub(super) hash: KeyHash,
    pub(super) pages: Box<[Mutex<Page<P, K>>]>,
    max_clients: usize,
    /// Clients kept; at most `max_clients`.
    tracked: AtomicUsize,
    /// What the newcomers to a full table share.
    pub(super) overflow: Mutex<Cell<P>>,
    /// Held while the rules of all pages change, so that such changes come one after the other.
    pub(super) change: Mutex<()>,
    /// The page that is swept next, modulo the number of pages.
    next: AtomicUsize,
    totals: Totals,
}

/// Counts of what happened; the pages hold a few answers more.
#[derive(Default)]
struct Totals {
    allowed: AtomicU64,
    denied: AtomicU64,
    never: AtomicU64,
    overflow: AtomicU64,
    evicted: AtomicU64,
}

/// Where a newcomer goes.
enum Room<'a, P: Algorithm> {
    /// A place of its own, counted as taken.
    Own,
    /// The shared state.
    Shared(MutexGuard<'a, Cell<P>>),
}

impl<P: Algorithm + Clone, K: KeyForm> Table<P, K> {
    pub(super) fn new(policy: P, max_clients: usize) -> Self {
        Self::with_hash(KeyHash::random(), policy, max_clients)
    }

    pub(super) fn with_hash(hash: KeyHash, policy: P, max_clients: usize) -> Self {
        let pages = max_clients.div_ceil(CLIENTS_A_PAGE).clamp(1, MOST_PAGES);
        let rules = Arc::new(Rules::new(policy.clone()));
        Table {
            hash,
            pages: (0..pages).map(|_| Mutex::new(Page::new(Arc::clone(&rules)))).collect(),
            max_clients,
            tracked: AtomicUsize::new(0),
            overflow: Mutex::new(Cell::new(policy)),
            change: Mutex::new(()),
            next: AtomicUsize::new(0),
            totals: Totals::default(),
        }
    }
}

impl<P: Algorithm, K: KeyForm> Table<P, K> {
    /// Locks are taken in this order: `change`, one page, `overflow`. A second page is only ever tried.
    ///
    /// The pages divide the range of fingerprints evenly, in order.
    #[inline]
    pub(super) fn place(&self, key: &[u8]) -> Place {
        self.place_of(self.hash.of(key))
    }

    #[inline]
    pub(super) fn place_of(&self, fingerprint: u64) -> Place {
        let scaled = u128::from(fingerprint) * self.pages.len() as u128;
        // The high half is below the number of pages; the low half is how far into its page the fingerprint is.
        Place { fingerprint, page: (scaled >> 64) as usize, within: scaled as u64 }
    }

    #[inline]
    pub(super) fn check(&self, key: &[u8], now: Nanos, cost: u64) -> Decision {
        let place = self.place(key);
        let mut page = lock(&self.pages[place.page]);
        let at = page.effective(now);
        let decision = match page.find(place, key) {
            Some(i) => page.decide(i, at, cost),
            None => self.check_newcomer(&mut page, place, key, at, cost),
        };
        let decision = seen_from(decision, at.saturating_sub(now));
        let answers = page.count(decision.is_allowed());
        drop(page);
        if matches!(decision, Decision::Never { .. }) {
            self.totals.never.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(answers) = answers {
            self.keep_house(answers, now);
        }
        decision
    }

    fn check_newcomer(&self, page: &mut Page<P, K>, place: Place, key: &[u8], now: Nanos, cost: u64) -> Decision {
        match self.room(page, now) {
            Room::Shared(mut shared) => shared.decide(now, cost),
            Room::Own => {
                let policy = page.policy_of(place, key);
                let mut state = policy.fresh();
                let decision = policy.decide(&mut state, now, cost);
                self.settle(page, place, key, state, now);
                decision
            }
        }
    }

    pub(super) fn peek(&self, key: &[u8], now: Nanos, cost: u64) -> Decision {
        let place = self.place(key);
        let mut page = lock(&self.pages[place.page]);
        let at = page.effective(now);
        let decision = match page.find(place, key) {
            Some(i) => page.peek(i, at, cost),
            None => match self.room(&mut page, at) {
                Room::Shared(shared) => shared.peek(at, cost),
                Room::Own => {
                    self.leave(1);
                    let policy = page.policy_of(place, key);
                    policy.peek(&policy.fresh(), at, cost)
                }
            },
        };
        seen_from(decision, at.saturating_sub(now))
    }

    pub(super) fn charge(&self, key: &[u8], now: Nanos, cost: u64) {
        let place = self.place(key);
        let mut page = lock(&self.pages[place.page]);
        let at = page.effective(now);
        if let Some(i) = page.find(place, key) {
            page.charge(i, at, cost);
            return;
        }
        match self.room(&mut page, at) {
            Room::Shared(mut shared) => shared.charge(at, cost),
            Room::Own => {
                let policy = page.policy_of(place, key);
                let mut state = policy.fresh();
                policy.charge(&mut state, at, cost);
                self.settle(&mut page, place, key, state, at);
            }
        }
    }

    pub(super) fn refund(&self, key: &[u8], cost: u64) -> bool {
        let place = self.place(key);
        let mut page = lock(&self.pages[place.page]);
        let found = page.find(place, key);
        if let Some(i) = found {
            page.refund(i, cost);
        }
        found.is_some()
    }

    pub(super) fn reset(&self, key: &[u8]) -> bool {
        let place = self.place(key);
        let mut page = lock(&self.pages[place.page]);
        let found = page.find(place, key);
        if let Some(i) = found {
            page.remove(i);
            self.leave(1);
        }
        found.is_some()
    }

    /// Forgets every client that is fresh at `now`.
    pub(super) fn sweep(&self, now: Nanos) -> usize {
        self.pages.iter().map(|page| self.forget(&mut lock(page), now)).sum()
    }

    pub(super) fn len(&self) -> usize {
        self.tracked.load(Ordering::Relaxed)
    }

    pub(super) fn stats(&self) -> Stats {
        let mut stats = Stats {
            allowed: self.totals.allowed.load(Ordering::Relaxed),
            denied: self.totals.denied.load(Ordering::Relaxed),
            never: self.totals.never.load(Ordering::Relaxed),
            overflow: self.totals.overflow.load(Ordering::Relaxed),
            evicted: self.totals.evicted.load(Ordering::Relaxed),
            tracked: self.len(),
        };
        for page in &self.pages {
            let answers = lock(page).answers();
            stats.allowed += u64::from(answers.allowed);
            stats.denied += u64::from(answers.denied);
        }
        // A `Never` is counted among the page's refusals too.
        stats.denied = stats.denied.saturating_sub(stats.never);
        stats
    }

    /// Keeps a newcomer whose place has been counted, unless it has used nothing: law 7 says there is nothing to keep.
    fn settle(&self, page: &mut Page<P, K>, place: Place, key: &[u8], state: P::State, now: Nanos) {
        if page.policy_of(place, key).is_fresh(&state, now) {
            self.leave(1);
            return;
        }
        if page.is_packed() {
            self.forget(page, now);
        }
        let fresh_at = fresh_at(page.policy_of(place, key), &state, now);
        page.insert(place.fingerprint, K::keep(key), state, fresh_at);
    }

    /// A place for a newcomer to `page`: a free one, or that of a client that is fresh, or the shared state.
    fn room(&self, page: &mut Page<P, K>, now: Nanos) -> Room<'_, P> {
        if self.enter() || self.take_over(page, now) || self.take_over_elsewhere(now) {
            return Room::Own;
        }
        self.totals.overflow.fetch_add(1, Ordering::Relaxed);
        Room::Shared(lock(&self.overflow))
    }

    /// Takes a free place.
    pub(super) fn enter(&self) -> bool {
        let one_more = |tracked| (tracked < self.max_clients).then_some(tracked + 1);
        self.tracked.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Gives places back.
    fn leave(&self, places: usize) {
        if places > 0 {
            self.tracked.fetch_sub(places, Ordering::Relaxed);
        }
    }

    /// Takes the place of a client of `page` that is fresh.
    fn take_over(&self, page: &mut Page<P, K>, now: Nanos) -> bool {
        let forgotten = page.forget_fresh(now);
        self.totals.evicted.fetch_add(forgotten as u64, Ordering::Relaxed);
        self.leave(forgotten.saturating_sub(1));
        forgotten > 0
    }

    /// Takes the place of a client of one of the next few pages. A page that is locked is passed over: the caller holds
    /// a lock too, and waiting for a second one could be for ever.
    fn take_over_elsewhere(&self, now: Nanos) -> bool {
        (0..PAGES_TO_ASK.min(self.pages.len())).any(|_| match self.next_page().try_lock() {
            Ok(mut page) => self.take_over(&mut page, now),
            Err(TryLockError::Poisoned(poisoned)) => self.take_over(&mut poisoned.into_inner(), now),
            Err(TryLockError::WouldBlock) => false,
        })
    }

    fn next_page(&self) -> &Mutex<Page<P, K>> {
        &self.pages[self.next.fetch_add(1, Ordering::Relaxed) % self.pages.len()]
    }

    fn forget(&self, page: &mut Page<P, K>, now: Nanos) -> usize {
        let forgotten = page.forget_fresh(now);
        if forgotten > 0 {
            self.totals.evicted.fetch_add(forgotten as u64, Ordering::Relaxed);
            self.leave(forgotten);
        }
        forgotten
    }

    /// Once in a while: adds the answers of a page to the totals, and sweeps the page whose turn it is.
    #[cold]
    fn keep_house(&self, answers: Answers, now: Nanos) {
        self.totals.allowed.fetch_add(u64::from(answers.allowed), Ordering::Relaxed);
        self.totals.denied.fetch_add(u64::from(answers.denied), Ordering::Relaxed);
        self.forget(&mut lock(self.next_page()), now);
    }
}

/// Where waiters pass: see [`wait`](crate::wait).
impl<P: Algorithm + Clone, K: KeyForm> Gate for Table<P, K> {
    type Policy = P;

    fn check(&self, key: &[u8], now: Nanos, cost: u64) -> Decision {
        Table::check(self, key, now, cost)
    }

    fn peek(&self, key: &[u8], now: Nanos, cost: u64) -> Decision {
        Table::peek(self, key, now, cost)
    }

    #[cfg(feature = "async")]
    fn refund(&self, key: &[u8], cost: u64) {
        Table::refund(self, key, cost);
    }

    fn copy(&self, key: &[u8], now: Nanos) -> (Cell<P>, Nanos) {
        let place = self.place(key);
        let mut page = lock(&self.pages[place.page]);
        let at = page.effective(now);
        let cell = match page.find(place, key) {
            Some(i) => Cell { policy: page.policy_of(place, key).clone(), state: page.state(i).clone() },
            None => match self.room(&mut page, at) {
                Room::Shared(shared) => shared.clone(),
                Room::Own => {
                    self.leave(1);
                    Cell::new(page.policy_of(place, key).clone())
                }
            },
        };
        (cell, at)
    }
}

/// A decision taken `behind` later than the caller's `now`, in the caller's terms: durations count from its `now`.
#[inline]
fn seen_from(decision: Decision, behind: Nanos) -> Decision {
    if behind == Nanos::ZERO {
        return decision;
    }
    let later = |duration: Nanos| if duration == Nanos::ZERO { duration } else { duration.saturating_add(behind) };
    match decision {
        Decision::Allowed { remaining, reset_after, delay } => {
            Decision::Allowed { remaining, reset_after: later(reset_after), delay: later(delay) }
        }
        Decision::Denied { retry_after, remaining, reset_after } => {
            Decision::Denied { retry_after: later(retry_after), remaining, reset_after: later(reset_after) }
        }
        Decision::Never { capacity } => Decision::Never { capacity },
    }
}
