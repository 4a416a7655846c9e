//! All clients: the pages that keep them, and what they share.

use std::sync::Arc;

use ratelimit_core::{Algorithm, Decision, Nanos};

use super::answer::Answer;
use super::hash::KeyHash;
use super::key::KeyForm;
use super::latch::Latch;
use super::page::{Answers, Page, fresh_at};
use super::pages::Pages;
use super::rules::Rules;
use super::stats::Stats;
use crate::cell::{Cell, lock, try_lock};
use crate::sync::{AtomicU64, AtomicUsize, Mutex, MutexGuard, Ordering};
use crate::wait::{Gate, Pass};

/// Pages that a newcomer looks into for a client to forget, when the table is full.
const PAGES_TO_ASK: usize = 32;

/// Pages that are swept on one such occasion: a client for every few answers.
const PAGES_TO_SWEEP: usize = 2;

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
enum Room<'a, P: Algorithm, K: KeyForm> {
    /// A place of its own.
    Own(Place<'a, P, K>),
    /// The shared state.
    Shared(MutexGuard<'a, Cell<P>>),
}

/// A place that is counted as taken: given back when it is dropped, also by a policy that panics.
struct Place<'a, P: Algorithm, K: KeyForm>(&'a Table<P, K>);

impl<P: Algorithm, K: KeyForm> Place<'_, P, K> {
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl<P: Algorithm, K: KeyForm> Drop for Place<'_, P, K> {
    fn drop(&mut self) {
        self.0.leave(1);
    }
}

impl<P: Algorithm + Clone, K: KeyForm> Table<P, K> {
    pub(super) fn new(policy: P, max_clients: usize) -> Self {
        Self::with_hash(KeyHash::random(), policy, max_clients)
    }

