//! One limit for many servers, decided in Redis.
//!
//! A Lua script for each set of algorithms repeats the core's arithmetic in whole microseconds, at the server's time, in one
//! round trip; see `script.rs` and `lua/`, and for how to run it `docs/redis.md`.
//!
//! ```text
//! SharedLimiter ─▶ caller ─▶ link ─▶ the server: time_server.lua + common.lua + main.lua (several.lua for several limits)
//! ReplayLimiter ─┘ timeout,  reconnect            (time_passed.lua)          └ with the parts of the algorithms
//!                  NOSCRIPT
//! ```

mod batch;
mod builder;
mod caller;
#[cfg(feature = "redis-cluster")]
mod cluster;
mod error;
mod exact;
mod key;
mod limiter;
mod link;
mod replay;
mod reply;
mod script;
mod several;
mod split;

pub use builder::{Builder, DEFAULT_MAX_CALLS, DEFAULT_TIMEOUT};
pub use error::{BuildError, SharedError};
pub use exact::{NotExact, Reason};
pub use key::BadPrefix;
pub use limiter::SharedLimiter;
pub use replay::{ReplayLimiter, Request};
pub use split::SplitLimiter;
