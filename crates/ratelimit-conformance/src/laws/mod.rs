//! Laws 1 to 8 of [`ratelimit_core::algorithm`] and what its methods promise, as properties of any implementation.
//!
//! They are checked without the models: by asking the implementation again. A limiter's state is looked at from
//! several sides by replaying the calls that led to it. Law 9 stands in [`crate::bounds`].

mod exactness;
mod extremes;
mod forgetting;
mod meter;
mod monotonicity;
mod promises;
mod refusals;
mod time;

pub use exactness::{law_2, law_3, law_4};
pub use extremes::law_6;
pub use forgetting::law_7;
pub use meter::leaky_as_a_meter_is_token;
pub use monotonicity::law_8;
pub use promises::{admit_is_decide, migration_keeps_what_was_used, peek_is_decide, refund_undoes_its_charge};
pub use refusals::law_1;
pub use time::law_5;

use proptest::test_runner::TestCaseResult;
use ratelimit_core::{Decision, Nanos};

use crate::check::check;
use crate::strategy::{Family, traces};
use crate::subject::Subject;
use crate::trace::Trace;

/// Replaying costs the square of a trace's length: such laws run on a quarter of the cases.
const QUARTER: u32 = 4;

/// Checks `property` on traces with all calls that the domain has.
fn on_traces<S: Subject>(
    subject: &S,
    family: Family,
    regressions: &'static str,
    property: impl Fn(&Trace) -> TestCaseResult,
) {
    let domain = subject.domain();
    if family.is_within(&domain) {
        check(regressions, QUARTER, &traces(domain, family), |trace| property(&trace));
    }
}

/// The instant after a wait. `None` beyond the last instant, and for the longest wait, which only says "at least".
fn after(now: u64, wait: Nanos) -> Option<u64> {
    if wait == Nanos::MAX { None } else { now.checked_add(wait.get()) }
}

/// What the answer says would remain.
fn remaining(answer: Decision) -> u64 {
    match answer {
        Decision::Allowed { remaining, .. } | Decision::Denied { remaining, .. } => remaining,
        Decision::Never { .. } => 0,
    }
}