    pub(super) fn with_hash(hash: KeyHash, policy: P, max_clients: usize) -> Self {
        let rules = Arc::new(Rules::new(policy.clone()));
        Table {
            hash,
            pages: Pages::new(rules, max_clients),
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
    pub(super) fn check<A: Answer>(&self, key: &[u8], now: Nanos, cost: u64) -> A {
        self.check_somewhere(key, now, cost).0
    }

    /// The answer, and whether it was the shared state that was asked.
    #[inline]
    fn check_somewhere<A: Answer>(&self, key: &[u8], now: Nanos, cost: u64) -> (A, bool) {
        let fingerprint = self.hash.of(key);
        let mut page = self.pages.lock(fingerprint);
        let found = page.find(fingerprint, key);
        let newcomer = found.is_none();
        let (answer, shared): (A, bool) = match found {
            Some(i) => (page.decide(i, now, cost), false),
            None => self.check_newcomer(&mut page, fingerprint, key, now, cost),
        };
        let answers = page.count(answer.is_allowed());
        drop(page);
        if newcomer {
            self.grow();
        }
        if answer.is_never() {
            self.totals.never.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(answers) = answers {
            self.keep_house(answers, now);
        }
        (answer, shared)
    }

    fn check_newcomer<A: Answer>(
        &self,
        page: &mut Page<P, K>,
        fingerprint: u64,
        key: &[u8],
        now: Nanos,
        cost: u64,
    ) -> (A, bool) {
        match self.room(page, now) {
            Room::Shared(mut shared) => {
                let Cell { policy, state } = &mut *shared;
                (A::of(policy, state, now, cost), true)
            }
            Room::Own(place) => {
                let (answer, state) = page.decide_new(fingerprint, key, now, cost);
                self.settle(page, place, fingerprint, key, state, now);
                (answer, false)
            }
        }
    }

    pub(super) fn peek(&self, key: &[u8], now: Nanos, cost: u64) -> Decision {
        let fingerprint = self.hash.of(key);
        let page = self.pages.lock(fingerprint);
        match page.find(fingerprint, key) {
            Some(i) => page.peek(i, now, cost),
            None if self.has_room(&page, now) => page.decide_new(fingerprint, key, now, cost).0,
            None => lock(&self.overflow).peek(now, cost),
        }
    }

    /// Debt needs a place: of what is charged in a full table, the shared state takes no more than it has free, so that one
    /// newcomer's debt does not keep all others out.
    pub(super) fn charge(&self, key: &[u8], now: Nanos, cost: u64) {
        let fingerprint = self.hash.of(key);
        let mut page = self.pages.lock(fingerprint);
        if let Some(i) = page.find(fingerprint, key) {
            page.charge(i, now, cost);
            return;
        }
        match self.room(&mut page, now) {
            Room::Shared(mut shared) => shared.charge_up_to_capacity(now, cost),
            Room::Own(place) => {
                let state = page.charge_new(fingerprint, key, now, cost);
                self.settle(&mut page, place, fingerprint, key, state, now);
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
        self.pages.iter().map(|page| self.forget(&mut page.lock(), now)).sum()
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
            let answers = page.lock().answers();
            stats.allowed += u64::from(answers.allowed);
            stats.denied += u64::from(answers.denied);
        }
        // A `Never` is counted among the page's refusals too.
        stats.denied = stats.denied.saturating_sub(stats.never);
        stats
    }

    /// Keeps a newcomer in its place, unless it has used nothing: law 7 says there is nothing to keep.
    fn settle(
        &self,
        page: &mut Page<P, K>,
        place: Place<'_, P, K>,
        fingerprint: u64,
        key: &[u8],
        state: P::State,
        now: Nanos,
    ) {
        let at = page.effective(now);
        if page.policy_of(fingerprint, key).is_fresh(&state, at) {
            return;
        }
        if page.is_packed() {
            self.forget(page, now.saturating_sub(GRACE));
        }
        let fresh_at = fresh_at(page.policy_of(fingerprint, key), &state, at);
        page.insert(fingerprint, K::keep(key), state, fresh_at);
        place.keep();
    }

    /// Splits a page when there are more clients than the pages in use are for, unless somebody is at it.
    pub(super) fn grow(&self) {
        if self.pages.is_crowded(self.len())
            && let Some(_one_at_a_time) = try_lock(&self.change)
        {
            self.pages.split();
        }
    }

    /// A place for a newcomer to `page`: a free one, or that of a client that is fresh, or the shared state. What is
    /// forgotten in other pages is so at the caller's time, which the floor of this one does not change.
    fn room(&self, page: &mut Page<P, K>, now: Nanos) -> Room<'_, P, K> {
        if self.enter() || self.take_over(page, now) || self.take_over_elsewhere(now) {
            return Room::Own(Place(self));
        }
        self.totals.overflow.fetch_add(1, Ordering::Relaxed);
        Room::Shared(lock(&self.overflow))
    }

    /// Whether [`room`](Self::room) would find a place, as far as can be seen: nothing is taken or forgotten.
    fn has_room(&self, page: &Page<P, K>, now: Nanos) -> bool {
        let fresh_in = |page: &Latch<Page<P, K>>| page.try_lock().is_some_and(|page| page.has_fresh(now));
        self.len() < self.max_clients
            || page.has_fresh(now)
            || (0..PAGES_TO_ASK.min(self.pages.active())).any(|places| fresh_in(self.pages.ahead(places)))
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
        (0..PAGES_TO_ASK.min(self.pages.active()))
            .any(|_| self.pages.next().try_lock().is_some_and(|mut page| self.take_over(&mut page, now)))
    }

    fn forget(&self, page: &mut Page<P, K>, now: Nanos) -> usize {
        let forgotten = page.forget_fresh(now);
        if forgotten > 0 {
            self.totals.evicted.fetch_add(forgotten as u64, Ordering::Relaxed);
            self.leave(forgotten);
        }
        forgotten
    }

    /// Once in a while: adds the answers of a page to the totals, and sweeps the pages whose turn it is.
    #[cold]
    fn keep_house(&self, answers: Answers, now: Nanos) {
        self.totals.allowed.fetch_add(u64::from(answers.allowed), Ordering::Relaxed);
        self.totals.denied.fetch_add(u64::from(answers.denied), Ordering::Relaxed);
        for _ in 0..PAGES_TO_SWEEP {
            self.forget(&mut self.pages.next().lock(), now.saturating_sub(GRACE));
        }
    }
}

/// Where waiters pass: see [`wait`](crate::wait).
impl<P: Algorithm + Clone, K: KeyForm> Gate for Table<P, K> {
    type Policy = P;

    fn check(&self, key: &[u8], now: Nanos, cost: u64) -> Pass {
        let (decision, shared) = self.check_somewhere(key, now, cost);
        Pass { decision, shared }
    }

    fn peek(&self, key: &[u8], now: Nanos, cost: u64) -> Decision {
        Table::peek(self, key, now, cost)
    }

    #[cfg(feature = "async")]
    fn refund(&self, key: &[u8], cost: u64, shared: bool) {
        if shared {
            lock(&self.overflow).refund(cost);
        } else {
            Table::refund(self, key, cost);
        }
    }

    fn copy(&self, key: &[u8], now: Nanos) -> (Cell<P>, Nanos) {
        let fingerprint = self.hash.of(key);
        let page = self.pages.lock(fingerprint);
        let own = |state: Option<&P::State>| {
            let policy = page.policy_of(fingerprint, key).clone();
            let state = state.cloned().unwrap_or_else(|| policy.fresh());
            (Cell { policy, state }, page.effective(now))
        };
        match page.find(fingerprint, key) {
            Some(i) => own(Some(page.state(i))),
            None if self.has_room(&page, now) => own(None),
            None => (lock(&self.overflow).clone(), now),
        }
    }
}

#[cfg(all(test, not(loom_model)))]
mod tests {
    use super::super::key::Exact;
    use super::*;
    use ratelimit_core::FixedWindow;

    /// A panic under the lock of changes, as of a policy that cannot be migrated, stops no page from being split.
    #[test]
    fn the_table_grows_after_a_panic() {
        let policy = FixedWindow::per(1, std::time::Duration::from_secs(1)).unwrap();
        let table: Table<FixedWindow, Exact> = Table::new(policy, 100_000);
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _held = lock(&table.change);
            panic!("a policy that cannot be migrated");
        }));
        assert!(panic.is_err());
        for i in 0..5_000_u32 {
            let _: Decision = table.check(&i.to_be_bytes(), Nanos::ZERO, 1);
        }
        assert!(table.pages.active() > 400, "{} pages", table.pages.active());
    }
}

