//! Traces: calls with their times, for one client. Plain data, so that a counterexample can be copied into a test.

use ratelimit_core::Decision;

use crate::model::{Model, PolicyModel};
use crate::spec::PolicySpec;
use crate::subject::{Client, Subject, Ticked};

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// A request of so many units.
    Decide(u64),
    /// So many units, whatever the limit.
    Charge(u64),
    /// So many units back.
    Refund(u64),
    /// A change of the policy.
    Migrate(PolicySpec),
}

/// A call and its time in ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// When.
    pub at: u64,
    /// What.
    pub call: Call,
}

/// The calls of one client, in their order; their times may step back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The policy to begin with.
    pub policy: PolicySpec,
    /// The calls.
    pub ops: Vec<Op>,
}

impl Trace {
    /// The policy that holds after `calls` calls.
    pub fn policy_after(&self, calls: usize) -> &PolicySpec {
        let migrations = self.ops[..calls].iter().rev();
        let last = migrations.filter_map(|op| match &op.call {
            Call::Migrate(to) => Some(to),
            _ => None,
        });
        last.into_iter().next().unwrap_or(&self.policy)
    }

    /// A new client of `subject` after the first `calls` calls.
    pub(crate) fn replay<S: Subject>(&self, subject: &S, calls: usize) -> Option<Ticked<S::Client>> {
        let mut client = Ticked::new(subject, &self.policy)?;
        for op in &self.ops[..calls] {
            op.run(&mut client);
        }
        Some(client)
    }

    /// The time of the last of the first `calls` calls.
    pub(crate) fn time_after(&self, calls: usize) -> u64 {
        self.ops[..calls].last().map_or(0, |op| op.at)
    }
}

impl Op {
    /// A request.
    pub const fn decide(at: u64, cost: u64) -> Op {
        Op { at, call: Call::Decide(cost) }
    }

    pub(crate) fn run<C: Client>(&self, client: &mut Ticked<C>) -> Option<Decision> {
        match &self.call {
            Call::Decide(cost) => return Some(client.decide(self.at, *cost)),
            Call::Charge(cost) => client.charge(self.at, *cost),
            Call::Refund(cost) => client.refund(self.at, *cost),
            Call::Migrate(to) => client.migrate(to, self.at),
        }
        None
    }

    pub(crate) fn run_model(&self, model: &mut PolicyModel) -> Option<Decision> {
        match &self.call {
            Call::Decide(cost) => return Some(model.decide(self.at, *cost)),
            Call::Charge(cost) => model.charge(self.at, *cost),
            Call::Refund(cost) => model.refund(*cost),
            Call::Migrate(to) => *model = model.migrated(to, self.at),
        }
        None
    }
}
