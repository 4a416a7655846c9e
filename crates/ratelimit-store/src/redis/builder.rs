//! The choices of a shared limiter.

use std::time::Duration;

use ratelimit_core::{Algorithm, Policy};
use redis::{Client, IntoConnectionInfo};

use super::caller::{Bounds, Caller};
use super::error::BuildError;
use super::key::Prefix;
use super::limiter::SharedLimiter;
use super::link::{Link, Target, tcp};
use super::replay::ReplayLimiter;
use super::script::Time;
use super::split::SplitLimiter;
use crate::fallback::share;

/// How long a call may take as a whole unless another time is set.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_millis(50);
/// How many calls may wait at a time unless another number is set.
pub const DEFAULT_MAX_CALLS: usize = 10_000;

/// The choices of a shared limiter; from [`SharedLimiter::builder`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder {
    policy: Policy,
    prefix: String,
    bounds: Bounds,
}

impl Builder {
    pub(super) fn new(policy: &Policy) -> Self {
        let bounds = Bounds { timeout: DEFAULT_TIMEOUT, most_calls: DEFAULT_MAX_CALLS };
        Builder { policy: *policy, prefix: "rl".into(), bounds }
    }

    /// What all keys of this limiter begin with, `rl` unless set: limiters with the same prefix and rule share their
    /// clients. ASCII letters, digits, `-`, `_` and `.`.
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Builder { prefix: prefix.into(), ..self }
    }

    /// How long a call may take as a whole, connecting included; 50 ms unless set.
    pub fn timeout(self, timeout: Duration) -> Self {
        Builder { bounds: Bounds { timeout, ..self.bounds }, ..self }
    }

    /// How many calls may wait for an answer at a time; further ones fail at once. 10 000 unless set.
    pub fn max_calls(self, most_calls: usize) -> Self {
        Builder { bounds: Bounds { most_calls, ..self.bounds }, ..self }
    }

    /// The limiter on one server, such as `redis://127.0.0.1:6379`; `?protocol=resp3` for RESP3. Nothing is sent yet.
    ///
    /// # Errors
    /// A policy that the scripts cannot decide exactly, a bad prefix, a bad address.
    pub fn connect(self, address: &str) -> Result<SharedLimiter, BuildError> {
        let policy = self.policy;
        let place = single(address)?;
        Ok(SharedLimiter::new(self.caller(place, Time::Server)?, &policy))
    }

    /// The limiter on a cluster, of which the addresses of some nodes are enough.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    #[cfg(feature = "redis-cluster")]
    pub fn connect_cluster(self, addresses: &[&str]) -> Result<SharedLimiter, BuildError> {
        let policy = self.policy;
        Ok(SharedLimiter::new(self.caller(cluster(addresses)?, Time::Server)?, &policy))
    }

    /// The entry for replays and tests, which takes the time: see [`ReplayLimiter`].
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_replay(self, address: &str) -> Result<ReplayLimiter, BuildError> {
        let place = single(address)?;
        Ok(ReplayLimiter::new(self.caller(place, Time::Passed)?))
    }

    /// A limiter on one server that splits the quota of each client over `parts` keys: see [`SplitLimiter`].
    ///
    /// # Errors
    /// As [`connect`](Self::connect), and parts that are none or more than the policy's capacity.
    pub fn connect_split(self, address: &str, parts: u32) -> Result<SplitLimiter, BuildError> {
        self.split(single(address)?, parts)
    }

    /// The same on a cluster, where the parts lie in different slots.
    ///
    /// # Errors
    /// As [`connect_split`](Self::connect_split).
    #[cfg(feature = "redis-cluster")]
    pub fn connect_cluster_split(self, addresses: &[&str], parts: u32) -> Result<SplitLimiter, BuildError> {
        self.split(cluster(addresses)?, parts)
    }

    fn split(self, place: Place, parts: u32) -> Result<SplitLimiter, BuildError> {
        let capacity = self.policy.capacity();
        if parts == 0 || u64::from(parts) > capacity {
            return Err(BuildError::Parts { parts, capacity });
        }
        let policy = share(&self.policy, u64::from(parts));
        let prefix = Prefix::new(&self.prefix).map_err(BuildError::Prefix)?.split();
        let caller = Caller::new(&policy, prefix, Time::Server, Link::new(place), self.bounds)?;
        Ok(SplitLimiter::new(SharedLimiter::new(caller, &policy), parts))
    }

    fn caller(&self, place: Place, time: Time) -> Result<Caller, BuildError> {
        let prefix = Prefix::new(&self.prefix).map_err(BuildError::Prefix)?;
        Caller::new(&self.policy, prefix, time, Link::new(place), self.bounds)
    }
}

/// Where a limiter's clients are, and the address by which it was given.
type Place = (Target, String);

fn single(address: &str) -> Result<Place, BuildError> {
    let client = address.into_connection_info().and_then(|info| Client::open(info.set_tcp_settings(tcp())));
    Ok((Target::Single(client.map_err(BuildError::Address)?), address.to_owned()))
}

#[cfg(feature = "redis-cluster")]
fn cluster(addresses: &[&str]) -> Result<Place, BuildError> {
    let client = super::cluster::client(addresses).map_err(BuildError::Address)?;
    Ok((Target::Cluster(Box::new(client)), addresses.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_command_waits_for_an_acknowledgement() {
        for address in ["redis://127.0.0.1:6379", "redis://user:word@127.0.0.1:6379/3?protocol=resp3"] {
            let Ok((Target::Single(client), _)) = single(address) else { panic!("{address} is one server") };
            assert!(client.get_connection_info().tcp_settings().nodelay(), "{address}");
        }
    }
}
