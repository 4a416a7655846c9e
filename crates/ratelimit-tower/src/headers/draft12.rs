//! Draft -12: `a` (available) and `w` (window) in the state, the cost `c`, and the names of a partition's dimensions.
//!
//! ```text
//! RateLimit-Policy: "burst";q=100;w=60
//! RateLimit: "burst";a=50;w=30;c=3
//! RateLimit-Partition: "burst";client;route
//! ```

use http::header::{HeaderMap, HeaderValue};

use super::blank::Slots;
use super::draft11::{next, policy_field, push_key, push_parameter, write_policy};
use super::values::Text;
use super::{RATELIMIT, RATELIMIT_PARTITION, Report, Stated, sf};

#[derive(Debug)]
pub(super) struct Draft12 {
    policy: HeaderValue,
}

impl Draft12 {
    pub(super) fn new(policies: &[Stated]) -> Draft12 {
        Draft12 { policy: policy_field(policies.iter().map(|policy| (policy, None))).into_fixed_value() }
    }

    pub(super) fn write(&self, report: &Report<'_>, headers: &mut HeaderMap) {
        write_policy(&self.policy, report, headers);
        headers.append(RATELIMIT, state(report));
        if !report.partitions.is_empty() {
            headers.append(RATELIMIT_PARTITION, dimensions(report));
        }
    }

    /// Answers without partitions only.
    pub(super) fn fill(report: &Report<'_>, slots: &mut Slots<'_>) {
        slots.keep();
        slots.put(state(report));
    }
}

fn state(report: &Report<'_>) -> HeaderValue {
    let mut state = Text::new();
    for (policy, level, partition) in report.rows() {
        next(&mut state, policy);
        push_parameter(&mut state, ";a=", level.available.min(sf::MAX_INTEGER));
        push_parameter(&mut state, ";w=", level.seconds().min(sf::MAX_INTEGER));
        if level.cost != 1 {
            push_parameter(&mut state, ";c=", level.cost.min(sf::MAX_INTEGER));
        }
        push_key(&mut state, partition);
    }
    state.into_value()
}

fn dimensions(report: &Report<'_>) -> HeaderValue {
    let mut dimensions = Text::new();
    for (policy, _, partition) in report.rows() {
        next(&mut dimensions, policy);
        for dimension in partition.into_iter().flat_map(|partition| &partition.dimensions) {
            dimensions.push(";");
            dimensions.push(dimension);
        }
    }
    dimensions.into_value()
}
