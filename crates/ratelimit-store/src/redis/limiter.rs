//! The shared limiter: one limit for each client over all the servers that ask the same Redis.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ratelimit_core::{Decision, Policy};
use redis::ErrorKind;

use super::builder::Builder;
use super::caller::{Ask, Caller};
use super::error::SharedError;
use super::reply::{self, Waits};
use super::script::{Action, Time};
use super::several::{Part, Several};
use crate::Backend;
use crate::backend::DecideAll;
use crate::lease::{Grant, Lender, Slice};

/// A limit for each client that all servers share: they ask the same Redis, which decides each request with one script,
/// by its own clock. Clones are handles to the same connection, which is made when the first call needs it.
///
/// The decisions are those of the core at the server's time in whole microseconds. Waits until the server would decide
/// otherwise (`retry_after`, `reset_after`) are rounded up to whole microseconds; the `delay` of a leaky bucket is the
/// core's, in nanoseconds.
///
/// A call that fails says so, and nothing else: [`Fallback`](crate::Fallback) decides what to do then. Needs a tokio
/// runtime with time and I/O.
///
/// ```no_run
/// use ratelimit_store::redis::SharedLimiter;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = "token-bucket:100/1m,burst=20".parse()?;
/// let limiter = SharedLimiter::builder(policy).connect("redis://127.0.0.1:6379")?;
/// let decision = limiter.check("alice").await?;
/// # let _ = decision;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SharedLimiter {
    caller: Arc<Caller>,
    policy: Policy,
}

impl fmt::Debug for SharedLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedLimiter").field("policy", &format_args!("{}", self.policy)).finish_non_exhaustive()
    }
}

impl SharedLimiter {
    pub(super) fn new(caller: Caller, policy: &Policy) -> Self {
        SharedLimiter { caller: Arc::new(caller), policy: *policy }
    }

    /// A limiter for this policy, which all servers must give the same.
    pub fn builder(policy: Policy) -> Builder {
        Builder::new(&policy)
    }

    /// The policy.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    #[cfg(test)]
    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// How long a call may take as a whole.
    pub(super) fn timeout(&self) -> Duration {
        self.caller.timeout
    }

    /// Decides one request of cost 1 by the client `key`, and charges it if it is allowed.
    ///
    /// # Errors
    /// See [`SharedError`]; whether the cost was charged is unknown after a timeout or a broken connection.
    pub async fn check(&self, key: impl AsRef<[u8]>) -> Result<Decision, SharedError> {
        self.check_n(key, 1).await
    }

    /// Decides one request of `cost` units by the client `key`, and charges it if it is allowed.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn check_n(&self, key: impl AsRef<[u8]>, cost: u64) -> Result<Decision, SharedError> {
        self.decide(key.as_ref(), Action::Decide, cost).await
    }

    /// The decision that [`check_n`](Self::check_n) would take, with nothing charged.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn peek(&self, key: impl AsRef<[u8]>, cost: u64) -> Result<Decision, SharedError> {
        self.decide(key.as_ref(), Action::Peek, cost).await
    }

    /// Records `cost` units whatever the limit, for costs that are known only afterwards. What is recorded saturates
    /// where the scripts are exact no more, at 2^53 - 1 units or less (see `docs/redis.md`).
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn charge(&self, key: impl AsRef<[u8]>, cost: u64) -> Result<(), SharedError> {
        self.change(key.as_ref(), Action::Charge, cost).await
    }

    /// Gives back `cost` units, the newest charge first.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn refund(&self, key: impl AsRef<[u8]>, cost: u64) -> Result<(), SharedError> {
        self.change(key.as_ref(), Action::Refund, cost).await
    }

    /// Forgets all that the client has used.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn reset(&self, key: impl AsRef<[u8]>) -> Result<(), SharedError> {
        if self.caller.is_unlimited() {
            return Ok(());
        }
        self.caller.forget(key.as_ref()).await
    }

    /// Decides many requests, each a client's key and a cost, in one round trip, in their order. The answers are in the same order,
    /// each on its own: one may fail and the others not.
    pub async fn check_many<K: AsRef<[u8]>>(&self, requests: &[(K, u64)]) -> Vec<Result<Decision, SharedError>> {
        let asks: Vec<Ask<'_>> = requests
            .iter()
            .filter(|(_, cost)| self.caller.known(*cost).is_none())
            .map(|(key, cost)| Ask {
                client: key.as_ref(),
                action: Action::Decide,
                cost: *cost,
                slice: None,
                now_micros: None,
            })
            .collect();
        let mut asked = if asks.is_empty() { Vec::new() } else { self.caller.ask_all(&asks).await }.into_iter();
        let mut next = || match asked.next() {
            Some(answer) => reply::decision(&answer?, Waits::Ticks).map(|grant| grant.decision),
            None => Err(SharedError::Reply { found: "fewer answers than requests".into() }),
        };
        requests.iter().map(|(_, cost)| self.caller.known(*cost).map_or_else(&mut next, Ok)).collect()
    }

    /// Charges as many units of the slice as there is room for, and says how many; none where there is room for fewer than
    /// its least. Then the decision says when there will be for these. A number is a slice of at least 1 unit and at most
    /// so many.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn take(&self, key: impl AsRef<[u8]>, slice: impl Into<Slice>) -> Result<Grant, SharedError> {
        let slice = match self.caller.possible(slice.into()) {
            Ok(slice) => slice,
            Err(known) => return Ok(known),
        };
        let ask =
            Ask { client: key.as_ref(), action: Action::Take, cost: slice.most, slice: Some(slice), now_micros: None };
        reply::decision(&self.caller.ask(ask).await?, Waits::Ticks)
    }

    pub(super) async fn decide(&self, client: &[u8], action: Action, cost: u64) -> Result<Decision, SharedError> {
        if let Some(known) = self.caller.known(cost) {
            return Ok(known);
        }
        let ask = Ask { client, action, cost, slice: None, now_micros: None };
        reply::decision(&self.caller.ask(ask).await?, Waits::Ticks).map(|grant| grant.decision)
    }

    async fn change(&self, client: &[u8], action: Action, cost: u64) -> Result<(), SharedError> {
        if self.caller.is_unlimited() || cost == 0 {
            return Ok(());
        }
        reply::done(&self.caller.ask(Ask { client, action, cost, slice: None, now_micros: None }).await?)
    }
}

