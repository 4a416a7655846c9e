//! Each row of the tables "Arithmetic" and "Decisions" on the core, with the rows' own numbers of calls.

use std::sync::Mutex;
use std::thread;

use ratelimit_conformance::core_subject::Core;
use ratelimit_conformance::known_failures::arithmetic;
use ratelimit_core::{Algorithm, Nanos, Quota, TokenBucket};

/// As many calls as the rows ask for.
const ALL: u64 = u64::MAX;

ratelimit_conformance::suite!(@known_failures Core, ALL);

#[test]
fn no_quota_is_zero() {
    arithmetic::no_quota_is_zero();
}

/// 1 000 000 001 per second, two threads, a million calls each within the burst: none is refused. Each thread has its
/// own clock, and calls in the order in which the lock lets it.
#[test]
fn two_threads_within_the_burst() {
    let policy = TokenBucket::new(Quota::per_nanos(1_000_000_001, Nanos::from_secs(1)).unwrap());
    let state = Mutex::new(policy.fresh());
    let refusals: usize = thread::scope(|scope| {
        let caller = |skew: u64| {
            let state = &state;
            scope.spawn(move || {
                let is_refused =
                    |i: u64| !policy.decide(&mut state.lock().unwrap(), Nanos::new(skew + i), 1).is_allowed();
                (0..1_000_000).filter(|i| is_refused(*i)).count()
            })
        };
        let threads = [caller(0), caller(37)];
        threads.map(|thread| thread.join().unwrap()).iter().sum()
    });
    assert_eq!(refusals, 0);
}
