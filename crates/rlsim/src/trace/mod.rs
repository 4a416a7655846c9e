//! Traces: files in, columns of events out.

mod columns;

pub use columns::{Costs, Facts, Trace};
