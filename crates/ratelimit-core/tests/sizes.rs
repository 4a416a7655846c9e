//! State sizes are a promise: millions of clients pay for each byte.

use ratelimit_core::{BucketState, FixedWindowState, PolicyState, RuleState, SlidingCounterState, SlidingLogState};

#[test]
fn states_are_as_small_as_promised() {
    assert_eq!(size_of::<FixedWindowState>(), 16);
    assert_eq!(size_of::<SlidingCounterState>(), 24);
    assert_eq!(size_of::<BucketState>(), 24);
    assert_eq!(size_of::<SlidingLogState>(), 40);
    assert!(size_of::<RuleState>() <= 48);
    assert!(size_of::<PolicyState>() <= 48);
}
