//! One server's share of a policy.

use ratelimit_core::{FixedWindow, LeakyBucket, Nanos, Policy, Quota, Rule, SlidingCounter, SlidingLog, TokenBucket};

/// The policy that each of `servers` applies on its own, so that together they allow no more than `policy` at large:
/// limits and bursts are divided and rounded down.
///
/// A bucket keeps the exact rate (`limit` per `window * servers`). A window with fewer units than there are servers
/// becomes 1 unit per longer window, so that at one instant each of them admits 1: more than the whole, for the time of
/// the window. A burst is at least 1, so with more servers than burst the bursts together are larger than the whole. 0 servers count as 1.
pub fn share(policy: &Policy, servers: u64) -> Policy {
    let rules: Vec<Rule> = policy.rules().iter().map(|rule| share_rule(*rule, servers.max(1))).collect();
    // As many rules as the policy had.
    Policy::all_of(&rules).unwrap_or(*policy)
}

fn share_rule(rule: Rule, servers: u64) -> Rule {
    match rule {
        Rule::Unlimited => rule,
        Rule::FixedWindow(policy) => Rule::FixedWindow(FixedWindow::new(share_window(policy.quota(), servers))),
        Rule::SlidingLog(policy) => Rule::SlidingLog(SlidingLog::new(share_window(policy.quota(), servers))),
        Rule::SlidingCounter(policy) => {
            Rule::SlidingCounter(SlidingCounter::new(share_window(policy.quota(), servers)))
        }
        Rule::TokenBucket(policy) => {
            let slower = TokenBucket::new(share_rate(policy.quota(), servers));
            slower.burst(share_burst(rule, servers)).map_or(rule, Rule::TokenBucket)
        }
        Rule::LeakyBucket(policy) => {
            let slower = LeakyBucket::new(share_rate(policy.quota(), servers));
            slower.burst(share_burst(rule, servers)).map_or(rule, Rule::LeakyBucket)
        }
    }
}

fn share_burst(rule: Rule, servers: u64) -> u64 {
    (rule.burst().unwrap_or(1) / servers).max(1)
}

/// The same limit per a window that is `servers` times as long.
fn share_rate(quota: Quota, servers: u64) -> Quota {
    let window = quota.window().get().saturating_mul(servers);
    Quota::per_nanos(quota.limit(), Nanos::new(window)).unwrap_or(quota)
}

fn share_window(quota: Quota, servers: u64) -> Quota {
    let (limit, window) = (quota.limit(), quota.window().get());
    let shared = if limit >= servers {
        Quota::per_nanos(limit / servers, quota.window())
    } else {
        let longer = (u128::from(window) * u128::from(servers)).div_ceil(u128::from(limit));
        Quota::per_nanos(1, Nanos::new(u64::try_from(longer).unwrap_or(u64::MAX)))
    };
    // Neither is 0.
    shared.unwrap_or(quota)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_down_and_never_nothing() {
        for (whole, servers, part) in [
            ("token-bucket:100/1m,burst=20", 10, "token-bucket:100/10m,burst=2"),
            ("token-bucket:3/1s", 10, "token-bucket:3/10s,burst=1"),
            ("leaky-bucket:100/1m", 3, "leaky-bucket:100/3m,burst=33"),
            ("fixed-window:100/1m", 3, "fixed-window:33/1m"),
            ("sliding-log:3/1s", 4, "sliding-log:1/1333333334ns"),
            ("sliding-counter:7/1h+unlimited", 7, "sliding-counter:1/1h+unlimited"),
            ("fixed-window:5/1m", 0, "fixed-window:5/1m"),
            ("fixed-window:1/18446744073709551615ns", 9, "fixed-window:1/18446744073709551615ns"),
        ] {
            assert_eq!(share(&whole.parse().unwrap(), servers).to_string(), part, "{whole} of {servers}");
        }
    }
}
