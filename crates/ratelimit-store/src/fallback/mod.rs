//! What happens when the shared limiter fails.
//!
//! ```text
//! request ─▶ breaker ── closed ──▶ shared limiter ── answer ──▶ Source::Shared (and the local limiter is kept warm)
//!              │ open                    └─ error ──▶ breaker
//!              └────────▶ local limiter (limit / servers), or closed, or open: Source says which
//! ```
//!
//! A shared limiter bounds its calls in time. A breaker ends the waiting altogether after a few failures, and lets single
//! calls probe whether the shared limiter is back, after pauses that grow; each part of a cluster has one of its own. An
//! error that is one call's own (a key that holds something else, too many calls at a time) opens no breaker. An error never turns into an
//! admission unnoticed: each [`Answer`] says where it came from, and [`Counts`] tells how many came from where.

mod answer;
mod breaker;
mod builder;
mod change;
mod counts;
mod several;
mod share;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ratelimit_core::{Algorithm, Decision, Nanos, Policy};

pub use answer::{Answer, Source};
pub use builder::{Builder, WhenDown};
pub use change::Change;
pub use counts::Counts;
pub use share::share;

use crate::{Backend, Clock, DecideAll, KeyedLimiter, SystemClock};
use breaker::{Breaker, Entry, Opened, Pass};
use change::Health;
use counts::Counters;

/// A shared limiter that always answers: from the shared store while that works, and as was chosen while it does not.
/// Clones are handles to the same limiter.
///
/// ```
/// use ratelimit_core::Policy;
/// use ratelimit_store::{Fallback, KeyedLimiter, Source};
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let policy: Policy = "token-bucket:100/1m,burst=20".parse()?;
/// # let shared = KeyedLimiter::new(policy);
/// // `shared` is a `redis::SharedLimiter` where there is one; each of 10 servers allows a tenth while it is down.
/// let limiter = Fallback::builder(shared, policy).servers(10).build();
/// let answer = limiter.check(b"alice").await;
/// assert!(answer.decision.is_allowed() && answer.source == Source::Shared);
/// # Ok::<(), ratelimit_core::PolicyError>(())
/// # }).unwrap();
/// ```
pub struct Fallback<B, C = SystemClock> {
    inner: Arc<Inner<B, C>>,
}

/// How many parts of a shared limiter have breakers of their own.
const PARTS: usize = 64;
/// After an answer by another than the shared limiter, refunds that do not say who admitted are dropped for so long.
const STRANGE: Nanos = Nanos::from_secs(60);

struct Inner<B, C> {
    shared: B,
    /// The whole limit; the local limiter has this server's share of it.
    policy: Policy,
    share: Policy,
    local: KeyedLimiter<Policy, crate::Fingerprint, C>,
    when_down: WhenDown,
    /// One of each part of the shared limiter.
    breakers: Box<[Breaker]>,
    /// Until when a refund that does not say who admitted might be of an admission that the shared limiter has not charged.
    strange_until: AtomicU64,
    counters: Counters,
    health: Health,
    clock: C,
}

impl<B, C> Clone for Fallback<B, C> {
    fn clone(&self) -> Self {
        Fallback { inner: Arc::clone(&self.inner) }
    }
}

impl<B, C> fmt::Debug for Fallback<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fallback")
            .field("policy", &format_args!("{}", self.inner.policy))
            .field("when_down", &self.inner.when_down)
            .finish_non_exhaustive()
    }
}

impl<B: Backend> Fallback<B> {
    /// A limiter that asks `shared`, whose policy is `policy`.
    pub fn builder(shared: B, policy: Policy) -> Builder<B> {
        Builder::new(shared, &policy)
    }
}

impl<B: Backend, C: Clock> Fallback<B, C> {
    /// Decides one request of cost 1 by the client `key`, and charges it if it is allowed.
    pub async fn check(&self, key: &[u8]) -> Answer {
        self.check_n(key, 1).await
    }

    /// Decides one request of `cost` units by the client `key`, and charges it if it is allowed.
    pub async fn check_n(&self, key: &[u8], cost: u64) -> Answer {
        let inner = &*self.inner;
        match self.ask(key, |decision| shows(decision, cost), || inner.shared.check_n(key, cost)).await {
            Ok(decision) => {
                if decision.is_allowed() {
                    inner.warm(key, cost);
                }
                inner.counters.answered(Answer { decision, source: Source::Shared })
            }
            Err(wait) => {
                inner.counters.answered(inner.alone(key, cost, wait, |now| inner.local.check_n_at(key, now, cost)))
            }
        }
    }

