//! Where the time comes from. The limiters read a [`Clock`] once a call; every operation also has an `_at` form that
//! takes the time instead, for tests, replays, and batches that read the clock once.

mod coarse;
#[cfg(feature = "fast-clock")]
mod fast;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ratelimit_core::Nanos;

pub use coarse::CoarseClock;
#[cfg(feature = "fast-clock")]
pub use fast::FastClock;

/// Tells the time, in nanoseconds since the Unix epoch.
///
/// It should not step back; where it does, the laws of `ratelimit_core::algorithm` say what happens (law 5), and a
/// [`KeyedLimiter`](crate::KeyedLimiter) never lets time fall behind its own latest forgetting (law 7).
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Nanos;
}

/// The clock of the machine: the Unix epoch is read once, when the clock is made, and from then on only time that
/// cannot step back is added.
///
/// Windows are aligned to the epoch, so servers whose wall clocks agreed at their start count in the same windows. A
/// wall clock that is corrected later does not move this one. Copies share the origin, and tell the same time.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    epoch: Nanos,
    start: Instant,
}

impl SystemClock {
    /// A clock that is right now.
    pub fn new() -> Self {
        // A wall clock before 1970 or after 2554 counts as that bound: the limits hold all the same.
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        SystemClock { epoch: Nanos::try_from(since_epoch).unwrap_or(Nanos::MAX), start: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Nanos {
        self.epoch.saturating_add(Nanos::try_from(self.start.elapsed()).unwrap_or(Nanos::MAX))
    }
}

/// A clock that stands still until it is moved: for tests. Clones show the same time.
///
/// ```
/// use ratelimit_core::Nanos;
/// use ratelimit_store::{Clock, ManualClock};
///
/// let clock = ManualClock::new(Nanos::from_secs(100));
/// let the_same = clock.clone();
/// clock.advance(Nanos::from_millis(1));
/// assert_eq!(the_same.now(), Nanos::from_millis(100_001));
/// ```
#[derive(Debug, Clone, Default)]
pub struct ManualClock {
    nanos: Arc<AtomicU64>,
}

impl ManualClock {
    /// A clock that shows `now`.
    pub fn new(now: Nanos) -> Self {
        ManualClock { nanos: Arc::new(AtomicU64::new(now.get())) }
    }

    /// Moves on by `duration`, at most to the last instant there is.
    pub fn advance(&self, duration: Nanos) {
        let moved = |nanos| Some(Nanos::new(nanos).saturating_add(duration).get());
        // The closure never refuses, so there is no error to report.
        let _ = self.nanos.fetch_update(Ordering::SeqCst, Ordering::SeqCst, moved);
    }

    /// Shows `now` from here on, also when that is a step back.
    pub fn set(&self, now: Nanos) {
        self.nanos.store(now.get(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Nanos {
        Nanos::new(self.nanos.load(Ordering::SeqCst))
    }
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now(&self) -> Nanos {
        (**self).now()
    }
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Nanos {
        (**self).now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_counts_from_the_epoch_and_never_back() {
        let clock = SystemClock::new();
        let first = clock.now();
        // 2020-01-01 to 2554.
        assert!(first > Nanos::from_secs(1_577_836_800) && first < Nanos::MAX);
        assert!(clock.now() >= first);
    }

    #[test]
    fn a_manual_clock_saturates_and_steps_back() {
        let clock = ManualClock::new(Nanos::MAX);
        clock.advance(Nanos::new(1));
        assert_eq!(clock.now(), Nanos::MAX);
        clock.set(Nanos::new(7));
        assert_eq!(clock.now(), Nanos::new(7));
    }
}
