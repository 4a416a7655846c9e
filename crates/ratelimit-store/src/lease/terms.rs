//! What bounds the leases of a limiter, which follows from its policy.

use ratelimit_core::{Algorithm, Nanos, Policy, Rule};

/// The longest pause after a slice that was smaller than wanted, and after a failure.
const LONGEST_PAUSE: Nanos = Nanos::from_millis(50);
/// At most this part of the capacity is in leases.
const PART_OUT: u64 = 8;

/// What bounds every lease of a limiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    /// The most units that one server may hold of a client; at least 2, or there are no leases.
    pub(super) largest: u64,
    /// The largest cost that can ever pass.
    pub(super) capacity: u64,
    /// The units of a token bucket that stay free of charges, as many as all servers may hold; 0 without a token bucket.
    pub(super) keep: u64,
    /// How long after it was asked for a slice may be spent.
    pub(super) lifetime: Nanos,
    /// Whether a slice ends with the window of which it was charged.
    pub(super) ends_with_window: bool,
    /// After a slice that was smaller than wanted, and after a failure, so long nothing is taken.
    pub(super) pause: Nanos,
    /// Where unspent units may be given back: so many units drain in so many nanoseconds at most.
    pub(super) drain: Option<(u64, Nanos)>,
}

impl Terms {
    /// `None` where a lease makes no sense.
    pub(super) fn new(policy: &Policy, servers: u64, lifetime: Nanos) -> Option<Terms> {
        let largest = policy.capacity() / servers.saturating_mul(PART_OUT);
        let rules = policy.rules();
        let queues = rules.iter().any(|rule| matches!(rule, Rule::LeakyBucket(_)));
        let limited = rules.iter().any(|rule| rule.quota().is_some());
        if queues || !limited || largest < 2 || lifetime == Nanos::ZERO {
            return None;
        }
        let bucket = |rule: &Rule| matches!(rule, Rule::TokenBucket(_));
        // `largest` is what `servers` divide, so the product is at most an eighth of the capacity.
        let keep = if rules.iter().any(bucket) { largest * servers } else { 0 };
        let all = |kind: fn(&Rule) -> bool| rules.iter().all(|rule| kind(rule) || matches!(rule, Rule::Unlimited));
        // A pause in which a bucket would run over would lose units.
        let fills = rules.iter().filter_map(time_to_fill).min().unwrap_or(Nanos::MAX);
        Some(Terms {
            largest,
            capacity: rules.iter().map(|rule| capacity(rule, keep)).min().unwrap_or(u64::MAX),
            keep,
            lifetime,
            ends_with_window: all(|rule| matches!(rule, Rule::FixedWindow(_))) && count(policy) == 1,
            pause: Nanos::new(fills.get() / 8).min(LONGEST_PAUSE),
            drain: if all(|rule| matches!(rule, Rule::TokenBucket(_))) { fastest(rules) } else { None },
        })
    }

    /// How many units have drained at most `elapsed` after they were charged.
    pub(super) fn drained(&self, elapsed: Nanos) -> u64 {
        let Some((units, window)) = self.drain else { return u64::MAX };
        let drained = u128::from(units) * u128::from(elapsed.get()) / u128::from(window.get().max(1));
        u64::try_from(drained).unwrap_or(u64::MAX)
    }
}

/// How many rules limit anything.
fn count(policy: &Policy) -> usize {
    policy.rules().iter().filter(|rule| rule.quota().is_some()).count()
}

/// The largest cost that a rule can ever admit with `keep` units of each bucket free.
fn capacity(rule: &Rule, keep: u64) -> u64 {
    let kept = if matches!(rule, Rule::TokenBucket(_)) { keep } else { 0 };
    rule.capacity().saturating_sub(kept)
}

/// The quota by which the most units drain in a time.
fn fastest(rules: &[Rule]) -> Option<(u64, Nanos)> {
    let rates = rules.iter().filter_map(Rule::quota).map(|quota| (quota.limit(), quota.window()));
    rates.max_by(|a, b| {
        let left = u128::from(a.0) * u128::from(b.1.get());
        left.cmp(&(u128::from(b.0) * u128::from(a.1.get())))
    })
}

/// How long an empty bucket takes to fill; of a window, the window.
fn time_to_fill(rule: &Rule) -> Option<Nanos> {
    let quota = rule.quota()?;
    let units = rule.burst().unwrap_or(quota.limit());
    let nanos = u128::from(units) * u128::from(quota.window().get()) / u128::from(quota.limit());
    Some(Nanos::new(u64::try_from(nanos).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(policy: &str, servers: u64) -> Option<Terms> {
        Terms::new(&policy.parse().unwrap(), servers, Nanos::from_secs(1))
    }

    #[test]
    fn what_all_servers_may_hold_is_kept_free_of_a_token_bucket() {
        let terms = terms("token-bucket:1000/1h", 3).unwrap();
        assert_eq!((terms.largest, terms.keep, terms.capacity), (41, 123, 877));
    }

    #[test]
    fn windows_keep_nothing_free_and_give_nothing_back() {
        for (policy, ends) in [
            ("fixed-window:64/1h", true),
            ("fixed-window:64/1h+fixed-window:100/1d", false),
            ("sliding-log:64/1h", false),
            ("sliding-counter:64/1h", false),
        ] {
            let terms = terms(policy, 4).unwrap();
            assert_eq!((terms.largest, terms.keep, terms.capacity, terms.drain), (2, 0, 64, None), "{policy}");
            assert_eq!(terms.ends_with_window, ends, "{policy}");
        }
    }

    #[test]
    fn of_several_rules_the_buckets_keep_units_free() {
        let terms = terms("token-bucket:100/1h+sliding-log:90/1h", 1).unwrap();
        assert_eq!((terms.largest, terms.keep, terms.capacity, terms.drain), (11, 11, 89, None));
    }

    #[test]
    fn the_fastest_of_several_buckets_drains() {
        let terms = terms("token-bucket:100/1s,burst=900+token-bucket:3600/1h", 1).unwrap();
        assert_eq!(terms.drained(Nanos::from_millis(1009)), 100);
    }

    #[test]
    fn small_limits_and_queues_have_no_leases() {
        for policy in ["token-bucket:63/1s", "leaky-bucket:10000/1s", "unlimited"] {
            assert_eq!(terms(policy, 4), None, "{policy}");
        }
        assert!(terms("token-bucket:64/1s", 4).is_some());
    }
}
