//! A policy cut into equal parts.

use ratelimit_core::{Policy, Rule};

/// Part `index` of `parts` of a policy: parts together never admit more than a multiple of the whole allows. `None` when
/// the part is nothing, because there are more parts than units.
///
/// Window algorithms get a share of the limit; the first parts get one more unit where it does not divide evenly. Buckets
/// get the exact rate and a share of the burst.
pub fn divide(policy: &Policy, parts: u64, index: u64) -> Option<Policy> {
    let rules = policy.rules().iter().map(|rule| divide_rule(rule, parts.max(1), index));
    Policy::all_of(&rules.collect::<Option<Vec<_>>>()?)
}

fn divide_rule(rule: &Rule, parts: u64, index: u64) -> Option<Rule> {
    let Some(quota) = rule.quota() else { return Some(*rule) };
    let (limit, window) = (quota.limit(), quota.window().get());
    let share = |units: u64| units / parts + u64::from(index < units % parts);
    let text = match (rule.burst(), window.checked_mul(parts)) {
        (Some(burst), Some(longer)) => format!("{}:{limit}/{longer}ns,burst={}", rule.name(), share(burst)),
        (Some(burst), None) => format!("{}:{}/{window}ns,burst={}", rule.name(), share(limit), share(burst)),
        (None, _) => format!("{}:{}/{window}ns", rule.name(), share(limit)),
    };
    // What does not parse is a part of zero units.
    text.parse::<Policy>().ok().and_then(|policy| policy.rules().first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(policy: &str, parts: u64) -> Vec<Option<String>> {
        let policy = policy.parse().unwrap();
        (0..parts).map(|index| divide(&policy, parts, index).map(|part| part.to_string())).collect()
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(parts("sliding-log:5/1s", 2), [some("sliding-log:3/1s"), some("sliding-log:2/1s")]);
        assert_eq!(parts("fixed-window:1/1s", 2), [some("fixed-window:1/1s"), None]);
        assert_eq!(
            parts("token-bucket:5/1s,burst=3", 2),
            [some("token-bucket:5/2s,burst=2"), some("token-bucket:5/2s,burst=1")]
        );
        assert_eq!(parts("unlimited", 2), [some("unlimited"), some("unlimited")]);
        let both = parts("fixed-window:10/1s+sliding-log:100/1m", 10);
        assert!(both.iter().all(|part| *part == some("fixed-window:1/1s+sliding-log:10/1m")));
        assert_eq!(parts("fixed-window:9/1s", 1), [some("fixed-window:9/1s")]);
    }
}
