//! The wait for one's turn.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use ratelimit_core::Nanos;

use super::Shared;
use super::gate::{Entry, Gate, Pass, lock};
use crate::timer::Sleep;

/// The turn would come after the deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLate;

/// Waits in the queue of a gate, and leaves it when dropped.
pub(super) struct Turn {
    shared: Arc<Shared>,
    gate: Arc<Mutex<Gate>>,
    ticket: Option<u64>,
    deadline: Nanos,
    /// The alarm at which the holder looks again, and its time.
    alarm: Option<(Nanos, Sleep)>,
    /// The alarm of the deadline.
    end: Sleep,
}

impl Turn {
    pub(super) fn new(shared: &Arc<Shared>, gate: &Arc<Mutex<Gate>>, deadline: Nanos) -> Turn {
        let ticket = lock(gate).enqueue();
        let end = shared.timer.sleep(deadline.saturating_sub(shared.clock.now()).into());
        let (shared, gate) = (Arc::clone(shared), Arc::clone(gate));
        Turn { shared, gate, ticket: Some(ticket), deadline, alarm: None, end }
    }

    /// Leaves the queue at once, not when whoever asked lets go of this future: others stand behind.
    fn too_late(&mut self) -> Poll<Result<Pass, TooLate>> {
        self.leave();
        Poll::Ready(Err(TooLate))
    }

    fn leave(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            lock(&self.gate).leave(ticket);
        }
    }
}

impl Future for Turn {
    type Output = Result<Pass, TooLate>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let Some(ticket) = self.ticket else { return Poll::Pending };
            let now = self.shared.clock.now();
            if now > self.deadline {
                return self.too_late();
            }
            let entry = lock(&self.gate).enter(ticket, now, cx.waker());
            match entry {
                Entry::Go(pass) => {
                    self.ticket = None;
                    return Poll::Ready(Ok(pass));
                }
                Entry::At(at) if at > self.deadline => return self.too_late(),
                Entry::At(at) => {
                    if self.alarm.as_ref().is_none_or(|(set, _)| *set != at) {
                        let wait = at.saturating_sub(now);
                        self.alarm = Some((at, self.shared.timer.sleep(wait.into())));
                    }
                    let rung = self.alarm.as_mut().is_none_or(|(_, alarm)| alarm.as_mut().poll(cx).is_ready());
                    if !rung {
                        return Poll::Pending;
                    }
                    self.alarm = None;
                }
                Entry::Later => {
                    return match self.end.as_mut().poll(cx) {
                        Poll::Ready(()) => self.too_late(),
                        Poll::Pending => Poll::Pending,
                    };
                }
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.leave();
    }
}
