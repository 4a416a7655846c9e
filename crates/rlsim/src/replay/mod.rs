//! Replay: owns the virtual clock, hands every event to every policy, and passes on what became of it as numbers.
//!
//! Limits are per client, so a client's history can be decided on its own: events are grouped by client once, and each
//! policy then walks one client after another. State and verdicts stay in the cache, whatever the number of clients, and
//! an [`Observer`] is handed whole histories. Chunks of clients go to several threads; their observers are merged in a
//! fixed order, so the result does not depend on the number of threads.

mod dispatch;
mod engine;
mod grouped;
mod in_order;
mod memory;
mod named;
mod online;
mod outcome;

pub use engine::{By, Observer, Replayed, replay};
pub use grouped::Grouped;
pub use in_order::{Decider, replay_in_order};
pub use memory::memory;
pub use named::{NamedPolicy, default_policies, parse_named, unique_names};
pub use online::{Lane, StreamObserver};
pub use outcome::{CostColumn, History, Outcome, Subject, Verdict};
