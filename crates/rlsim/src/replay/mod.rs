//! Replay: owns the virtual clock, hands every event to every policy, and passes on what became of it as numbers.

mod outcome;

pub use outcome::{CostColumn, History, Outcome, Subject, Verdict};
