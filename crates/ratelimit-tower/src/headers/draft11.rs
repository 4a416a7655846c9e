//! Drafts -08 to -11: two lists of strings, joined by the policy's name.
//!
//! ```text
//! RateLimit-Policy: "burst";q=100;w=60, "daily";q=1000;w=86400
//! RateLimit: "burst";r=50;t=30, "daily";r=900;t=77760
//! ```

use http::header::{HeaderMap, HeaderValue};

use super::blank::Slots;
use super::values::Text;
use super::{Partition, RATELIMIT, RATELIMIT_POLICY, Report, Stated, sf};

#[derive(Debug)]
pub(super) struct Draft11 {
    policy: HeaderValue,
}

impl Draft11 {
    pub(super) fn new(policies: &[Stated]) -> Draft11 {
        Draft11 { policy: policy_field(policies.iter().map(|policy| (policy, None))).into_fixed_value() }
    }

    pub(super) fn write(&self, report: &Report<'_>, headers: &mut HeaderMap) {
        write_policy(&self.policy, report, headers);
        headers.append(RATELIMIT, state(report));
    }

    pub(super) fn fill(report: &Report<'_>, slots: &mut Slots<'_>) {
        slots.keep();
        slots.put(state(report));
    }
}

fn state(report: &Report<'_>) -> HeaderValue {
    let mut state = Text::new();
    for (policy, level, partition) in report.rows() {
        next(&mut state, policy);
        push_parameter(&mut state, ";r=", level.available.min(sf::MAX_INTEGER));
        push_parameter(&mut state, ";t=", level.seconds().min(sf::MAX_INTEGER));
        push_key(&mut state, partition);
    }
    state.into_value()
}

/// `RateLimit-Policy`, rendered anew only where it names partitions, or not all policies apply.
pub(super) fn write_policy(fixed: &HeaderValue, report: &Report<'_>, headers: &mut HeaderMap) {
    let policy = if report.is_plain() {
        fixed.clone()
    } else {
        policy_field(report.rows().map(|(policy, _, partition)| (policy, partition))).into_value()
    };
    headers.append(RATELIMIT_POLICY, policy);
}

pub(super) fn policy_field<'a>(policies: impl Iterator<Item = (&'a Stated, Option<&'a Partition>)>) -> Text {
    let mut field = Text::new();
    for (policy, partition) in policies {
        next(&mut field, policy);
        push_parameter(&mut field, ";q=", policy.quota);
        if let Some(unit) = &policy.unit {
            let mut quoted = String::new();
            sf::write_string(&mut quoted, unit);
            field.push(";qu=");
            field.push(&quoted);
        }
        push_parameter(&mut field, ";w=", policy.seconds);
        push_key(&mut field, partition);
    }
    field
}

/// Starts the next member of a list.
#[inline]
pub(super) fn next(field: &mut Text, policy: &Stated) {
    if !field.is_empty() {
        field.push(", ");
    }
    field.push(&policy.quoted);
}

#[inline]
pub(super) fn push_parameter(field: &mut Text, name: &str, number: u64) {
    field.push(name);
    field.push_number(number);
}

#[inline]
pub(super) fn push_key(field: &mut Text, partition: Option<&Partition>) {
    if let Some(partition) = partition {
        let mut key = String::new();
        sf::write_bytes(&mut key, &partition.key);
        field.push(";pk=");
        field.push(&key);
    }
}
