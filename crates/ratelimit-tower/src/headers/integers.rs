//! Drafts -06 and -07, where a policy is known by its quota: `RateLimit-Policy: 5;w=60`.

use http::header::{HeaderMap, HeaderValue};

use super::triple::Triple;
use super::{RATELIMIT, RATELIMIT_POLICY, Report, Stated, push_number, value};

/// The triple, and the policies as integers.
#[derive(Debug)]
pub(super) struct Draft06 {
    policy: HeaderValue,
    triple: Triple,
}

impl Draft06 {
    pub(super) fn new(policies: &[Stated]) -> Draft06 {
        Draft06 { policy: policy_field(policies.iter()), triple: Triple::new(policies) }
    }

    pub(super) fn write(&self, report: &Report<'_>, headers: &mut HeaderMap) {
        write_policy(&self.policy, report, headers);
        self.triple.write(report, headers);
    }
}

/// One dictionary, and the policies as integers.
#[derive(Debug)]
pub(super) struct Draft07 {
    policy: HeaderValue,
}

impl Draft07 {
    pub(super) fn new(policies: &[Stated]) -> Draft07 {
        Draft07 { policy: policy_field(policies.iter()) }
    }

    pub(super) fn write(&self, report: &Report<'_>, headers: &mut HeaderMap) {
        write_policy(&self.policy, report, headers);
        let (policy, level) = report.described();
        if remaining_of(headers).is_some_and(|theirs| theirs <= level.available) {
            return;
        }
        let mut field = String::from("limit=");
        push_number(&mut field, policy.quota);
        field.push_str(", remaining=");
        push_number(&mut field, level.available);
        field.push_str(", reset=");
        push_number(&mut field, level.seconds());
        headers.insert(RATELIMIT, value(field));
    }
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
    let policy = if all_apply { fixed.clone() } else { policy_field(report.rows().map(|(policy, _, _)| policy)) };
    headers.append(RATELIMIT_POLICY, policy);
}

fn policy_field<'a>(policies: impl Iterator<Item = &'a Stated>) -> HeaderValue {
    let mut field = String::new();
    for policy in policies {
        if !field.is_empty() {
            field.push_str(", ");
        }
        push_number(&mut field, policy.quota);
        field.push_str(";w=");
        push_number(&mut field, policy.seconds);
    }
    value(field)
}
