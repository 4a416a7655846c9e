//! Discrete-event simulation: what a replay of a fixed trace cannot show, because clients react to what they are told.
//!
//! [`storm`] puts clients that retry in front of a server; [`cluster`] puts many servers behind one limit. Both are
//! small state machines that hand each other events through one [`queue`]: time is a whole number of nanoseconds, ties
//! are served in the order in which they were made, and every random choice comes from the seed, so that a run gives the
//! same answer on every machine and on any number of threads.

pub mod cluster;
pub mod export;
pub mod limiter;
pub mod parallel;
pub mod queue;
pub mod stats;
pub mod storm;
pub(crate) mod table;
