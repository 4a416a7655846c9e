//! Who takes part: each is a shared limiter of 1 unit per window with a burst of 100 that answers yes or no.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use governor::clock::QuantaUpkeepClock;
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use ratelimit_core::{Algorithm, BucketState, TokenBucket};
use ratelimit_store::{Clock, CoarseClock, FastClock, Fingerprint, KeyForm, KeyedLimiter};

use crate::keys::Key;

const BURST: u32 = 100;

/// A limiter of many clients, as a service would share it between its threads.
pub trait Contender<K: Key>: Sync {
    fn check(&self, key: &K) -> bool;
}

/// Makes a limiter of 1 unit per this window. A peer that knows only seconds ignores it.
type Make<K> = fn(Duration) -> Box<dyn Contender<K>>;

pub const SECOND: Duration = Duration::from_secs(1);
/// Nobody is forgotten for being idle while memory is measured.
pub const HOUR: Duration = Duration::from_secs(3600);

/// All that can be asked for keys of this type, the peer that ratios are taken to first.
pub fn all<K: Key>() -> Vec<(&'static str, Make<K>)> {
    vec![
        ("governor", |per| Box::new(Governor(DefaultKeyedRateLimiter::keyed(governor_quota(per))))),
        (GOVERNOR_COARSE, |per| Box::new(GovernorCoarse::new(per))),
        ("ours, fingerprints", |per| Box::new(Ours(builder(per).clock(FastClock::new()).build()))),
        ("ours, exact keys", |per| Box::new(Ours(builder(per).clock(FastClock::new()).exact_keys().build()))),
        ("ours, fingerprints, system clock", |per| Box::new(Ours(builder(per).build()))),
        (OURS_COARSE, |per| Box::new(Ours(builder(per).clock(CoarseClock::new(PERIOD).unwrap()).build()))),
        ("ours, fingerprints, whole decision", |per| Box::new(Whole(builder(per).clock(FastClock::new()).build()))),
        ("Mutex<HashMap> with the core", |per| Box::new(OneLock::<K>::new(per))),
        ("throttlecrab in a Mutex", |per| Box::new(Throttlecrab::new(per))),
        ("tokio-rate-limit", |_| Box::new(TokioRateLimit::new())),
    ]
}

/// Both on a clock that a thread sets right each millisecond.
pub const GOVERNOR_COARSE: &str = "governor, upkeep clock";
pub const OURS_COARSE: &str = "ours, fingerprints, coarse clock";
const PERIOD: Duration = Duration::from_millis(1);

fn bucket(per: Duration) -> TokenBucket {
    TokenBucket::per(1, per).and_then(|bucket| bucket.burst(BURST.into())).unwrap()
}

fn governor_quota(per: Duration) -> Quota {
    Quota::with_period(per).unwrap().allow_burst(NonZeroU32::new(BURST).unwrap())
}

fn builder(per: Duration) -> ratelimit_store::Builder<TokenBucket> {
    KeyedLimiter::builder(bucket(per)).max_clients(2_000_000)
}

struct Ours<F, C>(KeyedLimiter<TokenBucket, F, C>);

impl<K: Key, F: KeyForm, C: Clock> Contender<K> for Ours<F, C> {
    fn check(&self, key: &K) -> bool {
        self.0.allows(key.bytes())
    }
}

/// As a middleware asks, which tells the client what remains and when.
struct Whole(KeyedLimiter<TokenBucket, Fingerprint, FastClock>);

impl<K: Key> Contender<K> for Whole {
    fn check(&self, key: &K) -> bool {
        std::hint::black_box(self.0.check(key.bytes())).is_allowed()
    }
}

struct Governor<K: Key>(DefaultKeyedRateLimiter<K>);

impl<K: Key> Contender<K> for Governor<K> {
    fn check(&self, key: &K) -> bool {
        self.0.check_key(key).is_ok()
    }
}

struct GovernorCoarse<K: Key>(KeyedOn<K, QuantaUpkeepClock>);

type KeyedOn<K, C> = RateLimiter<K, DashMapStateStore<K>, C, NoOpMiddleware<<C as governor::clock::Clock>::Instant>>;

impl<K: Key> GovernorCoarse<K> {
    fn new(per: Duration) -> Self {
        let clock = QuantaUpkeepClock::from_interval(PERIOD).unwrap();
        GovernorCoarse(RateLimiter::new(governor_quota(per), DashMapStateStore::default(), clock))
    }
}

impl<K: Key> Contender<K> for GovernorCoarse<K> {
    fn check(&self, key: &K) -> bool {
        self.0.check_key(key).is_ok()
    }
}

struct OneLock<K> {
    states: Mutex<HashMap<K, BucketState>>,
    bucket: TokenBucket,
    clock: FastClock,
}

impl<K: Key> OneLock<K> {
    fn new(per: Duration) -> Self {
        OneLock { states: Mutex::default(), bucket: bucket(per), clock: FastClock::new() }
    }
}

impl<K: Key> Contender<K> for OneLock<K> {
    fn check(&self, key: &K) -> bool {
        let now = self.clock.now();
        let mut states = self.states.lock().unwrap();
        let state = match states.get_mut(key) {
            Some(state) => state,
            None => states.entry(key.clone()).or_insert_with(|| self.bucket.fresh()),
        };
        self.bucket.decide(state, now, 1).is_allowed()
    }
}

struct Throttlecrab {
    limiter: Mutex<throttlecrab::RateLimiter<throttlecrab::AdaptiveStore>>,
    seconds: i64,
}

impl Throttlecrab {
    fn new(per: Duration) -> Self {
        let store = throttlecrab::AdaptiveStore::builder().capacity(1_000_000).build();
        Throttlecrab { limiter: Mutex::new(throttlecrab::RateLimiter::new(store)), seconds: per.as_secs() as i64 }
    }
}

impl<K: Key> Contender<K> for Throttlecrab {
    fn check(&self, key: &K) -> bool {
        let now = SystemTime::now();
        let mut limiter = self.limiter.lock().unwrap();
        limiter.rate_limit(&key.text(), BURST.into(), 1, self.seconds, 1, now).is_ok_and(|(allowed, _)| allowed)
    }
}

struct TokioRateLimit(tokio_rate_limit::RateLimiter);

impl TokioRateLimit {
    fn new() -> Self {
        let limiter = tokio_rate_limit::RateLimiter::builder().requests_per_second(1).burst(BURST.into()).build();
        TokioRateLimit(limiter.unwrap())
    }
}

impl<K: Key> Contender<K> for TokioRateLimit {
    fn check(&self, key: &K) -> bool {
        self.0.check(&key.text()).permitted
    }
}
