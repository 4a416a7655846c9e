//! What a layer above needs of any store of clients, in memory or on a server that is reached over the network.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::Arc;

use ratelimit_core::{Algorithm, Decision};

use crate::{Clock, KeyForm, KeyedLimiter};

/// The decisions of several limits to come.
pub type DecideAll<E> = Pin<Box<dyn Future<Output = Result<Vec<Decision>, E>> + Send>>;

/// Decides per client, perhaps asynchronously.
///
/// The futures own what they need (they borrow neither the backend nor the key), so that a service can name and keep
/// them. The in-memory store decides at the call and hands out futures that are ready; nothing is charged for a future
/// that is dropped before a remote store has been asked, and unknown if it is dropped later.
///
/// ```
/// use std::time::Duration;
/// use ratelimit_core::TokenBucket;
/// use ratelimit_store::{Backend, KeyedLimiter};
///
/// async fn admit(backend: &impl Backend, key: &[u8]) -> bool {
///     // A backend that fails is the caller's choice: here it fails open.
///     backend.check_n(key, 1).await.map_or(true, |decision| decision.is_allowed())
/// }
///
/// let limiter = KeyedLimiter::new(TokenBucket::per(100, Duration::from_secs(60))?);
/// # let mut future = Box::pin(admit(&limiter, b"alice"));
/// # let waker = std::task::Waker::noop();
/// # let mut context = std::task::Context::from_waker(&waker);
/// # assert_eq!(std::future::Future::poll(future.as_mut(), &mut context), std::task::Poll::Ready(true));
/// # Ok::<(), ratelimit_core::QuotaError>(())
/// ```
pub trait Backend: Send + Sync {
    /// Why there is no answer.
    type Error: std::error::Error + Send + Sync + 'static;
    /// A decision to come.
    type Decide: Future<Output = Result<Decision, Self::Error>> + Send + 'static;
    /// A change to come.
    type Change: Future<Output = Result<(), Self::Error>> + Send + 'static;

    /// Decides one request of `cost` units for the client `key`, and charges it if it is allowed.
    fn check_n(&self, key: &[u8], cost: u64) -> Self::Decide;

    /// The decision that [`check_n`](Self::check_n) would take, with nothing charged.
    fn peek(&self, key: &[u8], cost: u64) -> Self::Decide;

    /// Records `cost` units whatever the limit.
    fn charge(&self, key: &[u8], cost: u64) -> Self::Change;

    /// Gives back `cost` units, the newest charge first.
    fn refund(&self, key: &[u8], cost: u64) -> Self::Change;

    /// Forgets the client.
    fn reset(&self, key: &[u8]) -> Self::Change;

    /// Decides one request under several limits in one step: all are charged, or none is. Each is a limiter, a client's key
    /// and a cost, and the answers are in their order. Where one refuses, those that would have allowed say what they
    /// would of cost 0: what is there.
    ///
    /// `None` where these cannot be decided in one step, as no backend can of which nothing else is said: then they have to
    /// be asked one after another. Nothing is asked before the future is polled.
    fn check_all(asked: &[(&Self, &[u8], u64)]) -> Option<DecideAll<Self::Error>> {
        let _ = asked;
        None
    }

    /// Whether the error says that the backend is down for others too, and not about this call alone.
    fn is_down(error: &Self::Error) -> bool {
        let _ = error;
        true
    }

    /// Which part of the backend serves the client, where parts are down on their own; 0 where it is one. As many parts as
    /// there are numbers at most.
    fn part(&self, key: &[u8]) -> u8 {
        let _ = key;
        0
    }
}

impl<P, K, C> Backend for KeyedLimiter<P, K, C>
where
    P: Algorithm + Send + Sync,
    P::State: Send,
    K: KeyForm,
    C: Clock,
{
    type Error = Infallible;
    type Decide = Ready<Result<Decision, Infallible>>;
    type Change = Ready<Result<(), Infallible>>;

    fn check_n(&self, key: &[u8], cost: u64) -> Self::Decide {
        ready(Ok(KeyedLimiter::check_n(self, key, cost)))
    }

    fn peek(&self, key: &[u8], cost: u64) -> Self::Decide {
        ready(Ok(KeyedLimiter::peek(self, key, cost)))
    }

    fn charge(&self, key: &[u8], cost: u64) -> Self::Change {
        KeyedLimiter::charge(self, key, cost);
        ready(Ok(()))
    }

    fn refund(&self, key: &[u8], cost: u64) -> Self::Change {
        KeyedLimiter::refund(self, key, cost);
        ready(Ok(()))
    }

    fn reset(&self, key: &[u8]) -> Self::Change {
        KeyedLimiter::reset(self, key);
        ready(Ok(()))
    }
}

impl<B: Backend + ?Sized> Backend for Arc<B> {
    type Error = B::Error;
    type Decide = B::Decide;
    type Change = B::Change;

    fn check_n(&self, key: &[u8], cost: u64) -> Self::Decide {
        (**self).check_n(key, cost)
    }

    fn peek(&self, key: &[u8], cost: u64) -> Self::Decide {
        (**self).peek(key, cost)
    }

    fn charge(&self, key: &[u8], cost: u64) -> Self::Change {
        (**self).charge(key, cost)
    }

    fn refund(&self, key: &[u8], cost: u64) -> Self::Change {
        (**self).refund(key, cost)
    }

    fn reset(&self, key: &[u8]) -> Self::Change {
        (**self).reset(key)
    }

    fn check_all(asked: &[(&Self, &[u8], u64)]) -> Option<DecideAll<B::Error>> {
        let inner: Vec<(&B, &[u8], u64)> =
            asked.iter().map(|(backend, key, cost)| (&***backend, *key, *cost)).collect();
        B::check_all(&inner)
    }

    fn is_down(error: &Self::Error) -> bool {
        B::is_down(error)
    }

    fn part(&self, key: &[u8]) -> u8 {
        (**self).part(key)
    }
}
