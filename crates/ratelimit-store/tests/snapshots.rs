//! Snapshots come back as they were, migrate, and say what is wrong.
#![cfg(feature = "serde")]

use ratelimit_core::{Decision, Nanos, Policy};
use ratelimit_store::{Builder, Clock, KeyForm, KeyedLimiter, ManualClock, RestoreError};

const START: Nanos = Nanos::from_secs(1_000_000);

fn policy(text: &str) -> Policy {
    text.parse().unwrap()
}

fn builder(text: &str) -> Builder<Policy, ratelimit_store::Fingerprint, ManualClock> {
    KeyedLimiter::builder(policy(text)).clock(ManualClock::new(START)).max_clients(1_000)
}

/// Restores through text into another limiter.
fn through_json<K: KeyForm, C: Clock>(
    limiter: &KeyedLimiter<Policy, K, ManualClock>,
    into: Builder<Policy, K, C>,
) -> Result<KeyedLimiter<Policy, K, C>, RestoreError> {
    let text = serde_json::to_string(&limiter.snapshot()).unwrap();
    into.restore(serde_json::from_str(&text).unwrap(), &limiter.policy())
}

fn remaining(decision: Decision) -> u64 {
    match decision {
        Decision::Allowed { remaining, .. } | Decision::Denied { remaining, .. } => remaining,
        Decision::Never { .. } => 0,
    }
}

#[test]
fn every_algorithm_comes_back_as_it_was() {
    for text in [
        "token-bucket:10/1m",
        "leaky-bucket:10/1m",
        "fixed-window:10/1m",
        "sliding-log:10/1m",
        "sliding-counter:10/1m",
        "token-bucket:10/1m+sliding-log:20/1h",
    ] {
        fn same<K: KeyForm>(build: impl Fn() -> Builder<Policy, K, ManualClock>) {
            let limiter = build().build();
            for i in 0..500_u64 {
                limiter.charge_at(i.to_be_bytes(), START.saturating_add(Nanos::from_millis(i)), 1 + i % 12);
            }
            let restored = through_json(&limiter, build()).unwrap();
            assert_eq!(restored.len(), 500);
            for i in 0..501_u64 {
                for seconds in [0, 1, 30, 100] {
                    let now = START.saturating_add(Nanos::from_secs(seconds));
                    assert_eq!(restored.peek_at(i.to_be_bytes(), now, 1), limiter.peek_at(i.to_be_bytes(), now, 1));
                }
            }
        }
        same(|| builder(text));
        same(|| builder(text).exact_keys());
    }
}

#[test]
fn a_changed_policy_migrates_and_plans_come_back() {
    let limiter = builder("fixed-window:10/1h").build();
    limiter.check_n("plain", 7);
    limiter.set_policy_of("gold", Some(policy("sliding-log:1000/1d")));
    limiter.check_n("gold", 600);
    let restored = through_json(&limiter, builder("token-bucket:20/1h")).unwrap();
    assert_eq!(remaining(restored.peek("plain", 0)), 13);
    // In terms of the common policy gold is in debt, until it has its plan again.
    assert_eq!(remaining(restored.peek("gold", 0)), 0);
    restored.set_policy_of("gold", Some(policy("sliding-log:1000/1d")));
    assert_eq!(remaining(restored.peek("gold", 0)), 400);
}

#[test]
fn the_shared_state_and_the_floor_of_time_come_back() {
    let limiter = builder("fixed-window:5/10s").max_clients(1).build();
    limiter.check("kept");
    limiter.check_n("other", 5);
    let restored = through_json(&limiter, builder("fixed-window:5/10s").max_clients(1)).unwrap();
    assert_eq!(restored.check("newcomer").retry_after(), Some(Nanos::from_secs(10)));

    limiter.sweep_at(START.saturating_add(Nanos::from_secs(10)));
    let restored = through_json(&limiter, builder("fixed-window:5/10s").max_clients(1)).unwrap();
    let Decision::Allowed { reset_after, .. } = restored.check("kept") else { panic!("fresh") };
    assert_eq!(reset_after, Nanos::from_secs(20), "decided at the time of the forgetting");
}

