//! States as values: what another policy made, or what was read from a file, is answered too; nothing used is fresh.

use proptest::prelude::*;
use ratelimit_conformance::spec::PolicySpec;
use ratelimit_conformance::strategy::{Family, policy};
use ratelimit_conformance::subject::Domain;
use ratelimit_core::{Algorithm, BucketState, Decision, Nanos, Policy, PolicyState, SlidingLogState};
use serde::de::DeserializeOwned;

fn core_policy(spec: &PolicySpec) -> Policy {
    spec.policy(Nanos::new(1)).unwrap()
}

/// Everything that can be done with a state.
fn use_it(policy: &Policy, state: &mut PolicyState, now: Nanos, cost: u64) {
    policy.peek(state, now, cost);
    policy.used(state, now);
    policy.is_fresh(state, now);
    policy.state_bytes(state);
    policy.decide(state, now, 0);
    policy.decide(state, now, cost);
    policy.charge(state, now, cost);
    policy.decide(state, Nanos::ZERO, 1);
    policy.refund(state, cost);
    policy.decide(state, Nanos::MAX, 1);
    let migrated = policy.migrate(policy, state, now);
    policy.peek(&migrated, now, cost);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The state of one policy under another.
    #[test]
    fn of_another_policy(
        made_by in policy(Domain::FULL, Family::Policy),
        used_by in policy(Domain::FULL, Family::Policy),
        calls in prop::collection::vec((any::<u64>(), any::<u64>()), 1..8),
    ) {
        let (made_by, used_by) = (core_policy(&made_by), core_policy(&used_by));
        let mut state = made_by.fresh();
        for (now, cost) in &calls {
            made_by.decide(&mut state, Nanos::new(*now), cost % 7);
            made_by.charge(&mut state, Nanos::new(*now), *cost);
        }
        for (now, cost) in &calls {
            use_it(&used_by, &mut state.clone(), Nanos::new(*now), *cost);
            use_it(&used_by, &mut state, Nanos::new(now / 2), cost % 7);
        }
    }

    /// What changes nothing (law 1) does not change it either, though it counts as fresh where it is of another form.
    #[test]
    fn refusals_leave_it_alone(
        made_by in policy(Domain::FULL, Family::Policy),
        used_by in policy(Domain::FULL, Family::Policy),
        now in any::<u64>(),
        cost in 1..=8_u64,
    ) {
        let (made_by, used_by, now) = (core_policy(&made_by), core_policy(&used_by), Nanos::new(now));
        let mut state = made_by.fresh();
        made_by.charge(&mut state, now, cost);
        let mut other = state.clone();
        used_by.decide(&mut other, now, 0);
        used_by.charge(&mut other, now, 0);
        used_by.refund(&mut other, 0);
        if used_by.capacity() < u64::MAX {
            let never = used_by.decide(&mut other, now, u64::MAX);
            prop_assert_eq!(never, Decision::Never { capacity: used_by.capacity() });
        }
        prop_assert_eq!(other, state);
    }
}

/// A text that may have been edited by hand is read, or refused with a message; either way nothing panics.
fn read<S: DeserializeOwned>(text: &str) -> Option<S> {
    serde_json::from_str(text).ok()
}

#[test]
fn a_bucket_read_from_a_file_may_say_anything() {
    let numbers = [0, 1, 100, u64::MAX];
    let policies = ["token-bucket:3/7ns", "leaky-bucket:1/30d,burst=100000", "token-bucket:18446744073709551615/1ns"];
    for (last, high) in numbers.iter().flat_map(|last| numbers.map(|high| (last, high))) {
        for low in numbers {
            let text = format!(r#"{{"last":{last},"used_high":{high},"used_low":{low}}}"#);
            let state: BucketState = read(&text).expect(&text);
            for policy in policies {
                let policy: Policy = policy.parse().unwrap();
                let name = if policy.rules()[0].name() == "token-bucket" { "TokenBucket" } else { "LeakyBucket" };
                let text = format!(r#"{{"One":{{"{name}":{text}}}}}"#);
                for now in [0, 5, u64::MAX] {
                    use_it(&policy, &mut read(&text).expect(&text), Nanos::new(now), 2);
                }
            }
            let written = serde_json::to_string(&state).unwrap();
            assert_eq!(read::<BucketState>(&written), Some(state));
        }
    }
    // With nothing used no time is recorded, whatever the file says.
    assert_eq!(read::<BucketState>(r#"{"last":100,"used_high":0,"used_low":0}"#), Some(BucketState::default()));
}

#[test]
fn a_log_read_from_a_file_is_in_order_or_refused() {
    let log = |entries: &str, base: u64| format!(r#"{{"entries":[{entries}],"base":{base}}}"#);
    for refused in [
        // Instants that do not increase.
        log(r#"{"at":9,"cumulative":1},{"at":3,"cumulative":2}"#, 0),
        log(r#"{"at":9,"cumulative":1},{"at":9,"cumulative":2}"#, 0),
        // An entry of no units.
        log(r#"{"at":9,"cumulative":5}"#, 5),
        log(r#"{"at":9,"cumulative":5},{"at":10,"cumulative":5}"#, 0),
        // More units than `u64` counts.
        log(r#"{"at":9,"cumulative":18446744073709551615},{"at":10,"cumulative":7}"#, 0),
    ] {
        assert_eq!(read::<SlidingLogState>(&refused), None, "{refused}");
    }
    let policy: Policy = "sliding-log:5/10ns".parse().unwrap();
    for accepted in [
        log("", 77),
        log(r#"{"at":3,"cumulative":1},{"at":9,"cumulative":2}"#, 0),
        // Cumulative numbers wrap.
        log(r#"{"at":3,"cumulative":18446744073709551615},{"at":9,"cumulative":1}"#, 18_446_744_073_709_551_613),
    ] {
        let state: SlidingLogState = read(&accepted).expect(&accepted);
        assert_eq!(read(&serde_json::to_string(&state).unwrap()), Some(state));
        for now in [0, 5, 12, u64::MAX] {
            let text = format!(r#"{{"One":{{"SlidingLog":{accepted}}}}}"#);
            use_it(&policy, &mut read(&text).expect(&text), Nanos::new(now), 2);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A state with nothing used records nothing else: it is the fresh one, so that states can be compared.
    #[test]
    fn nothing_used_is_the_fresh_state(
        spec in policy(Domain::FULL, Family::Policy),
        calls in prop::collection::vec((any::<u64>(), 0..=9_u64), 1..8),
    ) {
        let policy = core_policy(&spec);
        let mut state = policy.fresh();
        for (now, cost) in calls {
            policy.decide(&mut state, Nanos::new(now), cost);
            policy.charge(&mut state, Nanos::new(now), cost);
        }
        policy.refund(&mut state, u64::MAX);
        prop_assert_eq!(state, policy.fresh());
    }
}
