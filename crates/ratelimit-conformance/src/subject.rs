//! What an implementation has to offer to be tested: one adapter, and it inherits vectors, models, laws and bounds.
//!
//! The adapter speaks the core's words ([`Policy`], [`Nanos`], [`Decision`]). It is always given the time; it never
//! reads a clock. What it does not have it declares absent in its [`Domain`], and is then not asked for it.

use ratelimit_core::{Decision, Nanos, Policy, Rule};

use crate::spec::{Kind, PolicySpec};

/// An implementation under test.
pub trait Subject {
    /// One client's limiter.
    type Client: Client;

    /// What inputs the implementation is made for.
    fn domain(&self) -> Domain;

    /// The limiter of a client that has used nothing, apart from all others that were made. `None` where the
    /// implementation refuses the policy; the tests then leave it out.
    fn client(&self, policy: &Policy) -> Option<Self::Client>;
}

/// One client's limiter. The methods with a body are called only where the [`Domain`] says that they can be.
pub trait Client {
    /// Decides and charges.
    fn decide(&mut self, now: Nanos, cost: u64) -> Decision;

    /// Decides and charges, and says only whether the request passes.
    fn admit(&mut self, now: Nanos, cost: u64) -> bool {
        self.decide(now, cost).is_allowed()
    }

    /// Decides without charging.
    fn peek(&mut self, _now: Nanos, _cost: u64) -> Decision {
        absent("peek")
    }

    /// Records a cost whatever the limit.
    fn charge(&mut self, _now: Nanos, _cost: u64) {
        absent("charge")
    }

    /// Gives a cost back. `now` is the time of the call before it, for implementations that need one.
    fn refund(&mut self, _now: Nanos, _cost: u64) {
        absent("refund")
    }

    /// Units in use.
    fn used(&mut self, _now: Nanos) -> u64 {
        absent("used")
    }

    /// Whether the client may be forgotten.
    fn is_fresh(&mut self, _now: Nanos) -> bool {
        absent("is_fresh")
    }

    /// From now on the client is limited by `to`.
    fn migrate(&mut self, _to: &Policy, _now: Nanos) {
        absent("migrate")
    }
}

fn absent(operation: &str) -> ! {
    panic!("the adapter declares `{operation}` in `Domain::can`, but does not implement it")
}

/// What inputs an implementation is made for; strategies stay within.
#[derive(Debug, Clone, Copy)]
pub struct Domain {
    /// Length of the smallest step of time. Windows and instants are multiples of it, and so must all answers be.
    pub tick: Nanos,
    /// The latest instant, in ticks.
    pub latest: u64,
    /// The longest window, in ticks.
    pub longest_window: u64,
    /// The largest limit, burst and cost.
    pub most_units: u64,
    /// The algorithms.
    pub kinds: &'static [Kind],
    /// The most rules in one policy.
    pub most_rules: usize,
    /// The operations.
    pub can: Abilities,
}

/// Which operations an implementation has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a yes or no of its own")]
pub struct Abilities {
    /// [`Client::peek`].
    pub peek: bool,
    /// [`Client::charge`].
    pub charge: bool,
    /// [`Client::refund`].
    pub refund: bool,
    /// [`Client::used`].
    pub used: bool,
    /// [`Client::is_fresh`].
    pub is_fresh: bool,
    /// [`Client::migrate`].
    pub migrate: bool,
    /// Takes a time before that of the call before, by the rule of law 5. Without it, time never falls.
    pub step_back: bool,
}

impl Abilities {
    /// All of them.
    pub const ALL: Abilities = Abilities {
        peek: true,
        charge: true,
        refund: true,
        used: true,
        is_fresh: true,
        migrate: true,
        step_back: true,
    };
    /// Only `decide`, and time never falls.
    pub const NONE: Abilities = Abilities {
        peek: false,
        charge: false,
        refund: false,
        used: false,
        is_fresh: false,
        migrate: false,
        step_back: false,
    };
}

