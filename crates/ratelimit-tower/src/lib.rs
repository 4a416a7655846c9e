//! Rate limiting for [tower](https://docs.rs/tower) services: axum, hyper, tonic, and clients.
//!
//! ```
//! use ratelimit_tower::{Limit, RateLimitLayer};
//!
//! let limit = Limit::parse("burst", "token-bucket:100/1m,burst=20")?; // for each client address
//! let layer = RateLimitLayer::builder().limit(limit).build()?;
//! // axum: router.layer(layer)
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A request that is refused is answered with 429, `Retry-After` and a problem in JSON; every answer tells what is left,
//! in the dialects chosen. The algorithms are those of `ratelimit-core`, and nothing is decided here.
//!
//! | to choose | where |
//! |---|---|
//! | who is limited, behind which proxies | [`key`] |
//! | policies, costs, for which requests | [`Limit`] |
//! | dialects, refusals, shadow mode, refunds, the queue's wait | [`Builder`] |
//! | costs known afterwards | [`ActualCost`], [`ChargeHandle`] |
//! | limits shared by servers | [`Limit::on`] |
//! | gRPC | [`grpc`] |
//! | what the fields mean | [`headers`] |
//! | a client that obeys them | [`client`] |
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![allow(clippy::cast_possible_truncation, reason = "each narrowing cast has the reason why it is exact beside it")]

mod ask;
mod body;
mod build_error;
mod builder;
pub mod client;
mod decided;
mod engine;
mod few;
mod future;
pub mod grpc;
pub mod headers;
pub mod key;
mod layer;
mod limit;
pub mod problem;
mod rate;
mod refusal;
mod service;
mod settings;
mod stats;
mod store;
mod timer;

pub use body::ResponseBody;
pub use build_error::BuildError;
pub use builder::Builder;
pub use decided::{Decided, PolicyDecision};
pub use engine::{ActualCost, ChargeError, ChargeHandle};
pub use future::ResponseFuture;
pub use layer::RateLimitLayer;
pub use limit::Limit;
pub use refusal::Refusal;
pub use service::RateLimit;
pub use settings::WhenUnavailable;
pub use stats::Stats;
pub use store::Unavailable;
#[cfg(feature = "tokio")]
pub use timer::TokioTimer;
pub use timer::{Sleep, Timer};