    /// The decision that [`check_n`](Self::check_n) would take, with nothing charged.
    pub async fn peek(&self, key: &[u8], cost: u64) -> Answer {
        let inner = &*self.inner;
        match self.ask(key, |decision| shows(decision, cost), || inner.shared.peek(key, cost)).await {
            Ok(decision) => inner.counters.answered(Answer { decision, source: Source::Shared }),
            Err(wait) => {
                inner.counters.answered(inner.alone(key, cost, wait, |now| inner.local.peek_at(key, now, cost)))
            }
        }
    }

    /// Records `cost` units whatever the limit: in the shared limiter, or else in the local one.
    pub async fn charge(&self, key: &[u8], cost: u64) -> Source {
        let inner = &*self.inner;
        if self.ask(key, |()| cost > 0, || inner.shared.charge(key, cost)).await.is_ok() {
            inner.warm(key, cost);
            return Source::Shared;
        }
        inner.local.charge_at(key, inner.clock.now(), cost);
        Source::Local
    }

    /// Gives back `cost` units of an admission whose [`Answer`] came from `source`: to whoever has charged it, and to
    /// nobody where nobody has. Whether they are back; while the shared limiter is down its units are not.
    pub async fn refund(&self, key: &[u8], cost: u64, source: Source) -> bool {
        let inner = &*self.inner;
        match source {
            Source::Shared => self.ask(key, |()| cost > 0, || inner.shared.refund(key, cost)).await.is_ok(),
            Source::Local => {
                inner.local.refund(key, cost);
                true
            }
            Source::Open | Source::Closed => false,
        }
    }

    /// Forgets the client, in the local limiter at any rate.
    pub async fn reset(&self, key: &[u8]) -> Source {
        let inner = &*self.inner;
        inner.local.reset(key);
        if self.ask(key, |()| true, || inner.shared.reset(key)).await.is_ok() { Source::Shared } else { Source::Local }
    }

    /// How many answers came from where, and how often the shared limiter failed.
    pub fn counts(&self) -> Counts {
        self.inner.counters.read()
    }

    /// The shared limiter.
    pub fn shared(&self) -> &B {
        &self.inner.shared
    }

    /// Asks the shared limiter if the breaker lets the call through; the error is how long until it does again. `shows` says
    /// of an answer whether it shows that the shared limiter works.
    async fn ask<T, F>(&self, key: &[u8], shows: impl FnOnce(&T) -> bool, call: impl FnOnce() -> F) -> Result<T, Nanos>
    where
        F: Future<Output = Result<T, B::Error>>,
    {
        let inner = &*self.inner;
        let pass = match inner.breaker(key).enter(inner.clock.now()) {
            Entry::Pass(pass) => pass,
            Entry::Shut { wait } => return Err(wait),
        };
        let error = match call().await {
            Ok(answer) => {
                if shows(&answer) {
                    inner.answers(pass);
                }
                return Ok(answer);
            }
            Err(error) => error,
        };
        Err(inner.fails(pass, &error))
    }
}

impl<B: Backend, C> Inner<B, C> {
    /// That of the part which serves the client.
    fn breaker(&self, key: &[u8]) -> &Breaker {
        &self.breakers[usize::from(self.shared.part(key)) % PARTS]
    }

    /// The shared limiter has answered a call.
    fn answers(&self, pass: Pass<'_>) {
        if pass.succeeded() {
            self.health.part_up();
        }
    }
}

impl<B: Backend, C: Clock> Inner<B, C> {
    /// A call has failed: how long until it is worth another.
    fn fails(&self, pass: Pass<'_>, error: &B::Error) -> Nanos {
        self.counters.failed();
        if !B::is_down(error) {
            return pass.told_nothing();
        }
        let (wait, opened) = pass.failed(self.clock.now());
        if let Some(opened) = opened {
            self.counters.opened();
            if opened == Opened::First {
                self.health.part_down(error);
            }
        }
        wait
    }
}

