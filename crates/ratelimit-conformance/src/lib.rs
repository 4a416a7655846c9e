//! What every implementation of the limiters must pass: reference models, laws, bounds, vectors.
//!
//! An implementation is plugged in by one adapter, a [`Subject`](subject::Subject) whose [`Client`](subject::Client) is
//! always given the time; [`core_subject`] is the core's. Then [`suite!`] gives its crate a named test for every law and
//! algorithm, every known failure and the vectors, and [`suite::run_all`] does the same in one call.
//!
//! ```
//! use ratelimit_conformance::core_subject::Core;
//! use ratelimit_conformance::equality::trace_equals_model;
//! use ratelimit_conformance::spec::{Kind, RuleSpec};
//! use ratelimit_conformance::trace::{Op, Trace};
//!
//! // A single trace, such as a counterexample, can be run too.
//! let policy = RuleSpec::new(Kind::TokenBucket, 5, 60).into();
//! let trace = Trace { policy, ops: vec![Op::decide(0, 5), Op::decide(1, 1), Op::decide(12, 1)] };
//! trace_equals_model(&Core, &trace).unwrap();
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`subject`] | what an implementation has to offer, and what it may declare absent |
//! | [`model`] | each algorithm straight from its definition, slow on purpose |
//! | [`equality`] | the implementation equals the model on arbitrary traces |
//! | [`laws`], [`bounds`] | the numbered laws of [`ratelimit_core::algorithm`] |
//! | [`vectors`], [`known_failures`] | what other limiters' tests assert, and where published limiters fail |
//! | [`spec`], [`trace`], [`strategy`] | policies and traces as plain data, and how they are drawn |
//!
//! `PROPTEST_CASES` sets the number of cases (256; costly laws run a share of it), `PROPTEST_RNG_SEED` another seed than
//! the committed one. A failing case is kept in `proptest-regressions/` of the crate whose tests ran.

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
