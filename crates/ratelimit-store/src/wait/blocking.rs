//! Waiting that blocks the thread.

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use ratelimit_core::{Decision, Nanos};

use super::line::{Gate, Lines, Step, Turn};
use super::{Wait, WaitError};
use crate::{Clock, ManualClock, SystemClock};

/// A clock that can let time pass.
pub trait Pause: Clock {
    /// Returns when so much time has passed on this clock.
    fn pause(&self, duration: Nanos);
}

impl Pause for SystemClock {
    fn pause(&self, duration: Nanos) {
        thread::sleep(duration.into());
    }
}

/// Moves the clock on: nothing in a test ever sleeps.
impl Pause for ManualClock {
    fn pause(&self, duration: Nanos) {
        self.advance(duration);
    }
}

/// Blocks until the cost has passed.
pub(crate) fn block<G: Gate>(
    gate: &G,
    lines: &Lines,
    clock: &impl Pause,
    key: &[u8],
    wait: Wait,
) -> Result<Decision, WaitError> {
    let turn = Turn::join(gate, lines, key, &wait, clock.now())?;
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match turn.step(clock.now(), &waker)? {
            Step::Passed(decision) => {
                drop(turn);
                return Ok(after_delay(decision, |delay| clock.pause(delay)));
            }
            Step::Ask(after) => clock.pause(jittered(after, wait.jitter)),
            // Woken, or looks again after a while; both may come early.
            Step::Stay(None) => thread::park(),
            Step::Stay(Some(left)) => thread::park_timeout(Duration::from(left)),
        }
    }
}

/// Pauses for the decision's delay, which is over then.
fn after_delay(decision: Decision, pause: impl FnOnce(Nanos)) -> Decision {
    match decision {
        Decision::Allowed { remaining, reset_after, delay } if delay > Nanos::ZERO => {
            pause(delay);
            Decision::Allowed { remaining, reset_after: reset_after.saturating_sub(delay), delay: Nanos::ZERO }
        }
        passed => passed,
    }
}

/// `after`, and up to `jitter` more.
pub(super) fn jittered(after: Nanos, jitter: Nanos) -> Nanos {
    use std::hash::{BuildHasher, RandomState};
    if jitter == Nanos::ZERO {
        return after;
    }
    // Each `RandomState` is another one; below `jitter` + 1, which does not overflow 128 bits.
    let random = (u128::from(RandomState::new().hash_one(())) * (u128::from(jitter.get()) + 1)) >> 64;
    after.saturating_add(Nanos::new(random as u64))
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
