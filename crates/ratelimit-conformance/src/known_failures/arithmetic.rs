//! The table "Arithmetic": remainders, products and ranges.

use ratelimit_core::{Decision, Nanos, Policy, Quota, QuotaError, TokenBucket};

use super::{client, each_algorithm, left, poll};
use crate::subject::{Client, Subject};

/// 1 per 30 days, B = 100 000, all at once: seen to overflow, or to allow 364. All are allowed.
///
/// # Panics
/// Where it does not hold.
pub fn a_large_burst_of_a_slow_rate_passes_at_once<S: Subject>(subject: &S, calls: u64) {
    let rows = [("1/30d", 100_000), ("1/365d", 1_000_000), ("3/10000d", u64::MAX), ("1/1h", 1 << 40)];
    for ((quota, burst), name) in rows.into_iter().flat_map(|row| [(row, "token-bucket"), (row, "leaky-bucket")]) {
        let text = format!("{name}:{quota},burst={burst}");
        let Some(mut client) = client(subject, &text) else { continue };
        let (cost, mut passed) = ((burst / calls.min(100_000)).max(1), 0_u64);
        while passed < burst {
            let next = cost.min(burst - passed);
            assert!(client.decide(Nanos::ZERO, next).is_allowed(), "{text}: refused after {passed}");
            passed += next;
        }
        assert!(!client.decide(Nanos::ZERO, 1).is_allowed(), "{text}: more than the burst");
    }
}

/// 600 000 000 per second: seen to run at 1 000 000 000. The rate is exact, tick by tick.
///
/// # Panics
/// Where it does not hold.
pub fn a_rate_of_fractional_nanoseconds_is_exact<S: Subject>(subject: &S, calls: u64) {
    let tick = subject.domain().tick.get();
    for limit in [600_000_000_u64, 700_000_000, 999_999_999, 1_000_000_001, 3_000_000_000, 333_333_333] {
        let text = format!("token-bucket:{limit}/1s");
        let Some(mut client) = client(subject, &text) else { continue };
        assert!(client.decide(Nanos::ZERO, limit).is_allowed(), "{text}");
        let mut taken = 0;
        for i in 1..=calls.min(3000) {
            let earned = u128::from(i * tick) * u128::from(limit) / 1_000_000_000;
            let now = Nanos::new(i * tick);
            assert_eq!(u128::from(left(&mut client, now)) + taken, earned, "{text} after {now}");
            // Every third time, so that fractions are carried over several steps too.
            if i % 3 == 0 {
                let units = left(&mut client, now);
                assert!(client.decide(now, units).is_allowed(), "{text} after {now}");
                taken += u128::from(units);
            }
        }
    }
}

/// 1 000 000 001 per second, a million calls on each of two threads, within the burst: random refusals were seen. None
/// may come. (Threads take turns on one client; their clocks differ by up to 50 ns.)
///
/// # Panics
/// Where it does not hold.
pub fn nothing_within_the_burst_is_refused<S: Subject>(subject: &S, calls: u64) {
    for limit in [1_000_000_001_u64, 999_999_999, 2_000_000_011] {
        let text = format!("token-bucket:{limit}/1s,burst={}", 2_000_000);
        let Some(mut client) = client(subject, &text) else { continue };
        let tick = subject.domain().tick.get();
        for i in 0..calls.min(1_000_000) {
            let behind = if subject.domain().can.step_back { i % 50 } else { 0 };
            for now in [100 + i, 100 + i - behind] {
                assert!(client.decide(Nanos::new(now * tick), 1).is_allowed(), "{text}: call {i}");
            }
        }
    }
}

/// 700 per 60 s, greedy for an hour: 705 a minute were seen, where the interval is cut to whole milliseconds. B + 42 000
/// pass.
///
/// # Panics
/// Where it does not hold.
pub fn a_greedy_client_gets_the_rate_exactly<S: Subject>(subject: &S, calls: u64) {
    for (limit, seconds) in [(700, 60), (7, 1), (13, 60), (1000, 7), (11, 3)] {
        let text = format!("token-bucket:{limit}/{seconds}s");
        let Some(mut client) = client(subject, &text) else { continue };
        // Whole windows, at least one, and an hour if there are calls for it: each unit takes two.
        let windows = (calls / (2 * limit)).clamp(1, 3600 / seconds);
        let end = Nanos::from_secs(windows * seconds);
        let (mut now, mut passed) = (Nanos::ZERO, 0);
        while now <= end {
            match client.decide(now, 1) {
                Decision::Allowed { .. } => passed += 1,
                Decision::Denied { retry_after, .. } => now = now.saturating_add(retry_after),
                never @ Decision::Never { .. } => panic!("{text}: {never:?}"),
            }
        }
        assert_eq!(passed, limit + windows * limit, "{text} over {end}");
    }
}