/// Run by `scripts/test` in a build of their own, where there is one page to begin with and the second client splits it.
#[cfg(all(test, loom_model))]
mod model {
    use std::time::Duration;

    use loom::thread;
    use ratelimit_core::TokenBucket;

    use super::super::key::Exact;
    use super::*;

    const NOW: Nanos = Nanos::from_secs(1_000);

    fn table(max_clients: usize) -> Arc<Table<TokenBucket, Exact>> {
        let policy = TokenBucket::per(1, Duration::from_secs(3_600)).unwrap().burst(2).unwrap();
        Arc::new(Table::with_hash(KeyHash::with_secret((1, 2)), policy, max_clients))
    }

    fn check(table: &Table<TokenBucket, Exact>, key: &[u8], now: Nanos, cost: u64) -> Decision {
        table.check(key, now, cost)
    }

    /// Clients that are found where their fingerprints lead, each once.
    fn found(table: &Table<TokenBucket, Exact>, keys: &[[u8; 1]]) -> usize {
        let is_there = |key: &&[u8; 1]| {
            let fingerprint = table.hash.of(*key);
            table.pages.lock(fingerprint).find(fingerprint, *key).is_some()
        };
        keys.iter().filter(is_there).count()
    }

    /// A client that the first split moves to the new page.
    fn mover(table: &Table<TokenBucket, Exact>) -> [u8; 1] {
        (0..=u8::MAX).map(|byte| [byte]).find(|key| table.hash.of(key) % 2 == 1).unwrap()
    }

    /// Two threads ask for one client while newcomers have its page split: two units, not one more or less.
    #[test]
    fn a_client_is_limited_exactly_while_its_page_is_split() {
        loom::model(|| {
            let table = table(8);
            let mover = mover(&table);
            let newcomer = [mover[0].wrapping_add(1)];
            check(&table, &mover, NOW, 1);
            let elsewhere = Arc::clone(&table);
            let other = thread::spawn(move || {
                assert!(check(&elsewhere, &newcomer, NOW, 1).is_allowed());
                assert_eq!(elsewhere.pages.active(), 2);
                u32::from(check(&elsewhere, &mover, NOW, 1).is_allowed())
            });
            let allowed = u32::from(check(&table, &mover, NOW, 1).is_allowed());
            assert_eq!(allowed + other.join().unwrap(), 1);
            assert_eq!((table.len(), found(&table, &[mover, newcomer])), (2, 2));
        });
    }

    /// A client is asked for while its page is split.
    #[test]
    fn a_split_hides_nobody() {
        loom::model(|| {
            let table = table(8);
            let mover = mover(&table);
            check(&table, &mover, NOW, 1);
            let elsewhere = Arc::clone(&table);
            let other = thread::spawn(move || elsewhere.pages.split());
            let allowed = [1, 1].map(|cost| check(&table, &mover, NOW, cost).is_allowed());
            other.join().unwrap();
            assert_eq!((allowed, found(&table, &[mover])), ([true, false], 1));
        });
    }

    /// Two newcomers, one place: one of them is kept, and the other shares.
    #[test]
    fn the_last_place_is_taken_once() {
        loom::model(|| {
            let table = table(1);
            let elsewhere = Arc::clone(&table);
            let other = thread::spawn(move || check(&elsewhere, b"b", NOW, 1));
            check(&table, b"a", NOW, 1);
            other.join().unwrap();
            assert_eq!((table.len(), table.stats().overflow, found(&table, &[*b"a", *b"b"])), (1, 1, 1));
        });
    }

    /// A full table whose only client is fresh: two newcomers want its place, and a reset would free it too.
    #[test]
    fn a_place_is_taken_over_or_given_back_once() {
        loom::model(|| {
            let table = table(1);
            check(&table, b"a", Nanos::ZERO, 1);
            let later = Nanos::from_secs(10_000_000);
            let elsewhere = Arc::clone(&table);
            let other = thread::spawn(move || {
                check(&elsewhere, b"b", later, 1);
                elsewhere.reset(b"a")
            });
            check(&table, b"c", later, 1);
            other.join().unwrap();
            let kept = found(&table, &[*b"a", *b"b", *b"c"]);
            assert_eq!(table.len(), kept);
            assert!(kept <= 1);
        });
    }
}
