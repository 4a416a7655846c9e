//! Drafts -00 to -05: three numbers, each in a field of its own that may occur only once.
//!
//! ```text
//! RateLimit-Limit: 5
//! RateLimit-Remaining: 4
//! RateLimit-Reset: 60
//! ```

use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::blank::Slots;
use super::values::{fixed_number, number};
use super::{Report, Stated, put_remaining};

pub(super) const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
pub(super) const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
pub(super) const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

#[derive(Debug)]
pub(super) struct Triple {
    limits: Limits,
}

impl Triple {
    pub(super) fn new(policies: &[Stated]) -> Triple {
        Triple { limits: Limits::new(policies) }
    }

    pub(super) fn write(&self, report: &Report<'_>, headers: &mut HeaderMap) {
        let (_, level) = report.described();
        if !put_remaining(headers, &REMAINING, report) {
            return;
        }
        headers.insert(LIMIT, self.limits.of(level.policy));
        headers.insert(RESET, number(level.seconds()));
    }

    pub(super) fn fill(&self, report: &Report<'_>, slots: &mut Slots<'_>) {
        let (_, level) = report.described();
        slots.put(number(level.available));
        self.limits.fill(level.policy, slots);
        slots.put(number(level.seconds()));
    }
}

/// The quota of each policy as a value.
#[derive(Debug)]
pub(super) struct Limits(Vec<HeaderValue>);

impl Limits {
    pub(super) fn new(policies: &[Stated]) -> Limits {
        Limits(policies.iter().map(|policy| fixed_number(policy.quota)).collect())
    }

    pub(super) fn of(&self, policy: usize) -> HeaderValue {
        self.0[policy].clone()
    }

    /// The quota of the first policy is there beforehand.
    pub(super) fn fill(&self, policy: usize, slots: &mut Slots<'_>) {
        if policy == 0 { slots.keep() } else { slots.put(self.of(policy)) }
    }
}
