//! Waiting that lets other tasks run.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};

use ratelimit_core::{Decision, Nanos};

use super::blocking::jittered;
use super::line::{Gate, Lines, Step, Turn};
use super::{Wait, WaitError};
use crate::{Clock, SystemClock};

/// A clock that futures can sleep on.
pub trait Timer: Clock {
    /// A sleep.
    type Sleep: Future<Output = ()> + Send;

    /// Is ready when so much time has passed on this clock.
    fn sleep(&self, duration: Nanos) -> Self::Sleep;
}

/// Sleeps on tokio's timer, to the millisecond, rounded up; panics outside of a tokio runtime with a timer, as that does.
impl Timer for SystemClock {
    type Sleep = tokio::time::Sleep;

    fn sleep(&self, duration: Nanos) -> Self::Sleep {
        tokio::time::sleep(duration.into())
    }
}

/// The time of tokio, which stands still where a test pauses it; otherwise as [`SystemClock`].
#[derive(Debug, Clone, Copy)]
pub struct TokioClock {
    epoch: Nanos,
    start: tokio::time::Instant,
}

impl TokioClock {
    /// A clock that is right now. Within the runtime whose time it tells.
    pub fn new() -> Self {
        TokioClock { epoch: SystemClock::new().now(), start: tokio::time::Instant::now() }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Nanos {
        self.epoch.saturating_add(Nanos::try_from(self.start.elapsed()).unwrap_or(Nanos::MAX))
    }
}

impl Timer for TokioClock {
    type Sleep = tokio::time::Sleep;

    fn sleep(&self, duration: Nanos) -> Self::Sleep {
        tokio::time::sleep(duration.into())
    }
}

/// Is ready when the cost has passed. Dropped before that, it has charged nothing.
pub(crate) async fn until<G: Gate, C: Timer>(
    gate: &G,
    lines: &Lines,
    clock: &C,
    key: &[u8],
    wait: Wait,
) -> Result<Decision, WaitError> {
    if wait.cost == 0 {
        return Ok(gate.check(key, clock.now(), 0).decision);
    }
    let mut turn = Turn::join(gate, lines, key, &wait, clock.now())?;
    let (pass, passed_at) = loop {
        let ask = |context: &mut Context<'_>| {
            let now = clock.now();
            Poll::Ready(turn.step(now, context.waker()).map(|step| (step, now)))
        };
        let (step, now) = poll_fn(ask).await?;
        match step {
            Step::Passed(pass) => break (pass, now),
            Step::Ask { after, left } => woken_or_after(Some(jittered(after, wait.jitter, left)), clock).await,
            Step::Stay(left) => woken_or_after(left, clock).await,
        }
    };
    let Decision::Allowed { remaining, reset_after, delay } = pass.decision else { return Ok(pass.decision) };
    // Who is next need not wait for the delay.
    drop(turn);
    if delay > Nanos::ZERO {
        let until = passed_at.saturating_add(reset_after);
        let place = Place { gate, clock, key, cost: wait.cost, shared: pass.shared, until };
        clock.sleep(delay).await;
        std::mem::forget(place);
    }
    Ok(Decision::Allowed { remaining, reset_after: reset_after.saturating_sub(delay), delay: Nanos::ZERO })
}

/// Pending once: whoever is woken looks again, by the line or by the timer.
async fn woken_or_after<C: Timer>(left: Option<Nanos>, clock: &C) {
    let mut sleep = pin!(left.map(|left| clock.sleep(left)));
    let mut woken = false;
    poll_fn(|context: &mut Context<'_>| {
        if woken {
            return Poll::Ready(());
        }
        woken = true;
        match sleep.as_mut().as_pin_mut() {
            Some(sleep) => sleep.poll(context),
            None => Poll::Pending,
        }
    })
    .await;
}

/// A place in a leaky bucket, given back when it is dropped: the wait was given up during its delay.
///
/// Units are given back from the end of the bucket. Where others have joined behind, that would let the next of them come
/// too close to the last, so then the place stays taken, and drains.
struct Place<'a, G: Gate, C: Clock> {
    gate: &'a G,
    clock: &'a C,
    key: &'a [u8],
    cost: u64,
    shared: bool,
    /// When the state is fresh if nobody joins behind.
    until: Nanos,
}

impl<G: Gate, C: Clock> Drop for Place<'_, G, C> {
    fn drop(&mut self) {
        let now = self.clock.now();
        let is_last = match self.gate.peek(self.key, now, 0) {
            Decision::Allowed { reset_after, .. } => now.saturating_add(reset_after) <= self.until,
            Decision::Denied { .. } | Decision::Never { .. } => false,
        };
        if is_last {
            self.gate.refund(self.key, self.cost, self.shared);
        }
    }
}
