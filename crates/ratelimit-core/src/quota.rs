//! Quotas: validated parameters. The constructors here are the only ones in the crate that can fail; whatever has
//! been constructed decides every input.
//!
//! # Limit, window, burst
//!
//! A quota is a **limit** of L units per **window** W. Both parts are always named: "100 per minute" is
//! `Quota::per(100, Duration::from_secs(60))`, never a rate as a floating-point number, so that "1 per 3 ns" and
//! "7 per 30 days" are both exact.
//!
//! A **burst** B belongs to the buckets only. It is how much can be saved up: after enough idle time, B units pass
//! at once, and from then on L per W. It defaults to L.
//!
//! ```
//! use core::time::Duration;
//! use ratelimit_core::{Algorithm, Nanos, TokenBucket};
//!
//! // 1 per second on average, and 5 at once after a pause.
//! let bucket = TokenBucket::per(1, Duration::from_secs(1))?.burst(5)?;
//! let mut alice = bucket.fresh();
//! let at_once = (0..10).filter(|_| bucket.decide(&mut alice, Nanos::ZERO, 1).is_allowed()).count();
//! assert_eq!(at_once, 5);
//! let in_the_next_minute = (0..6000)
//!     .filter(|i| bucket.decide(&mut alice, Nanos::from_millis(10 * (i + 1)), 1).is_allowed())
//!     .count();
//! assert_eq!(in_the_next_minute, 60);
//! # Ok::<(), ratelimit_core::QuotaError>(())
//! ```

use core::fmt;
use core::num::NonZeroU64;
use core::time::Duration;

use crate::Nanos;

/// A limit of L units per window W; both are at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Quota {
    limit: NonZeroU64,
    window: NonZeroU64,
}

impl Quota {
    /// `limit` units per `window`.
    ///
    /// # Errors
    /// A limit of 0, a window of 0, or a window longer than `u64` nanoseconds.
    pub const fn per(limit: u64, window: Duration) -> Result<Quota, QuotaError> {
        let nanos = window.as_nanos();
        if nanos > u64::MAX as u128 {
            return Err(QuotaError::WindowTooLong);
        }
        // The comparison above is the proof that nothing is cut off.
        Self::per_nanos(limit, Nanos::new(nanos as u64))
    }

    /// `limit` units per `window`, the window in nanoseconds.
    ///
    /// # Errors
    /// A limit of 0 or a window of 0.
    pub const fn per_nanos(limit: u64, window: Nanos) -> Result<Quota, QuotaError> {
        match (NonZeroU64::new(limit), NonZeroU64::new(window.get())) {
            (Some(limit), Some(window)) => Ok(Quota { limit, window }),
            (None, _) => Err(QuotaError::ZeroLimit),
            (_, None) => Err(QuotaError::ZeroWindow),
        }
    }

    /// Units per window; at least 1.
    #[inline]
    pub const fn limit(self) -> u64 {
        self.limit.get()
    }

    /// The window; at least 1 ns.
    #[inline]
    pub const fn window(self) -> Nanos {
        Nanos::new(self.window.get())
    }
}

/// `100/1m`.
impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.limit, self.window())
    }
}

/// Why parameters are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QuotaError {
    /// A limit of 0 would refuse everything: say so by not routing the traffic at all.
    ZeroLimit,
    /// A window of 0 has no rate.
    ZeroWindow,
    /// The window is longer than `u64` nanoseconds.
    WindowTooLong,
    /// A burst of 0 would refuse everything.
    ZeroBurst,
}

impl fmt::Display for QuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            QuotaError::ZeroLimit => "the limit is 0, expected at least 1 unit per window",
            QuotaError::ZeroWindow => "the window is 0, expected at least 1 ns",
            QuotaError::WindowTooLong => "the window is longer than 18446744073709551615 ns (about 584 years)",
            QuotaError::ZeroBurst => "the burst is 0, expected at least 1 unit",
        })
    }
}

impl core::error::Error for QuotaError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_has_no_meaning() {
        assert_eq!(Quota::per(0, Duration::from_secs(1)), Err(QuotaError::ZeroLimit));
        assert_eq!(Quota::per(1, Duration::ZERO), Err(QuotaError::ZeroWindow));
        assert_eq!(Quota::per(1, Duration::MAX), Err(QuotaError::WindowTooLong));
        assert_eq!(Quota::per(0, Duration::MAX), Err(QuotaError::WindowTooLong));
        assert!(Quota::per(u64::MAX, Duration::from_nanos(u64::MAX)).is_ok());
    }
}
