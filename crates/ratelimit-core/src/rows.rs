//! Tests as rows: a limiter's story over time, one request a row, with all that it must answer.

extern crate std;

use crate::{Algorithm, Decision, Nanos};

/// One step of a story. All times in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Row {
    /// Must be allowed, without delay.
    Allow { at: u64, cost: u64, remaining: u64, reset: u64 },
    /// Must be allowed after a delay.
    Delay { at: u64, cost: u64, delay: u64, remaining: u64, reset: u64 },
    /// Must be denied.
    Deny { at: u64, cost: u64, retry: u64, remaining: u64 },
    /// Must be told never.
    Never { at: u64, cost: u64, capacity: u64 },
    /// Recorded whatever the limit.
    Charge { at: u64, cost: u64 },
    /// Given back.
    Refund { cost: u64 },
}

/// Runs the rows on one state; a failure names the row. Each decision is peeked first and must agree with its peek.
pub(crate) fn check<A: Algorithm>(policy: &A, rows: &[Row]) {
    let mut state = policy.fresh();
    for (i, row) in rows.iter().enumerate() {
        let (at, cost) = match *row {
            Row::Allow { at, cost, .. }
            | Row::Delay { at, cost, .. }
            | Row::Deny { at, cost, .. }
            | Row::Never { at, cost, .. } => (Nanos::new(at), cost),
            Row::Charge { at, cost } => {
                policy.charge(&mut state, Nanos::new(at), cost);
                continue;
            }
            Row::Refund { cost } => {
                policy.refund(&mut state, cost);
                continue;
            }
        };
        let peeked = policy.peek(&state, at, cost);
        let decided = policy.decide(&mut state, at, cost);
        assert_eq!(peeked, decided, "row {i}: peek differs from decide: {row:?}");
        let as_expected = match (*row, decided) {
            (Row::Allow { remaining: r, reset, .. }, Decision::Allowed { remaining, reset_after, delay }) => {
                r == remaining && reset == reset_after.get() && delay == Nanos::ZERO
            }
            (Row::Delay { delay: d, remaining: r, reset, .. }, Decision::Allowed { remaining, reset_after, delay }) => {
                r == remaining && reset == reset_after.get() && delay.get() == d
            }
            (Row::Deny { retry, remaining: r, .. }, Decision::Denied { retry_after, remaining, .. }) => {
                retry == retry_after.get() && r == remaining
            }
            (Row::Never { capacity: c, .. }, Decision::Never { capacity }) => c == capacity,
            _ => false,
        };
        assert!(as_expected, "row {i}: expected {row:?}, got {decided:?}");
    }
}
