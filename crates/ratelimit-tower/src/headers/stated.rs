//! A policy as the fields state it: a name, a quota and a window in whole seconds.

use ratelimit_core::Rule;

use super::sf;
use crate::rate::Rate;

/// What is said of a policy in every answer.
#[derive(Debug, Clone)]
pub(crate) struct Stated {
    pub(crate) name: String,
    /// The name as a String of structured fields.
    pub(crate) quoted: String,
    /// The exact rate, for the ratio of quota to time.
    pub(crate) rate: Rate,
    /// Units in a window.
    pub(crate) quota: u64,
    /// The window in whole seconds, at least 1.
    pub(crate) seconds: u64,
    /// What the units are, where they are not requests.
    pub(crate) unit: Option<String>,
}

impl Stated {
    /// `None` for a rule without a quota.
    ///
    /// A bucket whose burst exceeds its limit states the burst and the time in which it fills: `1/1s,burst=5` is 5 in
    /// 5 s, the same rate. Seconds round up, so that no more is promised than there is.
    pub(crate) fn new(name: String, rule: &Rule, unit: Option<String>) -> Option<Stated> {
        let of_rule = rule.quota()?;
        let rate = Rate::of(of_rule);
        let quota = rule.burst().unwrap_or(0).max(of_rule.limit());
        let seconds = rate.time_up(quota).as_secs_ceil().max(1);
        let mut quoted = String::new();
        if sf::is_string(&name) {
            sf::write_string(&mut quoted, &name);
        }
        Some(Stated { name, quoted, rate, quota, seconds, unit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quota_and_the_window_keep_the_rate() {
        for (policy, quota, seconds) in [
            ("fixed-window:5/1m", 5, 60),
            ("token-bucket:100/1m,burst=20", 100, 60),
            ("token-bucket:1/1s,burst=5", 5, 5),
            ("leaky-bucket:2/3s,burst=5", 5, 8),
            ("fixed-window:5/500ms", 5, 1),
        ] {
            let policy: ratelimit_core::Policy = policy.parse().unwrap();
            let stated = Stated::new("x".into(), &policy.rules()[0], None).unwrap();
            assert_eq!((stated.quota, stated.seconds), (quota, seconds), "{policy}");
        }
        assert!(Stated::new("x".into(), &Rule::Unlimited, None).is_none());
    }
}