impl Domain {
    /// Everything there is: what the core takes.
    pub const FULL: Domain = Domain {
        tick: Nanos::new(1),
        latest: u64::MAX,
        longest_window: u64::MAX,
        most_units: u64::MAX,
        kinds: &Kind::LIMITING,
        most_rules: ratelimit_core::policy::MAX_RULES,
        can: Abilities::ALL,
    };
}

/// A new client of the policy, or `None` where the domain leaves it out or the implementation refuses it.
pub(crate) fn offered<S: Subject>(subject: &S, policy: &Policy) -> Option<S::Client> {
    let domain = subject.domain();
    let has = |rule: &Rule| *rule == Rule::Unlimited || domain.kinds.iter().any(|kind| kind.name() == rule.name());
    let is_within = policy.rules().len() <= domain.most_rules && policy.rules().iter().all(has);
    if is_within { subject.client(policy) } else { None }
}

/// The answer with every duration changed.
fn with_durations(decision: Decision, change: impl Fn(Nanos) -> Nanos) -> Decision {
    match decision {
        Decision::Allowed { remaining, reset_after, delay } => {
            Decision::Allowed { remaining, reset_after: change(reset_after), delay: change(delay) }
        }
        Decision::Denied { retry_after, remaining, reset_after } => {
            Decision::Denied { retry_after: change(retry_after), remaining, reset_after: change(reset_after) }
        }
        never @ Decision::Never { .. } => never,
    }
}

/// A client whose time is counted in ticks.
pub(crate) struct Ticked<C> {
    client: C,
    tick: Nanos,
}

impl<C: Client> Ticked<C> {
    /// A new client of `subject`, or `None` where it refuses the policy.
    pub(crate) fn new<S: Subject<Client = C>>(subject: &S, policy: &PolicySpec) -> Option<Self> {
        let tick = subject.domain().tick;
        Some(Ticked { client: offered(subject, &policy.policy(tick)?)?, tick })
    }

    fn nanos(&self, ticks: u64) -> Nanos {
        Nanos::new(ticks.checked_mul(self.tick.get()).expect("`Domain::latest` in ticks must fit into u64 nanoseconds"))
    }

    /// A duration of an answer in ticks.
    fn ticks(&self, duration: Nanos) -> Nanos {
        let tick = self.tick.get();
        assert!(
            duration == Nanos::MAX || duration.get().is_multiple_of(tick),
            "an answer of {} ns is not a whole number of ticks of {tick} ns",
            duration.get()
        );
        if duration == Nanos::MAX { duration } else { Nanos::new(duration.get() / tick) }
    }

    fn answer(&self, decision: Decision) -> Decision {
        with_durations(decision, |duration| self.ticks(duration))
    }

    /// A model's answer, whose durations may be longer than nanoseconds can say.
    pub(crate) fn saturated(&self, decision: Decision) -> Decision {
        let longest = Nanos::MAX.get() / self.tick.get();
        with_durations(decision, |duration| if duration.get() > longest { Nanos::MAX } else { duration })
    }

    pub(crate) fn decide(&mut self, now: u64, cost: u64) -> Decision {
        let decision = self.client.decide(self.nanos(now), cost);
        self.answer(decision)
    }

    pub(crate) fn admit(&mut self, now: u64, cost: u64) -> bool {
        self.client.admit(self.nanos(now), cost)
    }

    pub(crate) fn peek(&mut self, now: u64, cost: u64) -> Decision {
        let decision = self.client.peek(self.nanos(now), cost);
        self.answer(decision)
    }

    pub(crate) fn charge(&mut self, now: u64, cost: u64) {
        self.client.charge(self.nanos(now), cost);
    }

    pub(crate) fn refund(&mut self, now: u64, cost: u64) {
        self.client.refund(self.nanos(now), cost);
    }

    pub(crate) fn used(&mut self, now: u64) -> u64 {
        self.client.used(self.nanos(now))
    }

    pub(crate) fn is_fresh(&mut self, now: u64) -> bool {
        self.client.is_fresh(self.nanos(now))
    }

    pub(crate) fn migrate(&mut self, to: &PolicySpec, now: u64) {
        let policy = to.policy(self.tick).expect("generated policies fit");
        self.client.migrate(&policy, self.nanos(now));
    }
}
