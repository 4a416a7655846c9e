//! Counterexamples that were found, kept as plain traces. Each failed on the core or on a law as it was first written.

use ratelimit_conformance::core_subject::Core;
use ratelimit_conformance::equality::trace_equals_model;
use ratelimit_conformance::spec::{Kind, PolicySpec, RuleSpec};
use ratelimit_conformance::trace::{Call, Op, Trace};

fn holds(policy: PolicySpec, ops: Vec<Op>) {
    trace_equals_model(&Core, &Trace { policy, ops }).unwrap();
}

/// A rest of less than one unit was reported as one unit in use, though the state was fresh.
#[test]
fn a_fresh_counter_has_nothing_in_use() {
    let refund = Op { at: 1_000_000_001, call: Call::Refund(1) };
    holds(
        RuleSpec::new(Kind::SlidingCounter, 2, 1_000_000_000).into(),
        vec![Op::decide(0, 1), Op::decide(0, 1), refund, Op::decide(1_000_000_001, 0)],
    );
}

/// The same rest made one unit in use look like two, and a migration to another algorithm charged both.
#[test]
fn a_rest_is_not_rounded_up_beside_new_use() {
    let to_bucket = PolicySpec::from(RuleSpec::new(Kind::TokenBucket, 2, 6));
    holds(
        RuleSpec::new(Kind::SlidingCounter, 1, 6).into(),
        vec![Op::decide(0, 1), Op::decide(7, 1), Op { at: 7, call: Call::Migrate(to_bucket) }, Op::decide(7, 1)],
    );
}

/// A counter that has faded to nothing is fresh when it migrates within the same windows, also for a clock that then
/// steps back.
#[test]
fn a_faded_counter_migrates_as_fresh() {
    let to = PolicySpec::from(RuleSpec::new(Kind::SlidingCounter, 3, 10));
    holds(
        RuleSpec::new(Kind::SlidingCounter, 5, 10).into(),
        vec![Op::decide(5, 2), Op { at: 16, call: Call::Migrate(to) }, Op::decide(11, 3), Op::decide(11, 1)],
    );
}

/// A migration within the same windows moves on to the window of that instant.
#[test]
fn a_counter_migrates_at_its_instant() {
    let to = PolicySpec::from(RuleSpec::new(Kind::SlidingCounter, 6, 10));
    holds(
        RuleSpec::new(Kind::SlidingCounter, 5, 10).into(),
        vec![Op::decide(5, 5), Op { at: 12, call: Call::Migrate(to) }, Op::decide(5, 1), Op::decide(5, 1)],
    );
}

/// Entries that have expired but have not been dropped (only a charge drops them) take no part in the search for the
/// one that must expire next.
#[test]
fn expired_entries_are_not_searched() {
    let mut ops: Vec<Op> = [0, 1, 2, 3, 4, 50, 51, 52].map(|at| Op::decide(at, 1)).to_vec();
    ops.extend([102, 103, 104].map(|at| Op::decide(at, 7)));
    ops.extend([104, 105, 150].map(|at| Op::decide(at, 8)));
    holds(RuleSpec::new(Kind::SlidingLog, 8, 100).into(), ops);
}

/// A drain of 2 parts a tick over 2^63 ticks is 2^64 parts, not none.
#[test]
fn a_long_time_drains_everything() {
    for kind in [Kind::TokenBucket, Kind::LeakyBucket] {
        let ops = vec![Op::decide(1, 4), Op::decide((1 << 63) + 1, 4), Op::decide((1 << 63) + 1, 1)];
        holds(RuleSpec::new(kind, 2, 3).with_burst(4).into(), ops);
    }
}

/// Levels convert to the parts of the reduced rate, rounded up: a third becomes a half.
#[test]
fn a_migrated_level_is_rounded_up_to_reduced_parts() {
    for kind in [Kind::TokenBucket, Kind::LeakyBucket] {
        let to = PolicySpec::from(RuleSpec::new(kind, 2, 4).with_burst(1));
        holds(
            RuleSpec::new(kind, 1, 3).with_burst(2).into(),
            vec![Op::decide(0, 1), Op { at: 2, call: Call::Migrate(to) }, Op::decide(2, 1), Op::decide(3, 1)],
        );
    }
}

/// Debt that the new bucket's parts cannot express saturates, both in its whole units and in the started one.
#[test]
fn migrated_debt_saturates() {
    for kind in [Kind::TokenBucket, Kind::LeakyBucket] {
        let to = || PolicySpec::from(RuleSpec::new(kind, 1, u64::MAX));
        let charge = |at: u64, cost: u64| Op { at, call: Call::Charge(cost) };
        let migrate = |at: u64| Op { at, call: Call::Migrate(to()) };
        let back = Op { at: 2, call: Call::Migrate(RuleSpec::new(kind, u64::MAX, 1).into()) };
        holds(
            RuleSpec::new(kind, 1, 1).into(),
            vec![charge(0, u64::MAX), charge(0, u64::MAX), charge(0, u64::MAX), migrate(0), back, Op::decide(2, 1)],
        );
        // 2^64 + 1 units and a half: the whole units are exactly the most that there can be.
        let refund = Op { at: 1, call: Call::Refund(u64::MAX) };
        holds(
            RuleSpec::new(kind, 1, 2).into(),
            vec![charge(0, u64::MAX), charge(0, 3), migrate(1), refund, Op::decide(1, 1), Op::decide(u64::MAX, 1)],
        );
    }
}
