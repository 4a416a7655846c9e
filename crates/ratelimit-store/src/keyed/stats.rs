//! What a keyed limiter has done so far.

/// Counts since the limiter was made. While other threads decide they are as of about now, afterwards exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Requests allowed.
    pub allowed: u64,
    /// Requests denied for now.
    pub denied: u64,
    /// Requests whose cost can never be allowed.
    pub never: u64,
    /// Calls that found no room for a new client and used the state that such clients share.
    pub overflow: u64,
    /// Clients forgotten because they were fresh.
    pub evicted: u64,
    /// Clients kept now.
    pub tracked: usize,
}
