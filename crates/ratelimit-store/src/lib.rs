//! Rate limiters that threads share, and that keep a state for each of many clients.
//!
//! The core (`ratelimit-core`) decides; this crate keeps the states, behind locks, bounded, and with a clock.
//!
//! ```
//! use std::time::Duration;
//! use ratelimit_core::{Decision, TokenBucket};
//! use ratelimit_store::KeyedLimiter;
//!
//! # fn serve() {}
//! # fn try_again_in(_: ratelimit_core::Nanos) {}
//! # fn too_expensive(_: u64) {}
//! let limiter = KeyedLimiter::new(TokenBucket::per(100, Duration::from_secs(60))?.burst(20)?);
//! match limiter.check("alice") {
//!     Decision::Allowed { .. } => serve(),
//!     Decision::Denied { retry_after, .. } => try_again_in(retry_after),
//!     Decision::Never { capacity } => too_expensive(capacity),
//! }
//! # Ok::<(), ratelimit_core::QuotaError>(())
//! ```
//!
//! - [`Limiter`]: one limit for everybody.
//! - [`KeyedLimiter`]: one for each client.
//! - [`Backend`]: what a layer above needs of a store, in memory or remote.
//! - [`Clock`]: where the time comes from.
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![allow(clippy::cast_possible_truncation, reason = "each narrowing cast has the reason why it is exact beside it")]

pub mod backend;
mod cell;
pub mod clock;
pub mod keyed;
pub mod limiter;
pub mod wait;

pub use backend::Backend;
#[cfg(feature = "fast-clock")]
pub use clock::FastClock;
pub use clock::{Clock, ManualClock, SystemClock};
pub use keyed::{Builder, Exact, Fingerprint, KeyForm, KeyedLimiter, Stats};
#[cfg(feature = "serde")]
pub use keyed::{RestoreError, Snapshot};
pub use limiter::Limiter;
pub use wait::{Pause, Wait, WaitError};
#[cfg(feature = "async")]
pub use wait::{Timer, TokioClock};
