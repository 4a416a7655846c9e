//! Everything at once: [`run_all`], and [`suite!`](crate::suite!) with a named test for each law of each algorithm.

use crate::bounds::{law_9_holds, law_9_reached};
use crate::equality::equals_model;
use crate::laws::{
    law_1, law_2, law_3, law_4, law_5, law_6, law_7, law_8, leaky_as_a_meter_is_token, migration_keeps_what_was_used,
    peek_is_decide, refund_undoes_its_charge,
};
use crate::spec::Kind;
use crate::strategy::Family;
use crate::subject::Subject;

/// Runs all properties of the family.
///
/// # Panics
/// With the first counterexample.
pub fn run_family<S: Subject>(subject: &S, family: Family) {
    equals_model(subject, family);
    law_1(subject, family);
    law_2(subject, family);
    law_3(subject, family);
    law_4(subject, family);
    law_5(subject, family);
    law_6(subject, family);
    law_7(subject, family);
    law_8(subject, family);
    law_9(subject, family);
    peek_is_decide(subject, family);
    refund_undoes_its_charge(subject, family);
    migration_keeps_what_was_used(subject, family);
}

/// Runs all properties of all families, and the vectors.
///
/// # Panics
/// With the first counterexample.
pub fn run_all<S: Subject>(subject: &S) {
    for kind in Kind::LIMITING {
        run_family(subject, Family::Only(kind));
    }
    run_family(subject, Family::AllOf);
    run_family(subject, Family::Policy);
    leaky_as_a_meter_is_token(subject);
}

/// The bound holds on every trace, and a constructed one reaches it.
///
/// # Panics
/// With a counterexample.
pub fn law_9<S: Subject>(subject: &S, family: Family) {
    law_9_holds(subject, family);
    if let Family::Only(kind) = family {
        law_9_reached(subject, kind);
    }
}

/// Named tests of an implementation: a module for each algorithm, for several limits at once and for policies chosen
/// at run time, with a test for the model and for each law. The argument is an expression that makes the subject; it
/// is evaluated in each test.
#[macro_export]
macro_rules! suite {
    ($subject:expr) => {
        $crate::suite!(@family fixed_window, $subject, Only($crate::spec::Kind::FixedWindow));
        $crate::suite!(@family sliding_log, $subject, Only($crate::spec::Kind::SlidingLog));
        $crate::suite!(@family sliding_counter, $subject, Only($crate::spec::Kind::SlidingCounter));
        $crate::suite!(@family token_bucket, $subject, Only($crate::spec::Kind::TokenBucket));
        $crate::suite!(@family leaky_bucket, $subject, Only($crate::spec::Kind::LeakyBucket));
        $crate::suite!(@family all_of, $subject, AllOf);
        $crate::suite!(@family policy, $subject, Policy);

        #[test]
        fn leaky_as_a_meter_is_token() {
            $crate::laws::leaky_as_a_meter_is_token(&$subject);
        }
    };
    (@family $module:ident, $subject:expr, $($family:tt)*) => {
        mod $module {
            #[allow(unused_imports, reason = "the expression may need what stands beside the macro")]
            use super::*;
            use $crate::strategy::Family::*;

            $crate::suite!(@test equals_model, equality::equals_model, $subject, $($family)*);
            $crate::suite!(@test law_1_refusals_are_free, laws::law_1, $subject, $($family)*);
            $crate::suite!(@test law_2_retry_after_is_exact, laws::law_2, $subject, $($family)*);
            $crate::suite!(@test law_3_remaining_is_exact, laws::law_3, $subject, $($family)*);
            $crate::suite!(@test law_4_reset_after_is_exact, laws::law_4, $subject, $($family)*);
            $crate::suite!(@test law_5_time_may_step_back, laws::law_5, $subject, $($family)*);
            $crate::suite!(@test law_6_every_input_is_answered, laws::law_6, $subject, $($family)*);
            $crate::suite!(@test law_7_fresh_is_forgotten, laws::law_7, $subject, $($family)*);
            $crate::suite!(@test law_8_monotonicity, laws::law_8, $subject, $($family)*);
            $crate::suite!(@test law_9_bound, suite::law_9, $subject, $($family)*);
            $crate::suite!(@test peek_is_decide, laws::peek_is_decide, $subject, $($family)*);
            $crate::suite!(@test refund_undoes_its_charge, laws::refund_undoes_its_charge, $subject, $($family)*);
            $crate::suite!(@test migration_keeps_what_was_used, laws::migration_keeps_what_was_used, $subject, $($family)*);
        }
    };
    (@test $name:ident, $($module:ident)::+, $subject:expr, $($family:tt)*) => {
        #[test]
        fn $name() {
            $crate::$($module)::+(&$subject, $($family)*);
        }
    };
}
