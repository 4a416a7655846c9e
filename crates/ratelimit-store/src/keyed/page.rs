//! The clients of one place of the table: a short list, sorted by fingerprint.
//!
//! A lookup touches the page's cache line, with its lock and the tags that say where the client stands, and those of the client:
//! one or two. A page grows by an eighth, so that nearly all of its memory is in use, and no growth ever copies more than
//! one page.

use std::sync::Arc;

use ratelimit_core::{Algorithm, Decision, Nanos};
use thin_vec::ThinVec;

use super::answer::Answer;
use super::key::KeyForm;
use super::rules::Rules;
use super::tags::{TAGGED, Tags};

/// What is kept for one client.
#[derive(Debug)]
pub(super) struct Entry<K, S> {
    fingerprint: u64,
    key: K,
    state: S,
}

impl<K: KeyForm, S> Entry<K, S> {
    #[inline]
    fn is(&self, fingerprint: u64, key: &[u8]) -> bool {
        self.fingerprint == fingerprint && self.key.is(key)
    }

    #[inline]
    fn policy<'a, P>(&self, rules: &'a Rules<P, K>) -> &'a P {
        rules.of(self.fingerprint, |own| *own == self.key)
    }
}

/// Clients whose fingerprints lead to one place.
///
/// Invariants: `entries` is sorted by fingerprint, and `tags` are those of the first ones; every client is not fresh before `fresh_from`; no client of this
/// page has been forgotten at a time after `floor`.
#[derive(Debug)]
pub(super) struct Page<P: Algorithm, K> {
    /// One word here: length and capacity are with the clients.
    entries: ThinVec<Entry<K, P::State>>,
    tags: Tags,
    rules: Arc<Rules<P, K>>,
    /// No client is fresh earlier, so that looking for one to forget is in vain.
    fresh_from: Nanos,
    /// The latest time at which a client was forgotten: law 7 lets no later call see an earlier time.
    floor: Nanos,
    /// Answers since they were last taken.
    answers: Answers,
}

/// Numbers of answers, not yet added to the totals.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Answers {
    pub(super) allowed: u8,
    pub(super) denied: u8,
}

/// Answers of a page between two rounds of housekeeping.
const ROUND: u8 = 64;

impl<P: Algorithm, K: KeyForm> Page<P, K> {
    pub(super) fn new(rules: Arc<Rules<P, K>>) -> Self {
        Page {
            entries: ThinVec::new(),
            tags: Tags::default(),
            rules,
            fresh_from: Nanos::MAX,
            floor: Nanos::ZERO,
            answers: Answers::default(),
        }
    }

    /// The policy of a client, kept or not.
    #[inline]
    pub(super) fn policy_of(&self, fingerprint: u64, key: &[u8]) -> &P {
        self.rules.of(fingerprint, |own| own.is(key))
    }

    pub(super) fn rules(&self) -> &Arc<Rules<P, K>> {
        &self.rules
    }

    /// The time that counts: at least the latest forgetting.
    #[inline]
    pub(super) fn effective(&self, now: Nanos) -> Nanos {
        now.max(self.floor)
    }

    /// The index of the client, or `None`.
    #[expect(clippy::inline_always, reason = "the hot path: a tenth of a check goes into calls otherwise")]
    #[inline(always)]
    pub(super) fn find(&self, fingerprint: u64, key: &[u8]) -> Option<usize> {
        let is = |i: &usize| self.entries.get(*i).is_some_and(|entry| entry.is(fingerprint, key));
        self.tags.places(fingerprint).find(is).or_else(|| self.find_untagged(fingerprint, key))
    }

    /// The same among the clients of a long page that have no tag.
    fn find_untagged(&self, fingerprint: u64, key: &[u8]) -> Option<usize> {
        let rest = self.entries.get(TAGGED..)?;
        let first = rest.partition_point(|entry| entry.fingerprint < fingerprint);
        let same = rest[first..].iter().take_while(|entry| entry.fingerprint == fingerprint);
        let at = same.into_iter().position(|entry| entry.is(fingerprint, key))?;
        Some(TAGGED + first + at)
    }

    #[inline]
    pub(super) fn decide<A: Answer>(&mut self, i: usize, now: Nanos, cost: u64) -> A {
        let at = self.effective(now);
        let entry = &mut self.entries[i];
        A::of(entry.policy(&self.rules), &mut entry.state, at, cost).seen_from(now, at)
    }

    pub(super) fn peek(&self, i: usize, now: Nanos, cost: u64) -> Decision {
        let at = self.effective(now);
        let entry = &self.entries[i];
        entry.policy(&self.rules).peek(&entry.state, at, cost).seen_from(now, at)
    }

