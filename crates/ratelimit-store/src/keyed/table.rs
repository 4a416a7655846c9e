//! All clients: the pages that keep them, and what they share.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use ratelimit_core::{Algorithm, Decision, Nanos};

use super::hash::KeyHash;
use super::key::KeyForm;
use super::page::{Answers, Page, fresh_at};
use super::pages::Pages;
use super::rules::Rules;
use super::stats::Stats;
use crate::cell::{Cell, lock};
use crate::wait::Gate;

/// Pages that a newcomer looks into for a client to forget, when the table is full.
const PAGES_TO_ASK: usize = 32;

/// While there is room, clients are forgotten only when they have been fresh for so long: who comes back soon keeps its place,
/// and a clock that steps back by less meets no forgetting.
const GRACE: Nanos = Nanos::from_secs(10);

/// See the module. Locks are taken in this order: `change`, a page, `overflow`. A second page is only ever tried, but by a
/// split.
pub(super) struct Table<P: Algorithm, K> {
    pub(super) hash: KeyHash,
    pub(super) pages: Pages<P, K>,
    max_clients: usize,
    /// Clients kept; at most `max_clients`.
    tracked: AtomicUsize,
    /// What the newcomers to a full table share.
    pub(super) overflow: Mutex<Cell<P>>,
    /// Held while the rules of all pages change, and while one is split: such changes come one after the other.
    pub(super) change: Mutex<()>,
    totals: Totals,
}

/// Counts of what happened; the pages hold a few answers more. On cache lines of their own, two since processors fetch
/// lines in pairs: whoever counts must not take from the others what every call reads.
#[derive(Default)]
#[repr(align(128))]
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
        let rules = Arc::new(Rules::new(policy.clone()));
        Table {
            hash,
            pages: Pages::new(&rules, max_clients),
            max_clients,
            tracked: AtomicUsize::new(0),
            overflow: Mutex::new(Cell::new(policy)),
            change: Mutex::new(()),
            totals: Totals::default(),
        }
    }
}

impl<P: Algorithm, K: KeyForm> Table<P, K> {
    #[inline]
    pub(super) fn check(&self, key: &[u8], now: Nanos, cost: u64) -> Decision {
        let fingerprint = self.hash.of(key);
        let mut page = self.pages.lock(fingerprint);
        let at = page.effective(now);
        let found = page.find(fingerprint, key);
        let newcomer = found.is_none();
        let mut decision = match found {
            Some(i) => page.decide(i, at, cost),
            None => self.check_newcomer(&mut page, fingerprint, key, at, cost),
        };
        if at > now {
            decision = seen_from(decision, at.saturating_sub(now));
        }
        let answers = page.count(decision.is_allowed());
        drop(page);
        if newcomer {
            self.grow();
        }
        if matches!(decision, Decision::Never { .. }) {
            self.totals.never.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(answers) = answers {
            self.keep_house(answers, now);
        }
        decision
    }

    fn check_newcomer(&self, page: &mut Page<P, K>, fingerprint: u64, key: &[u8], now: Nanos, cost: u64) -> Decision {
        match self.room(page, now) {
            Room::Shared(mut shared) => shared.decide(now, cost),
            Room::Own => {
                let policy = page.policy_of(fingerprint, key);
                let mut state = policy.fresh();
                let decision = policy.decide(&mut state, now, cost);
                self.settle(page, fingerprint, key, state, now);
                decision
            }
        }
    }

    pub(super) fn peek(&self, key: &[u8], now: Nanos, cost: u64) -> Decision {
        let fingerprint = self.hash.of(key);
        let mut page = self.pages.lock(fingerprint);
        let at = page.effective(now);
        let decision = match page.find(fingerprint, key) {
            Some(i) => page.peek(i, at, cost),
            None => match self.room(&mut page, at) {
                Room::Shared(shared) => shared.peek(at, cost),
                Room::Own => {
                    self.leave(1);
                    let policy = page.policy_of(fingerprint, key);
                    policy.peek(&policy.fresh(), at, cost)
                }
            },
        };
        seen_from(decision, at.saturating_sub(now))
    }

    pub(super) fn charge(&self, key: &[u8], now: Nanos, cost: u64) {
        let fingerprint = self.hash.of(key);
        let mut page = self.pages.lock(fingerprint);
        let at = page.effective(now);
        if let Some(i) = page.find(fingerprint, key) {
            page.charge(i, at, cost);
            return;
        }
        match self.room(&mut page, at) {
            Room::Shared(mut shared) => shared.charge(at, cost),
            Room::Own => {
                let policy = page.policy_of(fingerprint, key);
                let mut state = policy.fresh();
                policy.charge(&mut state, at, cost);
                self.settle(&mut page, fingerprint, key, state, at);
                drop(page);
                self.grow();
            }
        }
    }

    pub(super) fn refund(&self, key: &[u8], cost: u64) -> bool {
        let fingerprint = self.hash.of(key);
        let mut page = self.pages.lock(fingerprint);
        let found = page.find(fingerprint, key);
        if let Some(i) = found {
            page.refund(i, cost);
        }
        found.is_some()
    }

    pub(super) fn reset(&self, key: &[u8]) -> bool {
        let fingerprint = self.hash.of(key);
        let mut page = self.pages.lock(fingerprint);
        let found = page.find(fingerprint, key);
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
        for page in self.pages.iter() {
            let answers = lock(page).answers();
            stats.allowed += u64::from(answers.allowed);
            stats.denied += u64::from(answers.denied);
        }
        // A `Never` is counted among the page's refusals too.
        stats.denied = stats.denied.saturating_sub(stats.never);
        stats
    }

    /// Keeps a newcomer whose place has been counted, unless it has used nothing: law 7 says there is nothing to keep.
    fn settle(&self, page: &mut Page<P, K>, fingerprint: u64, key: &[u8], state: P::State, now: Nanos) {
        if page.policy_of(fingerprint, key).is_fresh(&state, now) {
            self.leave(1);
            return;
        }
        if page.is_packed() {
            self.forget(page, now.saturating_sub(GRACE));
        }
        let fresh_at = fresh_at(page.policy_of(fingerprint, key), &state, now);
        page.insert(fingerprint, K::keep(key), state, fresh_at);
    }

    /// Splits a page when there are more clients than the pages in use are for, unless somebody is at it.
    pub(super) fn grow(&self) {
        if self.pages.is_crowded(self.len())
            && let Ok(_one_at_a_time) = self.change.try_lock()
        {
            self.pages.split();
        }
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
        (0..PAGES_TO_ASK.min(self.pages.active())).any(|_| match self.pages.next().try_lock() {
            Ok(mut page) => self.take_over(&mut page, now),
            Err(TryLockError::Poisoned(poisoned)) => self.take_over(&mut poisoned.into_inner(), now),
            Err(TryLockError::WouldBlock) => false,
        })
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
        self.forget(&mut lock(self.pages.next()), now.saturating_sub(GRACE));
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
        let fingerprint = self.hash.of(key);
        let mut page = self.pages.lock(fingerprint);
        let at = page.effective(now);
        let cell = match page.find(fingerprint, key) {
            Some(i) => Cell { policy: page.policy_of(fingerprint, key).clone(), state: page.state(i).clone() },
            None => match self.room(&mut page, at) {
                Room::Shared(shared) => shared.clone(),
                Room::Own => {
                    self.leave(1);
                    Cell::new(page.policy_of(fingerprint, key).clone())
                }
            },
        };
        (cell, at)
    }
}

/// A decision taken `behind` later than the caller's `now`, in the caller's terms: durations count from its `now`.
#[cold]
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
