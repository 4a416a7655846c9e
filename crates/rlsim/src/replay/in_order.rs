//! Replay through a limiter that keeps its own clients: every event in time order, as a service would ask it.

use ratelimit_core::{Decision, Nanos};

use super::engine::{cost_column, verdict};
use super::{By, Grouped, History, Observer, Subject, Verdict};
use crate::error::Result;
use crate::trace::Trace;

/// A limiter of many clients that is told the time.
pub trait Decider {
    /// Decides one request of `client`, and charges it if it is allowed.
    ///
    /// # Errors
    /// Whatever keeps the limiter from answering.
    fn decide(&mut self, client: &[u8], now: Nanos, cost: u64) -> Result<Decision>;
}

/// Replays `trace` through `decider`, and hands the histories to `observer` in the order of the clients.
///
/// # Errors
/// The first error of the decider.
pub fn replay_in_order<O: Observer>(trace: &Trace, by: By, decider: &mut dyn Decider, mut observer: O) -> Result<O> {
    let mut verdicts = Vec::with_capacity(trace.at.len());
    for (i, (at, client)) in trace.at.iter().zip(&trace.client).enumerate() {
        let key: &[u8] = match by {
            By::Client => &trace.names[*client as usize],
            By::Global => b"",
        };
        verdicts.push(verdict(decider.decide(key, Nanos::new(*at), trace.cost.get(i))?));
    }
    match by {
        By::Global => observer.observe(&History {
            at: &trace.at,
            cost: cost_column(&trace.cost, 0..trace.at.len()),
            subject: Subject::All(&trace.client),
            verdict: &verdicts,
        }),
        By::Client => observe_clients(trace, &verdicts, &mut observer),
    }
    Ok(observer)
}

fn observe_clients<O: Observer>(trace: &Trace, verdicts: &[Verdict], observer: &mut O) {
    let grouped = Grouped::new(trace);
    let verdicts = grouped.scatter(trace, verdicts, Verdict::Never);
    for (client, bounds) in (0..).zip(grouped.starts.windows(2)) {
        let range = bounds[0]..bounds[1];
        observer.observe(&History {
            at: &grouped.at[range.clone()],
            cost: cost_column(&grouped.cost, range.clone()),
            subject: Subject::One(client),
            verdict: &verdicts[range],
        });
    }
}
