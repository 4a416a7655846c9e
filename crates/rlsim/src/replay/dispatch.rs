//! Picks the algorithm of a policy once, so that the loop over events is compiled for each of them.

/// Runs `$call` with `$algorithm` as the algorithm of a policy of one rule, or as the policy itself.
macro_rules! with_algorithm {
    ($policy:expr, |$algorithm:ident| $call:expr) => {
        match $policy.rules() {
            [ratelimit_core::Rule::Unlimited] => {
                let $algorithm = &ratelimit_core::Unlimited;
                $call
            }
            [ratelimit_core::Rule::FixedWindow($algorithm)] => $call,
            [ratelimit_core::Rule::SlidingLog($algorithm)] => $call,
            [ratelimit_core::Rule::SlidingCounter($algorithm)] => $call,
            [ratelimit_core::Rule::TokenBucket($algorithm)] => $call,
            [ratelimit_core::Rule::LeakyBucket($algorithm)] => $call,
            _ => {
                let $algorithm = $policy;
                $call
            }
        }
    };
}

pub(super) use with_algorithm;
