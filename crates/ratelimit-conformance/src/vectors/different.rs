//! The vectors on which we differ, each with its reason.

use std::fmt;

/// Why a vector does not hold here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Its window begins with the first request; ours are aligned.
    WindowFromFirstRequest,
    /// It refills in whole intervals; ours by exact fractions.
    WholeIntervals,
    /// It calls the end of the window the reset; ours is when nothing counts any more.
    ResetIsWindowEnd,
    /// It rounds the counter's estimate in another way.
    CounterRounding,
    /// It uses an operation that we do not have.
    NoSuchOperation,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::WindowFromFirstRequest => "window anchored at the first request",
            Reason::WholeIntervals => "refill in whole intervals",
            Reason::ResetIsWindowEnd => "reset meaning the window's end",
            Reason::CounterRounding => "rounding of the counter",
            Reason::NoSuchOperation => "an operation we do not have",
        })
    }
}

/// The reason of a listed vector.
pub(super) fn reason_of(id: &str) -> Option<Reason> {
    DIFFERENT.iter().find(|(listed, _)| *listed == id).map(|(_, reason)| *reason)
}

const DIFFERENT: [(&str, Reason); 13] = [
    // A rate of 0 is no quota.
    ("time#027", Reason::NoSuchOperation),
    ("bucket4j#053", Reason::WholeIntervals),
    ("bucket4j#054", Reason::WholeIntervals),
    // More tokens than the bucket holds.
    ("bucket4j#062", Reason::NoSuchOperation),
    ("limits#111", Reason::ResetIsWindowEnd),
    ("limits#113", Reason::ResetIsWindowEnd),
    ("rate-limiter#123", Reason::WholeIntervals),
    // Idle credit of a pacer: our queue has none.
    ("ratelimit#142", Reason::NoSuchOperation),
    ("ratelimit#143", Reason::NoSuchOperation),
    ("gubernator#149", Reason::WholeIntervals),
    ("runtime#180", Reason::WholeIntervals),
    // Waiting callers of a token bucket.
    ("runtime#182", Reason::NoSuchOperation),
    // A decision on counts that are given.
    ("PyrateLimiter#194", Reason::NoSuchOperation),
];
