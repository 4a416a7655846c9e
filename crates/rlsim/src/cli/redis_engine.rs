//! Redis as the engine of a replay: the scripts that servers share a limit by, told the time of the trace.

use std::collections::HashSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ratelimit_core::{Decision, Nanos, Policy};
use ratelimit_store::redis::{ReplayLimiter, SharedError, SharedLimiter};
use tokio::runtime::{Builder, Runtime};

use crate::error::{Error, Result};
use crate::replay::Decider;

/// A replay has time; what takes this long is broken.
const TIMEOUT: Duration = Duration::from_secs(10);

/// One policy on one server, under keys of its own, which are removed at the end.
pub(super) struct Redis {
    limiter: ReplayLimiter,
    runtime: Runtime,
    url: String,
    clients: HashSet<Box<[u8]>>,
}

impl Redis {
    pub(super) fn new(policy: &Policy, url: &str) -> Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::failed(format!("--engine redis: no runtime: {error}")))?;
        // Nobody else replays in this process at this instant; the report does not depend on the name.
        let instant = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let limiter = SharedLimiter::builder(*policy)
            .prefix(format!("rlsim-{}-{instant}", std::process::id()))
            .timeout(TIMEOUT)
            .connect_replay(url)
            .map_err(|error| Error::usage(format!("--engine redis: {error}")))?;
        Ok(Redis { limiter, runtime, url: url.to_owned(), clients: HashSet::new() })
    }

    fn failed(&self, error: &SharedError) -> Error {
        Error::failed(format!("--engine redis: {}: {error}; --redis URL names another server", self.url))
    }
}

impl Decider for Redis {
    fn decide(&mut self, client: &[u8], now: Nanos, cost: u64) -> Result<Decision> {
        if !self.clients.contains(client) {
            self.clients.insert(client.into());
        }
        self.runtime.block_on(self.limiter.check_n_at(client, now, cost)).map_err(|error| self.failed(&error))
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        for client in &self.clients {
            // What cannot be removed expires by itself.
            if self.runtime.block_on(self.limiter.reset(client)).is_err() {
                return;
            }
        }
    }
}
