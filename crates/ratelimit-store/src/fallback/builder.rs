//! The choices of a [`Fallback`].

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ratelimit_core::{Nanos, Policy};

use super::breaker::{Breaker, Limits};
use super::change::{Change, Health, Listener};
use super::counts::Counters;
use super::{Fallback, Inner, PARTS, share};
use crate::{Backend, Clock, KeyedLimiter, SystemClock};

/// What to do while the shared limiter is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WhenDown {
    /// Each server applies its share of the limit: the service stays up and protected. The default.
    #[default]
    Local,
    /// Refuse everything that costs something.
    Closed,
    /// Allow everything that could ever pass.
    Open,
}

/// Builds a [`Fallback`]; from [`Fallback::builder`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder<B, C = SystemClock> {
    shared: B,
    policy: Policy,
    servers: u64,
    when_down: WhenDown,
    max_clients: usize,
    limits: Limits,
    listener: Listener,
    clock: C,
}

impl<B: Backend> Builder<B> {
    pub(super) fn new(shared: B, policy: &Policy) -> Self {
        let limits = Limits { failures: 5, pause: Nanos::from_millis(100), longest_pause: Nanos::from_secs(5) };
        Builder {
            shared,
            policy: *policy,
            servers: 1,
            when_down: WhenDown::Local,
            max_clients: 100_000,
            limits,
            listener: Listener::default(),
            clock: SystemClock::new(),
        }
    }
}

impl<B: Backend, C: Clock + Clone> Builder<B, C> {
    /// How many servers share the limit: the local limiter allows that part of it, see [`share`]. 1 unless set.
    pub fn servers(self, servers: u64) -> Self {
        Builder { servers, ..self }
    }

    /// What to do while the shared limiter is down; [`WhenDown::Local`] unless set.
    pub fn when_down(self, when_down: WhenDown) -> Self {
        Builder { when_down, ..self }
    }

    /// How many clients the local limiter keeps at most; 100 000 unless set.
    pub fn max_clients(self, max_clients: usize) -> Self {
        Builder { max_clients, ..self }
    }

    /// How many failures in a row open the breaker; 5 unless set, and at least 1. Calls count that failed because the shared
    /// limiter is down ([`Backend::is_down`]), and each part of it ([`Backend::part`]) has a breaker of its own: on a
    /// cluster with a dead node the clients of the others are decided there.
    pub fn failures(self, failures: u32) -> Self {
        Builder { limits: Limits { failures: failures.max(1), ..self.limits }, ..self }
    }

    /// For how long the breaker stays open the first time, and at most: the pause doubles with each probe that fails.
    /// 100 ms and 5 s unless set.
    pub fn pauses(self, first: Nanos, longest: Nanos) -> Self {
        Builder { limits: Limits { pause: first, longest_pause: longest.max(first), ..self.limits }, ..self }
    }

    /// Calls `told` when the shared limiter stops answering, which is when the first breaker opens, and when all of it answers
    /// again. By whichever call finds out, so it must not wait: write a line to a log, raise an alarm. Nobody is told
    /// unless set.
    ///
    /// ```
    /// use ratelimit_store::{Change, Fallback};
    /// # let policy: ratelimit_core::Policy = "token-bucket:100/1m".parse()?;
    /// # let shared = ratelimit_store::KeyedLimiter::new(policy);
    /// let limiter = Fallback::builder(shared, policy)
    ///     .servers(10)
    ///     .on_change(|change| match change {
    ///         Change::Down(error) => eprintln!("limits are enforced by each server alone: {error}"),
    ///         Change::Up => eprintln!("limits are shared again"),
    ///     })
    ///     .build();
    /// # Ok::<(), ratelimit_core::PolicyError>(())
    /// ```
    pub fn on_change(self, told: impl Fn(Change<'_>) + Send + Sync + 'static) -> Self {
        Builder { listener: Listener::new(told), ..self }
    }

    /// Reads the time, for the breaker and the local limiter, from `clock`.
    pub fn clock<D: Clock>(self, clock: D) -> Builder<B, D> {
        Builder {
            shared: self.shared,
            policy: self.policy,
            servers: self.servers,
            when_down: self.when_down,
            max_clients: self.max_clients,
            limits: self.limits,
            listener: self.listener,
            clock,
        }
    }

    /// The limiter.
    pub fn build(self) -> Fallback<B, C> {
        let share = share(&self.policy, self.servers);
        let local = KeyedLimiter::builder(share).max_clients(self.max_clients).clock(self.clock.clone()).build();
        Fallback {
            inner: Arc::new(Inner {
                shared: self.shared,
                policy: self.policy,
                share,
                local,
                when_down: self.when_down,
                breakers: (0..PARTS).map(|_| Breaker::new(self.limits)).collect(),
                strange_until: AtomicU64::new(0),
                counters: Counters::default(),
                health: Health::new(self.listener),
                clock: self.clock,
            }),
        }
    }
}
