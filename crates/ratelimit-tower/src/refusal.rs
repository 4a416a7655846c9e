//! Why a request was not passed on, for whoever shapes the response.

use ratelimit_core::Nanos;

use crate::key::KeyError;

/// Why a request was not passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal<'a> {
    /// A quota is used up for now.
    QuotaExceeded {
        /// The policies that refused.
        violated: Vec<&'a str>,
        /// The request passes after so long, if the client sends nothing else meanwhile.
        retry_after: Nanos,
    },
    /// The request costs more than can ever be available.
    NeverFits {
        /// The policies that refused.
        violated: Vec<&'a str>,
        /// The most that one request can cost.
        capacity: u64,
    },
    /// The client cannot be told.
    Unidentified(KeyError),
    /// The shared backend failed, and the layer was told to refuse then.
    Unavailable,
}
