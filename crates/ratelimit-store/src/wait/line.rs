//! The lines: who waits for which client, in which order.

use std::collections::{HashMap, VecDeque};
use std::task::Waker;

use ratelimit_core::{Algorithm, Decision, Nanos};

use super::{Wait, WaitError};
use crate::cell::{Cell, lock};
use crate::sync::{AtomicUsize, Mutex, Ordering};

/// Where the waiters want to pass.
pub(crate) trait Gate {
    type Policy: Algorithm;

    fn check(&self, key: &[u8], now: Nanos, cost: u64) -> Pass;
    fn peek(&self, key: &[u8], now: Nanos, cost: u64) -> Decision;
    /// For a wait that is given up after it has passed: only a future can be. `shared` is what the pass said.
    #[cfg(feature = "async")]
    fn refund(&self, key: &[u8], cost: u64, shared: bool);
    /// A copy to try things out on, and the earliest time that it knows.
    fn copy(&self, key: &[u8], now: Nanos) -> (Cell<Self::Policy>, Nanos);
}

/// A decision, and whether it was the state that many clients share that took it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pass {
    pub(crate) decision: Decision,
    pub(crate) shared: bool,
}

/// Bounded lines of waiters, one a client that anybody waits for.
#[derive(Debug)]
pub(crate) struct Lines {
    a_client: usize,
    in_all: usize,
    /// Waiters, readable without the lock: whoever frees units must not pay for lines in which nobody stands.
    waiting: AtomicUsize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    lines: HashMap<Box<[u8]>, VecDeque<Ticket>>,
    next_id: u64,
}

#[derive(Debug)]
struct Ticket {
    id: u64,
    cost: u64,
    waker: Option<Waker>,
}

/// Waiters for one client, unless set.
pub(crate) const A_CLIENT: usize = 1_024;
/// Waiters for all clients together, unless set.
pub(crate) const IN_ALL: usize = 65_536;

impl Default for Lines {
    fn default() -> Self {
        Lines::new(A_CLIENT, IN_ALL)
    }
}

impl Lines {
    /// At most so many waiters for one client, and for all together.
    pub(crate) fn new(a_client: usize, in_all: usize) -> Self {
        Lines { a_client, in_all, waiting: AtomicUsize::new(0), inner: Mutex::default() }
    }

    /// Takes `id` out of its line and wakes who is first now.
    fn leave(&self, key: &[u8], id: u64) {
        let mut inner = lock(&self.inner);
        let Some(line) = inner.lines.get_mut(key) else { return };
        let before = line.len();
        line.retain(|ticket| ticket.id != id);
        let left = before - line.len();
        let first = first_waker(line);
        if line.is_empty() {
            inner.lines.remove(key);
        }
        self.waiting.fetch_sub(left, Ordering::Relaxed);
        drop(inner);
        // Outside of the lock: a waker may run anything.
        if let Some(waker) = first {
            waker.wake();
        }
    }

    /// The client may pass earlier than it was told: whoever is first in its line asks again.
    ///
    /// Call it after the state has changed. Whoever asked before that was counted as waiting first, and the lock of the state
    /// lies between; so one of the two sees the other.
    pub(crate) fn wake_first(&self, key: &[u8]) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            let first = lock(&self.inner).lines.get_mut(key).and_then(first_waker);
            first.into_iter().for_each(Waker::wake);
        }
    }

    /// The same for all clients.
    pub(crate) fn wake_firsts(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            let firsts: Vec<Waker> = lock(&self.inner).lines.values_mut().filter_map(first_waker).collect();
            firsts.into_iter().for_each(Waker::wake);
        }
    }
}

fn first_waker(line: &mut VecDeque<Ticket>) -> Option<Waker> {
    line.front_mut()?.waker.take()
}

/// A place in a line, given up when it is dropped.
pub(crate) struct Turn<'a, G> {
    gate: &'a G,
    lines: &'a Lines,
    key: &'a [u8],
    id: u64,
    cost: u64,
    deadline: Option<Nanos>,
    /// When it was told to ask again, within the deadline: a timer that wakes a little later does not make it late.
    promised: Option<Nanos>,
}

/// What a waiter does next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It has passed, and goes on after the decision's delay.
    Passed(Pass),
    /// First in line: asks again after so long, or when it is woken. With jitter later, but at most after `left`.
    Ask { after: Nanos, left: Option<Nanos> },
    /// Behind others: is woken when it is first, and gives up after so long.
    Stay(Option<Nanos>),
}

impl<'a, G: Gate> Turn<'a, G> {
    /// Stands in line, unless that is in vain.
    pub(crate) fn join(
        gate: &'a G,
        lines: &'a Lines,
        key: &'a [u8],
        wait: &Wait,
        now: Nanos,
    ) -> Result<Self, WaitError> {
        let (cost, deadline) = (wait.cost, wait.deadline(now));
        let mut inner = lock(&lines.inner);
        let inner = &mut *inner;
        let line = inner.lines.get(key);
        let waiting = line.map_or(0, VecDeque::len);
        let ahead = line.into_iter().flatten().map(|ticket| ticket.cost);
        let (copy, at) = gate.copy(key, now);
        let needed = play(copy, at, ahead, cost)?;
        if deadline.is_some_and(|deadline| at.saturating_add(needed) > deadline) {
            return Err(WaitError::TooLate { needed: needed.saturating_add(at.saturating_sub(now)) });
        }
        // Whoever need not wait is not turned away for those who do; the first in a line does not count either.
        let waits = waiting > 0 || needed > Nanos::ZERO;
        if waits && (waiting > lines.a_client || lines.waiting.load(Ordering::Relaxed) > lines.in_all) {
            return Err(WaitError::QueueFull { waiting });
        }
        let id = inner.next_id;
        inner.next_id += 1;
        lines.waiting.fetch_add(1, Ordering::Relaxed);
        inner.lines.entry(key.into()).or_default().push_back(Ticket { id, cost, waker: None });
        Ok(Turn { gate, lines, key, id, cost, deadline, promised: None })
    }

