//! As a meter (delays left aside) the leaky bucket is the token bucket.

use proptest::prelude::*;
use ratelimit_core::{Decision, Nanos};

use crate::check::check;
use crate::spec::{Kind, PolicySpec, RuleSpec};
use crate::strategy::{Family, traces};
use crate::subject::Subject;
use crate::trace::{Call, Op, Trace};

/// Of the same trace, a leaky bucket and a token bucket with the same quota admit the same, with the same numbers.
///
/// # Panics
/// With a counterexample.
pub fn leaky_as_a_meter_is_token<S: Subject>(subject: &S) {
    let domain = subject.domain();
    if !(domain.kinds.contains(&Kind::LeakyBucket) && domain.kinds.contains(&Kind::TokenBucket)) {
        return;
    }
    check("proptest-regressions/meter.txt", 2, &traces(domain, Family::Only(Kind::LeakyBucket)), |leaky| {
        let token = as_tokens(&leaky);
        let (Some(mut queue), Some(mut meter)) = (leaky.replay(subject, 0), token.replay(subject, 0)) else {
            return Ok(());
        };
        for (queued, metered) in leaky.ops.iter().zip(&token.ops) {
            let answer = queued.run(&mut queue).map(without_delay);
            prop_assert_eq!(answer, metered.run(&mut meter), "{:?} of {:?}", queued, leaky);
        }
        Ok(())
    });
}

fn without_delay(answer: Decision) -> Decision {
    match answer {
        Decision::Allowed { remaining, reset_after, .. } => {
            Decision::Allowed { remaining, reset_after, delay: Nanos::ZERO }
        }
        refusal => refusal,
    }
}

/// The same trace with every leaky bucket a token bucket.
fn as_tokens(trace: &Trace) -> Trace {
    let tokens = |policy: &PolicySpec| {
        PolicySpec(policy.0.iter().map(|rule| RuleSpec { kind: Kind::TokenBucket, ..*rule }).collect())
    };
    let ops = trace.ops.iter().map(|op| match &op.call {
        Call::Migrate(to) => Op { at: op.at, call: Call::Migrate(tokens(to)) },
        _ => op.clone(),
    });
    Trace { policy: tokens(&trace.policy), ops: ops.collect() }
}