    pub(super) fn charge(&mut self, i: usize, now: Nanos, cost: u64) {
        let at = self.effective(now);
        let entry = &mut self.entries[i];
        entry.policy(&self.rules).charge(&mut entry.state, at, cost);
    }

    /// The answer to a client who is not kept, and what its state is then.
    pub(super) fn decide_new<A: Answer>(&self, fingerprint: u64, key: &[u8], now: Nanos, cost: u64) -> (A, P::State) {
        let (at, policy) = (self.effective(now), self.policy_of(fingerprint, key));
        let mut state = policy.fresh();
        let answer = A::of(policy, &mut state, at, cost);
        (answer.seen_from(now, at), state)
    }

    /// The state of a client who is not kept, after a charge.
    pub(super) fn charge_new(&self, fingerprint: u64, key: &[u8], now: Nanos, cost: u64) -> P::State {
        let policy = self.policy_of(fingerprint, key);
        let mut state = policy.fresh();
        policy.charge(&mut state, self.effective(now), cost);
        state
    }

    pub(super) fn refund(&mut self, i: usize, cost: u64) {
        let entry = &mut self.entries[i];
        entry.policy(&self.rules).refund(&mut entry.state, cost);
        // It may be fresh already.
        self.fresh_from = Nanos::ZERO;
    }

    pub(super) fn state(&self, i: usize) -> &P::State {
        &self.entries[i].state
    }

    /// Goes over to other rules: clients whose policy changes are migrated to their new one.
    pub(super) fn migrate(&mut self, rules: Arc<Rules<P, K>>, now: Nanos, changes: impl Fn(u64, &K) -> bool) {
        let now = self.effective(now);
        let migrated = |entry: &Entry<K, P::State>| {
            let changes = changes(entry.fingerprint, &entry.key);
            changes.then(|| entry.policy(&rules).migrate(entry.policy(&self.rules), &entry.state, now))
        };
        // All are migrated before any is replaced: a policy that panics leaves states and rules that belong together.
        let states: Vec<Option<P::State>> = self.entries.iter().map(migrated).collect();
        for (entry, state) in self.entries.iter_mut().zip(states) {
            if let Some(state) = state {
                entry.state = state;
            }
        }
        self.rules = rules;
        self.fresh_from = Nanos::ZERO;
    }

    /// Gives one client another policy of its own, or none, and migrates it.
    pub(super) fn set_own(
        &mut self,
        fingerprint: u64,
        key: &[u8],
        policy: Option<P>,
        now: Nanos,
        belong: impl Fn(u64) -> bool,
    ) where
        P: Clone,
    {
        let at = self.effective(now);
        let kept = self.find(fingerprint, key);
        let migrated = kept.map(|i| {
            let (entry, new) = (&self.entries[i], policy.as_ref().unwrap_or(&self.rules.default));
            new.migrate(entry.policy(&self.rules), &entry.state, at)
        });
        Arc::make_mut(&mut self.rules).set_own(fingerprint, key, policy, belong);
        if let (Some(i), Some(state)) = (kept, migrated) {
            self.entries[i].state = state;
            self.fresh_from = Nanos::ZERO;
        }
    }

    pub(super) fn remove(&mut self, i: usize) {
        self.entries.remove(i);
        self.tag_anew();
    }

    fn tag_anew(&mut self) {
        self.tags = Tags::of(self.entries.iter().map(|entry| entry.fingerprint));
    }

    /// The clients: fingerprint, key, own policy if any, state.
    #[cfg(feature = "serde")]
    pub(super) fn clients(&self) -> impl Iterator<Item = (u64, &K, Option<&P>, &P::State)> {
        self.entries.iter().map(|entry| {
            let own = self.rules.own(entry.fingerprint, |own| *own == entry.key);
            (entry.fingerprint, &entry.key, own, &entry.state)
        })
    }

    #[cfg(feature = "serde")]
    pub(super) fn floor(&self) -> Nanos {
        self.floor
    }

    /// Lets no later call see a time before `floor`.
    #[cfg(feature = "serde")]
    pub(super) fn raise_floor(&mut self, floor: Nanos) {
        self.floor = self.floor.max(floor);
    }

    /// Keeps a new client, who is fresh at `fresh_at`.
    pub(super) fn insert(&mut self, fingerprint: u64, key: K, state: P::State, fresh_at: Nanos) {
        if self.is_packed() {
            self.entries.reserve_exact((self.entries.len() / 8).max(2));
        }
        let i = self.entries.partition_point(|entry| entry.fingerprint < fingerprint);
        self.entries.insert(i, Entry { fingerprint, key, state });
        self.tags.insert(i, fingerprint);
        self.fresh_from = self.fresh_from.min(fresh_at);
    }

