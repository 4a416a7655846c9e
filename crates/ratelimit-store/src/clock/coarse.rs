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
/// It runs behind by at most one period, and by as long as its thread is not run, and never ahead. So no more is admitted in a span
/// T than the guarantee of the algorithm says for T and that delay together, and who waits for as long as an answer says may
/// have to wait for a delay longer. It offers no waiting of its own: [`wait`](crate::wait) asks for a clock that can pause.
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

/// A shorter one would keep a core busy.
const SHORTEST: Duration = Duration::from_micros(10);
/// A longer one would keep the thread when nobody reads the clock any more.
const LONGEST: Duration = Duration::from_secs(60);

impl CoarseClock {
    /// A clock that is right now, and is set right each `period`, 10 us to a minute. Its thread ends, within a period, when the
    /// last of its copies is dropped. A process that forks makes it afterwards, since the thread stays behind.
    ///
    /// # Errors
    /// Another period, and where no thread can be had.
    pub fn new(period: Duration) -> io::Result<Self> {
        if !(SHORTEST..=LONGEST).contains(&period) {
            let text = format!("the period of a coarse clock is 10 us to 1 min, not {period:?}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
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
    fn a_period_that_makes_no_sense_is_refused() {
        for period in [Duration::ZERO, Duration::from_nanos(9_999), Duration::from_secs(61), Duration::MAX] {
            let error = CoarseClock::new(period).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(error.to_string().contains("10 us to 1 min"), "{error}");
        }
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
