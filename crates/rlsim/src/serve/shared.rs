//! A limit in Redis, with this server's own decisions while Redis is away, and a note of who decided.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use ratelimit_core::{Decision, Policy};
use ratelimit_store::redis::SharedLimiter;
use ratelimit_store::{Backend, Clock, Fallback, Source as StoreSource};

use super::limits::Source;
use crate::error::{Error, Result};

/// See the module.
pub(super) struct Noted {
    limiter: Fallback<SharedLimiter, Arc<dyn Clock>>,
    path: Arc<str>,
    source: Arc<Source>,
}

impl Noted {
    /// The limit of `path` on the server at `url`. Nothing is sent yet: a Redis that is away is no error. While it is, this
    /// server's clock tells the time.
    pub(super) fn connect(
        url: &str,
        path: &str,
        policy: &Policy,
        source: Arc<Source>,
        clock: Arc<dyn Clock>,
    ) -> Result<Noted> {
        let prefix = format!("rlsim.{}", path.trim_start_matches('/').replace('/', "."));
        let shared = SharedLimiter::builder(*policy).prefix(prefix).connect(url);
        let shared = shared.map_err(|error| Error::usage(format!("--redis: {error}")))?;
        let limiter = Fallback::builder(shared, *policy).clock(clock).build();
        Ok(Noted { limiter, path: path.into(), source })
    }
}

type Boxed<T> = Pin<Box<dyn Future<Output = std::result::Result<T, Infallible>> + Send>>;

impl Backend for Noted {
    type Error = Infallible;
    type Decide = Boxed<Decision>;
    type Change = Boxed<()>;

    fn check_n(&self, key: &[u8], cost: u64) -> Self::Decide {
        let (limiter, key) = (self.limiter.clone(), key.to_vec());
        let (path, source) = (Arc::clone(&self.path), Arc::clone(&self.source));
        Box::pin(async move {
            let answer = limiter.check_n(&key, cost).await;
            source.note(&path, answer.source == StoreSource::Shared);
            Ok(answer.decision)
        })
    }

    fn peek(&self, key: &[u8], cost: u64) -> Self::Decide {
        Backend::peek(&self.limiter, key, cost)
    }

    fn charge(&self, key: &[u8], cost: u64) -> Self::Change {
        Backend::charge(&self.limiter, key, cost)
    }

    fn refund(&self, key: &[u8], cost: u64) -> Self::Change {
        Backend::refund(&self.limiter, key, cost)
    }

    fn reset(&self, key: &[u8]) -> Self::Change {
        Backend::reset(&self.limiter, key)
    }
}
