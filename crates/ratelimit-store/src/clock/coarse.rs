//! A clock that is read in advance.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use ratelimit_core::Nanos;

use super::{Clock, SystemClock};

/// A clock that a thread of its own reads each period, so that a call finds the time in memory: a nanosecond in place of the
/// dozens that asking the machine takes, which is more than all the rest of a check.
///
/// It runs behind by at most one period, and by as long as its thread is not run. That errs on one side only. No more is admitted in
/// a span T than the guarantee of the algorithm says for T and the delay together; and who waits for as long as an answer
/// says is not refused.
///
/// ```
/// use std::time::Duration;
/// use ratelimit_core::TokenBucket;
/// use ratelimit_store::{CoarseClock, KeyedLimiter};
///
/// let policy = TokenBucket::per(100, Duration::from_secs(60))?;
/// let limiter = KeyedLimiter::builder(policy).clock(CoarseClock::new(Duration::from_millis(1))?).build();
/// assert!(limiter.allows("alice"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct CoarseClock {
    shown: Arc<Shown>,
}

/// On a cache line of its own, and not beside what others write: it is read by every call.
#[derive(Debug)]
#[repr(align(128))]
struct Shown(AtomicU64);

impl CoarseClock {
    /// A clock that is right now, and is set right each `period`. Its thread ends, within a period, when the last of its
    /// copies is dropped.
    ///
    /// # Errors
    /// Where no thread can be had.
    pub fn new(period: Duration) -> io::Result<Self> {
        let source = SystemClock::new();
        let clock = CoarseClock { shown: Arc::new(Shown(AtomicU64::new(source.now().get()))) };
        let shown = Arc::downgrade(&clock.shown);
        thread::Builder::new().name("coarse-clock".into()).spawn(move || keep_right(&shown, source, period))?;
        Ok(clock)
    }
}

impl Clock for CoarseClock {
    #[inline]
    fn now(&self) -> Nanos {
        // Nothing else is learned from it, so no order is needed; one thread writes, and its clock never steps back.
        Nanos::new(self.shown.0.load(Ordering::Relaxed))
    }
}

fn keep_right(shown: &Weak<Shown>, source: SystemClock, period: Duration) {
    while let Some(shown) = shown.upgrade() {
        shown.0.store(source.now().get(), Ordering::Relaxed);
        drop(shown);
        thread::sleep(period);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_system_clock() {
        let (system, clock) = (SystemClock::new(), CoarseClock::new(Duration::from_micros(50)).unwrap());
        let first = clock.now();
        let copy = clock.clone();
        // Until it has been set once more, which its thread will see to.
        while copy.now() == first {
            assert!(system.now().saturating_sub(first) < Nanos::from_secs(60), "it stands still");
            thread::yield_now();
        }
        assert!(copy.now() > first);
        let shown = clock.now();
        // Both clocks asked the wall clock once; between the two, that may have been corrected.
        assert!(shown.saturating_sub(system.now()) < Nanos::from_secs(10));
    }

    #[test]
    fn its_thread_ends_with_the_last_copy() {
        let clock = CoarseClock::new(Duration::from_micros(50)).unwrap();
        let shown = Arc::downgrade(&clock.shown);
        let copy = clock.clone();
        drop(clock);
        assert!(shown.upgrade().is_some());
        drop(copy);
        // The thread holds it for the moment of writing at most, and sees that nobody else does.
        while shown.strong_count() > 0 {
            thread::yield_now();
        }
        keep_right(&shown, SystemClock::new(), Duration::from_secs(3600));
    }
}
