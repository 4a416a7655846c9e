//! The layer: what is configured once, and shared by all services that it wraps.

use std::sync::Arc;

use tower_layer::Layer;

use crate::builder::Builder;
use crate::engine::Engine;
use crate::service::RateLimit;
use crate::stats::Stats;

/// Limits the services that it wraps, all of them and their clones together.
#[derive(Debug, Clone)]
pub struct RateLimitLayer {
    engine: Arc<Engine>,
}

impl RateLimitLayer {
    /// Chooses.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn new(engine: Engine) -> RateLimitLayer {
        RateLimitLayer { engine: Arc::new(engine) }
    }

    /// What has been decided so far.
    pub fn stats(&self) -> Stats {
        self.engine.counters.read()
    }

    /// How many clients each policy keeps in memory.
    pub fn clients(&self) -> Vec<(&str, usize)> {
        self.engine.clients()
    }

    /// The fields that answers carry, for the `expose_headers` of a CORS layer.
    pub fn exposed_fields(&self) -> Vec<http::HeaderName> {
        self.engine.settings.exposed_fields()
    }
}

impl<S> Layer<S> for RateLimitLayer {
    type Service = RateLimit<S>;

    fn layer(&self, inner: S) -> RateLimit<S> {
        RateLimit::new(inner, Arc::clone(&self.engine))
    }
}
