//! What one request asks of each policy, and what came of it.

use ratelimit_core::Nanos;

use crate::few::Few;
use crate::headers::{Level, Partition};
use crate::key::StoredKey;

/// One policy is asked for `cost` units by the client `key`.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) policy: usize,
    pub(crate) cost: u64,
    pub(crate) key: StoredKey,
}

/// All policies have answered.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) asks: Few<Ask>,
    /// One for each ask; of a request that is refused, those that could be had.
    pub(crate) levels: Few<Level>,
    /// One for each level, or none at all.
    pub(crate) partitions: Box<[Partition]>,
    pub(crate) answer: Answer,
    /// The time on this server's clock when the first policy was asked.
    pub(crate) begun: Nanos,
    /// Whether that is the time of the decision: with a shared backend, another clock may have told it.
    pub(crate) is_local: bool,
}

impl Outcome {
    /// The time of the decision, where this server's clock told it.
    pub(crate) fn at(&self) -> Option<Nanos> {
        self.is_local.then_some(self.begun)
    }
}

/// The policies' answers as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The request passes after so long, and has been charged.
    Pass { delay: Nanos },
    /// Some policy refused, and nothing was charged.
    Refuse { retry_after: Nanos },
    /// For some policy the cost is too large for ever, and nothing was charged.
    Never { capacity: u64 },
}
