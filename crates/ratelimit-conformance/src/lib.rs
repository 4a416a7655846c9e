//! What every implementation of the limiters must pass: vectors, reference models, laws and bounds.
//!
//! An implementation is plugged in by one adapter, a [`Subject`](subject::Subject) (see [`core_subject`] for the core's), and
//! [`suite!`] gives its crate a named test for every law and every algorithm:
//!
//! ```text
//! ratelimit_conformance::suite!(MyStore::new());
//! ```
//!
//! [`suite::run_all`] does the same in one call. The laws are those of [`ratelimit_core::algorithm`].

pub mod bounds;
mod check;
pub mod core_subject;
pub mod equality;
pub mod known_failures;
pub mod laws;
pub mod model;
pub mod spec;
pub mod strategy;
pub mod subject;
pub mod suite;
pub mod trace;
pub mod vectors;
