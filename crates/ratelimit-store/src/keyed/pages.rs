//! Which page holds which clients: linear hashing, so that the table follows the number of clients and is never rebuilt.
//!
//! Only as many pages are in use as the clients need: few clients lie close together, and a million of them lie in pages as
//! full as those of a thousand. The table grows by splitting one page into
//! two; that is the most that one call ever does.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, OnceLock};

use ratelimit_core::Algorithm;

use super::key::KeyForm;
use super::latch::{Latch, LatchGuard};
use super::page::Page;
use super::rules::Rules;
use crate::sync::{AtomicUsize, Ordering};

/// Clients to a page, on average. A page that is to be split next holds up to twice as many, of
/// whom the last few have no tag.
const CLIENTS_A_PAGE: usize = if cfg!(loom_model) { 1 } else { 12 };
/// Pages in use from the start, so that threads seldom meet at one.
const FEWEST: usize = if cfg!(loom_model) { 1 } else { 64 };
/// More pages are not made; beyond 50 million clients they are longer instead.
const MOST: usize = 1 << 22;
/// Pages that are made together, at most: 16 KiB.
const CHUNK: usize = if cfg!(loom_model) { 2 } else { 256 };

/// All pages.
pub(super) struct Pages<P: Algorithm, K> {
    /// Pages are made, empty, when the first of a chunk is needed.
    chunks: Box<[OnceLock<Chunk<P, K>>]>,
    /// The most pages that are ever in use.
    most: usize,
    /// Pages in use; it only grows. Written under the lock of the page that is split.
    active: AtomicUsize,
    next: Turn,
    /// Of pages that are not in use yet; a split gives a new page those of the old.
    rules: Arc<Rules<P, K>>,
}

/// A panic of a policy leaves pages whole, and nothing here is changed by one.
impl<P: Algorithm, K> UnwindSafe for Pages<P, K> {}
impl<P: Algorithm, K> RefUnwindSafe for Pages<P, K> {}

type Chunk<P, K> = Box<[Latch<Page<P, K>>]>;

/// The page that is swept next, modulo the pages in use. It changes often, so it shares no cache line with what all calls read.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Turn(AtomicUsize);

impl<P: Algorithm, K: KeyForm> Pages<P, K> {
    pub(super) fn new(rules: Arc<Rules<P, K>>, max_clients: usize) -> Self {
        let most = max_clients.div_ceil(CLIENTS_A_PAGE).clamp(1, MOST);
        Pages {
            chunks: (0..most.div_ceil(CHUNK)).map(|_| OnceLock::new()).collect(),
            most,
            active: AtomicUsize::new(FEWEST.min(most)),
            next: Turn::default(),
            rules,
        }
    }

    /// The page at `index`, which is below `most`.
    #[inline]
    fn page(&self, index: usize) -> &Latch<Page<P, K>> {
        &self.chunks[index / CHUNK].get_or_init(|| self.chunk(index / CHUNK))[index % CHUNK]
    }

    #[cold]
    fn chunk(&self, chunk: usize) -> Chunk<P, K> {
        let pages = CHUNK.min(self.most - chunk * CHUNK);
        (0..pages).map(|_| Latch::new(Page::new(Arc::clone(&self.rules)))).collect()
    }

    /// The page of a client, locked.
    #[expect(clippy::inline_always, reason = "the hot path: a tenth of a check goes into calls otherwise")]
    #[inline(always)]
    pub(super) fn lock(&self, fingerprint: u64) -> LatchGuard<'_, Page<P, K>> {
        loop {
            let active = self.active();
            let index = address(fingerprint, active);
            let page = self.page(index).lock();
            // Clients leave a page only while it is split, under this very lock: if this is the page now, it stays so.
            let now_active = self.active();
            if now_active == active || address(fingerprint, now_active) == index {
                return page;
            }
        }
    }

    /// Every page in use, also those that come into use meanwhile.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Latch<Page<P, K>>> {
        (0..).take_while(|index| *index < self.active()).map(|index| self.page(index))
    }

    /// Number of pages in use.
    pub(super) fn active(&self) -> usize {
        self.active.load(Ordering::Acquire)
    }

    /// The pages in use, one after the other.
    pub(super) fn next(&self) -> &Latch<Page<P, K>> {
        self.page(self.next.0.fetch_add(1, Ordering::Relaxed) % self.active())
    }

    /// The page that comes so many places after the one whose turn it is, which it stays.
    pub(super) fn ahead(&self, places: usize) -> &Latch<Page<P, K>> {
        self.page(self.next.0.load(Ordering::Relaxed).wrapping_add(places) % self.active())
    }

    /// Whether two clients lie in one page, of which the caller holds the lock.
    pub(super) fn same(&self, one: u64, other: u64) -> bool {
        let active = self.active();
        address(one, active) == address(other, active)
    }

    /// Whether so many clients deserve another page.
    pub(super) fn is_crowded(&self, clients: usize) -> bool {
        let active = self.active();
        clients / CLIENTS_A_PAGE > active && active < self.most
    }

    /// Splits the page whose turn it is. One caller at a time.
    pub(super) fn split(&self) {
        let active = self.active();
        if active >= self.most {
            return;
        }
        let (old, new) = (self.page(active - floor_power(active)), self.page(active));
        let mut page = old.lock();
        // Nobody finds the new page before `active` is written; the locks are taken in the order of the pages.
        *new.lock() = page.split(|fingerprint| address(fingerprint, active + 1) == active);
        self.active.store(active + 1, Ordering::Release);
    }
}

/// The page of a fingerprint among so many, at least 1: by its lowest bits, as many as reach that far, or one less where
/// that page is not there yet.
#[inline]
fn address(fingerprint: u64, active: usize) -> usize {
    let power = floor_power(active);
    // Below 2 * power, so nothing that counts is cut off where usize is smaller.
    let index = fingerprint as usize & (2 * power - 1);
    if index < active { index } else { index & (power - 1) }
}

/// The largest power of two that is at most `active`.
#[inline]
fn floor_power(active: usize) -> usize {
    1 << active.ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys that crowd one page of a limiter whose secret is known do not crowd another's: an attacker who has none finds no
    /// such keys.
    #[test]
    fn keys_chosen_against_one_secret_spread_out_under_another() {
        use crate::keyed::hash::KeyHash;
        let known = KeyHash::with_secret((1, 2));
        let pages = 1_024;
        let chosen: Vec<[u8; 8]> =
            (0_u64..).map(u64::to_be_bytes).filter(|key| address(known.of(key), pages) == 7).take(2_000).collect();
        let random = KeyHash::random();
        let mut longest = vec![0; pages];
        for key in &chosen {
            longest[address(random.of(key), pages)] += 1;
        }
        // Two on average; twenty in one of a thousand pages happens less than once in 10^10 runs.
        assert!(longest.iter().max() < Some(&20), "{longest:?}");
    }

    /// A split moves clients from the page it splits to the new one, and none elsewhere.
    #[test]
    fn only_the_page_that_is_split_loses_clients() {
        for active in 1..200 {
            let split = active - floor_power(active);
            for fingerprint in 0..2_000 {
                let (before, after) = (address(fingerprint, active), address(fingerprint, active + 1));
                assert!(before < active);
                assert!(after == before || (before == split && after == active));
            }
        }
    }
}
