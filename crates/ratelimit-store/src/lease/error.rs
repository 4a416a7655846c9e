//! Why a leased limiter has no answer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Why there is no decision. Nothing was admitted.
#[derive(Debug)]
#[non_exhaustive]
pub enum LeaseError<E> {
    /// The shared limiter failed. All requests that waited for the same slice get the same error.
    Lender(Arc<E>),
    /// Other requests' slices did not come, or did not suffice, within the time that a request may wait for them.
    Timeout {
        /// The time allowed.
        after: Duration,
    },
    /// As many requests as allowed wait for slices already.
    Busy {
        /// The requests allowed at a time.
        waiting: usize,
    },
}

impl<E> Clone for LeaseError<E> {
    fn clone(&self) -> Self {
        match self {
            LeaseError::Lender(error) => LeaseError::Lender(Arc::clone(error)),
            LeaseError::Timeout { after } => LeaseError::Timeout { after: *after },
            LeaseError::Busy { waiting } => LeaseError::Busy { waiting: *waiting },
        }
    }
}

impl<E> LeaseError<E> {
    pub(super) fn lender(error: E) -> Self {
        LeaseError::Lender(Arc::new(error))
    }
}

impl<E: fmt::Display> fmt::Display for LeaseError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeaseError::Lender(error) => error.fmt(f),
            LeaseError::Timeout { after } => write!(f, "no slice of the client's quota came within {after:?}"),
            LeaseError::Busy { waiting } => write!(
                f,
                "{waiting} requests wait for slices of their clients' quotas already; raise max_waiting if that is few"
            ),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for LeaseError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LeaseError::Lender(error) => Some(&**error),
            LeaseError::Timeout { .. } | LeaseError::Busy { .. } => None,
        }
    }
}
