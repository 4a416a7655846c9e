//! Telling the service that the shared limiter has gone, and that it is back.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What has become of the shared limiter.
#[derive(Debug, Clone, Copy)]
pub enum Change<'e> {
    /// It does not answer, or a part of it does not, and this server goes on without it. The error is the one that opened the
    /// breaker.
    Down(&'e (dyn Error + 'static)),
    /// All of it answers again.
    Up,
}

type Told = dyn Fn(Change<'_>) + Send + Sync;

/// Whom to tell.
#[derive(Clone, Default)]
pub(super) struct Listener(Option<Arc<Told>>);

impl Listener {
    pub(super) fn new(told: impl Fn(Change<'_>) + Send + Sync + 'static) -> Self {
        Listener(Some(Arc::new(told)))
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Listener(..)" } else { "None" })
    }
}

/// How many parts are down, and whom that concerns.
#[derive(Debug)]
pub(super) struct Health {
    down: AtomicUsize,
    listener: Listener,
}

impl Health {
    pub(super) fn new(listener: Listener) -> Self {
        Health { down: AtomicUsize::new(0), listener }
    }

    /// The breaker of a part has opened, which was closed.
    pub(super) fn part_down(&self, error: &(dyn Error + 'static)) {
        if self.down.fetch_add(1, Ordering::Relaxed) == 0 {
            self.tell(Change::Down(error));
        }
    }

    /// The breaker of a part has closed, which was open.
    pub(super) fn part_up(&self) {
        if self.down.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.tell(Change::Up);
        }
    }

    fn tell(&self, change: Change<'_>) {
        if let Some(told) = &self.listener.0 {
            told(change);
        }
    }
}
