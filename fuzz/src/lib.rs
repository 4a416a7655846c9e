//! What every fuzz target checks, apart from the fuzzer, so that ordinary tests can run the same corpora.
mod policy;
mod readers;

pub use policy::policy_text;
pub use readers::{any, compressed, delimited, json, lines};
