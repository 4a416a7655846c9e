//! Everything at once: [`run_all`], and [`suite!`](crate::suite!) with a named test for each law of each algorithm.

use crate::bounds::{law_9_holds, law_9_reached};
use crate::equality::equals_model;
use crate::known_failures::{FEW, arithmetic, decisions};
use crate::laws::{
    admit_is_decide, law_1, law_2, law_3, law_4, law_5, law_6, law_7, law_8, leaky_as_a_meter_is_token,
    migration_keeps_what_was_used, peek_is_decide, refund_undoes_its_charge,
};
use crate::spec::Kind;
use crate::strategy::Family;
use crate::subject::Subject;
use crate::vectors::{run_limiters, run_seeds};

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
    admit_is_decide(subject, family);
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
    run_known_failures(subject);
    run_limiters(subject);
    run_seeds(subject);
}

/// Runs the inputs on which published limiters fail, with few calls each.
///
/// # Panics
/// With the first that does not hold.
pub fn run_known_failures<S: Subject>(subject: &S) {
    arithmetic::a_large_burst_of_a_slow_rate_passes_at_once(subject, FEW);
    arithmetic::a_rate_of_fractional_nanoseconds_is_exact(subject, FEW);
    arithmetic::nothing_within_the_burst_is_refused(subject, FEW);
    arithmetic::a_greedy_client_gets_the_rate_exactly(subject, FEW);
    arithmetic::polling_loses_no_remainder(subject, FEW);
    arithmetic::a_third_of_a_second_stays_a_third(subject, FEW);
    arithmetic::a_fast_rate_polled_slowly_is_not_halved(subject, FEW);
    arithmetic::every_time_is_answered(subject, FEW);
    decisions::more_than_the_capacity_is_never(subject, FEW);
    decisions::idleness_earns_no_more_than_the_burst(subject, FEW);
    decisions::what_is_earned_on_the_second_counts(subject, FEW);
    decisions::a_clock_that_steps_back_refuses_and_mints_nothing(subject, FEW);
    decisions::a_token_bucket_lets_nearly_the_double_through(subject, FEW);
    decisions::a_wait_below_a_second_is_not_zero(subject, FEW);
    decisions::idleness_does_not_lift_the_limit(subject, FEW);
    decisions::a_sliding_window_slides(subject, FEW);
    decisions::an_impossible_cost_erases_nothing(subject, FEW);
    decisions::polling_while_denied_recovers(subject, FEW);
    decisions::a_denial_by_one_limit_charges_none(subject, FEW);
    decisions::the_edge_as_published(subject, FEW);
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

        $crate::suite!(@known_failures $subject, $crate::known_failures::FEW);

        #[test]
        fn vectors_of_limiters() {
            $crate::vectors::run_limiters(&$subject);
        }

        #[test]
        fn vectors_of_seeds() {
            $crate::vectors::run_seeds(&$subject);
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
            $crate::suite!(@test admit_is_decide, laws::admit_is_decide, $subject, $($family)*);
            $crate::suite!(@test refund_undoes_its_charge, laws::refund_undoes_its_charge, $subject, $($family)*);
            $crate::suite!(@test migration_keeps_what_was_used, laws::migration_keeps_what_was_used, $subject, $($family)*);
        }
    };
    (@known_failures $subject:expr, $calls:expr) => {
        mod known_failures {
            #[allow(unused_imports, reason = "the expression may need what stands beside the macro")]
            use super::*;

            $crate::suite!(@row a_large_burst_of_a_slow_rate_passes_at_once, arithmetic, $subject, $calls);
            $crate::suite!(@row a_rate_of_fractional_nanoseconds_is_exact, arithmetic, $subject, $calls);
            $crate::suite!(@row nothing_within_the_burst_is_refused, arithmetic, $subject, $calls);
            $crate::suite!(@row a_greedy_client_gets_the_rate_exactly, arithmetic, $subject, $calls);
            $crate::suite!(@row polling_loses_no_remainder, arithmetic, $subject, $calls);
            $crate::suite!(@row a_third_of_a_second_stays_a_third, arithmetic, $subject, $calls);
            $crate::suite!(@row a_fast_rate_polled_slowly_is_not_halved, arithmetic, $subject, $calls);
            $crate::suite!(@row every_time_is_answered, arithmetic, $subject, $calls);
            $crate::suite!(@row more_than_the_capacity_is_never, decisions, $subject, $calls);
            $crate::suite!(@row idleness_earns_no_more_than_the_burst, decisions, $subject, $calls);
            $crate::suite!(@row what_is_earned_on_the_second_counts, decisions, $subject, $calls);
            $crate::suite!(@row a_clock_that_steps_back_refuses_and_mints_nothing, decisions, $subject, $calls);
            $crate::suite!(@row a_token_bucket_lets_nearly_the_double_through, decisions, $subject, $calls);
            $crate::suite!(@row a_wait_below_a_second_is_not_zero, decisions, $subject, $calls);
            $crate::suite!(@row idleness_does_not_lift_the_limit, decisions, $subject, $calls);
            $crate::suite!(@row a_sliding_window_slides, decisions, $subject, $calls);
            $crate::suite!(@row an_impossible_cost_erases_nothing, decisions, $subject, $calls);
            $crate::suite!(@row polling_while_denied_recovers, decisions, $subject, $calls);
            $crate::suite!(@row a_denial_by_one_limit_charges_none, decisions, $subject, $calls);
            $crate::suite!(@row the_edge_as_published, decisions, $subject, $calls);
        }
    };
    (@row $name:ident, $module:ident, $subject:expr, $calls:expr) => {
        #[test]
        fn $name() {
            $crate::known_failures::$module::$name(&$subject, $calls);
        }
    };
    (@test $name:ident, $($module:ident)::+, $subject:expr, $($family:tt)*) => {
        #[test]
        fn $name() {
            $crate::$($module)::+(&$subject, $($family)*);
        }
    };
}
