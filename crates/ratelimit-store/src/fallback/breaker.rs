//! A circuit breaker: after a few failures in a row no call is made for a while, then one at a time probes.
//!
//! ```text
//!             failures in a row            the pause is over
//!   closed ────────────────────▶ open ───────────────────────▶ half open: one probe at a time
//!     ▲                            ▲   the probe fails: twice the pause    │
//!     │                            └───────────────────────────────────────┤
//!     └───────────────────────────── the probe succeeds ───────────────────┘
//! ```
//!
//! Time is an argument. What a call reports counts only while the breaker is in the phase in which the call began: a late
//! failure of a call from before opens nothing again.

use ratelimit_core::Nanos;

use crate::cell::lock;
use crate::sync::{Mutex, MutexGuard};

/// When the breaker opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// So many failures in a row open it; at least 1.
    pub(super) failures: u32,
    /// The first pause.
    pub(super) pause: Nanos,
    /// The pause doubles with each probe that fails, up to this.
    pub(super) longest_pause: Nanos,
}

#[derive(Debug)]
pub(super) struct Breaker {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Counts the phases, so that each call knows whether its own is over.
    number: u64,
}

#[derive(Debug)]
enum Phase {
    Closed {
        failures: u32,
    },
    Open {
        until: Nanos,
        pause: Nanos,
    },
    /// A probe is under way; `pause` is the one that has just ended.
    Probing {
        pause: Nanos,
    },
}

/// Whether a call may be made.
pub(super) enum Entry<'a> {
    /// It may, and reports how it went.
    Pass(Pass<'a>),
    /// It may not, for so long.
    Shut { wait: Nanos },
}

/// That a failure has opened the breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opened {
    /// It was closed.
    First,
    /// The failure was a probe's.
    Again,
}

/// The right to make one call. Dropped without a report (the caller gave up), it says nothing about the other side, and a
/// probe is free for the next call.
pub(super) struct Pass<'a> {
    breaker: &'a Breaker,
    number: u64,
}

impl Breaker {
    pub(super) fn new(limits: Limits) -> Self {
        Breaker { limits, state: Mutex::new(State { phase: Phase::Closed { failures: 0 }, number: 0 }) }
    }

    pub(super) fn enter(&self, now: Nanos) -> Entry<'_> {
        let mut state = lock(&self.state);
        match state.phase {
            Phase::Closed { .. } => Entry::Pass(Pass { breaker: self, number: state.number }),
            Phase::Open { until, .. } if now < until => Entry::Shut { wait: until.saturating_sub(now) },
            Phase::Open { pause, .. } => {
                state.next(Phase::Probing { pause });
                Entry::Pass(Pass { breaker: self, number: state.number })
            }
            // The probe ends soon, one way or the other.
            Phase::Probing { .. } => Entry::Shut { wait: self.limits.pause },
        }
    }
}

impl State {
    fn next(&mut self, phase: Phase) {
        self.phase = phase;
        self.number += 1;
    }
}

