//! Which quotas the scripts decide exactly, and the whole numbers they are handed.
//!
//! The scripts calculate with doubles, which are exact for whole numbers below 2^53. They calculate in microseconds,
//! since that is how finely the server tells the time. [`exact`] is the one place that says for which rules no sum, no
//! product and no quotient that matters leaves that range; the others are refused when the limiter is built.
//!
//! | what | condition, W in microseconds |
//! |---|---|
//! | every window | a whole number of microseconds, at most 2^51 (71 years) |
//! | fixed window | `L < 2^53` |
//! | sliding log | `L < 2^52`, and `min(L, W) <= 2^24` entries |
//! | sliding counter | `L * W < 2^53`, and `1000 * L < 2^53` |
//! | token bucket, leaky bucket | with `g = gcd(L, W)`: `B * W / g < 2^53`, `1000 * L / g < 2^53`, and `B * W / L <= 2^52` (the time to fill) |
//!
//! Times are at most 2^52 microseconds (the year 2112), so that a time and two windows are below 2^53 together.

use std::fmt;

use ratelimit_core::{Policy, Quota, Rule};

/// Whole numbers below this are exact in Lua.
const EXACT: u128 = 1 << 53;
/// Waits are exact to the nanosecond.
const NANOS_A_MICRO: u128 = 1000;
/// The longest window, in microseconds.
const LONGEST_WINDOW: u64 = 1 << 51;
/// The latest time, and the longest that a bucket may take to fill, in microseconds.
pub(crate) const LATEST: u64 = 1 << 52;
/// The most units that one call may charge.
pub(crate) const LARGEST_COST: u64 = (1 << 53) - 1;
/// Units of a log are counted modulo this.
const LOG_UNITS: u64 = 1 << 52;
/// The most entries of a log: twice as many records of 16 bytes are the longest string that a server keeps.
const LOG_ENTRIES: u64 = 1 << 24;

/// Why a policy cannot be decided exactly by the scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotExact {
    rule: Rule,
    reason: Reason,
}

/// What is too large or too fine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The window is not a whole number of microseconds.
    WindowNotWholeMicros,
    /// The window is longer than 2^51 microseconds.
    WindowTooLong,
    /// The limit is 2^53 or more (2^52 for the sliding log).
    LimitTooLarge,
    /// The log could grow beyond 2^24 entries.
    LogTooLong,
    /// `L * W` is 2^53 or more.
    CounterTooLarge,
    /// `B * W / gcd(L, W)` is 2^53 or more.
    BucketTooLarge,
    /// The bucket takes longer than 2^52 microseconds to fill.
    BucketTooSlow,
    /// `1000 * L / gcd(L, W)` is 2^53 or more.
    DrainTooFast,
}

impl NotExact {
    /// The rule that is refused.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// Why.
    pub fn reason(&self) -> Reason {
        self.reason
    }
}

impl fmt::Display for NotExact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.reason {
            Reason::WindowNotWholeMicros => {
                "the window is no whole number of microseconds; round it to one (the server's clock tells no less)"
            }
            Reason::WindowTooLong => "the window is longer than 2^51 us (71 years); choose a shorter one",
            Reason::LimitTooLarge => {
                "the limit is too large, expected less than 2^53 (sliding log: 2^52, sliding counter: 2^53 / 1000)"
            }
            Reason::LogTooLong => {
                "the log could grow beyond 2^24 entries; choose a smaller limit, or sliding-counter or token-bucket"
            }
            Reason::CounterTooLarge => {
                "limit times window in us is 2^53 or more; choose a smaller limit, a shorter window, or token-bucket"
            }
            Reason::BucketTooLarge => {
                "burst times window in us / gcd(limit, window in us) is 2^53 or more; choose a smaller burst, or a limit \
                 and window that divide each other better"
            }
            Reason::BucketTooSlow => "the bucket takes longer than 2^52 us (142 years) to fill; choose a smaller burst",
            Reason::DrainTooFast => {
                "1000 times limit / gcd(limit, window in us) is 2^53 or more; choose a smaller limit, or one that \
                 divides the window better"
            }
        };
        write!(f, "`{}` cannot be shared exactly: {why}", self.rule)
    }
}