#[test]
fn what_does_not_fit_is_refused() {
    let limiter = builder("fixed-window:10/1h").build();
    limiter.check("a");
    limiter.check("b");
    let snapshot = limiter.snapshot();
    assert_eq!((snapshot.len(), snapshot.is_empty()), (2, false));
    let old = limiter.policy();

    let error = builder("fixed-window:10/1h").max_clients(1).restore(snapshot.clone(), &old).unwrap_err();
    assert_eq!(error, RestoreError::TooMany { clients: 2, max_clients: 1 });
    assert!(error.to_string().contains("max_clients"));
    let error = builder("fixed-window:10/1h").exact_keys().restore(snapshot.clone(), &old).unwrap_err();
    assert_eq!(error, RestoreError::KeyForm { exact: false });
    let exact = builder("fixed-window:10/1h").exact_keys().build();
    exact.check("a");
    let error = builder("fixed-window:10/1h").restore(exact.snapshot(), &old).unwrap_err();
    assert_eq!(error, RestoreError::KeyForm { exact: true });

    let text = serde_json::to_string(&snapshot).unwrap().replacen("\"version\":1", "\"version\":9", 1);
    let error = builder("fixed-window:10/1h").restore(serde_json::from_str(&text).unwrap(), &old).unwrap_err();
    assert_eq!(error.to_string(), "snapshot version 9 found, expected 1: write it anew with this version");
}

/// Law 7: a client that is fresh when its snapshot is restored is forgotten then, and no earlier time comes after that.
#[test]
fn who_is_fresh_at_the_restoring_is_forgotten_at_that_time() {
    let text = "token-bucket:10/10s";
    let limiter = builder(text).build();
    limiter.check_n("a", 10);
    let later = START.saturating_add(Nanos::from_secs(100));
    let restored = through_json(&limiter, KeyedLimiter::builder(policy(text)).clock(ManualClock::new(later))).unwrap();
    assert!(restored.is_empty());
    let decision = restored.check_n_at("a", START.saturating_add(Nanos::from_secs(1)), 10);
    assert!(matches!(decision, Decision::Allowed { reset_after, .. } if reset_after == Nanos::from_secs(99 + 10)));
}

/// A snapshot of clients with these fingerprints, each with half a second of debt to work off.
fn written_by_hand(fingerprints: impl Iterator<Item = u64>) -> ratelimit_store::Snapshot<ratelimit_core::BucketState> {
    let state = format!(r#"{{"last":{},"used_high":0,"used_low":500000000}}"#, START.get());
    let clients: Vec<String> =
        fingerprints.map(|id| format!(r#"{{"id":{{"fingerprint":{id}}},"state":{state}}}"#)).collect();
    let clients = clients.join(",");
    let text = format!(r#"{{"version":1,"secret":[1,2],"floor":0,"clients":[{clients}],"shared":{state}}}"#);
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_client_twice_is_an_error() {
    let bucket = ratelimit_core::TokenBucket::per(1, std::time::Duration::from_secs(1)).unwrap();
    let restore = |ids: &[u64]| {
        let builder = KeyedLimiter::builder(bucket).clock(ManualClock::new(START));
        builder.restore(written_by_hand(ids.iter().copied()), &bucket).map(|limiter| limiter.len())
    };
    assert_eq!(restore(&[7, 9, 8]), Ok(3));
    assert_eq!(restore(&[7, 9, 7]), Err(RestoreError::Twice));
    assert_eq!(RestoreError::Twice.to_string(), "a client stands in the snapshot twice, expected once: write it anew");
}

/// Fingerprints that all lead to one page, in the worst order: the page is filled from its end all the same.
#[test]
fn fingerprints_that_crowd_one_page_come_back_too() {
    let bucket = ratelimit_core::TokenBucket::per(1, std::time::Duration::from_secs(1)).unwrap();
    let clients = 100_000_u64;
    let snapshot = written_by_hand((0..clients).rev().map(|i| i << 18));
    let restored = KeyedLimiter::builder(bucket).clock(ManualClock::new(START)).restore(snapshot, &bucket).unwrap();
    assert_eq!(restored.len() as u64, clients);
    let again = restored.snapshot();
    assert_eq!(again.len() as u64, clients);
}
