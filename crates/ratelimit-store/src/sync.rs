//! The locks and atomics of the table of clients: those of std, or loom's, which tries every interleaving.

#[cfg(not(all(test, loom_model)))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

#[cfg(all(test, loom_model))]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};
