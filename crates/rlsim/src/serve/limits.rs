//! The limits of the demo: one layer for each algorithm, all with the quota of the chosen policy.

use std::cell::Cell;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
#[cfg(feature = "redis")]
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::HeaderName;
use ratelimit_core::{
    Algorithm, FixedWindow, LeakyBucket, Nanos, Policy, Quota, QuotaError, Rule, SlidingCounter, SlidingLog,
    TokenBucket,
};
use ratelimit_tower::headers::{Dialect, Reset};
use ratelimit_tower::key::{ApiKey, ClientIp, FirstOf, Secret};
use ratelimit_tower::{Limit, RateLimitLayer, TokioTimer};

use super::Config;
use crate::error::{Error, Result};

/// The header that names a client.
pub(super) const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Clients kept for each algorithm.
const MAX_CLIENTS: usize = 100_000;

/// How long a request may wait in the leaky bucket.
const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// How many clients' worth of requests one address may send, so that inventing keys does not help.
const CLIENTS_AN_ADDRESS: u64 = 20;

/// All limits.
pub(super) struct Limits {
    /// The chosen policy first, under `/api/ping`, then each algorithm under its name.
    pub(super) all: Vec<Limited>,
}

/// One path with its limit.
pub(super) struct Limited {
    pub(super) path: String,
    pub(super) rule: Rule,
    pub(super) layer: RateLimitLayer,
    /// Who decides, where the limit is shared.
    pub(super) source: Option<Arc<Source>>,
}

tokio::task_local! {
    /// Whether the shared store decided the request that this task is about.
    static SHARED: Cell<bool>;
}

/// Does what is to be done for one request, and tells who decided it: `shared` if the shared store did, `local` if this
/// server did, alone.
pub(super) async fn with_decider<T>(answer: impl Future<Output = T>) -> (T, &'static str) {
    let both = async {
        let answer = answer.await;
        (answer, if SHARED.with(Cell::get) { "shared" } else { "local" })
    };
    SHARED.scope(Cell::new(false), both).await
}

/// Where the decisions of a shared limit come from.
#[derive(Debug, Default)]
pub(super) struct Source {
    #[cfg(feature = "redis")]
    away: AtomicBool,
    pub(super) shared: AtomicU64,
    pub(super) local: AtomicU64,
}

impl Source {
    /// Notes who took a decision, and says so on stderr when that has changed.
    #[cfg(feature = "redis")]
    pub(super) fn note(&self, path: &str, shared: bool) {
        let counter = if shared { &self.shared } else { &self.local };
        counter.fetch_add(1, Ordering::Relaxed);
        // Outside of a request nobody asks.
        let _ = SHARED.try_with(|decided| decided.set(shared));
        if self.away.swap(!shared, Ordering::Relaxed) == shared {
            let who = if shared { "Redis decides again" } else { "Redis does not answer; this server decides alone" };
            eprintln!("{path}: {who}");
        }
    }
}

impl Limits {
    pub(super) fn new(config: &Config) -> Result<Limits> {
        let family = family(&config.rule).map_err(|error| Error::usage(error.to_string()))?;
        let named = family.into_iter().map(|rule| (format!("/api/ping/{}", rule.name()), rule));
        let all = std::iter::once(("/api/ping".to_owned(), config.rule)).chain(named);
        let limited = |(path, rule): (String, Rule)| {
            let (layer, source) = layer(&path, rule, config)?;
            Ok(Limited { path, rule, layer, source })
        };
        Ok(Limits { all: all.map(limited).collect::<Result<_>>()? })
    }
}

