//! Locks that make several policies' answers one step: a client's requests wait for one another, other clients' hardly
//! ever.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ask::Ask;

const STRIPES: usize = 256;

/// Each client of each policy belongs to one of a fixed number of locks.
pub(crate) struct Stripes {
    hash: RandomState,
    locks: Vec<Mutex<()>>,
}

impl Stripes {
    pub(crate) fn new() -> Stripes {
        Stripes { hash: RandomState::new(), locks: (0..STRIPES).map(|_| Mutex::new(())).collect() }
    }

    /// Locks all that are asked, in one order for everybody, so that nobody waits in a circle.
    pub(crate) fn lock(&self, asks: &[Ask]) -> Vec<MutexGuard<'_, ()>> {
        let mut stripes: Vec<usize> = asks.iter().map(|ask| self.stripe(ask)).collect();
        stripes.sort_unstable();
        stripes.dedup();
        // A panic under a lock leaves nothing half done: the stores lock for themselves.
        stripes.into_iter().map(|stripe| self.locks[stripe].lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    fn stripe(&self, ask: &Ask) -> usize {
        let hash = self.hash.hash_one((ask.policy, ask.key.as_bytes()));
        // The remainder is below the number of locks.
        (hash % STRIPES as u64) as usize
    }
}
