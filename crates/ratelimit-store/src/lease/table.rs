//! The leases by client: a fixed number of maps behind locks, bounded together.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};

use ratelimit_core::Nanos;
use tokio::sync::Notify;

use super::account::{Account, Back};
use super::give_back::Unspent;
use super::terms::Terms;
use crate::cell::lock;

const SHARDS: usize = 64;

/// One client's lease. The account is locked for a moment at a time.
#[derive(Debug)]
pub(super) struct Lease<E> {
    pub(super) account: Mutex<Account<E>>,
    /// Wakes those who wait for the slice that is being taken.
    pub(super) landed: Notify,
}

type Shard<E> = HashMap<Box<[u8]>, Arc<Lease<E>>>;

pub(super) struct Table<E> {
    shards: Box<[Mutex<Shard<E>>]>,
    most_a_shard: usize,
    hasher: RandomState,
    /// Where the search for leases that are over goes on.
    cursor: Mutex<usize>,
}

impl<E> Table<E> {
    pub(super) fn new(max_clients: usize) -> Self {
        Table {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            most_a_shard: max_clients.div_ceil(SHARDS),
            hasher: RandomState::new(),
            cursor: Mutex::new(0),
        }
    }

    fn shard(&self, key: &[u8]) -> &Mutex<Shard<E>> {
        // The remainder is below the number of shards.
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    /// The client's lease, a new one if need be; `None` when there is no room for it. Leases that are over make room: at
    /// once where nothing is to be given back, and otherwise when that has been done.
    pub(super) fn lease(&self, key: &[u8], now: Nanos, terms: &Terms) -> (Option<Arc<Lease<E>>>, Vec<Unspent<E>>) {
        let mut shard = lock(self.shard(key));
        if let Some(lease) = shard.get(key) {
            return (Some(Arc::clone(lease)), Vec::new());
        }
        let mut unspent = Vec::new();
        if shard.len() >= self.most_a_shard {
            unspent = close_in(&shard, |account| account.expire(now, terms));
            // A lease that a task holds is in use.
            shard.retain(|_, lease| Arc::strong_count(lease) > 1 || !lock(&lease.account).is_idle(now));
            if shard.len() >= self.most_a_shard {
                return (None, unspent);
            }
        }
        let lease = Arc::new(Lease { account: Mutex::new(Account::new()), landed: Notify::new() });
        shard.insert(key.into(), Arc::clone(&lease));
        (Some(lease), unspent)
    }

    pub(super) fn find(&self, key: &[u8]) -> Option<Arc<Lease<E>>> {
        lock(self.shard(key)).get(key).cloned()
    }

    /// Ends leases whose time is over in the next `shards` shards.
    pub(super) fn close_expired(&self, now: Nanos, terms: &Terms, shards: usize) -> Vec<Unspent<E>> {
        let shards = shards.min(SHARDS);
        let start = {
            let mut cursor = lock(&self.cursor);
            let start = *cursor;
            *cursor = (start + shards) % SHARDS;
            start
        };
        let next = (start..start + shards).map(|i| &self.shards[i % SHARDS]);
        next.flat_map(|shard| close_in(&lock(shard), |account| account.expire(now, terms))).collect()
    }

    /// Ends all leases.
    pub(super) fn close_all(&self, now: Nanos, terms: &Terms) -> Vec<Unspent<E>> {
        self.shards.iter().flat_map(|shard| close_in(&lock(shard), |account| account.close(now, terms))).collect()
    }
}

/// Ends the leases that `close` ends. The accounts stay in the table, where a slice that is on its way finds them.
fn close_in<E>(shard: &Shard<E>, close: impl Fn(&mut Account<E>) -> Option<Back>) -> Vec<Unspent<E>> {
    let mut unspent = Vec::new();
    for (key, lease) in shard {
        let back = close(&mut lock(&lease.account));
        unspent.extend(back.map(|back| Unspent::new(key, lease, back)));
    }
    unspent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_are_bounded_and_idle_ones_make_room() {
        let terms = Terms::new(&"token-bucket:64/1s".parse().unwrap(), 1, Nanos::from_secs(1)).unwrap();
        let table: Table<()> = Table::new(SHARDS);
        let room = |i: u32| table.lease(&i.to_be_bytes(), Nanos::ZERO, &terms).0;
        let held: Vec<_> = (0..1000).filter_map(room).collect();
        assert!(held.len() <= SHARDS);
        assert!((1000..2000).all(|i| room(i).is_none()) || held.len() < SHARDS);
        drop(held);
        assert!(room(9999).is_some(), "nobody holds them, and nothing is left in them");
    }
}
