//! Draft -12: `a` (available) and `w` (window) in the state, the cost `c`, and the names of a partition's dimensions.
//!
//! ```text
//! RateLimit-Policy: "burst";q=100;w=60
//! RateLimit: "burst";a=50;w=30;c=3
//! RateLimit-Partition: "burst";client;route
//! ```

use http::header::{HeaderMap, HeaderValue};

use super::draft11::{next, policy_field, push_key, push_parameter, write_policy};
use super::{RATELIMIT, RATELIMIT_PARTITION, Report, Stated, sf, value};

#[derive(Debug)]
pub(super) struct Draft12 {
    policy: HeaderValue,
}

impl Draft12 {
    pub(super) fn new(policies: &[Stated]) -> Draft12 {
        Draft12 { policy: value(policy_field(policies.iter().map(|policy| (policy, None)))) }
    }

    pub(super) fn write(&self, report: &Report<'_>, headers: &mut HeaderMap) {
        write_policy(&self.policy, report, headers);
        let mut state = String::with_capacity(32 * report.levels.len());
        let mut dimensions = String::new();
        for (policy, level, partition) in report.rows() {
            next(&mut state, policy);
            push_parameter(&mut state, ";a=", level.available.min(sf::MAX_INTEGER));
            push_parameter(&mut state, ";w=", level.seconds().min(sf::MAX_INTEGER));
            if level.cost != 1 {
                push_parameter(&mut state, ";c=", level.cost.min(sf::MAX_INTEGER));
            }
            push_key(&mut state, partition);
            if let Some(partition) = partition {
                next(&mut dimensions, policy);
                for dimension in &partition.dimensions {
                    dimensions.push(';');
                    dimensions.push_str(dimension);
                }
            }
        }
        headers.append(RATELIMIT, value(state));
        if !dimensions.is_empty() {
            headers.append(RATELIMIT_PARTITION, value(dimensions));
        }
    }
}
