//! A full table, of one page or of several, against a map that never forgets anybody: every answer is equal, whatever is swept and evicted.
//!
//! When a sweep happens must not show. So the model does not know: a newcomer has a place of its own if and only if
//! fewer clients than there are places have something used, and shares the common state otherwise.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::Config;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};
use ratelimit_core::{Algorithm, Nanos, Policy, PolicyState};
use ratelimit_store::{Exact, Fingerprint, KeyForm, KeyedLimiter};

/// One page, and a few.
const PLACES: [usize; 2] = [3, 60];

const POLICIES: [&str; 8] = [
    "token-bucket:3/20ns",
    "leaky-bucket:2/7ns,burst=4",
    "fixed-window:3/16ns",
    "sliding-log:3/20ns",
    "sliding-counter:4/16ns",
    "token-bucket:2/5ns+fixed-window:6/64ns",
    "fixed-window:1/1us",
    "unlimited",
];

fn policy(index: usize) -> Policy {
    POLICIES[index].parse().unwrap()
}

#[derive(Debug, Clone)]
enum Step {
    Advance(u64),
    Check {
        client: u8,
        cost: u64,
    },
    Charge {
        client: u8,
        cost: u64,
    },
    Refund {
        client: u8,
        cost: u64,
    },
    Reset {
        client: u8,
    },
    Sweep,
    SetPolicy(usize),
    SetOwnPolicy {
        client: u8,
        policy: Option<usize>,
    },
    /// A forecast, which must leave no trace.
    PeekAhead {
        client: u8,
        cost: u64,
        ahead: u64,
    },
}

/// The reference: states that are never forgotten, each on its own.
#[derive(Debug, Clone)]
struct Model {
    places: usize,
    now: Nanos,
    policy: Policy,
    own: BTreeMap<u8, Policy>,
    used: BTreeMap<u8, PolicyState>,
    shared: PolicyState,
}

impl Model {
    fn policy_of(&self, client: u8) -> Policy {
        self.own.get(&client).copied().unwrap_or(self.policy)
    }

    /// Twice as many as there are places.
    fn clients(&self) -> std::ops::Range<u8> {
        0..u8::try_from(2 * self.places).unwrap()
    }

    /// The same at a later time, if nobody does anything meanwhile.
    fn later(&self, nanos: u64) -> Self {
        let mut later = Model { now: self.now.saturating_add(Nanos::new(nanos)), ..self.clone() };
        later.tidy();
        later
    }

    /// Drops what is fresh: law 7 says it makes no difference, and this test that the store agrees.
    fn tidy(&mut self) {
        let (policy, own, now) = (self.policy, self.own.clone(), self.now);
        self.used.retain(|client, state| !own.get(client).unwrap_or(&policy).is_fresh(state, now));
    }

    /// The policy and the state that decide for a client; the state is to be given back with `put`.
    fn take(&self, client: u8) -> (Policy, PolicyState, bool) {
        let policy = self.policy_of(client);
        match self.used.get(&client) {
            Some(state) => (policy, state.clone(), true),
            None if self.used.len() < self.places => (policy, policy.fresh(), true),
            None => (self.policy, self.shared.clone(), false),
        }
    }

    fn put(&mut self, client: u8, state: PolicyState, own: bool) {
        if own {
            self.used.insert(client, state);
        } else {
            self.shared = state;
        }
    }

    fn decide(&self, client: u8, cost: u64) -> (ratelimit_core::Decision, PolicyState, bool) {
        let (policy, mut state, own) = self.take(client);
        (policy.decide(&mut state, self.now, cost), state, own)
    }
}

impl ReferenceStateMachine for Model {
    type State = Model;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Model> {
        (0..POLICIES.len(), prop::sample::select(&PLACES[..]))
            .prop_map(|(index, places)| {
                let policy = policy(index);
                let shared = policy.fresh();
                let (own, used) = (BTreeMap::new(), BTreeMap::new());
                Model { places, now: Nanos::from_secs(1), policy, own, used, shared }
            })
            .boxed()
    }

    fn transitions(model: &Model) -> BoxedStrategy<Step> {
        let client = model.clients();
        prop_oneof![
            6 => (0_u64..12).prop_map(Step::Advance),
            1 => (0_u64..2_000).prop_map(Step::Advance),
            20 => (client.clone(), 0_u64..5).prop_map(|(client, cost)| Step::Check { client, cost }),
            2 => (client.clone(), 0_u64..9).prop_map(|(client, cost)| Step::Charge { client, cost }),
            2 => (client.clone(), 0_u64..4).prop_map(|(client, cost)| Step::Refund { client, cost }),
            1 => client.clone().prop_map(|client| Step::Reset { client }),
            1 => Just(Step::Sweep),
            1 => (0..POLICIES.len()).prop_map(Step::SetPolicy),
            2 => (client.clone(), 0_u64..5, 0_u64..500)
                .prop_map(|(client, cost, ahead)| Step::PeekAhead { client, cost, ahead }),
            1 => (client, prop::option::of(0..POLICIES.len()))
                .prop_map(|(client, policy)| Step::SetOwnPolicy { client, policy }),
        ]
        .boxed()
    }

