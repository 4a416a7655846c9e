//! `rlsim serve`: a small API behind `ratelimit-tower`, and a page that shows what the limits do to it.
//!
//! | path | what |
//! |---|---|
//! | `/` | the page, with its script and style beside it |
//! | `/api/ping` | limited by the policy that was chosen |
//! | `/api/ping/{algorithm}` | the same quota under each of the algorithms |
//! | `/api/policies` | which policies these are |
//! | `/api/story` | what a policy says to requests at given instants, step by step, for pictures |
//! | `/api/compare` | `rlsim compare` of a generated or uploaded trace |
//! | `/metrics` | counts, in the text format of Prometheus |
//!
//! Nothing else is served, nothing that a client sends comes back in a page, and every wait and size has a bound.

mod args;
mod guard;
mod limits;
mod listen;
mod metrics;
mod page;
mod patient;
mod ping;
mod places;
mod playground;
mod policies;
mod said;
#[cfg(feature = "redis")]
mod shared;
mod stops;
mod story;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use ratelimit_core::Rule;
use ratelimit_store::{Clock, SystemClock};

pub use args::ServeArgs;
pub use listen::Server;

use crate::error::Result;
use limits::Limits;

/// What is served.
#[derive(Clone)]
pub struct Config {
    /// Where to listen. Port 0 is any free one.
    pub address: SocketAddr,
    /// The policy of `/api/ping`. The others have its quota.
    pub rule: Rule,
    /// The time of all decisions.
    pub clock: Arc<dyn Clock>,
    /// The server over which limits are shared, if any.
    pub redis: Option<String>,
    /// What one client may take up.
    pub bounds: Bounds,
}

/// What one client may take up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// For the head of a request, for an idle connection, and for each write until the client has read some of it.
    pub patience: Duration,
    /// How long a connection is kept; what is being answered then is finished.
    pub life: Duration,
    /// Connections of one address at the same time; further ones are closed at once.
    pub connections_an_address: usize,
}

impl Default for Bounds {
    /// 10 s, 5 minutes, 32 connections.
    fn default() -> Bounds {
        Bounds { patience: Duration::from_secs(10), life: Duration::from_secs(300), connections_an_address: 32 }
    }
}

impl Config {
    /// This policy on this address, by the machine's clock.
    pub fn new(address: SocketAddr, rule: Rule) -> Config {
        Config { address, rule, clock: Arc::new(SystemClock::new()), redis: None, bounds: Bounds::default() }
    }
}

/// Everything that is served, as one service.
pub(crate) fn router(config: &Config) -> Result<Router> {
    let limits = Arc::new(Limits::new(config)?);
    let router = Router::new()
        .merge(page::routes())
        .merge(ping::routes(&limits, &config.clock))
        .merge(playground::routes())
        .route("/api/policies", get(policies::list).with_state(Arc::clone(&limits)))
        .route("/api/story", get(story::tell))
        .route("/metrics", get(metrics::show).with_state(limits))
        .fallback(guard::not_found)
        .method_not_allowed_fallback(guard::wrong_method);
    Ok(guard::guarded(router))
}
