//! The policy that a vector's parameters mean.

use ratelimit_core::{FixedWindow, LeakyBucket, Nanos, Policy, Quota, Rule, SlidingCounter, SlidingLog, TokenBucket};

use super::data::{Config, Vector};

/// A queue without an end, for pacers, which have none.
const ENDLESS: u64 = 1_000_000;

/// The policy, or what is not known about it.
pub(super) fn policy(vector: &Vector) -> Result<Policy, String> {
    let config = &vector.config;
    let rules: Option<Vec<Rule>> = match vector.algorithm.as_str() {
        "token_bucket_multi" => config.limits.iter().flatten().map(token).collect(),
        "compound_log" => config.limits.iter().flatten().map(|limit| window(limit).map(log)).collect(),
        algorithm => Some(vec![rule(algorithm, config).ok_or_else(|| format!("parameters of {algorithm}"))?]),
    };
    rules.as_deref().and_then(Policy::all_of).ok_or_else(|| format!("parameters of {}", vector.algorithm))
}

fn rule(algorithm: &str, config: &Config) -> Option<Rule> {
    match algorithm {
        "token_bucket" | "keyed_token_bucket" | "http_token_bucket" => token(config),
        "gcra" => {
            let quota = Quota::per_nanos(1, Nanos::from_millis(config.emission_ms?)).ok()?;
            Some(Rule::TokenBucket(TokenBucket::new(quota).burst(config.max_burst? + 1).ok()?))
        }
        "fixed_window" => window(config).map(|quota| Rule::FixedWindow(FixedWindow::new(quota))),
        "sliding_log" => window(config).map(log),
        "sliding_window_counter" | "sliding_window_counter_weight" => {
            window(config).map(|quota| Rule::SlidingCounter(SlidingCounter::new(quota)))
        }
        "leaky_bucket_meter" | "leaky_bucket_queue" | "leaky_bucket_pacing" => leaky(config),
        _ => None,
    }
}

/// L per W, and B. Written as refill per period, or as a rate.
fn token(config: &Config) -> Option<Rule> {
    let quota = match (config.rate_per_s, config.refill, config.period_ms) {
        (Some(rate), ..) => per_second(rate)?,
        (None, Some(refill), Some(period)) => Quota::per_nanos(refill, Nanos::from_millis(period)).ok()?,
        _ => return None,
    };
    let burst = config.burst.or(config.capacity)?;
    Some(Rule::TokenBucket(TokenBucket::new(quota).burst(burst).ok()?))
}

fn window(config: &Config) -> Option<Quota> {
    Quota::per_nanos(config.limit.unwrap_or(u64::MAX), Nanos::from_millis(config.window_ms?)).ok()
}

fn log(quota: Quota) -> Rule {
    Rule::SlidingLog(SlidingLog::new(quota))
}

fn leaky(config: &Config) -> Option<Rule> {
    let quota = match (config.emission_ms, config.rate_per_s) {
        (Some(emission), _) => Quota::per_nanos(1, Nanos::from_millis(emission)).ok()?,
        (None, Some(rate)) => per_second(rate)?,
        (None, None) => window(config)?,
    };
    let burst = config.burst.or(config.burst_excess.map(|excess| excess + 1)).unwrap_or(ENDLESS);
    Some(Rule::LeakyBucket(LeakyBucket::new(quota).burst(burst).ok()?))
}

/// The quota of a rate that the data gives as a decimal: whole rates as they are, others by their period to the
/// nanosecond, which is exact for all of them. `None` for a rate of 0, which no quota has.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates and periods of the data are small")]
pub(super) fn per_second(rate: f64) -> Option<Quota> {
    if rate >= 1.0 && rate.fract() == 0.0 {
        Quota::per_nanos(rate as u64, Nanos::from_secs(1)).ok()
    } else if rate > 0.0 {
        Quota::per_nanos(1, Nanos::new((1e9 / rate).round() as u64)).ok()
    } else {
        None
    }
}