    fn apply(mut model: Model, step: &Step) -> Model {
        match *step {
            Step::Advance(nanos) => model = model.later(nanos),
            Step::Check { client, cost } => {
                let (_, state, own) = model.decide(client, cost);
                model.put(client, state, own);
            }
            Step::Charge { client, cost } => {
                let (policy, mut state, own) = model.take(client);
                // What newcomers share takes no debt.
                let free = policy.capacity().saturating_sub(policy.used(&state, model.now));
                policy.charge(&mut state, model.now, if own { cost } else { cost.min(free) });
                model.put(client, state, own);
            }
            Step::Refund { client, cost } => {
                let policy = model.policy_of(client);
                if let Some(state) = model.used.get_mut(&client) {
                    policy.refund(state, cost);
                }
            }
            Step::Reset { client } => drop(model.used.remove(&client)),
            Step::Sweep | Step::PeekAhead { .. } => {}
            Step::SetPolicy(index) => {
                let new = policy(index);
                model.shared = new.migrate(&model.policy, &model.shared, model.now);
                for (client, state) in &mut model.used {
                    if !model.own.contains_key(client) {
                        *state = new.migrate(&model.policy, state, model.now);
                    }
                }
                model.policy = new;
            }
            Step::SetOwnPolicy { client, policy: index } => {
                let old = model.policy_of(client);
                match index {
                    Some(index) => drop(model.own.insert(client, policy(index))),
                    None => drop(model.own.remove(&client)),
                }
                let new = model.policy_of(client);
                if let Some(state) = model.used.get_mut(&client) {
                    *state = new.migrate(&old, state, model.now);
                }
            }
        }
        model.tidy();
        model
    }
}

struct Store<K> {
    limiter: KeyedLimiter<Policy, K>,
    /// The model before the step: a decision is compared with what it would have answered.
    before: Model,
}

fn apply<K: KeyForm>(store: Store<K>, after: &Model, step: &Step) -> Store<K> {
    let Store { limiter, before } = store;
    let now = after.now;
    match *step {
        Step::Advance(_) => {}
        Step::Check { client, cost } => {
            assert_eq!(limiter.peek_at([client], now, cost), before.decide(client, cost).0);
            assert_eq!(limiter.check_n_at([client], now, cost), before.decide(client, cost).0);
        }
        Step::Charge { client, cost } => limiter.charge_at([client], now, cost),
        Step::Refund { client, cost } => drop(limiter.refund([client], cost)),
        Step::Reset { client } => drop(limiter.reset([client])),
        Step::Sweep => drop(limiter.sweep_at(now)),
        Step::PeekAhead { client, cost, ahead } => {
            let later = after.later(ahead);
            assert_eq!(limiter.peek_at([client], later.now, cost), later.decide(client, cost).0);
        }
        Step::SetPolicy(index) => limiter.set_policy_at(policy(index), now),
        Step::SetOwnPolicy { client, policy: index } => limiter.set_policy_of_at([client], index.map(policy), now),
    }
    Store { limiter, before: after.clone() }
}

fn check_invariants<K: KeyForm>(store: &Store<K>, model: &Model) {
    let limiter = &store.limiter;
    assert!(limiter.len() <= model.places && limiter.len() >= model.used.len());
    for client in model.clients() {
        assert_eq!(limiter.policy_of([client]), model.policy_of(client));
        assert_eq!(limiter.peek_at([client], model.now, 1), model.decide(client, 1).0, "client {client}");
    }
}

macro_rules! machine {
    ($name:ident, $form:ty, $build:expr) => {
        struct $name;

        impl StateMachineTest for $name {
            type SystemUnderTest = Store<$form>;
            type Reference = Model;

            fn init_test(model: &Model) -> Store<$form> {
                let builder = KeyedLimiter::builder(model.policy).max_clients(model.places);
                Store { limiter: $build(builder), before: model.clone() }
            }

            fn apply(store: Store<$form>, after: &Model, step: Step) -> Store<$form> {
                apply(store, after, &step)
            }

            fn check_invariants(store: &Store<$form>, model: &Model) {
                check_invariants(store, model);
            }
        }
    };
}

machine!(ByFingerprint, Fingerprint, |builder: ratelimit_store::Builder<Policy>| builder.build());
machine!(ByExactKey, Exact, |builder: ratelimit_store::Builder<Policy>| builder.exact_keys().build());

prop_state_machine! {
    #![proptest_config(Config { cases: 200, failure_persistence: None, ..Config::default() })]

    #[test]
    fn fingerprints_answer_like_the_map(sequential 1..200 => ByFingerprint);

    #[test]
    fn exact_keys_answer_like_the_map(sequential 1..200 => ByExactKey);
}
