//! The fields of custom. Providers differ on what the reset is: seconds from now, or an instant.

use http::header::{HeaderMap, HeaderName};

use super::blank::Slots;
use super::triple::Limits;
use super::values::number;
use super::{Level, Report, Stated, put_remaining};

pub(super) const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
pub(super) const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
pub(super) const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// What `X-RateLimit-Reset` carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Reset {
    /// Seconds from now: clocks need not agree.
    #[default]
    Delta,
    /// Seconds since the Unix epoch on the server's wall clock, rounded up.
    Epoch,
}

#[derive(Debug)]
pub(super) struct XRateLimit {
    limits: Limits,
    reset: Reset,
}

impl XRateLimit {
    pub(super) fn new(policies: &[Stated], reset: Reset) -> XRateLimit {
        XRateLimit { limits: Limits::new(policies), reset }
    }

    pub(super) fn write(&self, report: &Report<'_>, headers: &mut HeaderMap) {
        let (_, level) = report.described();
        if !put_remaining(headers, &REMAINING, report) {
            return;
        }
        headers.insert(LIMIT, self.limits.of(level.policy));
        headers.insert(RESET, number(self.reset(report, level)));
    }

    pub(super) fn fill(&self, report: &Report<'_>, slots: &mut Slots<'_>) {
        let (_, level) = report.described();
        slots.put(number(level.available));
        self.limits.fill(level.policy, slots);
        slots.put(number(self.reset(report, level)));
    }

    fn reset(&self, report: &Report<'_>, level: &Level) -> u64 {
        match self.reset {
            Reset::Delta => level.seconds(),
            Reset::Epoch => (report.wall)().saturating_add(level.time.get()).div_ceil(1_000_000_000),
        }
    }
}