impl std::error::Error for NotExact {}

/// What a script is told of one rule: the kind by which it dispatches, and three whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) kind: &'static str,
    pub(crate) numbers: [u64; 3],
}

/// The parameters of every rule that limits anything, each rule once: the same rule twice decides what it decides once.
///
/// # Errors
/// The first rule that the scripts cannot decide exactly.
pub(crate) fn exact(policy: &Policy) -> Result<Vec<(Rule, Parameters)>, NotExact> {
    let mut all: Vec<(Rule, Parameters)> = Vec::new();
    for &rule in policy.rules() {
        let Some(parameters) = exact_rule(rule).map_err(|reason| NotExact { rule, reason })? else { continue };
        if !all.iter().any(|(other, _)| *other == rule) {
            all.push((rule, parameters));
        }
    }
    Ok(all)
}

/// `None` for the rule without a limit.
fn exact_rule(rule: Rule) -> Result<Option<Parameters>, Reason> {
    let Some(quota) = rule.quota() else { return Ok(None) };
    let window = window_in_micros(quota)?;
    let limit = quota.limit();
    let parameters = match rule {
        Rule::Unlimited => return Ok(None),
        Rule::FixedWindow(_) => {
            below_exact(u128::from(limit), Reason::LimitTooLarge)?;
            Parameters { kind: "fixed", numbers: [window, limit, 0] }
        }
        Rule::SlidingLog(_) => {
            if limit >= LOG_UNITS {
                return Err(Reason::LimitTooLarge);
            }
            if limit.min(window) > LOG_ENTRIES {
                return Err(Reason::LogTooLong);
            }
            Parameters { kind: "log", numbers: [window, limit, 0] }
        }
        Rule::SlidingCounter(_) => {
            below_exact(u128::from(limit) * u128::from(window), Reason::CounterTooLarge)?;
            below_exact(u128::from(limit) * NANOS_A_MICRO, Reason::LimitTooLarge)?;
            // Debt is cut off where these products end.
            Parameters { kind: "counter", numbers: [window, limit, LARGEST_COST / window.max(NANOS_A_MICRO as u64)] }
        }
        Rule::TokenBucket(_) => bucket("token", limit, window, rule.burst().unwrap_or(limit))?,
        Rule::LeakyBucket(_) => bucket("leaky", limit, window, rule.burst().unwrap_or(limit))?,
    };
    Ok(Some(parameters))
}

fn window_in_micros(quota: Quota) -> Result<u64, Reason> {
    let nanos = quota.window().get();
    if !nanos.is_multiple_of(1000) {
        return Err(Reason::WindowNotWholeMicros);
    }
    let micros = nanos / 1000;
    if micros > LONGEST_WINDOW { Err(Reason::WindowTooLong) } else { Ok(micros) }
}

/// `drain` parts a microsecond, `unit` parts a unit, and the burst in units.
fn bucket(kind: &'static str, limit: u64, window: u64, burst: u64) -> Result<Parameters, Reason> {
    let divisor = gcd(limit, window);
    let (drain, unit) = (limit / divisor, window / divisor);
    let parts = u128::from(burst) * u128::from(unit);
    below_exact(parts, Reason::BucketTooLarge)?;
    below_exact(u128::from(drain) * NANOS_A_MICRO, Reason::DrainTooFast)?;
    if parts.div_ceil(u128::from(drain)) > u128::from(LATEST) {
        return Err(Reason::BucketTooSlow);
    }
    Ok(Parameters { kind, numbers: [drain, unit, burst] })
}

