//! What a layer has done so far.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of requests. Each request is counted once, but for `shadowed`, which is part of `allowed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Passed on.
    pub allowed: u64,
    /// Refused for now.
    pub denied: u64,
    /// Refused for ever: the cost exceeds the capacity.
    pub never: u64,
    /// Let pass without a decision: skipped, a preflight, or no policy applied.
    pub exempt: u64,
    /// Refused because the client could not be told; in shadow mode passed on.
    pub unidentified: u64,
    /// The shared backend had no answer (passed on or refused, as the layer was told).
    pub unavailable: u64,
    /// Would have been refused, but the layer is in shadow mode.
    pub shadowed: u64,
}

/// On cache lines of their own, two since processors fetch lines in pairs: whoever counts must not take from the others what
/// every request reads. It also keeps what all share apart from the count of who shares it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counters {
    pub(crate) allowed: AtomicU64,
    pub(crate) denied: AtomicU64,
    pub(crate) never: AtomicU64,
    pub(crate) exempt: AtomicU64,
    pub(crate) unidentified: AtomicU64,
    pub(crate) unavailable: AtomicU64,
    pub(crate) shadowed: AtomicU64,
}

impl Counters {
    pub(crate) fn read(&self) -> Stats {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            allowed: of(&self.allowed),
            denied: of(&self.denied),
            never: of(&self.never),
            exempt: of(&self.exempt),
            unidentified: of(&self.unidentified),
            unavailable: of(&self.unavailable),
            shadowed: of(&self.shadowed),
        }
    }
}

#[inline]
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
