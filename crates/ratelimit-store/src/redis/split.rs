//! A hot client's quota split over several keys, which a cluster keeps in different slots.
//!
//! One client's keys lie in one slot, so one node serves all its requests. Where that node is the limit, K parts of the
//! quota (each with `limit / K`) under K keys spread the load over K slots; each request asks one of them, in turn, and
//! after a denial one more.
//!
//! What it costs: the parts together never admit more than the whole, and less in three ways. Limits and bursts are
//! rounded down to the part; a cost larger than a part never passes; and a request may be denied by the parts that it
//! asked while another has room, at most by what K - 2 parts hold. A [lease](crate::lease) often serves better.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ratelimit_core::Decision;

use super::error::SharedError;
use super::limiter::SharedLimiter;
use super::script::Action;
use crate::Backend;

/// A shared limiter for hot clients, whose quota is split; from [`Builder::connect_split`](super::Builder::connect_split).
/// Clones are handles to the same connection.
#[derive(Debug, Clone)]
pub struct SplitLimiter {
    /// Has the policy of one part.
    part: SharedLimiter,
    parts: u32,
    next: Arc<AtomicU32>,
}

impl SplitLimiter {
    pub(super) fn new(part: SharedLimiter, parts: u32) -> Self {
        SplitLimiter { part, parts, next: Arc::default() }
    }

    /// Decides one request of `cost` units by the client `key`: by one part of its quota, after a denial by one more, both
    /// within the timeout of one call. `remaining` is that of the part.
    ///
    /// # Errors
    /// See [`SharedError`].
    pub async fn check_n(&self, key: &[u8], cost: u64) -> Result<Decision, SharedError> {
        self.ask(key, Action::Decide, cost).await
    }

    /// What one part, or after a denial the other of two, would decide on `cost`, with nothing charged. A request asks the
    /// next ones, whose answer may be another.
    ///
    /// # Errors
    /// See [`SharedError`].
    pub async fn peek(&self, key: &[u8], cost: u64) -> Result<Decision, SharedError> {
        self.ask(key, Action::Peek, cost).await
    }

    /// Records `cost` units whatever the limit, in one part.
    ///
    /// # Errors
    /// See [`SharedError`].
    pub async fn charge(&self, key: &[u8], cost: u64) -> Result<(), SharedError> {
        self.part.charge(name(self.turn(), key), cost).await
    }

    /// Gives `cost` units back to one part, which takes no more than it has recorded: where other parts had been charged,
    /// the rest is lost to the client.
    ///
    /// # Errors
    /// See [`SharedError`].
    pub async fn refund(&self, key: &[u8], cost: u64) -> Result<(), SharedError> {
        self.part.refund(name(self.turn(), key), cost).await
    }

    /// Forgets all that the client has used, in all parts, each within the timeout.
    ///
    /// # Errors
    /// See [`SharedError`].
    pub async fn reset(&self, key: &[u8]) -> Result<(), SharedError> {
        for part in 0..self.parts {
            self.part.reset(name(part, key)).await?;
        }
        Ok(())
    }

    fn turn(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed) % self.parts
    }

    async fn ask(&self, key: &[u8], action: Action, cost: u64) -> Result<Decision, SharedError> {
        let after = self.part.timeout();
        let two = async {
            let part = self.turn();
            let first = self.part.decide(&name(part, key), action, cost).await?;
            let Decision::Denied { retry_after: sooner, .. } = first else { return Ok(first) };
            if self.parts == 1 {
                return Ok(first);
            }
            // Half way round, so that neighbours in time meet different parts.
            let other = (part + self.parts.div_ceil(2)) % self.parts;
            match self.part.decide(&name(other, key), action, cost).await? {
                Decision::Denied { retry_after, .. } if retry_after > sooner => Ok(first),
                second => Ok(second),
            }
        };
        tokio::time::timeout(after, two).await.unwrap_or(Err(SharedError::Timeout { after }))
    }
}

/// The client under which a part is kept; the prefix says that it is one.
fn name(part: u32, key: &[u8]) -> Vec<u8> {
    let mut name = format!("{part}:").into_bytes();
    name.extend_from_slice(key);
    name
}

type Boxed<T> = Pin<Box<dyn Future<Output = Result<T, SharedError>> + Send>>;

impl Backend for SplitLimiter {
    type Error = SharedError;
    type Decide = Boxed<Decision>;
    type Change = Boxed<()>;

    fn check_n(&self, key: &[u8], cost: u64) -> Self::Decide {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { SplitLimiter::check_n(&limiter, &key, cost).await })
    }

    fn peek(&self, key: &[u8], cost: u64) -> Self::Decide {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { SplitLimiter::peek(&limiter, &key, cost).await })
    }

    fn charge(&self, key: &[u8], cost: u64) -> Self::Change {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { SplitLimiter::charge(&limiter, &key, cost).await })
    }

    fn refund(&self, key: &[u8], cost: u64) -> Self::Change {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { SplitLimiter::refund(&limiter, &key, cost).await })
    }

    fn reset(&self, key: &[u8]) -> Self::Change {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { SplitLimiter::reset(&limiter, &key).await })
    }

    fn is_down(error: &SharedError) -> bool {
        error.is_down()
    }
}