impl Pass<'_> {
    /// The state, if the phase in which the call began has not ended.
    fn current(&self) -> Option<MutexGuard<'_, State>> {
        let state = lock(&self.breaker.state);
        (state.number == self.number).then_some(state)
    }

    /// The call was answered: whether that has closed the breaker.
    pub(super) fn succeeded(self) -> bool {
        let Some(mut state) = self.current() else { return false };
        let was_closed = matches!(state.phase, Phase::Closed { .. });
        if was_closed {
            state.phase = Phase::Closed { failures: 0 };
        } else {
            state.next(Phase::Closed { failures: 0 });
        }
        !was_closed
    }

    /// The call failed for a reason of its own, which says nothing about the other side: how long until it is worth another.
    pub(super) fn told_nothing(self) -> Nanos {
        self.breaker.limits.pause
    }

    /// The call failed because the other side is down: how long until it is worth another, and whether that has opened
    /// the breaker.
    pub(super) fn failed(self, now: Nanos) -> (Nanos, Option<Opened>) {
        let limits = self.breaker.limits;
        let mut state = lock(&self.breaker.state);
        if state.number != self.number {
            let wait =
                if let Phase::Open { until, .. } = state.phase { until.saturating_sub(now) } else { limits.pause };
            return (wait, None);
        }
        let (pause, opened) = match &mut state.phase {
            Phase::Closed { failures } => {
                *failures += 1;
                if *failures < limits.failures {
                    return (limits.pause, None);
                }
                (limits.pause, Opened::First)
            }
            Phase::Probing { pause } | Phase::Open { pause, .. } => {
                (pause.saturating_add(*pause).min(limits.longest_pause), Opened::Again)
            }
        };
        state.next(Phase::Open { until: now.saturating_add(pause), pause });
        (pause, Some(opened))
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        // After a report the phase has moved on, or is still closed.
        if let Some(mut state) = self.current()
            && let Phase::Probing { pause } = state.phase
        {
            state.next(Phase::Open { until: Nanos::ZERO, pause });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaker() -> Breaker {
        let ms = Nanos::from_millis;
        Breaker::new(Limits { failures: 3, pause: ms(100), longest_pause: ms(300) })
    }

    fn pass(breaker: &Breaker, ms: u64) -> Option<Pass<'_>> {
        match breaker.enter(Nanos::from_millis(ms)) {
            Entry::Pass(pass) => Some(pass),
            Entry::Shut { .. } => None,
        }
    }

    fn fail(breaker: &Breaker, ms: u64) -> (u64, bool) {
        let (wait, opened) = pass(breaker, ms).expect("closed, or time for a probe").failed(Nanos::from_millis(ms));
        (wait.get() / 1_000_000, opened.is_some())
    }

    #[test]
    fn failures_in_a_row_open_it_and_a_success_between_does_not() {
        let breaker = breaker();
        fail(&breaker, 0);
        fail(&breaker, 0);
        pass(&breaker, 0).unwrap().succeeded();
        fail(&breaker, 0);
        assert_eq!(fail(&breaker, 0), (100, false));
        assert_eq!(fail(&breaker, 0), (100, true));
        assert!(pass(&breaker, 99).is_none());
        assert!(pass(&breaker, 100).is_some());
    }

    #[test]
    fn one_probe_at_a_time_and_pauses_that_grow_to_a_bound() {
        let breaker = breaker();
        for _ in 0..3 {
            fail(&breaker, 0);
        }
        let probe = pass(&breaker, 100).unwrap();
        assert!(pass(&breaker, 100).is_none(), "the probe is under way");
        assert_eq!(probe.failed(Nanos::from_millis(100)), (Nanos::from_millis(200), Some(Opened::Again)));
        assert!(pass(&breaker, 299).is_none());
        assert_eq!(fail(&breaker, 300), (300, true));
        assert_eq!(fail(&breaker, 600), (300, true));
        assert!(pass(&breaker, 900).unwrap().succeeded(), "that closes it");
        assert!(!pass(&breaker, 900).unwrap().succeeded(), "it was closed");
        assert_eq!(fail(&breaker, 900), (100, false), "closed, and it counts from zero");
    }

    #[test]
    fn a_probe_that_was_given_up_frees_the_next() {
        let breaker = breaker();
        for _ in 0..3 {
            fail(&breaker, 0);
        }
        drop(pass(&breaker, 100).unwrap());
        assert!(pass(&breaker, 100).is_some());
    }

    #[test]
    fn failures_of_a_calls_own_neither_open_nor_close_it() {
        let breaker = breaker();
        for _ in 0..9 {
            assert_eq!(pass(&breaker, 0).unwrap().told_nothing(), Nanos::from_millis(100));
        }
        fail(&breaker, 0);
        fail(&breaker, 0);
        pass(&breaker, 0).unwrap().told_nothing();
        assert_eq!(fail(&breaker, 0), (100, true), "they do not break a row of failures either");
        pass(&breaker, 100).unwrap().told_nothing();
        assert!(pass(&breaker, 100).is_some(), "the next one probes");
    }

    #[test]
    fn late_reports_change_nothing() {
        let breaker = breaker();
        let late: Vec<_> = (0..4).map(|_| pass(&breaker, 0).unwrap()).collect();
        for _ in 0..3 {
            fail(&breaker, 0);
        }
        let mut late = late.into_iter();
        assert_eq!(late.next().unwrap().failed(Nanos::from_millis(50)), (Nanos::from_millis(50), None));
        late.next().unwrap().succeeded();
        assert!(pass(&breaker, 99).is_none(), "an answer from before does not close it");
        pass(&breaker, 100).unwrap().succeeded();
        late.next().unwrap().failed(Nanos::from_millis(100));
        drop(late);
        assert_eq!(fail(&breaker, 100), (100, false));
        assert_eq!(fail(&breaker, 100), (100, false), "late failures did not count");
    }
}
