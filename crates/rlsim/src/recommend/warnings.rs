//! What speaks against trusting the trace with this promise.

use super::part::Part;
use super::promise::ordinal;
use super::{Promise, Task, share};
use crate::inspect::{Finding, Inspection, Severity, counted};
use crate::report::count;

/// What inspection warns of, and what the promise itself asks of a trace.
pub(super) fn warnings(task: &Task, inspection: &Inspection, whole: &Part, rest: Option<&Part>) -> Vec<Finding> {
    let unknown = inspection.findings.iter().filter(|finding| finding.code == "status-unknown");
    let mut warnings: Vec<Finding> = inspection.serious(task.promise.is_global()).chain(unknown).cloned().collect();
    if let Promise::KeepClientsBelow { millionths } = task.promise {
        let clients = whole.grouped.clients() as u64;
        if clients > 1 && millionths < 1_000_000 && u128::from(clients) * u128::from(1_000_000 - millionths) < 1_000_000
        {
            warnings.push(Finding {
                code: "percentile-is-the-largest",
                severity: Severity::Warning,
                found: format!(
                    "the {} percentile of {} is the largest of them",
                    ordinal(millionths),
                    counted(clients, "client")
                ),
                advice:
                    "the answer keeps every client of the trace; take a longer trace, or promise a lower percentile"
                        .into(),
            });
        }
    }
    if let Promise::LimitedClients { millionths } = task.promise {
        let too_few = |part: &Part| {
            let clients = part.grouped.clients() as u128;
            // One client has a warning of its own.
            clients > 1 && millionths > 0 && clients * u128::from(millionths) < 1_000_000
        };
        let warning = |code, part: &Part, advice: &str| Finding {
            code,
            severity: Severity::Warning,
            found: format!(
                "{} clients are too few to show a share of {}",
                count(part.grouped.clients() as u64),
                share(millionths)
            ),
            advice: advice.to_owned(),
        };
        if too_few(whole) {
            let advice = "the answer keeps every client of the trace; take a longer trace, or promise a larger share";
            warnings.push(warning("share-below-one", whole, advice));
        } else if let Some(rest) = rest.filter(|rest| too_few(rest)) {
            let advice = "they are those of the rest, where a single limited client counts as a failure: a strict check, and \
                          no proof either way; take a longer trace, or promise a larger share";
            warnings.push(warning("share-below-one-on-the-rest", rest, advice));
        }
    }
    warnings
}
