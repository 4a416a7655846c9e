//! `rlsim cluster`: one limit, many servers.
//!
//! One request through it, file by file:
//!
//! ```text
//! arrivals          a request comes, from a pattern or a trace
//! routing           ... and is sent to a server
//! strategy          the server decides, alone or by messages to the store (one file a strategy)
//! network           messages take their time, get lost, or find the store down
//! ledger            the answer is written down, beside that of the exact single limiter
//! exact, outcome    what is said about all of them in the end
//! ```

pub mod args;
pub mod arrivals;
mod compare;
mod exact;
pub mod faults;
mod ledger;
mod network;
mod outcome;
mod report;
pub mod routing;
mod share;
pub mod strategy;
mod sweep;
mod world;

pub use args::ClusterArgs;
pub use arrivals::Arrival;
pub use compare::{Compared, compare};
pub use exact::Exact;
pub use faults::{Faults, Timeout, WhenDown};
pub use ledger::Answer;
pub use network::Delay;
pub use outcome::Outcome;
pub use routing::Routing;
pub use share::divide;
pub use strategy::Strategy;
pub use world::{Cluster, answers, run};
