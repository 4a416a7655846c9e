//! A way to end the making of a trace from outside: some patterns search for ever for their next instant.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that its clones share. Patterns look at it while they search; once it is set they have no more instants.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends every pattern that has a clone of this, soon.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
