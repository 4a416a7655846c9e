//! An implementation with nothing but `decide`, whose time never falls and which counts microseconds: what it lacks is
//! left out, and everything else is tested. It is the core behind a narrow door, so all of it must hold.

use ratelimit_conformance::core_subject::{Core, CoreClient};
use ratelimit_conformance::spec::{Kind, RuleSpec};
use ratelimit_conformance::subject::{Abilities, Client, Domain, Subject};
use ratelimit_core::{Decision, Nanos, Policy, Rule};

struct Plain;

/// A client of the core, on a quota and times in microseconds.
struct Narrow(CoreClient);

const MICROSECOND: u64 = 1000;

impl Subject for Plain {
    type Client = Narrow;

    fn domain(&self) -> Domain {
        Domain {
            tick: Nanos::new(MICROSECOND),
            latest: 1 << 53,
            longest_window: 1 << 40,
            most_units: 1 << 30,
            kinds: &[Kind::TokenBucket],
            most_rules: 1,
            can: Abilities::NONE,
        }
    }

    /// Refuses windows that are not whole microseconds.
    fn client(&self, policy: &Policy) -> Option<Narrow> {
        let whole = |nanos: u64| nanos.is_multiple_of(MICROSECOND);
        let is_whole = policy.rules().iter().filter_map(Rule::quota).all(|quota| whole(quota.window().get()));
        is_whole.then(|| Core.client(&in_microseconds(policy))).flatten().map(Narrow)
    }
}

/// The policy with microseconds in the place of nanoseconds, so that all answers are whole microseconds.
fn in_microseconds(policy: &Policy) -> Policy {
    let rule = policy.rules()[0];
    let quota = rule.quota().expect("a limit");
    let spec = RuleSpec::new(Kind::TokenBucket, quota.limit(), quota.window().get() / MICROSECOND);
    Policy::from(spec.with_burst(rule.burst().unwrap_or(1)).rule(Nanos::new(1)).expect("valid"))
}

impl Client for Narrow {
    fn decide(&mut self, now: Nanos, cost: u64) -> Decision {
        assert!(now.get().is_multiple_of(MICROSECOND), "a time of {now}");
        let longer = |duration: Nanos| Nanos::from_micros(duration.get());
        match self.0.decide(Nanos::new(now.get() / MICROSECOND), cost) {
            Decision::Allowed { remaining, reset_after, delay } => {
                Decision::Allowed { remaining, reset_after: longer(reset_after), delay: longer(delay) }
            }
            Decision::Denied { retry_after, remaining, reset_after } => {
                Decision::Denied { retry_after: longer(retry_after), remaining, reset_after: longer(reset_after) }
            }
            never @ Decision::Never { .. } => never,
        }
    }
}

ratelimit_conformance::suite!(Plain);
