//! `rlsim storm`: clients that retry, a server that can be overwhelmed, and a limiter between them.
//!
//! One request through it, file by file:
//!
//! ```text
//! world      Begin ----> clients: a new request, first attempt sent
//! world      Arrive ---> server: what says the limiter? is a worker free, or room to wait?
//! world      Done -----> server: the worker answers, and takes the next in the queue
//! world      Answer ---> clients: served, or wait as [`retry`] says and send again
//! world      Timeout --> clients: waited too long for the answer; the server's work is wasted
//! ```
//!
//! `meter` writes down what happens; `outcome` is what is said about it in the end.

pub mod args;
mod clients;
mod compare;
mod event;
mod heat;
mod meter;
mod outcome;
mod report;
mod retry;
pub mod scenario;
mod server;
mod throttle;
mod typed;
mod world;

pub use args::StormArgs;
pub use compare::{Compared, compare};
pub use meter::{Bin, Ends, Tally};
pub use outcome::{Outcome, Recovery};
pub use retry::{Backoff, Jitter, Mixture, Retry};
pub use scenario::Scenario;
pub use throttle::Throttle;
pub use world::run;
