//! Rate limiters that threads share, with a state for each of many clients: fast, bounded, and exact.
//!
//! The core (`ratelimit-core`) decides; this crate keeps the states, behind locks and with a clock. There is no
//! background thread and no unsafe code.
//!
//! # The first limiter
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
//! [`KeyedLimiter`] keeps a limit for each client, [`Limiter`] one for everybody. Both are handles: clone them into every
//! thread. Any policy of the core serves, also several limits at once and those that are chosen at run time:
//!
//! ```
//! use ratelimit_core::{Nanos, Policy};
//! use ratelimit_store::KeyedLimiter;
//!
//! let policy: Policy = "token-bucket:10/1s+fixed-window:1000/1h".parse()?;
//! let limiter = KeyedLimiter::new(policy);
//!
//! // A cost other than 1; looking without asking; a cost known afterwards; an order that failed.
//! assert!(limiter.check_n("alice", 5).is_allowed());
//! assert!(limiter.peek("alice", 5).is_allowed());
//! limiter.charge("alice", 50);
//! assert!(!limiter.check("alice").is_allowed());
//! limiter.refund("alice", 50);
//! assert!(limiter.check("alice").is_allowed());
//! # Ok::<(), ratelimit_core::PolicyError>(())
//! ```
//!
//! # Time
//!
//! Every operation has a form that takes the time, which makes tests and replays exact and lets a batch read the clock
//! once. The others read the limiter's [`Clock`]: [`SystemClock`] unless set, `FastClock` (feature `fast-clock`) or
//! [`CoarseClock`] where the price of reading it counts, [`ManualClock`] in tests.
//!
//! ```
//! use std::time::Duration;
//! use ratelimit_core::{FixedWindow, Nanos};
//! use ratelimit_store::{KeyedLimiter, ManualClock};
//!
//! let clock = ManualClock::new(Nanos::from_secs(60));
//! let policy = FixedWindow::per(1, Duration::from_secs(60))?;
//! let limiter = KeyedLimiter::builder(policy).clock(clock.clone()).build();
//! assert!(limiter.check("alice").is_allowed());
//! clock.advance(Nanos::from_secs(59));
//! assert!(!limiter.check("alice").is_allowed());
//! clock.advance(Nanos::from_secs(1));
//! assert!(limiter.check("alice").is_allowed());
//! # Ok::<(), ratelimit_core::QuotaError>(())
//! ```
//!
//! # Which key form when
//!
//! [`Fingerprint`] (the default) keeps 64 bits of a keyed hash: about 43 bytes a client with a token bucket, whatever the
//! length of the keys. Two clients share a state with a chance of n^2 / 2^65, 3 in 10^8 among a million; they are then
//! limited together. [`Exact`] (`builder(..).exact_keys()`) keeps the keys, about 70 bytes a client and the heap for keys
//! above 22 bytes. Take it where even that chance is too much, or where keys must be read back from a snapshot.
//!
//! # When it is full
//!
//! At most `max_clients` are kept, a million unless set. Clients whose state is fresh are forgotten on the way, which changes
//! no answer. A newcomer to a table that is full of clients who are not fresh shares one state with the other newcomers,
//! under the same policy, until there is room: never unlimited, and never at the price of forgetting somebody who is
//! exhausted, which would be an attacker's way out. [`Stats::overflow`] counts such calls; where it is not 0, raise
//! `max_clients` or shorten the window.
//!
//! ```
//! use std::time::Duration;
//! use ratelimit_core::{Nanos, TokenBucket};
//! use ratelimit_store::KeyedLimiter;
//!
//! let now = Nanos::from_secs(1);
//! let limiter = KeyedLimiter::builder(TokenBucket::per(1, Duration::from_secs(60))?).max_clients(1_000).build();
//! assert!(limiter.check_at("exhausted", now).is_allowed());
//! for i in 0..100_000_u64 {
//!     limiter.check_at(i.to_be_bytes(), now);
//! }
//! assert_eq!(limiter.len(), 1_000);
//! assert!(!limiter.check_at("exhausted", now).is_allowed());
//! # Ok::<(), ratelimit_core::QuotaError>(())
//! ```
//!
//! # More
//!
//! - [`wait`]: waiting until a request is allowed, in line, as a thread or (feature `async`) as a future.
//! - [`KeyedLimiter::set_policy`], [`KeyedLimiter::set_policy_of`]: live changes, for everybody or for one client.
//! - [`Builder::shadow`]: a limit on trial, that only counts. [`KeyedLimiter::stats`]: the counts.
//! - `KeyedLimiter::snapshot`, `Builder::restore` (feature `serde`): all states over a restart.
//! - [`Backend`]: what a layer above needs of a store, in memory or remote.
//! - [`Fallback`]: what happens when a shared store fails.
//! - `redis` (feature): one limit for many servers; `Leased` spends it by the slice.
//!
//! What is measured, beside published limiters, stands in `docs/performance.md`.
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![allow(clippy::cast_possible_truncation, reason = "each narrowing cast has the reason why it is exact beside it")]

pub mod backend;
mod cell;
pub mod clock;
#[cfg(feature = "redis")]
mod deadline;
pub mod fallback;
pub mod keyed;
#[cfg(feature = "redis")]
pub mod lease;
pub mod limiter;
#[cfg(feature = "redis")]
pub mod redis;
mod sync;
pub mod wait;

pub use backend::{Backend, DecideAll};
#[cfg(feature = "fast-clock")]
pub use clock::FastClock;
pub use clock::{Clock, CoarseClock, ManualClock, SystemClock};
pub use fallback::{Answer, Change, Fallback, Source, WhenDown};
pub use keyed::{Builder, Exact, Fingerprint, KeyForm, KeyedLimiter, Stats};
#[cfg(feature = "serde")]
pub use keyed::{RestoreError, Snapshot};
#[cfg(feature = "redis")]
pub use lease::Leased;
pub use limiter::Limiter;
pub use wait::{Pause, Wait, WaitError};
#[cfg(feature = "async")]
pub use wait::{Timer, TokioClock};
