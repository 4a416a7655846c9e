//! How properties are run: a fixed seed, so that a run can be repeated, and counterexamples kept beside the tests.
//!
//! `PROPTEST_CASES` sets the number of cases, `PROPTEST_RNG_SEED` another seed. A failing case is written to
//! `proptest-regressions/` of the crate whose tests ran, is tried first from then on, and belongs into version control.

use std::fmt::Debug;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, FileFailurePersistence, RngSeed, TestCaseResult, TestRunner};

/// Runs a property on `1 / share` of the configured number of cases.
pub(crate) fn check<S: Strategy>(
    regressions: &'static str,
    share: u32,
    strategy: &S,
    property: impl Fn(S::Value) -> TestCaseResult,
) where
    S::Value: Debug,
{
    let mut config = Config::default();
    config.cases = (config.cases / share).max(1);
    config.max_global_rejects = config.cases * 64;
    config.failure_persistence = Some(Box::new(FileFailurePersistence::Direct(regressions)));
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(SEED);
    }
    if let Err(failure) = TestRunner::new(config).run(strategy, property) {
        panic!("{failure}");
    }
}

/// The seed of the committed runs.
const SEED: u64 = 20_261_130;
