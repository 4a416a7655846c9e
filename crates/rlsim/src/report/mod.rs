//! Reports: numbers in, text out. One exporter a file; none of them computes a number of its own.

mod assertion;
mod csv;
mod definitions;
mod finding;
mod format;
mod html;
mod json;
mod markdown;
mod table;

pub use assertion::Assertion;
pub use csv::csv;
pub use finding::{finding, hardest_hit, headline};
pub use format::{count, duration, name_title, policy_title, quota, ratio, shell, short_count};
pub use html::html;
pub use json::json;
pub use markdown::markdown;
pub use table::table;

use crate::metrics::{Offered, PolicyNumbers};
use serde::Serialize;

/// The name and version of the JSON report's shape.
pub const SCHEMA: &str = "rlsim.compare/1";

/// Everything that `compare` found out, in the order in which it is written as JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Where the numbers come from.
    pub meta: Meta,
    /// One entry a policy, in the order of the command line.
    pub policies: Vec<PolicyNumbers>,
    /// What was asked for, where it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered: Option<Offered>,
}

impl Report {
    /// A report of the current schema.
    pub fn new(meta: Meta, policies: Vec<PolicyNumbers>) -> Self {
        Report { schema: SCHEMA, meta, policies, offered: None }
    }
}

/// Where the numbers come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Meta {
    /// The version of the program.
    pub version: String,
    /// The command that gives this report again, word by word.
    pub command: Vec<String>,
    /// The trace.
    pub trace: TraceMeta,
    /// Client names by index, for tables and pictures.
    #[serde(skip)]
    pub names: Vec<Box<[u8]>>,
}

/// The trace's own facts. `rows = events + bad + blank + skipped`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TraceMeta {
    /// The files, in the order given.
    pub path: Vec<String>,
    /// The format's name.
    pub format: String,
    /// Records in the input.
    pub rows: u64,
    /// Records that became events.
    pub events: u64,
    /// Records that could not be read.
    pub bad: u64,
    /// Blank lines.
    pub blank: u64,
    /// Records passed over on purpose.
    pub skipped: u64,
    /// Clients.
    pub clients: u64,
    /// Units asked for by all events.
    pub units: u64,
    /// The first event, in nanoseconds.
    pub start_ns: u64,
    /// The last event, in nanoseconds.
    pub end_ns: u64,
    /// The step of the input's clock, 0 when unknown.
    pub resolution_ns: u64,
    /// Events moved by sorting.
    pub reordered: u64,
    /// The largest step back of the input's clock, in nanoseconds.
    pub largest_step_back_ns: u64,
    /// What a person should know about the input; shown in the page, not part of the JSON report.
    #[serde(skip)]
    pub notes: Vec<String>,
}
