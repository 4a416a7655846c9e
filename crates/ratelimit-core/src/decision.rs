//! The answers. "Not yet" and "never" are different variants, and "not yet" says when.

use crate::Nanos;

/// The answer to one request.
///
/// All durations count from the `now` that the caller passed, also when that clock had stepped back, and saturate at
/// [`Nanos::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Decision {
    /// The request passes, and its cost has been charged.
    Allowed {
        /// Units that would still be allowed at this instant; one more would not.
        remaining: u64,
        /// After so long, unused, the state is fresh again.
        reset_after: Nanos,
        /// How long the request waits for its turn. Zero for every algorithm but the leaky bucket.
        delay: Nanos,
    },
    /// The request does not pass now, and nothing was charged.
    Denied {
        /// The same cost is allowed after so long, and not 1 ns earlier, if nothing else is charged meanwhile.
        retry_after: Nanos,
        /// Units that would be allowed at this instant (fewer than were asked for).
        remaining: u64,
        /// After so long, unused, the state is fresh again.
        reset_after: Nanos,
    },
    /// A request of this cost can never pass, and nothing was charged.
    Never {
        /// The largest cost that can ever pass.
        capacity: u64,
    },
}

impl Decision {
    /// Whether the request passes (perhaps after a delay).
    #[inline]
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Decision::Allowed { .. })
    }

    /// How long to wait before the same request can pass. `None` when it was allowed, or can never be.
    #[inline]
    pub const fn retry_after(&self) -> Option<Nanos> {
        match self {
            Decision::Denied { retry_after, .. } => Some(*retry_after),
            Decision::Allowed { .. } | Decision::Never { .. } => None,
        }
    }
}
