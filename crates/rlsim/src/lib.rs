//! `rlsim` replays traffic through rate-limiting algorithms and shows what each would have allowed and rejected.
//!
//! Data flows one way, and each stage imports only the type it is handed:
//!
//! ```text
//! trace -> replay -> metrics -> report (text)
//!                            -> chart  (SVG)
//! ```
//!
//! [`trace`] reads files into columns of events; [`replay`] owns the virtual clock and hands every event to every
//! policy; [`metrics`] turns outcomes into numbers and never sees a limiter; [`report`] and [`chart`] turn numbers into
//! text and pictures and never see a trace; [`client`] follows one client through each policy for a picture of its states.
//! [`cli`] wires them together.

pub mod chart;
pub mod cli;
pub mod client;
pub mod compare;
pub mod error;
pub mod generate;
pub mod inspect;
pub mod metrics;
pub mod recommend;
pub mod replay;
pub mod report;
#[cfg(feature = "serve")]
pub mod serve;
pub mod sim;
pub mod sweep;
pub mod trace;
