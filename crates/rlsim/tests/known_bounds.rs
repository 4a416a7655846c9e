//! The bounds of the algorithms, reached by the worst trace for each.

mod generate_common;

use std::num::NonZeroUsize;

use generate_common::generated_trace;
use ratelimit_core::Policy;
use rlsim::replay::By;
use rlsim::sweep::measure;

const MINUTE: u64 = 60_000_000_000;

/// The most that a policy lets through in any window of each length, under the worst trace for it.
fn most(policy: &str, lengths: [u64; 3]) -> [u64; 3] {
    let trace = generated_trace(&format!("adversary --against {policy} --duration 5m"));
    let parsed: Policy = policy.parse().expect("a policy");
    let found = measure(&trace, By::Client, &lengths.map(|length| (parsed, length)), (0, 0), NonZeroUsize::MIN);
    let admitted = found.iter().all(|found| found.refused() == 0);
    assert!(admitted, "{policy}: the adversary sends only what passes");
    [0, 1, 2].map(|i| found[i].peak)
}

/// L = 100 per minute; the most in any half-open window of 0.05, 0.25 and 1 W. Each number is the bound of the design at the
/// longest span T that such a window holds, one nanosecond less than its length:
/// fixed 2L; log L; counter `L + ceil(L*(T-1)/W)`; token bucket `B + floor(L*T/W)`; leaky bucket, releases, `ceil(L*T/W)`.
#[test]
fn the_worst_trace_reaches_the_bound_of_each_algorithm() {
    for (policy, expected) in [
        ("fixed-window:100/1m", [200, 200, 200]),
        ("sliding-log:100/1m", [100, 100, 100]),
        ("sliding-counter:100/1m", [105, 125, 200]),
        ("token-bucket:100/1m", [104, 124, 199]),
        ("token-bucket:100/1m,burst=25", [29, 49, 124]),
        ("leaky-bucket:100/1m", [5, 25, 100]),
        ("leaky-bucket:100/1m,burst=25", [5, 25, 100]),
    ] {
        assert_eq!(most(policy, [MINUTE / 20, MINUTE / 4, MINUTE]), expected, "{policy}");
    }
}

/// In an instant, only the fixed window doubles its limit: the counter and the token bucket need the whole window for it.
#[test]
fn only_the_fixed_window_doubles_in_an_instant() {
    for (policy, expected) in [
        ("fixed-window:100/1m", [100, 200, 200]),
        ("sliding-log:100/1m", [100, 100, 100]),
        ("sliding-counter:100/1m", [100, 100, 101]),
        ("token-bucket:100/1m", [100, 100, 101]),
    ] {
        assert_eq!(most(policy, [1, 2, MINUTE / 100 + 2]), expected, "{policy}");
    }
}