impl Lender for SharedLimiter {
    async fn take(&self, key: &[u8], slice: Slice) -> Result<Grant, SharedError> {
        SharedLimiter::take(self, key, slice).await
    }
}

/// A change that has begun is made also if its future is dropped: the connection would take a command that nobody waits for
/// out of its line again, and a client that goes away is no reason to charge it less, or to give nothing back.
async fn carried_through<F>(change: F) -> Result<(), SharedError>
where
    F: Future<Output = Result<(), SharedError>> + Send + 'static,
{
    match tokio::spawn(change).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(SharedError::Unreachable((ErrorKind::Io, "the runtime has ended").into())),
        },
    }
}

impl Backend for SharedLimiter {
    type Error = SharedError;
    type Decide = Pin<Box<dyn Future<Output = Result<Decision, SharedError>> + Send>>;
    type Change = Pin<Box<dyn Future<Output = Result<(), SharedError>> + Send>>;

    fn check_n(&self, key: &[u8], cost: u64) -> Self::Decide {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { SharedLimiter::check_n(&limiter, key, cost).await })
    }

    fn peek(&self, key: &[u8], cost: u64) -> Self::Decide {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { SharedLimiter::peek(&limiter, key, cost).await })
    }

    fn charge(&self, key: &[u8], cost: u64) -> Self::Change {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(carried_through(async move { SharedLimiter::charge(&limiter, key, cost).await }))
    }

    fn refund(&self, key: &[u8], cost: u64) -> Self::Change {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(carried_through(async move { SharedLimiter::refund(&limiter, key, cost).await }))
    }

    fn reset(&self, key: &[u8]) -> Self::Change {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { SharedLimiter::reset(&limiter, key).await })
    }

    /// In one round trip where all are single rules on one server (on a cluster: in one slot, as all limits of a client with
    /// one prefix are), reached by the same address; over the connection and within the bounds of the least patient.
    fn check_all(asked: &[(&Self, &[u8], u64)]) -> Option<DecideAll<SharedError>> {
        let parts: Vec<Part<'_>> = asked.iter().map(|(limiter, key, cost)| (&*limiter.caller, *key, *cost)).collect();
        let several = Several::of(&parts, Time::Server)?;
        let lead = asked.iter().map(|(limiter, ..)| &limiter.caller).min_by_key(|caller| caller.timeout)?;
        let lead = Arc::clone(lead);
        Some(Box::pin(async move { several.ask(&lead, None).await }))
    }

    fn is_down(error: &SharedError) -> bool {
        error.is_down()
    }

    fn part(&self, key: &[u8]) -> u8 {
        self.caller.part(key)
    }
}
