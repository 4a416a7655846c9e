//! Several servers' limiters under load while something goes wrong, and what came of it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ratelimit_core::Nanos;
use ratelimit_store::redis::SharedLimiter;
use ratelimit_store::{Backend, Fallback, Leased, Source};

use super::{policy, until};

pub(crate) const SERVERS: usize = 4;
const TASKS: usize = 4;
const CLIENTS: usize = 3;
/// So slow that a run refills next to nothing.
pub(crate) const POLICY: &str = "token-bucket:200/1h";
pub(crate) const BOUND: u64 = 200;
/// Twice the timeout.
const LATE: Duration = Duration::from_millis(100);
const LOCAL_BOUND: u64 = BOUND / SERVERS as u64;

/// What a run has counted; read while it goes on.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    sent: AtomicU64,
    answered: AtomicU64,
    from_shared: AtomicU64,
    from_local: AtomicU64,
    stop: AtomicBool,
    longest: Mutex<Duration>,
    /// Answers that took more than twice the timeout.
    late: AtomicU64,
    /// Units by client, server (`None`: the shared limiter).
    admitted: Mutex<HashMap<(usize, Option<usize>), u64>>,
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) sent: u64,
    pub(crate) answered: u64,
    pub(crate) from_shared: u64,
    pub(crate) from_local: u64,
    pub(crate) longest: Duration,
    pub(crate) late: u64,
    /// The most that the shared limiter admitted of one client beyond its bound.
    pub(crate) beyond_shared: u64,
    /// The most that a local limiter admitted of one client beyond its own.
    pub(crate) beyond_local: u64,
}

impl Tally {
    pub(crate) fn shared(&self) -> u64 {
        self.from_shared.load(Ordering::Relaxed)
    }

    pub(crate) fn local(&self) -> u64 {
        self.from_local.load(Ordering::Relaxed)
    }

    /// Polls until the shared limiter has answered so many more.
    pub(crate) fn until_shared(&self, more: u64) {
        let goal = self.shared() + more;
        until("the shared limiter answers", || self.shared() >= goal);
    }

    /// Polls until local limiters have answered so many more.
    pub(crate) fn until_local(&self, more: u64) {
        let goal = self.local() + more;
        until("the local limiters answer", || self.local() >= goal);
    }
}

/// A limiter as each server would have it.
pub(crate) fn limiter<B: Backend>(shared: B) -> Fallback<B> {
    Fallback::builder(shared, policy(POLICY))
        .servers(SERVERS as u64)
        .pauses(Nanos::from_millis(100), Nanos::from_millis(400))
        .build()
}

/// The same that takes slices.
pub(crate) fn leased(shared: SharedLimiter) -> Leased<SharedLimiter> {
    Leased::builder(shared, policy(POLICY)).servers(SERVERS as u64).build()
}

/// Puts load on `limiters`, one of each server, lets `fault` happen, and counts.
pub(crate) fn under_load<B: Backend + 'static>(
    connect: impl Fn() -> B,
    fault: impl FnOnce(&Tally) + Send + 'static,
) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let tally = Arc::new(Tally::default());
    let started = Instant::now();
    let limiters: Vec<_> = (0..SERVERS).map(|_| limiter(connect())).collect();
    let tasks: Vec<_> = limiters
        .iter()
        .enumerate()
        .flat_map(|(server, limiter)| (0..TASKS).map(move |task| (server, task, limiter.clone())))
        .map(|(server, task, limiter)| runtime.spawn(ask(limiter, server, task, Arc::clone(&tally))))
        .collect();
    let watched = Arc::clone(&tally);
    let done = std::thread::spawn(move || fault(&watched)).join();
    tally.stop.store(true, Ordering::Relaxed);
    runtime.block_on(async {
        for task in tasks {
            task.await.expect("a task of the load");
        }
    });
    done.expect("the fault took its course");
    tally.outcome(started.elapsed())
}

/// One task's requests, a little apart, of one client after the other.
async fn ask<B: Backend + 'static>(limiter: Fallback<B>, server: usize, task: usize, tally: Arc<Tally>) {
    for i in 0.. {
        if tally.stop.load(Ordering::Relaxed) {
            return;
        }
        let client = (task + i) % CLIENTS;
        tally.sent.fetch_add(1, Ordering::Relaxed);
        let asked = Instant::now();
        let answer = limiter.check(format!("client-{client}").as_bytes()).await;
        let took = asked.elapsed();
        tally.answered.fetch_add(1, Ordering::Relaxed);
        let place = if answer.source == Source::Shared {
            tally.from_shared.fetch_add(1, Ordering::Relaxed);
            None
        } else {
            tally.from_local.fetch_add(1, Ordering::Relaxed);
            Some(server)
        };
        if answer.decision.is_allowed() {
            *tally.admitted.lock().unwrap().entry((client, place)).or_default() += 1;
        }
        if took > LATE {
            tally.late.fetch_add(1, Ordering::Relaxed);
        }
        {
            let mut longest = tally.longest.lock().unwrap();
            *longest = took.max(*longest);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

impl Tally {
    fn outcome(&self, elapsed: Duration) -> Outcome {
        // What came back in the meantime, at 200 an hour.
        let refilled = |bound: u64| bound * (elapsed.as_secs() + 1) / 3600 + 1;
        let beyond = |shared: bool, bound: u64| {
            let admitted = self.admitted.lock().unwrap();
            let most =
                admitted.iter().filter(|((_, place), _)| place.is_none() == shared).map(|(_, units)| *units).max();
            most.unwrap_or(0).saturating_sub(bound + refilled(bound))
        };
        Outcome {
            sent: self.sent.load(Ordering::Relaxed),
            answered: self.answered.load(Ordering::Relaxed),
            from_shared: self.shared(),
            from_local: self.local(),
            longest: *self.longest.lock().unwrap(),
            late: self.late.load(Ordering::Relaxed),
            beyond_shared: beyond(true, BOUND),
            beyond_local: beyond(false, LOCAL_BOUND),
        }
    }
}
