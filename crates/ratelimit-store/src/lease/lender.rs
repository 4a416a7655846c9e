//! Who hands out slices.

use std::future::Future;

use ratelimit_core::Decision;

use crate::Backend;

/// What is asked for: between `least` and `most` units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// With room for fewer nothing is charged.
    pub least: u64,
    /// No more than so many are charged.
    pub most: u64,
    /// So many units of each token bucket must stay free; the other rules keep none.
    pub keep: u64,
}

impl Slice {
    /// So many units or none, with so many kept free.
    pub fn exactly(units: u64, keep: u64) -> Self {
        Slice { least: units, most: units, keep }
    }
}

/// At most so many units, and at least one; none are kept free.
impl From<u64> for Slice {
    fn from(most: u64) -> Self {
        Slice { least: most.min(1), most, keep: 0 }
    }
}

/// A slice of a client's quota, which has been charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// How many units; 0 with a denial.
    pub units: u64,
    /// Allowed, or when there will be the least that was asked for.
    pub decision: Decision,
}

/// A shared limiter of which slices can be taken.
pub trait Lender: Backend {
    /// Charges as many units of the slice as there is room for, or none where there is room for fewer than the least.
    fn take(&self, key: &[u8], slice: Slice) -> impl Future<Output = Result<Grant, Self::Error>> + Send;
}
