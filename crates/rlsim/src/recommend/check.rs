//! Does what was fitted on the first part of a trace hold on the rest, and on all of it?

use serde::Serialize;

use super::fit::{Demand, Parameters, exceeds, peak_percentile};
use super::need::clients;
use super::part::Part;
use super::promise::Promise;
use super::{Task, by, policy};
use crate::error::Result;
use crate::sweep::{Algorithm, measure};

/// What a policy did on traffic that it was not, or not only, fitted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Whether the promise holds there.
    pub holds: bool,
    /// Clients that the promise is about.
    pub clients: u64,
    /// Of these, clients limited.
    pub limited: u64,
    /// Clients that may be limited under the promise.
    pub may_be_limited: u64,
    /// Requests there.
    pub offered: u64,
    /// Of these, refused.
    pub refused: u64,
    /// The most units let through in any window: for one client, or for all under a global limit.
    pub peak: u64,
}

/// Replays a part alone, all clients fresh, and holds what the promise demands of it against it.
pub(super) fn check(
    task: &Task,
    algorithm: Algorithm,
    fitted: Parameters,
    demand: &Demand,
    part: &Part,
) -> Result<Check> {
    let policies = [(policy(algorithm, fitted, task.window_ns)?, task.window_ns)];
    let measured = measure(&part.trace, by(task), &policies, (0, 0), task.threads);
    let found = measured.first().copied().unwrap_or_default();
    let needs = clients(&part.grouped).map(|client| exceeds(&client, algorithm, fitted, task.window_ns));
    let limited = demand.unmet(needs);
    let counted = demand.kept.as_ref().map_or(part.grouped.clients(), |kept| kept.iter().filter(|kept| **kept).count());
    let (holds, limited, clients) = if let Promise::ServiceAtMost { units, .. } = task.promise {
        (found.peak <= units, found.limited, found.clients)
    } else {
        (limited <= demand.excepted as u64, limited, counted as u64)
    };
    Ok(Check {
        holds,
        clients,
        limited,
        may_be_limited: if task.promise.is_global() { found.clients } else { demand.excepted as u64 },
        offered: found.offered,
        refused: found.refused(),
        peak: found.peak,
    })
}

/// What the promise demands of the rest: a percentile of clients is the one of the part that was fitted on.
pub(super) fn demand_of_the_rest(task: &Task, fit: &Part, rest: &Part) -> Demand {
    match task.promise {
        Promise::KeepClientsBelow { millionths } => {
            Demand::below(rest, peak_percentile(fit, millionths, task.window_ns), task.window_ns)
        }
        promise => Demand::of(promise, rest, task.window_ns),
    }
}
