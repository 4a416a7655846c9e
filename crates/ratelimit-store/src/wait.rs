//! Waiting until a request is allowed, instead of being told when to come back.
//!
//! Whoever waits stands in a line, one line a client, first come first served: the first in line asks, sleeps as long as
//! the core says, and asks again; the others sleep until they are first. Nothing is charged while waiting, so leaving the
//! line (a dropped future, a deadline) costs nothing.
//!
//! - A cost that can never be allowed fails at once, and so does a deadline that is too near as things stand: the line is
//!   played through on a copy of the state. Where others take what was expected (`check` does not stand in line), a
//!   waiter fails at its deadline at the latest (and where a timer rounds up, as tokio's to the millisecond, so much later).
//! - Units that become free early (a refund, a reset, a larger limit) are found early: the first in line is woken.
//! - Cost 0 waits for nobody.
//! - The lines are bounded: see [`WaitError::QueueFull`]. Whoever need not wait passes also when they are full.
//! - A leaky bucket's `delay` is part of the wait. A wait that is dropped during its delay gives its place in the bucket
//!   back, unless others have joined behind: then the place stays taken until it has drained, so that nobody comes too close
//!   to the one ahead.
//!
//! ```
//! use std::time::Duration;
//! use ratelimit_core::{LeakyBucket, Nanos};
//! use ratelimit_store::{Limiter, ManualClock, Wait, WaitError};
//!
//! // A manual clock moves on by itself when a wait pauses; `Limiter::new` would really sleep.
//! let clock = ManualClock::new(Nanos::from_secs(100));
//! let limiter = Limiter::with_clock(LeakyBucket::per(1, Duration::from_secs(1))?.burst(3)?, clock.clone());
//! for second in 0..10 {
//!     limiter.wait_until_allowed(1).unwrap();
//!     assert_eq!(clock_of(&limiter), Nanos::from_secs(100 + second));
//! }
//! let in_a_hurry = Wait::for_cost(1).within(Nanos::from_millis(10));
//! assert!(matches!(limiter.wait_until_allowed(in_a_hurry), Err(WaitError::TooLate { .. })));
//! # fn clock_of(limiter: &Limiter<LeakyBucket, ManualClock>) -> Nanos {
//! #     ratelimit_store::Clock::now(limiter.clock())
//! # }
//! # Ok::<(), ratelimit_core::QuotaError>(())
//! ```

mod blocking;
#[cfg(feature = "async")]
mod future;
mod line;

use std::fmt;

use ratelimit_core::Nanos;

pub use blocking::Pause;
#[cfg(feature = "async")]
pub use future::{Timer, TokioClock};

pub(crate) use blocking::block;
#[cfg(feature = "async")]
pub(crate) use future::until;
pub(crate) use line::{A_CLIENT, Gate, IN_ALL, Lines, Pass};

/// What is waited for, and how long at most. A plain number is that cost with no deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Wait {
    cost: u64,
    until: Until,
    jitter: Nanos,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    Forever,
    Within(Nanos),
    By(Nanos),
}

impl Wait {
    /// Waits for `cost` units.
    pub const fn for_cost(cost: u64) -> Self {
        Wait { cost, until: Until::Forever, jitter: Nanos::ZERO }
    }

    /// Waits for so long at most.
    pub const fn within(self, duration: Nanos) -> Self {
        Wait { until: Until::Within(duration), ..self }
    }

    /// Waits until `deadline` on the limiter's clock at most.
    pub const fn by(self, deadline: Nanos) -> Self {
        Wait { until: Until::By(deadline), ..self }
    }

    /// Sleeps up to so much longer each time, at random, though not beyond the deadline: for many processes that would all come back at one instant.
    /// Within one process the line spaces the waiters out already.
    pub const fn jitter(self, jitter: Nanos) -> Self {
        Wait { jitter, ..self }
    }

    pub(crate) const fn cost(&self) -> u64 {
        self.cost
    }

    fn deadline(&self, now: Nanos) -> Option<Nanos> {
        match self.until {
            Until::Forever => None,
            Until::Within(duration) => Some(now.saturating_add(duration)),
            Until::By(deadline) => Some(deadline),
        }
    }
}

impl From<u64> for Wait {
    fn from(cost: u64) -> Self {
        Wait::for_cost(cost)
    }
}

/// Why waiting is in vain. Nothing was charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitError {
    /// A request of this cost can never be allowed.
    Never {
        /// The largest cost that can be.
        capacity: u64,
    },
    /// It would be allowed only after the deadline.
    TooLate {
        /// So long from now, as far as is known.
        needed: Nanos,
    },
    /// Too many wait already.
    QueueFull {
        /// Waiters for the same client.
        waiting: usize,
    },
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitError::Never { capacity } => {
                write!(f, "this cost can never be allowed: at most {capacity} units fit, ask for fewer at a time")
            }
            WaitError::TooLate { needed } => {
                write!(f, "the deadline is too near: the wait would take another {needed}")
            }
            WaitError::QueueFull { waiting } => {
                write!(f, "the queue is full: {waiting} wait for this client already, see max_waiting")
            }
        }
    }
}

impl std::error::Error for WaitError {}
