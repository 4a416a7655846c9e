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

    /// The same, or earlier when this thread is [unparked](Thread::unpark): units may be free before they were expected. A
    /// clock that does not know better sleeps on.
    fn pause_or_wake(&self, duration: Nanos) {
        self.pause(duration);
    }
}

impl Pause for SystemClock {
    fn pause(&self, duration: Nanos) {
        thread::sleep(duration.into());
    }

    fn pause_or_wake(&self, duration: Nanos) {
        thread::park_timeout(duration.into());
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
    if wait.cost == 0 {
        return Ok(gate.check(key, clock.now(), 0).decision);
    }
    let mut turn = Turn::join(gate, lines, key, &wait, clock.now())?;
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match turn.step(clock.now(), &waker)? {
            Step::Passed(pass) => {
                drop(turn);
                return Ok(after_delay(pass.decision, |delay| clock.pause(delay)));
            }
            Step::Ask { after, left } => clock.pause_or_wake(jittered(after, wait.jitter, left)),
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

/// `after`, and up to `jitter` more, but not beyond what is `left` until the deadline.
pub(super) fn jittered(after: Nanos, jitter: Nanos, left: Option<Nanos>) -> Nanos {
    use std::hash::{BuildHasher, RandomState};
    if jitter == Nanos::ZERO {
        return after;
    }
    // Each `RandomState` is another one; below `jitter` + 1, which does not overflow 128 bits.
    let random = (u128::from(RandomState::new().hash_one(())) * (u128::from(jitter.get()) + 1)) >> 64;
    after.saturating_add(Nanos::new(random as u64)).min(left.unwrap_or(Nanos::MAX))
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