/// The five algorithms with the quota of one: a bucket's burst, and the time in which it fills, are a window's limit
/// and length.
fn family(rule: &Rule) -> std::result::Result<[Rule; 5], QuotaError> {
    let rate = rule.quota().ok_or(QuotaError::ZeroLimit)?;
    let burst = rule.burst().unwrap_or(rate.limit());
    let filling = (u128::from(burst) * u128::from(rate.window().get())).div_ceil(u128::from(rate.limit()));
    let quota = Quota::per_nanos(burst, Nanos::new(u64::try_from(filling).unwrap_or(u64::MAX)))?;
    Ok([
        Rule::TokenBucket(TokenBucket::new(rate).burst(burst)?),
        Rule::LeakyBucket(LeakyBucket::new(rate).burst(burst)?),
        Rule::FixedWindow(FixedWindow::new(quota)),
        Rule::SlidingLog(SlidingLog::new(quota)),
        Rule::SlidingCounter(SlidingCounter::new(quota)),
    ])
}

/// A limit for each API key, or else address, and a wider one for each address, on each path. The first can be shared.
fn layer(path: &str, rule: Rule, config: &Config) -> Result<(RateLimitLayer, Option<Arc<Source>>)> {
    let client = Limit::new("client", rule).key(FirstOf::of(ApiKey::header(API_KEY)).or(ClientIp::peer()));
    let (client, source) = shared(client, path, rule, config)?;
    let address = Limit::new("address", wider(&rule)?).key(ClientIp::peer());
    // What this server can refuse by itself is no question for Redis.
    let limits = if source.is_some() { [address, client] } else { [client, address] };
    let layer = limits
        .into_iter()
        .fold(RateLimitLayer::builder(), ratelimit_tower::Builder::limit)
        .dialects([Dialect::Draft11, Dialect::Triple, Dialect::XRateLimit(Reset::Delta)])
        .wait(TokioTimer, LONGEST_WAIT)
        .max_clients(MAX_CLIENTS)
        .clock(Arc::clone(&config.clock))
        .report_decisions(true)
        // Nothing here is worth a secret: servers that share the demo's limits know its keys by the same hash.
        .secret(Secret::new(*b"rlsim serve demo"))
        .build()
        .map_err(|error| Error::usage(error.to_string()))?;
    Ok((layer, source))
}

/// The limit in Redis, if it is to be shared.
#[cfg(feature = "redis")]
fn shared(limit: Limit, path: &str, rule: Rule, config: &Config) -> Result<(Limit, Option<Arc<Source>>)> {
    let Some(url) = &config.redis else { return Ok((limit, None)) };
    let source = Arc::new(Source::default());
    let backend =
        super::shared::Noted::connect(url, path, &rule.into(), Arc::clone(&source), Arc::clone(&config.clock))?;
    Ok((limit.on(backend), Some(source)))
}

/// Without Redis in the build there is nothing to share over.
#[cfg(not(feature = "redis"))]
fn shared(limit: Limit, _: &str, _: Rule, config: &Config) -> Result<(Limit, Option<Arc<Source>>)> {
    match config.redis {
        None => Ok((limit, None)),
        Some(_) => Err(Error::usage(
            "--redis is not in this build; this builds and runs it:\n  \
             cargo run --release -p rlsim --features serve,redis -- serve --redis URL",
        )),
    }
}

/// A token bucket of several times the quota.
fn wider(rule: &Rule) -> Result<Policy> {
    let too_large = |error: QuotaError| Error::usage(error.to_string());
    let rate = rule.quota().ok_or(QuotaError::ZeroLimit).map_err(too_large)?;
    let quota = Quota::per_nanos(rate.limit().saturating_mul(CLIENTS_AN_ADDRESS), rate.window()).map_err(too_large)?;
    let burst = rule.capacity().saturating_mul(CLIENTS_AN_ADDRESS);
    Ok(Rule::TokenBucket(TokenBucket::new(quota).burst(burst).map_err(too_large)?).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_algorithms_have_the_same_quota() {
        let rule = "token-bucket:1/1s,burst=5".parse::<Policy>().unwrap().rules()[0];
        let family = family(&rule).unwrap().map(|rule| rule.to_string());
        let windows = ["fixed-window:5/5s", "sliding-log:5/5s", "sliding-counter:5/5s"];
        assert_eq!(family[..2], ["token-bucket:1/1s,burst=5", "leaky-bucket:1/1s,burst=5"]);
        assert_eq!(family[2..], windows);
    }
}