    /// Asks if it is first in line. `waker` is woken when it becomes so, and when asking again may help.
    pub(crate) fn step(&mut self, now: Nanos, waker: &Waker) -> Result<Step, WaitError> {
        if self.is_behind(waker) {
            return match self.left(now) {
                Some(Nanos::ZERO) => Err(WaitError::TooLate { needed: Nanos::ZERO }),
                left => Ok(Step::Stay(left)),
            };
        }
        self.ask(now)
    }

    /// Whether others are ahead. Either way the waker is known from here on.
    fn is_behind(&self, waker: &Waker) -> bool {
        let mut inner = lock(&self.lines.inner);
        let line = inner.lines.get_mut(self.key);
        let Some((place, ticket)) = line.into_iter().flatten().enumerate().find(|(_, ticket)| ticket.id == self.id)
        else {
            return false;
        };
        ticket.waker = Some(waker.clone());
        place > 0
    }

    /// Until the deadline.
    fn left(&self, now: Nanos) -> Option<Nanos> {
        self.deadline.map(|deadline| deadline.saturating_sub(now))
    }

    /// Looks first, so that waiting does not count as being denied again and again.
    fn ask(&mut self, now: Nanos) -> Result<Step, WaitError> {
        let mut pass = Pass { decision: self.gate.peek(self.key, now, self.cost), shared: false };
        if let Decision::Allowed { delay, .. } = pass.decision {
            let in_time = self.promised.map_or(now, |promised| promised.min(now));
            self.in_time(in_time, delay)?;
            pass = self.gate.check(self.key, now, self.cost);
        }
        match pass.decision {
            Decision::Allowed { .. } => Ok(Step::Passed(pass)),
            Decision::Denied { retry_after, .. } => {
                self.in_time(now, retry_after)?;
                self.promised = Some(now.saturating_add(retry_after));
                Ok(Step::Ask { after: retry_after, left: self.left(now) })
            }
            Decision::Never { capacity } => Err(WaitError::Never { capacity }),
        }
    }

    fn in_time(&self, now: Nanos, needed: Nanos) -> Result<(), WaitError> {
        let late = self.deadline.is_some_and(|deadline| now.saturating_add(needed) > deadline);
        if late { Err(WaitError::TooLate { needed }) } else { Ok(()) }
    }
}

impl<G> Drop for Turn<'_, G> {
    fn drop(&mut self) {
        self.lines.leave(self.key, self.id);
    }
}

/// From `now` until `cost` would pass behind those ahead, if nobody else comes.
fn play<P: Algorithm>(
    mut copy: Cell<P>,
    now: Nanos,
    ahead: impl Iterator<Item = u64>,
    cost: u64,
) -> Result<Nanos, WaitError> {
    let mut at = now;
    for cost in ahead {
        // One that can no longer pass leaves when it is first, and takes nothing.
        let _ = pass(&mut copy, &mut at, cost);
    }
    let delay = pass(&mut copy, &mut at, cost)?;
    Ok(at.saturating_sub(now).saturating_add(delay))
}

/// Lets one waiter pass at the earliest time from `at` on, which moves there. Its delay.
fn pass<P: Algorithm>(copy: &mut Cell<P>, at: &mut Nanos, cost: u64) -> Result<Nanos, WaitError> {
    loop {
        match copy.decide(*at, cost) {
            Decision::Allowed { delay, .. } => return Ok(delay),
            Decision::Never { capacity } => return Err(WaitError::Never { capacity }),
            // Law 2: the second round admits. At the end of time there is none.
            Decision::Denied { retry_after, .. } => match at.checked_add(retry_after) {
                Some(later) if later > *at => *at = later,
                _ => return Ok(Nanos::MAX),
            },
        }
    }
}

/// Run by `scripts/test` in a build of their own.
#[cfg(all(test, loom_model))]
mod model {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::task::Wake;
    use std::time::Duration;

    use loom::thread;
    use ratelimit_core::TokenBucket;

    use super::*;

    const NOW: Nanos = Nanos::from_secs(1_000);

    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    /// Units become free while somebody asks for them: it passes, or it is woken to ask again.
    #[test]
    fn nobody_sleeps_through_units_that_become_free() {
        loom::model(|| {
            let shared = Arc::new((Mutex::new(Cell::new(bucket())), Lines::default()));
            lock(&shared.0).decide(NOW, 1);
            let elsewhere = Arc::clone(&shared);
            let other = thread::spawn(move || {
                let (cell, lines) = &*elsewhere;
                lock(cell).reset();
                lines.wake_first(&[]);
            });
            let (cell, lines) = &*shared;
            let woken = Arc::new(Woken(AtomicBool::new(false)));
            let mut turn = Turn::join(cell, lines, &[], &Wait::for_cost(1), NOW).unwrap();
            let step = turn.step(NOW, &Waker::from(Arc::clone(&woken))).unwrap();
            other.join().unwrap();
            assert!(matches!(step, Step::Passed(_)) || woken.0.load(Ordering::SeqCst));
        });
    }

    fn bucket() -> TokenBucket {
        TokenBucket::per(1, Duration::from_secs(1)).unwrap()
    }
}
