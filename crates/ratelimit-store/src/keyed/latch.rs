//! The lock of a page: held for a few dozen nanoseconds, and given back by one plain store.
//!
//! A lock that puts its waiters to sleep pays for it at each release, which has to ask, with an atomic exchange, whether
//! somebody sleeps: a tenth of a whole check, since threads seldom meet at one page of many. Here a waiter looks again by
//! itself: a few times with growing pauses, then after giving up its turn, and then after a sleep that grows to a
//! millisecond, so that a holder that lost its core (or has a lower priority) gets one. Already the first pause is as long as
//! several decisions: where all threads ask for one client, each takes some in a row, while the client's cache lines stay.

#[cfg(not(all(test, loom_model)))]
pub(super) use spinning::{Latch, LatchGuard};

#[cfg(all(test, loom_model))]
pub(super) use modelled::{Latch, LatchGuard};

#[cfg(not(all(test, loom_model)))]
mod spinning {
    use std::panic::{RefUnwindSafe, UnwindSafe};
    use std::thread;
    use std::time::Duration;

    use spin::mutex::{SpinMutex, SpinMutexGuard};

    /// Guards a page, and begins where a cache line does.
    #[repr(align(64))]
    pub(in crate::keyed) struct Latch<T>(SpinMutex<T>);

    pub(in crate::keyed) type LatchGuard<'a, T> = SpinMutexGuard<'a, T>;

    /// What a page keeps is plain data that is whole between any two calls, also when one of them panics.
    impl<T> UnwindSafe for Latch<T> {}
    impl<T> RefUnwindSafe for Latch<T> {}

    /// The first pause is 2^`FIRST` of the processor's spin hints, 0.2 to 1 us, and each further one twice as long.
    const FIRST: u32 = 4;
    /// Looks in vain before the thread gives up its turn, and turns given up before it sleeps.
    const LOOKS: u32 = 4;
    const TURNS: u32 = 64;
    const LONGEST_SLEEP: Duration = Duration::from_millis(1);

    impl<T> Latch<T> {
        pub(in crate::keyed) fn new(value: T) -> Self {
            Latch(SpinMutex::new(value))
        }

        /// Holds it, after whoever holds it now; also after a panic under it.
        #[inline]
        pub(in crate::keyed) fn lock(&self) -> LatchGuard<'_, T> {
            self.0.try_lock().unwrap_or_else(|| self.wait())
        }

        /// Holds it, unless somebody else does.
        pub(in crate::keyed) fn try_lock(&self) -> Option<LatchGuard<'_, T>> {
            self.0.try_lock()
        }

        #[cold]
        fn wait(&self) -> LatchGuard<'_, T> {
            let mut looks = 0;
            loop {
                pause(looks);
                looks = looks.saturating_add(1);
                // Reading first leaves the line with the holder.
                if !self.0.is_locked()
                    && let Some(guard) = self.0.try_lock()
                {
                    return guard;
                }
            }
        }
    }

    fn pause(looks: u32) {
        if looks < LOOKS {
            (0..1 << (FIRST + looks)).for_each(|_| std::hint::spin_loop());
        } else if looks < LOOKS + TURNS {
            thread::yield_now();
        } else {
            thread::sleep(Duration::from_micros(1 << (looks - LOOKS - TURNS).min(10)).min(LONGEST_SLEEP));
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::sync::Arc;

        #[test]
        fn one_at_a_time_and_whoever_waits_gets_in() {
            let latch = Arc::new(Latch::new(0_u64));
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    let latch = Arc::clone(&latch);
                    thread::spawn(move || {
                        for _ in 0..20_000 {
                            let mut count = latch.lock();
                            let before = *count;
                            std::hint::black_box(&mut count);
                            *count = before + 1;
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!(*latch.lock(), 80_000);
        }

        /// A holder that keeps it for long is waited for asleep.
        #[test]
        fn a_waiter_outlasts_a_slow_holder() {
            let latch = Latch::new(0);
            thread::scope(|scope| {
                let mut held = latch.lock();
                assert!(latch.try_lock().is_none());
                let (asked, is_asked) = std::sync::mpsc::channel();
                let latch = &latch;
                let waiter = scope.spawn(move || {
                    asked.send(()).unwrap();
                    *latch.lock() += 1;
                });
                is_asked.recv().unwrap();
                (0..LOOKS + TURNS + 12).for_each(pause);
                *held = 41;
                drop(held);
                waiter.join().unwrap();
                assert_eq!(*latch.lock(), 42);
            });
        }

        #[test]
        fn a_panic_under_it_lets_go() {
            let latch = Latch::new(7);
            let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _held = latch.lock();
                panic!("a policy that breaks the laws");
            }));
            assert!(panic.is_err());
            assert_eq!(*latch.lock(), 7);
        }
    }
}

/// The same for loom, which tries every interleaving, but not those of waiting by looking again.
#[cfg(all(test, loom_model))]
mod modelled {
    use loom::sync::{Mutex, MutexGuard};

    use crate::cell::lock;

    pub(in crate::keyed) struct Latch<T>(Mutex<T>);

    pub(in crate::keyed) type LatchGuard<'a, T> = MutexGuard<'a, T>;

    impl<T> Latch<T> {
        pub(in crate::keyed) fn new(value: T) -> Self {
            Latch(Mutex::new(value))
        }

        pub(in crate::keyed) fn lock(&self) -> LatchGuard<'_, T> {
            lock(&self.0)
        }

        pub(in crate::keyed) fn try_lock(&self) -> Option<LatchGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }
}
