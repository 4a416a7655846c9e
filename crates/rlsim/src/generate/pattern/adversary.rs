//! The worst trace for a policy.

use std::fmt;

use clap::Args;
use ratelimit_core::{Algorithm, Decision, Nanos, Policy, PolicyState, Rule};

use super::{Instants, Period};
use crate::error::{Error, Result};

/// A client that sends whenever it would be let through, and never otherwise: it knows the policy and obeys every hint
/// to the nanosecond. It begins where the policy is weakest:
///
/// - fixed window and sliding counter: in the last nanosecond of a window, because what is used there is soon forgotten;
/// - the others: at once, because a fresh client has everything.
///
/// Every request of this trace is admitted, and the admitted units reach the bound of the algorithm. With several
/// clients, each does the same.
#[derive(Debug, Clone, Args)]
pub struct Adversary {
    /// The policy to be beaten, such as fixed-window:100/1m or token-bucket:100/1m,burst=20
    #[arg(long, value_name = "POLICY")]
    pub against: Policy,
}

impl Adversary {
    pub(super) fn instants(&self, period: Period, clients: u32) -> Result<Instants> {
        if self.against.capacity() == u64::MAX {
            let what = format!("--against {}: nothing limits this policy, so no trace is the worst", self.against);
            return Err(Error::usage(format!("{what}; expected a policy with a limit, such as fixed-window:100/1m")));
        }
        let greedy = Greedy { policy: self.against, state: self.against.fresh(), now: self.weakest(period.start) };
        // Each client sends at each of these instants.
        Ok(Box::new(greedy.flat_map(move |at| (0..clients).map(move |_| at))))
    }

    /// The first instant from `start` on where an attack gains most.
    fn weakest(&self, start: u64) -> u64 {
        let window = |rule: &Rule| match rule {
            Rule::FixedWindow(policy) => Some(policy.quota().window().get()),
            Rule::SlidingCounter(policy) => Some(policy.quota().window().get()),
            _ => None,
        };
        // Of several windows the longest matters: it is the one that admits least after the attack.
        let longest = self.against.rules().iter().filter_map(window).max();
        longest.map_or(start, |window| start.saturating_add(window - 1 - start % window))
    }
}

/// The instants at which a client is let through that tries at every possible moment.
struct Greedy {
    policy: Policy,
    state: PolicyState,
    now: u64,
}

impl Iterator for Greedy {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            match self.policy.decide(&mut self.state, Nanos::new(self.now), 1) {
                Decision::Allowed { .. } => return Some(self.now),
                Decision::Denied { retry_after, .. } => self.now = self.now.checked_add(retry_after.get())?,
                Decision::Never { .. } => return None,
            }
        }
    }
}

impl fmt::Display for Adversary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--against {}", self.against)
    }
}
