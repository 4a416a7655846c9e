//! The core on the vectors, with the counts pinned.

use ratelimit_conformance::core_subject::Core;
use ratelimit_conformance::vectors::{Reason, run_limiters, run_seeds};

#[test]
fn limiters() {
    let tally = run_limiters(&Core);
    assert_eq!((tally.passed, tally.skipped), (81, 0));
    assert_eq!(tally.different_by(Reason::WholeIntervals), 5);
    assert_eq!(tally.different_by(Reason::ResetIsWindowEnd), 2);
    assert_eq!(tally.different_by(Reason::NoSuchOperation), 6);
    // All vectors of both kinds begin at an instant that is an edge of ours too, and where ours rounds, theirs does so.
    assert_eq!(tally.different_by(Reason::WindowFromFirstRequest), 0);
    assert_eq!(tally.different_by(Reason::CounterRounding), 0);
}

#[test]
fn seeds() {
    // What is left to the HTTP layer's own tests.
    assert_eq!(run_seeds(&Core), ["seed#ip-fallback"]);
}
