//! Who hands out slices.

use std::future::Future;

use ratelimit_core::Decision;

use crate::Backend;

/// A slice of a client's quota, which has been charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// How many units; 0 with a denial.
    pub units: u64,
    /// Allowed, or when there will be something.
    pub decision: Decision,
}

/// A shared limiter of which slices can be taken.
pub trait Lender: Backend {
    /// Charges as many of `most` units as there is room for.
    fn take(&self, key: &[u8], most: u64) -> impl Future<Output = Result<Grant, Self::Error>> + Send;
}