    /// Takes the clients out whose fingerprints go elsewhere, into a page of their own.
    pub(super) fn split(&mut self, goes: impl Fn(u64) -> bool) -> Self {
        let going = self.entries.iter().filter(|entry| goes(entry.fingerprint)).count();
        let mut entries = ThinVec::with_capacity(going + 2);
        entries.extend(self.entries.extract_if(.., |entry| goes(entry.fingerprint)));
        resize(&mut self.entries, 2);
        self.tag_anew();
        let mut page =
            Page { entries, fresh_from: self.fresh_from, floor: self.floor, ..Page::new(Arc::clone(&self.rules)) };
        page.tag_anew();
        page
    }

    /// Whether the next client makes it grow.
    pub(super) fn is_packed(&self) -> bool {
        self.entries.len() == self.entries.capacity()
    }

    /// Whether a client could be forgotten at `now`.
    pub(super) fn has_fresh(&self, now: Nanos) -> bool {
        let at = self.effective(now);
        at >= self.fresh_from && self.entries.iter().any(|entry| entry.policy(&self.rules).is_fresh(&entry.state, at))
    }

    /// Forgets the clients that are fresh at `now`, gives back room that is no longer needed, and says how many they were.
    /// Looks at no client before the earliest time at which one can be fresh.
    pub(super) fn forget_fresh(&mut self, now: Nanos) -> usize {
        let now = self.effective(now);
        if self.entries.is_empty() || now < self.fresh_from {
            return 0;
        }
        let rules = &*self.rules;
        let mut fresh_from = Nanos::MAX;
        let ask = |entry: &Entry<K, P::State>| {
            let policy = entry.policy(rules);
            let is_used = !policy.is_fresh(&entry.state, now);
            if is_used {
                fresh_from = fresh_from.min(fresh_at(policy, &entry.state, now));
            }
            is_used
        };
        // All are asked before any is taken out: a policy that panics leaves the page as it was.
        let used: Vec<bool> = self.entries.iter().map(ask).collect();
        let forgotten = used.iter().filter(|used| !**used).count();
        if forgotten > 0 {
            let mut used = used.into_iter();
            self.entries.retain(|_| used.next() != Some(false));
            self.tag_anew();
            self.floor = now;
            self.give_back_room();
        }
        self.fresh_from = fresh_from;
        forgotten
    }

    fn give_back_room(&mut self) {
        let spare = self.entries.len() / 8 + 2;
        if self.entries.is_empty() {
            self.entries = ThinVec::new();
        } else if self.entries.capacity() > 2 * (self.entries.len() + spare) {
            resize(&mut self.entries, spare);
        }
    }

    /// Counts an answer. The answers so far, when it is time to add them to the totals and to sweep elsewhere.
    #[inline]
    pub(super) fn count(&mut self, allowed: bool) -> Option<Answers> {
        if allowed {
            self.answers.allowed += 1;
        } else {
            self.answers.denied += 1;
        }
        (self.answers.allowed + self.answers.denied >= ROUND).then(|| std::mem::take(&mut self.answers))
    }

    /// Answers that are not in the totals yet.
    pub(super) fn answers(&self) -> Answers {
        self.answers
    }
}

/// Moves a list to memory for so many more.
fn resize<T>(list: &mut ThinVec<T>, spare: usize) {
    let mut moved = ThinVec::with_capacity(list.len() + spare);
    moved.append(list);
    *list = moved;
}

/// When the state will be fresh, if nothing else is charged.
pub(super) fn fresh_at<P: Algorithm>(policy: &P, state: &P::State, now: Nanos) -> Nanos {
    match policy.peek(state, now, 0) {
        Decision::Allowed { reset_after, .. } => now.saturating_add(reset_after),
        // Cost 0 is always allowed (law 1); if a foreign algorithm breaks it, the sweep has to look.
        Decision::Denied { .. } | Decision::Never { .. } => now,
    }
}

#[cfg(all(test, not(loom_model)))]
mod tests {
    use super::super::key::Fingerprint;
    use super::super::latch::Latch;
    use super::*;
    use ratelimit_core::BucketState;

    #[test]
    fn a_page_fills_one_cache_line_and_an_entry_half_of_one() {
        assert_eq!(size_of::<Latch<Page<ratelimit_core::TokenBucket, Fingerprint>>>(), 64);
        assert_eq!(size_of::<Entry<Fingerprint, BucketState>>(), 32);
    }
}
