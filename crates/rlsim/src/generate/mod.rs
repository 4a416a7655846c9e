//! Makes traces: named patterns of traffic, as rows in time order, from a seed.
//!
//! ```text
//! pattern (when) + clients (who) + costs (how much) -> component -> mix (components merged by time) -> CSV
//! ```
//!
//! Rows are made one at a time, so a billion of them need no memory. All arithmetic is in integers and all chance comes
//! from [`random::Draws`], so a seed gives the same bytes on every machine.

pub mod args;
pub mod clients;
pub mod costs;
pub mod curve;
pub mod fixed;
mod mix;
pub mod pattern;
pub mod random;
mod stop;
pub mod units;

pub use args::GenerateArgs;
pub use mix::{Component, Mix, Row};
pub use pattern::Pattern;
pub use stop::Stop;
