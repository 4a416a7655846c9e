//! A decision and where it came from.

use ratelimit_core::Decision;

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// The shared limiter, for all servers together.
    Shared,
    /// The local limiter, for this server's share.
    Local,
    /// Nobody: the shared limiter is down, and everything passes meanwhile.
    Open,
    /// Nobody: the shared limiter is down, and nothing passes meanwhile.
    Closed,
}

/// A decision and where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Answer {
    /// The decision.
    pub decision: Decision,
    /// Who took it.
    pub source: Source,
}
