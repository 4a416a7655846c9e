//! Drafts -06 and -07, where a policy is known by its quota: `RateLimit-Policy: 5;w=60`.

use http::header::{HeaderMap, HeaderValue};

use super::blank::Slots;
use super::triple::Triple;
use super::values::Text;
use super::{RATELIMIT, RATELIMIT_POLICY, Report, Stated};

/// The triple, and the policies as integers.
#[derive(Debug)]
pub(super) struct Draft06 {
    policy: HeaderValue,
    triple: Triple,
}

impl Draft06 {
    pub(super) fn new(policies: &[Stated]) -> Draft06 {
        Draft06 { policy: policy_field(policies.iter()).into_fixed_value(), triple: Triple::new(policies) }
    }

    pub(super) fn write(&self, report: &Report<'_>, headers: &mut HeaderMap) {
        write_policy(&self.policy, report, headers);
        self.triple.write(report, headers);
    }

    pub(super) fn fill(&self, report: &Report<'_>, slots: &mut Slots<'_>) {
        slots.keep();
        self.triple.fill(report, slots);
    }
}

/// One dictionary, and the policies as integers.
#[derive(Debug)]
pub(super) struct Draft07 {
    policy: HeaderValue,
}

impl Draft07 {
    pub(super) fn new(policies: &[Stated]) -> Draft07 {
        Draft07 { policy: policy_field(policies.iter()).into_fixed_value() }
    }

    pub(super) fn write(&self, report: &Report<'_>, headers: &mut HeaderMap) {
        write_policy(&self.policy, report, headers);
        let (_, level) = report.described();
        if remaining_of(headers).is_none_or(|theirs| level.available < theirs && !report.refused_within) {
            headers.insert(RATELIMIT, dictionary(report));
        }
    }

    pub(super) fn fill(report: &Report<'_>, slots: &mut Slots<'_>) {
        slots.keep();
        slots.put(dictionary(report));
    }
}

fn dictionary(report: &Report<'_>) -> HeaderValue {
    let (policy, level) = report.described();
    let mut field = Text::new();
    for (name, number) in [("limit=", policy.quota), (", remaining=", level.available), (", reset=", level.seconds())] {
        field.push(name);
        field.push_number(number);
    }
    field.into_value()
}

/// What an inner layer said.
fn remaining_of(headers: &HeaderMap) -> Option<u64> {
    match super::sf::parse_dictionary(headers.get(RATELIMIT)?.as_bytes())
        .ok()?
        .into_iter()
        .find(|(key, _)| key == "remaining")?
        .1
    {
        super::sf::Member::Item(super::sf::Item { value: super::sf::Bare::Integer(remaining), .. }) => {
            remaining.try_into().ok()
        }
        _ => None,
    }
}

fn write_policy(fixed: &HeaderValue, report: &Report<'_>, headers: &mut HeaderMap) {
    let all_apply = report.levels.len() == report.policies.len();
    let policy =
        if all_apply { fixed.clone() } else { policy_field(report.rows().map(|(policy, _, _)| policy)).into_value() };
    headers.append(RATELIMIT_POLICY, policy);
}

fn policy_field<'a>(policies: impl Iterator<Item = &'a Stated>) -> Text {
    let mut field = Text::new();
    for policy in policies {
        if !field.is_empty() {
            field.push(", ");
        }
        field.push_number(policy.quota);
        field.push(";w=");
        field.push_number(policy.seconds);
    }
    field
}
