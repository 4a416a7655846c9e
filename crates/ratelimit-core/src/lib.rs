//! Exact rate-limiting algorithms without std.
//!
//! A **policy** is an algorithm with its quota: immutable, and shared by all clients. A **state** is what is kept for
//! one client: small, plain data. [`Algorithm::decide`] takes a state, the time and a cost, and answers with a
//! [`Decision`]. There is no clock, no lock, no hash map and no floating-point number in this crate.
//!
//! ```
//! use core::time::Duration;
//! use ratelimit_core::{Algorithm, Decision, Nanos, TokenBucket};
//!
//! # fn serve() {}
//! # fn try_again_in(_: Nanos) {}
//! # fn too_expensive(_: u64) {}
//! # let now = Nanos::from_secs(1_790_000_000);
//! let bucket = TokenBucket::per(100, Duration::from_secs(60))?.burst(20)?; // a policy: immutable, shared
//! let mut alice = bucket.fresh(); // a state: small, plain data, per client
//! match bucket.decide(&mut alice, now, 1) { // now: Nanos; no clock in the core
//!     Decision::Allowed { .. } => serve(),
//!     Decision::Denied { retry_after, .. } => try_again_in(retry_after),
//!     Decision::Never { capacity } => too_expensive(capacity),
//! }
//! # Ok::<(), ratelimit_core::QuotaError>(())
//! ```
//!
//! | algorithm | most units admitted in a span T | state | choose it when |
//! |---|---|---|---|
//! | [`FixedWindow`] | `2L` for 1 ns <= T < W | 16 B | the number that is billed or promised is per calendar window |
//! | [`SlidingLog`] | `L` for T < W | 16 B an admitted instant | the limit must hold in every window, and L is small |
//! | [`SlidingCounter`] | `L + ceil(L*(T-1)/W)` for 1 ns <= T <= W | 24 B | the limit should nearly hold, for millions of clients |
//! | [`TokenBucket`] | `B + floor(L*T/W)` | 24 B | bursts are welcome up to B, and the rate must hold |
//! | [`LeakyBucket`] | releases: `ceil(L*T/W)` in a half-open T | 24 B | what is behind must see a smooth stream |
//!
//! The laws that all of them obey stand in [`algorithm`]. Time and the kinds of number are explained in [`time`] and
//! [`quota`].
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![allow(clippy::cast_possible_truncation, reason = "each narrowing cast has the reason why it is exact beside it")]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod algorithm;
pub mod all_of;
mod bucket;
pub mod decision;
pub mod fixed_window;
pub mod leaky_bucket;
pub mod policy;
pub mod quota;
#[cfg(test)]
mod rows;
pub mod sliding_counter;
#[cfg(feature = "alloc")]
pub mod sliding_log;
pub mod time;
pub mod token_bucket;
pub mod unlimited;

pub use algorithm::Algorithm;
pub use all_of::AllOf;
pub use bucket::BucketState;
pub use decision::Decision;
pub use fixed_window::{FixedWindow, FixedWindowState};
pub use leaky_bucket::LeakyBucket;
pub use policy::{Policy, PolicyError, PolicyState, Rule, RuleState};
pub use quota::{Quota, QuotaError};
pub use sliding_counter::{SlidingCounter, SlidingCounterState};
#[cfg(feature = "alloc")]
pub use sliding_log::{SlidingLog, SlidingLogState};
pub use time::{Nanos, OutOfRange};
pub use token_bucket::TokenBucket;
pub use unlimited::Unlimited;

/// The README's example runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
