//! Drafts -08 to -11: two lists of strings, joined by the policy's name.
//!
//! ```text
//! RateLimit-Policy: "burst";q=100;w=60, "daily";q=1000;w=86400
//! RateLimit: "burst";r=50;t=30, "daily";r=900;t=77760
//! ```

use http::header::{HeaderMap, HeaderValue};

use super::{Partition, RATELIMIT, RATELIMIT_POLICY, Report, Stated, push_number, sf, value};

#[derive(Debug)]
pub(super) struct Draft11 {
    policy: HeaderValue,
}

impl Draft11 {
    pub(super) fn new(policies: &[Stated]) -> Draft11 {
        Draft11 { policy: value(policy_field(policies.iter().map(|policy| (policy, None)))) }
    }

    pub(super) fn write(&self, report: &Report<'_>, headers: &mut HeaderMap) {
        write_policy(&self.policy, report, headers);
        let mut state = String::with_capacity(32 * report.levels.len());
        for (policy, level, partition) in report.rows() {
            next(&mut state, policy);
            push_parameter(&mut state, ";r=", level.available.min(sf::MAX_INTEGER));
            push_parameter(&mut state, ";t=", level.seconds().min(sf::MAX_INTEGER));
            push_key(&mut state, partition);
        }
        headers.append(RATELIMIT, value(state));
    }
}

/// `RateLimit-Policy`, rendered anew only where it names partitions, or not all policies apply.
pub(super) fn write_policy(fixed: &HeaderValue, report: &Report<'_>, headers: &mut HeaderMap) {
    let policy = if report.is_plain() {
        fixed.clone()
    } else {
        value(policy_field(report.rows().map(|(policy, _, partition)| (policy, partition))))
    };
    headers.append(RATELIMIT_POLICY, policy);
}

pub(super) fn policy_field<'a>(policies: impl Iterator<Item = (&'a Stated, Option<&'a Partition>)>) -> String {
    let mut field = String::new();
    for (policy, partition) in policies {
        next(&mut field, policy);
        push_parameter(&mut field, ";q=", policy.quota);
        if let Some(unit) = &policy.unit {
            field.push_str(";qu=");
            sf::write_string(&mut field, unit);
        }
        push_parameter(&mut field, ";w=", policy.seconds);
        push_key(&mut field, partition);
    }
    field
}

/// Starts the next member of a list.
pub(super) fn next(field: &mut String, policy: &Stated) {
    if !field.is_empty() {
        field.push_str(", ");
    }
    field.push_str(&policy.quoted);
}

pub(super) fn push_parameter(field: &mut String, name: &str, number: u64) {
    field.push_str(name);
    push_number(field, number);
}

pub(super) fn push_key(field: &mut String, partition: Option<&Partition>) {
    if let Some(partition) = partition {
        field.push_str(";pk=");
        sf::write_bytes(field, &partition.key);
    }
}
