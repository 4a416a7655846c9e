//! How many connections there are: in all, and of each address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Connections at the same time; further ones wait to be accepted.
const MOST_CONNECTIONS: u32 = 512;

/// The places of a server. One address has only some of them, so that it takes several to fill them all.
#[derive(Debug)]
pub(super) struct Places {
    free: Arc<Semaphore>,
    taken: Arc<Taken>,
    an_address: usize,
}

/// Places taken by each address that has any.
type Taken = Mutex<HashMap<IpAddr, usize>>;

/// The place of one connection; free again when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    owner: IpAddr,
    taken: Arc<Taken>,
    _one: OwnedSemaphorePermit,
}

impl Places {
    pub(super) fn new(an_address: usize) -> Places {
        Places { free: Arc::new(Semaphore::new(MOST_CONNECTIONS as usize)), taken: Arc::default(), an_address }
    }

    /// Waits until one is free. Nothing if there are no places any more, which does not happen.
    pub(super) async fn one(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).acquire_owned().await.ok()
    }

    /// Gives a place to a connection of this address, if the address has not too many.
    pub(super) fn take(&self, one: OwnedSemaphorePermit, address: IpAddr) -> Option<Place> {
        let owner = owner(address);
        let mut taken = locked(&self.taken);
        let count = taken.entry(owner).or_default();
        if *count >= self.an_address {
            return None;
        }
        *count += 1;
        Some(Place { owner, taken: Arc::clone(&self.taken), _one: one })
    }

    /// Waits until all are free.
    pub(super) async fn all(&self) {
        let _all = self.free.acquire_many(MOST_CONNECTIONS).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = locked(&self.taken);
        let count = taken.get_mut(&self.owner).map_or(0, |count| {
            *count -= 1;
            *count
        });
        if count == 0 {
            taken.remove(&self.owner);
        }
    }
}

/// Who has the address: of IPv6, everybody has at least the half of an address to choose from.
fn owner(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// Counts are right whatever happened to whoever held the lock.
fn locked(taken: &Taken) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_places_and_gets_them_back() {
        let places = Places::new(2);
        let take = |address: &str| {
            let one = Arc::clone(&places.free).try_acquire_owned().unwrap();
            places.take(one, address.parse().unwrap())
        };
        let first = take("192.0.2.1").unwrap();
        let second = take("::ffff:192.0.2.1").unwrap();
        assert!(take("192.0.2.1").is_none());
        let six = [take("2001:db8::1").unwrap(), take("2001:db8::2:3").unwrap()];
        assert!(take("2001:db8::4").is_none());
        assert!(take("2001:db8:0:1::1").is_some());
        drop(first);
        assert!(take("192.0.2.1").is_some());
        drop((second, six));
        assert!(locked(&places.taken).is_empty());
        assert_eq!(places.free.available_permits(), 512);
    }
}