/// 1 per hour, B = 100, drained, polled each 7 ms for 10 h: 5 granted were seen, where each poll loses the remainder. 10.
///
/// # Panics
/// Where it does not hold.
pub fn polling_loses_no_remainder<S: Subject>(subject: &S, calls: u64) {
    let rows = [
        ("1/1h", 10, 7, 10, calls),
        ("3/2h", 10, 11, 15, calls.min(500_000)),
        ("1/7h", 70, 997, 10, calls.min(500_000)),
    ];
    for (quota, hours, every_ms, due, calls) in rows {
        let text = format!("token-bucket:{quota},burst=100");
        let Some(mut client) = client(subject, &text) else { continue };
        assert!(client.decide(Nanos::ZERO, 100).is_allowed(), "{text}");
        let end = Nanos::from_secs(hours * 3600);
        let granted = poll(&mut client, Nanos::ZERO, end, Nanos::from_millis(every_ms), calls);
        assert_eq!(granted, due, "{text} polled each {every_ms} ms");
    }
}

/// 3 per s, polled each 1.3 us for 10 s: 23 were seen. B + 30, the last at its exact instant.
///
/// # Panics
/// Where it does not hold.
pub fn a_third_of_a_second_stays_a_third<S: Subject>(subject: &S, calls: u64) {
    for (quota, due, calls) in [("3/1s", 30, calls), ("7/10s", 7, calls.min(500_000)), ("9/7s", 12, calls.min(500_000))]
    {
        let text = format!("token-bucket:{quota},burst=5");
        let Some(mut client) = client(subject, &text) else { continue };
        assert!(client.decide(Nanos::ZERO, 5).is_allowed(), "{text}");
        let ten_seconds = Nanos::from_secs(10);
        let every = Nanos::new(1300.max(subject.domain().tick.get() * 2));
        assert_eq!(poll(&mut client, Nanos::ZERO, ten_seconds, every, calls), due, "{text}");
    }
}

/// 1000 per s, polled each 1.9 ms for 10 s: 5264 were seen. 10 000 + B, to within one.
///
/// # Panics
/// Where it does not hold.
pub fn a_fast_rate_polled_slowly_is_not_halved<S: Subject>(subject: &S, calls: u64) {
    for (every_us, seconds) in [(1_900, 10), (1_100, 10), (13_700, 10)] {
        let text = "token-bucket:1000/1s";
        let Some(mut client) = client(subject, text) else { continue };
        // A poll takes all that is to be had.
        let (mut passed, mut polls) = (0_u64, 0);
        let mut now = Nanos::ZERO;
        while now <= Nanos::from_secs(seconds) && polls < calls {
            let units = left(&mut client, now);
            assert!(client.decide(now, units).is_allowed());
            passed += units;
            polls += 1;
            now = now.saturating_add(Nanos::from_micros(every_us));
        }
        let due = 1000 + (now.get() - every_us * 1000) / 1_000_000;
        assert!(passed.abs_diff(due) <= 1, "{passed} passed each {every_us} us, {due} are due");
    }
}

/// Time at `u64::MAX`, a window of 1 day with a clock that starts at 1 s: a panic was seen. Every time is answered.
///
/// # Panics
/// Where it does not hold.
pub fn every_time_is_answered<S: Subject>(subject: &S, _calls: u64) {
    let domain = subject.domain();
    let last = domain.latest * domain.tick.get();
    for quota in ["5/1d", "5/1s", "1/200000d", "18446744073709551615/1ms"] {
        each_algorithm(subject, quota, |text, mut client| {
            for now in [1_000_000_000, last - domain.tick.get(), last] {
                let answer = client.decide(Nanos::new(now), 1);
                assert!(!matches!(answer, Decision::Never { .. }), "{text} at {now}: {answer:?}");
            }
            if domain.can.step_back {
                let answer = client.decide(Nanos::ZERO, 1);
                assert!(!matches!(answer, Decision::Never { .. }), "{text} back at 0: {answer:?}");
            }
        });
    }
}

/// Limit 0, window 0: unlimited, or a panic, was seen. A typed error when the policy is built. This row is the core's
/// alone: other implementations are given policies that exist.
///
/// # Panics
/// Where it does not hold.
pub fn no_quota_is_zero() {
    assert_eq!(Quota::per_nanos(0, Nanos::new(1)), Err(QuotaError::ZeroLimit));
    assert_eq!(Quota::per_nanos(1, Nanos::ZERO), Err(QuotaError::ZeroWindow));
    let bucket = Quota::per_nanos(1, Nanos::new(1)).map(TokenBucket::new);
    assert_eq!(bucket.and_then(|bucket| bucket.burst(0)), Err(QuotaError::ZeroBurst));
    for text in ["fixed-window:0/1s", "sliding-log:1/0s", "token-bucket:1/1s,burst=0", "leaky-bucket:0/0s"] {
        assert!(text.parse::<Policy>().is_err(), "{text}");
    }
}
