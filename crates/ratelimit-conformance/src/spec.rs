//! Policies as plain numbers in ticks: what strategies generate, models are built from, and the core's [`Policy`] is
//! made of once the length of a tick is known.

use ratelimit_core::{FixedWindow, LeakyBucket, Nanos, Policy, Quota, Rule, SlidingCounter, SlidingLog, TokenBucket};

/// Which algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Everything is allowed.
    Unlimited,
    /// [`FixedWindow`].
    FixedWindow,
    /// [`SlidingLog`].
    SlidingLog,
    /// [`SlidingCounter`].
    SlidingCounter,
    /// [`TokenBucket`].
    TokenBucket,
    /// [`LeakyBucket`].
    LeakyBucket,
}

impl Kind {
    /// The five that limit.
    pub const LIMITING: [Kind; 5] =
        [Kind::FixedWindow, Kind::SlidingLog, Kind::SlidingCounter, Kind::TokenBucket, Kind::LeakyBucket];

    /// The name in policy text.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Unlimited => "unlimited",
            Kind::FixedWindow => "fixed-window",
            Kind::SlidingLog => "sliding-log",
            Kind::SlidingCounter => "sliding-counter",
            Kind::TokenBucket => "token-bucket",
            Kind::LeakyBucket => "leaky-bucket",
        }
    }

    /// Whether the algorithm has a burst of its own.
    pub const fn is_bucket(self) -> bool {
        matches!(self, Kind::TokenBucket | Kind::LeakyBucket)
    }
}

/// One rule: an algorithm with its quota. Always valid: limit, window and burst are at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleSpec {
    /// The algorithm.
    pub kind: Kind,
    /// L, in units.
    pub limit: u64,
    /// W, in ticks.
    pub window: u64,
    /// B, in units; equal to the limit for what has no burst of its own.
    pub burst: u64,
}

impl RuleSpec {
    /// A rule whose burst is its limit.
    pub const fn new(kind: Kind, limit: u64, window: u64) -> Self {
        RuleSpec { kind, limit, window, burst: limit }
    }

    /// The null rule.
    pub const UNLIMITED: RuleSpec = RuleSpec { kind: Kind::Unlimited, limit: u64::MAX, window: 1, burst: u64::MAX };

    /// The same with a burst. The windows have none, and ignore it.
    #[must_use]
    pub const fn with_burst(self, burst: u64) -> Self {
        if self.kind.is_bucket() { RuleSpec { burst, ..self } } else { self }
    }

    /// The core's rule with ticks of this length. `None` where the window does not fit into `u64` nanoseconds.
    pub fn rule(&self, tick: Nanos) -> Option<Rule> {
        let quota = Quota::per_nanos(self.limit, Nanos::new(self.window.checked_mul(tick.get())?)).ok()?;
        Some(match self.kind {
            Kind::Unlimited => Rule::Unlimited,
            Kind::FixedWindow => Rule::FixedWindow(FixedWindow::new(quota)),
            Kind::SlidingLog => Rule::SlidingLog(SlidingLog::new(quota)),
            Kind::SlidingCounter => Rule::SlidingCounter(SlidingCounter::new(quota)),
            Kind::TokenBucket => Rule::TokenBucket(TokenBucket::new(quota).burst(self.burst).ok()?),
            Kind::LeakyBucket => Rule::LeakyBucket(LeakyBucket::new(quota).burst(self.burst).ok()?),
        })
    }
}

/// One rule or several (at most 4) that must all allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySpec(pub Vec<RuleSpec>);

impl PolicySpec {
    /// The core's policy with ticks of this length. `None` where a window does not fit into `u64` nanoseconds.
    pub fn policy(&self, tick: Nanos) -> Option<Policy> {
        let rules: Option<Vec<Rule>> = self.0.iter().map(|rule| rule.rule(tick)).collect();
        Policy::all_of(&rules?)
    }

    /// The largest cost that can ever be allowed.
    pub fn capacity(&self) -> u64 {
        self.0.iter().map(|rule| rule.burst).min().unwrap_or(u64::MAX)
    }
}

impl From<RuleSpec> for PolicySpec {
    fn from(rule: RuleSpec) -> Self {
        PolicySpec(vec![rule])
    }
}
