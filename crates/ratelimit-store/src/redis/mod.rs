//! One limit for many servers, decided in Redis.
//!
//! Each algorithm is a Lua script that repeats the core's arithmetic in whole microseconds, at the server's time, in one
//! round trip; see `lua/` and, for how to run it, `docs/redis.md`.
//!
//! ```text
//! SharedLimiter ─▶ caller ─▶ link ─▶ the server: time_server.lua + common.lua + the algorithms + main.lua
//! ReplayLimiter ─┘ timeout,  reconnect             (time_passed.lua for replays and tests)
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
