//! Drafts -00 to -05: three numbers, each in a field of its own that may occur only once.
//!
//! ```text
//! RateLimit-Limit: 5
//! RateLimit-Remaining: 4
//! RateLimit-Reset: 60
//! ```

use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::{Report, Stated, number, put_remaining};

pub(super) const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
pub(super) const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
pub(super) const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

#[derive(Debug)]
pub(super) struct Triple {
    limits: Vec<HeaderValue>,
}

impl Triple {
    pub(super) fn new(policies: &[Stated]) -> Triple {
        Triple { limits: limits(policies) }
    }

    pub(super) fn write(&self, report: &Report<'_>, headers: &mut HeaderMap) {
        let (_, level) = report.described();
        if !put_remaining(headers, &REMAINING, level.available) {
            return;
        }
        headers.insert(LIMIT, self.limits[level.policy].clone());
        headers.insert(RESET, number(level.seconds()));
    }
}

pub(super) fn limits(policies: &[Stated]) -> Vec<HeaderValue> {
    policies.iter().map(|policy| HeaderValue::from(policy.quota)).collect()
}