fn below_exact(number: u128, otherwise: Reason) -> Result<(), Reason> {
    if number < EXACT { Ok(()) } else { Err(otherwise) }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratelimit_core::{FixedWindow, LeakyBucket, Nanos, SlidingCounter, SlidingLog, TokenBucket};

    const EDGE: u64 = 1 << 53;

    fn quota(limit: u64, micros: u64) -> Quota {
        Quota::per_nanos(limit, Nanos::from_micros(micros)).unwrap()
    }

    fn refused(rule: Rule) -> Option<Reason> {
        exact_rule(rule).err()
    }

    fn token(limit: u64, micros: u64, burst: u64) -> Rule {
        Rule::TokenBucket(TokenBucket::new(quota(limit, micros)).burst(burst).unwrap())
    }

    #[test]
    fn windows_are_whole_microseconds_and_not_endless() {
        let per = |nanos| Rule::FixedWindow(FixedWindow::new(Quota::per_nanos(5, Nanos::new(nanos)).unwrap()));
        assert_eq!(refused(per(1)), Some(Reason::WindowNotWholeMicros));
        assert_eq!(refused(per(1_000_001)), Some(Reason::WindowNotWholeMicros));
        assert_eq!(refused(per(1000)), None);
        assert_eq!(refused(per((1 << 51) * 1000)), None);
        assert_eq!(refused(per((1 << 51) * 1000 + 1000)), Some(Reason::WindowTooLong));
    }

    #[test]
    fn each_algorithm_is_exact_up_to_its_edge() {
        let fixed = |limit| Rule::FixedWindow(FixedWindow::new(quota(limit, 1)));
        assert_eq!(refused(fixed(EDGE - 1)), None);
        assert_eq!(refused(fixed(EDGE)), Some(Reason::LimitTooLarge));

        let counter = |limit, micros| Rule::SlidingCounter(SlidingCounter::new(quota(limit, micros)));
        // 2^53 - 1 = 6361 * 69431 * 20394401.
        assert_eq!(refused(counter(6361, 69_431 * 20_394_401)), None);
        assert_eq!(refused(counter(1 << 20, 1 << 33)), Some(Reason::CounterTooLarge));
        assert_eq!(refused(counter((EDGE - 1) / 1000, 1)), None);
        assert_eq!(refused(counter(EDGE / 1000 + 1, 1)), Some(Reason::LimitTooLarge));

        let log = |limit, micros| Rule::SlidingLog(SlidingLog::new(quota(limit, micros)));
        assert_eq!(refused(log(1 << 24, 1 << 40)), None);
        assert_eq!(refused(log((1 << 24) + 1, 1 << 40)), Some(Reason::LogTooLong));
        assert_eq!(refused(log((1 << 52) - 1, 1 << 24)), None);
        assert_eq!(refused(log(1 << 52, 1)), Some(Reason::LimitTooLarge));

        assert_eq!(refused(token(7, 69_431 * 20_394_401, 6361)), None);
        assert_eq!(refused(token(3, 1 << 33, 1 << 20)), Some(Reason::BucketTooLarge));
        assert_eq!(refused(token(1, 1 << 51, 2)), None);
        assert_eq!(refused(token(1, 1 << 51, 3)), Some(Reason::BucketTooSlow));
        assert_eq!(refused(token((EDGE - 1) / 1000, 1, EDGE - 1)), None);
        assert_eq!(refused(token(EDGE / 1000 + 1, 1, 1)), Some(Reason::DrainTooFast));

        let leaky = |limit| Rule::LeakyBucket(LeakyBucket::new(quota(limit, 1)));
        assert_eq!(refused(leaky((EDGE - 1) / 1000)), None);
        assert_eq!(refused(leaky(EDGE / 1000 + 1)), Some(Reason::DrainTooFast));
    }

    #[test]
    fn rules_that_limit_nothing_or_twice_are_left_out() {
        let policy: Policy = "unlimited+token-bucket:5/1m+token-bucket:5/1m+fixed-window:5/1m".parse().unwrap();
        let kinds: Vec<_> = exact(&policy).unwrap().iter().map(|(_, parameters)| parameters.kind).collect();
        assert_eq!(kinds, ["token", "fixed"]);
    }

    #[test]
    fn a_bucket_is_told_its_smallest_parts() {
        // 100 per 60 s: a unit is 600000 parts, one of which drains each microsecond.
        let rule = token(100, 60_000_000, 20);
        assert_eq!(exact_rule(rule), Ok(Some(Parameters { kind: "token", numbers: [1, 600_000, 20] })));
    }

    #[test]
    fn the_error_names_the_rule_and_what_helps() {
        let policy: Policy = "sliding-counter:1000000/1d".parse().unwrap();
        let text = exact(&policy).unwrap_err().to_string();
        assert!(text.contains("sliding-counter:1000000/1d") && text.contains("token-bucket"), "{text}");
    }
}
