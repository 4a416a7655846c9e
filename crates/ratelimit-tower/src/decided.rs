//! What a layer tells the layers around it.

use ratelimit_core::{Decision, Nanos};

/// What was decided about a request, in the extensions of its response if the layer
/// [reports](crate::Builder::report_decisions) it; also in shadow mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// When, on the layer's clock; `None` where a shared backend's clock told the time.
    pub at: Option<Nanos>,
    /// What each policy that applied has said.
    pub policies: Vec<PolicyDecision>,
}

impl Decided {
    /// Whether all of them allowed it.
    pub fn is_allowed(&self) -> bool {
        self.policies.iter().all(|policy| policy.decision.is_allowed())
    }
}

/// The answer of one policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDecision {
    /// The policy's name.
    pub name: String,
    /// Units that the request takes of it.
    pub cost: u64,
    /// Its answer. Of a policy that would have allowed what another refused: what is left, with nothing charged.
    pub decision: Decision,
}
