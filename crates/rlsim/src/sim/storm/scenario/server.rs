//! The server of a scenario.

use ratelimit_core::Policy;
use serde::Deserialize;

use crate::generate::units::Span;
use crate::sim::limiter::By;
use crate::sim::storm::typed::Typed;

/// The server and the limiter in front of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Server {
    /// Requests served at the same time.
    pub workers: u32,
    /// How long one takes.
    pub(super) service: Typed<Span>,
    /// Whether that is the mean of an exponential distribution instead of the same for all.
    #[serde(default)]
    pub random_service: bool,
    /// Attempts that can wait for a worker; one more is turned away.
    pub queue: usize,
    /// What refusing one attempt costs a worker, in percent of a request's time.
    #[serde(default)]
    pub refusal_percent: u32,
    /// From a client to the server, and back again.
    pub(super) latency: Typed<Span>,
    /// The policy in front, if any.
    pub(super) limiter: Option<Typed<Policy>>,
    /// Whose limit it is.
    #[serde(default)]
    pub limit_by: By,
    /// What a refusal says about coming back.
    #[serde(default)]
    pub hints: Hints,
}

/// What a refusal by the limiter says about coming back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hints {
    /// Nothing.
    None,
    /// The exact time.
    Exact,
    /// Whole seconds, rounded up, as in the `Retry-After` header.
    #[default]
    Seconds,
}

impl Server {
    /// Mean service time in nanoseconds.
    pub fn service(&self) -> u64 {
        self.service.0.0
    }

    /// One way, in nanoseconds.
    pub fn latency(&self) -> u64 {
        self.latency.0.0
    }

    /// The policy in front.
    pub fn limiter(&self) -> Option<Policy> {
        self.limiter.map(|Typed(policy)| policy)
    }
}
