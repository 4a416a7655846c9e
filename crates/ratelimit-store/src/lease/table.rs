//! The leases by client: a fixed number of maps behind locks, bounded together.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};

use ratelimit_core::Nanos;

use super::account::Account;
use crate::cell::lock;

const SHARDS: usize = 64;

/// One client's lease. The account is locked for a moment at a time; `taking` is held while a slice is on its way.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) account: Mutex<Account>,
    pub(super) taking: tokio::sync::Mutex<()>,
}

type Shard = HashMap<Box<[u8]>, Arc<Lease>>;

pub(super) struct Table {
    shards: Box<[Mutex<Shard>]>,
    most_a_shard: usize,
    hasher: RandomState,
    /// Where the search for leases that are over goes on.
    cursor: Mutex<usize>,
}

impl Table {
    pub(super) fn new(max_clients: usize) -> Self {
        Table {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            most_a_shard: max_clients.div_ceil(SHARDS),
            hasher: RandomState::new(),
            cursor: Mutex::new(0),
        }
    }

    fn shard(&self, key: &[u8]) -> &Mutex<Shard> {
        // The remainder is below the number of shards.
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    /// The client's lease, a new one if need be; `None` when there is no room for it.
    pub(super) fn lease(&self, key: &[u8], now: Nanos) -> Option<Arc<Lease>> {
        let mut shard = lock(self.shard(key));
        if let Some(lease) = shard.get(key) {
            return Some(Arc::clone(lease));
        }
        if shard.len() >= self.most_a_shard {
            // A lease that a task holds is in use.
            shard.retain(|_, lease| Arc::strong_count(lease) > 1 || !lock(&lease.account).is_idle(now));
            if shard.len() >= self.most_a_shard {
                return None;
            }
        }
        let lease = Arc::new(Lease { account: Mutex::new(Account::new()), taking: tokio::sync::Mutex::default() });
        shard.insert(key.into(), Arc::clone(&lease));
        Some(lease)
    }

    pub(super) fn find(&self, key: &[u8]) -> Option<Arc<Lease>> {
        lock(self.shard(key)).get(key).cloned()
    }

    pub(super) fn forget(&self, key: &[u8]) {
        if let Some(lease) = lock(self.shard(key)).remove(key) {
            lock(&lease.account).close();
        }
    }

    /// Ends leases whose time is over in the next `shards` shards: clients and what they had not spent.
    pub(super) fn close_expired(&self, now: Nanos, shards: usize) -> Vec<(Box<[u8]>, u64)> {
        let shards = shards.min(SHARDS);
        let start = {
            let mut cursor = lock(&self.cursor);
            let start = *cursor;
            *cursor = (start + shards) % SHARDS;
            start
        };
        let mut closed = Vec::new();
        for i in 0..shards {
            for (key, lease) in lock(&self.shards[(start + i) % SHARDS]).iter() {
                let mut account = lock(&lease.account);
                if account.has_expired(now) {
                    closed.push((key.clone(), account.close()));
                }
            }
        }
        closed
    }

    /// Ends all leases: clients and what they had not spent.
    pub(super) fn close_all(&self) -> Vec<(Box<[u8]>, u64)> {
        let mut closed = Vec::new();
        for shard in &self.shards {
            for (key, lease) in lock(shard).drain() {
                closed.push((key, lock(&lease.account).close()));
            }
        }
        closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_are_bounded_and_idle_ones_make_room() {
        let table = Table::new(SHARDS);
        let room = |i: u32| table.lease(&i.to_be_bytes(), Nanos::ZERO);
        let held: Vec<_> = (0..1000).filter_map(room).collect();
        assert!(held.len() <= SHARDS);
        assert!((1000..2000).all(|i| room(i).is_none()) || held.len() < SHARDS);
        drop(held);
        assert!(room(9999).is_some(), "nobody holds them, and nothing is left in them");
    }
}
