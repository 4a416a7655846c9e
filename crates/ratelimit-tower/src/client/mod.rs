//! The client's half: a layer for HTTP clients that listens to what servers say, so that a retry storm becomes a polite
//! queue.
//!
//! ```
//! # #[cfg(feature = "tokio")] {
//! use std::time::Duration;
//! use ratelimit_tower::TokioTimer;
//! use ratelimit_tower::client::PoliteLayer;
//!
//! // No request takes longer than 30 s, waiting and retrying included.
//! let layer = PoliteLayer::new(TokioTimer, Duration::from_secs(30));
//! // tower: ServiceBuilder::new().layer(layer).service(http_client)
//! # let _ = layer;
//! # }
//! ```
//!
//! Until a server says something about limits, requests pass as they come. From then on, for each server (scheme, host and port; where
//! the target names none, the `Host` field):
//!
//! - no more are sent within the time that it named than it said are available, those on their way counted in;
//! - with nothing available, or that time over, **one** request is sent, and its answer says how many may follow;
//! - a request that is refused waits as long as `Retry-After` (or the field) says, a second at least, plus a little jitter,
//!   in the order in which requests came, and is sent again. So long as no other client shares the quota, it is not refused twice;
//! - a server that says nothing but `Retry-After` gets one request in each such time, while others wait.
//!
//! A wait of more than an hour ([`PoliteLayer::believe`]) is not believed: after that time one request is sent to see. So no
//! answer shuts a server out for ever.
//!
//! A request whose turn would come after its deadline is not sent; one that has been refused gets that refusal as its
//! answer. 429 is retried whatever the method, as nothing was done; 503 only with `Retry-After` and an idempotent method.

mod future;
mod gate;
mod servers;
mod turn;

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use http::{Request, Response};
use ratelimit_core::Nanos;
use ratelimit_store::{Clock, SystemClock};
use tower_layer::Layer;
use tower_service::Service;

pub use future::{PoliteError, PoliteFuture};
use gate::Gate;
use servers::Servers;

use crate::timer::Timer;

/// Makes clients polite. Clones, and the services of one layer, share what they know of servers.
#[derive(Clone)]
pub struct PoliteLayer {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    timer: Arc<dyn Timer>,
    clock: Arc<dyn Clock>,
    wall: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    deadline: Nanos,
    /// At most this part of a wait is added to it, in thousandths.
    jitter_milli: u64,
    seed: u64,
    /// No wait that a server asks for is believed to be longer.
    longest: Nanos,
    servers: Mutex<Servers>,
}

impl PoliteLayer {
    /// Waits with this timer; each request takes no longer than the deadline, its own time on the way not counted.
    pub fn new(timer: impl Timer, deadline: Duration) -> PoliteLayer {
        let shared = Shared {
            timer: Arc::new(timer),
            clock: Arc::new(SystemClock::new()),
            wall: Arc::new(SystemTime::now),
            deadline: Nanos::try_from(deadline).unwrap_or(Nanos::MAX),
            jitter_milli: 100,
            seed: RandomState::new().hash_one(0u64),
            longest: Nanos::from_secs(3_600),
            servers: Mutex::default(),
        };
        PoliteLayer { shared: Arc::new(shared) }
    }

    /// Adds at most so many thousandths of a wait to it (100 unless set), so that clients which were refused together do
    /// not come back together. The seed decides how much it is each time.
    #[must_use]
    pub fn jitter(self, thousandths: u64, seed: u64) -> PoliteLayer {
        self.with(|shared| Shared { jitter_milli: thousandths, seed, ..shared })
    }

    /// Reads the time from `clock`.
    #[must_use]
    pub fn clock(self, clock: impl Clock + 'static) -> PoliteLayer {
        self.with(|shared| Shared { clock: Arc::new(clock), ..shared })
    }

    /// Reads the wall clock from here; needed only for fields that carry an instant.
    #[must_use]
    pub fn wall_clock(self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> PoliteLayer {
        self.with(|shared| Shared { wall: Arc::new(now), ..shared })
    }

    /// Believes no wait that is longer than this (an hour unless set): then one request is sent to see.
    #[must_use]
    pub fn believe(self, longest: Duration) -> PoliteLayer {
        self.with(|shared| Shared { longest: Nanos::try_from(longest).unwrap_or(Nanos::MAX), ..shared })
    }

    /// A layer with another choice, which knows no servers yet.
    fn with(self, change: impl FnOnce(Shared) -> Shared) -> PoliteLayer {
        let Shared { timer, clock, wall, deadline, jitter_milli, seed, longest, .. } = &*self.shared;
        let copy = Shared {
            timer: Arc::clone(timer),
            clock: Arc::clone(clock),
            wall: Arc::clone(wall),
            deadline: *deadline,
            jitter_milli: *jitter_milli,
            seed: *seed,
            longest: *longest,
            servers: Mutex::default(),
        };
        PoliteLayer { shared: Arc::new(change(copy)) }
    }
}

impl Shared {
    /// The gate of the server that a request goes to.
    fn gate<B>(&self, request: &Request<B>) -> Arc<Mutex<Gate>> {
        let server = servers::name_of(request);
        self.servers.lock().unwrap_or_else(PoisonError::into_inner).gate(server, self.clock.now())
    }

    /// A wait with its jitter; `number` tells one wait from another.
    fn jittered(&self, wait: Nanos, number: u64) -> Nanos {
        let most = u128::from(wait.get()) * u128::from(self.jitter_milli) / 1000;
        let drawn = (u128::from(scramble(self.seed ^ number)) * (most + 1)) >> 64;
        wait.saturating_add(Nanos::new(u64::try_from(drawn).unwrap_or(u64::MAX)))
    }
}

/// The finaliser of `SplitMix64` (Steele, Lea and Flood, 2014).
fn scramble(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

impl fmt::Debug for PoliteLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoliteLayer").field("deadline", &self.shared.deadline).finish_non_exhaustive()
    }
}

impl<S> Layer<S> for PoliteLayer {
    type Service = Polite<S>;

    fn layer(&self, inner: S) -> Polite<S> {
        Polite { inner, shared: Arc::clone(&self.shared) }
    }
}

/// A client that listens. Made by [`PoliteLayer`].
#[derive(Clone)]
pub struct Polite<S> {
    inner: S,
    shared: Arc<Shared>,
}

impl<S: fmt::Debug> fmt::Debug for Polite<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Polite").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<S, B, R> Service<Request<B>> for Polite<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    B: Clone,
{
    type Response = Response<R>;
    type Error = PoliteError<S::Error>;
    type Future = PoliteFuture<S, B>;

    /// Always ready: the inner service is asked when the request's turn has come.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let gate = self.shared.gate(&request);
        PoliteFuture::new(Arc::clone(&self.shared), gate, self.inner.clone(), request)
    }
}
