//! What every reader produces and every later stage consumes: events as columns, and the facts of how they were read.

use std::path::PathBuf;

use super::answers::AnswerCounts;

/// The cost column. Most traces have unit costs, and then it takes no memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Costs {
    /// Every event costs one unit.
    Unit,
    /// One cost an event, in the order of the events.
    Each(Vec<u64>),
}

impl Costs {
    /// The cost of event `i`, in units.
    pub fn get(&self, i: usize) -> u64 {
        match self {
            Costs::Unit => 1,
            Costs::Each(costs) => costs[i],
        }
    }
}

/// Events in time order (ties in the order of the input), as columns of equal length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// When, in nanoseconds (since the Unix epoch where the input is absolute), never decreasing.
    pub at: Vec<u64>,
    /// Who: an index into `names`.
    pub client: Vec<u32>,
    /// How much, in units.
    pub cost: Costs,
    /// Client names, opaque bytes, in the order of their first appearance. One empty name when the input has no client column.
    pub names: Vec<Box<[u8]>>,
    /// How the input was read.
    pub facts: Facts,
}

/// How the input was read: what a report's `meta.trace` says. `rows = events + bad + blank + skipped`, always.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// The files, in the order given.
    pub paths: Vec<PathBuf>,
    /// The format's name, such as `csv`.
    pub format: String,
    /// Records in the input.
    pub rows: u64,
    /// Records that became events.
    pub events: u64,
    /// Records that could not be read.
    pub bad: u64,
    /// Blank lines.
    pub blank: u64,
    /// Records passed over on purpose: comments, directives, filtered ones.
    pub skipped: u64,
    /// The largest power-of-ten or whole step that divides all times, in nanoseconds (0 with fewer than two distinct times).
    pub resolution_ns: u64,
    /// Events earlier than the event just before them in their file: the inversions that sorting had to undo.
    pub reordered: u64,
    /// The largest of these steps back, in nanoseconds.
    pub largest_step_back_ns: u64,
    /// How the requests were answered, as far as that was asked for.
    pub answers: AnswerCounts,
    /// Things a person should know: a guessed unit, the first bad rows, a missing client column.
    pub notes: Vec<String>,
}