impl<B, C: Clock> Inner<B, C> {
    /// Charges the local limiter with what the shared one admitted, as far as it has room: when it takes over, a client
    /// that has just used its share does not get it again, and none is in debt for what other servers were to allow.
    fn warm(&self, key: &[u8], cost: u64) {
        let now = self.clock.now();
        let cost = cost.min(self.share.capacity());
        if let Decision::Denied { remaining, .. } = self.local.check_n_at(key, now, cost) {
            self.local.check_n_at(key, now, remaining);
        }
    }

    /// The answer without the shared limiter, which is asked again after `wait`.
    fn alone(&self, key: &[u8], cost: u64, wait: Nanos, local: impl FnOnce(Nanos) -> Decision) -> Answer {
        let capacity = self.policy.capacity();
        if cost > capacity {
            return Answer { decision: Decision::Never { capacity }, source: Source::Local };
        }
        let strange = self.clock.now().saturating_add(STRANGE);
        self.strange_until.fetch_max(strange.get(), Ordering::Relaxed);
        match self.when_down {
            WhenDown::Open => {
                let decision =
                    Decision::Allowed { remaining: capacity - cost, reset_after: Nanos::ZERO, delay: Nanos::ZERO };
                Answer { decision, source: Source::Open }
            }
            WhenDown::Closed => Answer { decision: refused(cost, wait, 0), source: Source::Closed },
            WhenDown::Local => {
                let now = self.clock.now();
                let decision = match local(now) {
                    // Too much for this server's share, but not for the whole: later it can pass.
                    Decision::Never { .. } => refused(cost, wait, remaining(&self.local.peek_at(key, now, 0))),
                    decision => decision,
                };
                Answer { decision, source: Source::Local }
            }
        }
    }
}

/// Whether the answer must have come from the shared store: no cost, and one that never fits, are known without asking.
fn shows(decision: &Decision, cost: u64) -> bool {
    cost > 0 && !matches!(decision, Decision::Never { .. })
}

/// Not now, but perhaps after `wait`; cost 0 is always allowed.
fn refused(cost: u64, wait: Nanos, remaining: u64) -> Decision {
    let wait = wait.max(Nanos::new(1));
    if cost == 0 {
        Decision::Allowed { remaining, reset_after: wait, delay: Nanos::ZERO }
    } else {
        Decision::Denied { retry_after: wait, remaining, reset_after: wait }
    }
}

fn remaining(decision: &Decision) -> u64 {
    match decision {
        Decision::Allowed { remaining, .. } | Decision::Denied { remaining, .. } => *remaining,
        Decision::Never { .. } => 0,
    }
}

/// A refund here does not say who admitted. It goes to the shared limiter, unless another has answered anything within the
/// last minute: then it is dropped, since what was not charged must not be given back. [`Fallback::refund`] knows.
impl<B, C> Backend for Fallback<B, C>
where
    B: Backend + 'static,
    C: Clock + 'static,
{
    type Error = Infallible;
    type Decide = Pin<Box<dyn Future<Output = Result<Decision, Infallible>> + Send>>;
    type Change = Pin<Box<dyn Future<Output = Result<(), Infallible>> + Send>>;

    fn check_n(&self, key: &[u8], cost: u64) -> Self::Decide {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { Ok(Fallback::check_n(&limiter, &key, cost).await.decision) })
    }

    fn peek(&self, key: &[u8], cost: u64) -> Self::Decide {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { Ok(Fallback::peek(&limiter, &key, cost).await.decision) })
    }

    fn charge(&self, key: &[u8], cost: u64) -> Self::Change {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move {
            Fallback::charge(&limiter, &key, cost).await;
            Ok(())
        })
    }

    fn refund(&self, key: &[u8], cost: u64) -> Self::Change {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move {
            if limiter.inner.clock.now().get() >= limiter.inner.strange_until.load(Ordering::Relaxed) {
                Fallback::refund(&limiter, &key, cost, Source::Shared).await;
            }
            Ok(())
        })
    }

    fn check_all(asked: &[(&Self, &[u8], u64)]) -> Option<DecideAll<Infallible>> {
        several::check_all(asked)
    }

    fn reset(&self, key: &[u8]) -> Self::Change {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move {
            Fallback::reset(&limiter, &key).await;
            Ok(())
        })
    }
}
