//! What one policy did to a trace, in the few numbers that a choice between many policies needs.

use serde::Serialize;

use crate::inspect::densest;
use crate::replay::{By, History, Observer, Outcome, Subject, Verdict, replay};
use crate::trace::{Costs, Trace};
use ratelimit_core::Policy;

/// The numbers of one policy. Sums saturate at `u64::MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Measured {
    /// Requests offered.
    pub offered: u64,
    /// Requests admitted.
    pub allowed: u64,
    /// Requests denied for now.
    pub denied: u64,
    /// Requests refused for good.
    pub never: u64,
    /// Units offered.
    pub units_offered: u64,
    /// Units admitted.
    pub units_allowed: u64,
    /// Clients in the trace.
    pub clients: u64,
    /// Clients with at least one refusal, denied or never.
    pub limited: u64,
    /// Clients that asked and got nothing.
    pub starved: u64,
    /// The most units released to one client (to all, under a global limit) in any window.
    pub peak: u64,
    /// The longest wait of an admitted request in nanoseconds; only the leaky bucket has one.
    pub longest_wait_ns: u64,
    /// Requests within the interval watched.
    pub inside: u64,
    /// Of these, the refused ones.
    pub inside_refused: u64,
}

impl Measured {
    /// Requests refused, for now or for good.
    pub fn refused(&self) -> u64 {
        self.denied + self.never
    }
}

/// Replays the trace under every policy, on all threads at once. `windows[i]` is the window of the peak of policy `i`;
/// requests that come in `inside` (from, until) are counted apart. Linear in events times policies.
pub fn measure(
    trace: &Trace,
    by: By,
    policies: &[(Policy, u64)],
    inside: (u64, u64),
    threads: std::num::NonZeroUsize,
) -> Vec<Measured> {
    let rules: Vec<Policy> = policies.iter().map(|(policy, _)| *policy).collect();
    let clients = trace.names.len();
    let gauge = |i: usize| Gauge::new(policies[i].1, inside, if by == By::Global { clients } else { 0 });
    let replayed = replay(trace, by, &rules, threads.get(), gauge);
    replayed.into_iter().map(|replayed| replayed.observer.finish(clients)).collect()
}

/// Watches one policy.
struct Gauge {
    window: u64,
    inside: (u64, u64),
    found: Measured,
    /// Under a global limit: whether each client was refused, and whether it was admitted.
    each: Vec<(bool, bool)>,
    releases: Vec<(u64, u64)>,
}

impl Gauge {
    fn new(window: u64, inside: (u64, u64), clients: usize) -> Self {
        let each = vec![(false, false); clients];
        Gauge { window: window.max(1), inside, found: Measured::default(), each, releases: Vec::new() }
    }

    fn count(&mut self, outcome: &Outcome) {
        let found = &mut self.found;
        found.offered += 1;
        found.units_offered = found.units_offered.saturating_add(outcome.cost);
        let refused = match outcome.verdict {
            Verdict::Allowed { delay } => {
                found.allowed += 1;
                found.units_allowed = found.units_allowed.saturating_add(outcome.cost);
                found.longest_wait_ns = found.longest_wait_ns.max(delay);
                self.releases.push((outcome.at.saturating_add(delay), outcome.cost));
                0
            }
            Verdict::Denied { .. } => {
                found.denied += 1;
                1
            }
            Verdict::Never => {
                found.never += 1;
                1
            }
        };
        if (self.inside.0..self.inside.1).contains(&outcome.at) {
            found.inside += 1;
            found.inside_refused += refused;
        }
    }

    fn finish(mut self, clients: usize) -> Measured {
        self.found.clients = clients as u64;
        self.found.limited += self.each.iter().filter(|(refused, _)| *refused).count() as u64;
        self.found.starved += self.each.iter().filter(|(refused, admitted)| *refused && !admitted).count() as u64;
        self.found
    }
}

impl Observer for Gauge {
    fn observe(&mut self, history: &History<'_>) {
        self.releases.clear();
        let before = self.found;
        for outcome in history.iter() {
            self.count(&outcome);
            if let (Subject::All(_), Some(client)) = (history.subject, self.each.get_mut(outcome.client as usize)) {
                match outcome.verdict {
                    Verdict::Allowed { .. } => client.1 = true,
                    Verdict::Denied { .. } | Verdict::Never => client.0 = true,
                }
            }
        }
        if matches!(history.subject, Subject::One(_)) {
            let refused = self.found.refused() > before.refused();
            self.found.limited += u64::from(refused);
            self.found.starved += u64::from(refused && self.found.allowed == before.allowed);
        }
        // A queue releases in the order of arrival, so this is nearly always sorted already.
        self.releases.sort_by_key(|release| release.0);
        let (at, cost): (Vec<u64>, Vec<u64>) = self.releases.iter().copied().unzip();
        let range = 0..at.len();
        let peak = densest(&at, &Costs::Each(cost), range, self.window).map_or(0, |found| found.units);
        self.found.peak = self.found.peak.max(peak);
    }

    fn merge(&mut self, later: Self) {
        let (found, more) = (&mut self.found, later.found);
        found.offered += more.offered;
        found.allowed += more.allowed;
        found.denied += more.denied;
        found.never += more.never;
        found.units_offered = found.units_offered.saturating_add(more.units_offered);
        found.units_allowed = found.units_allowed.saturating_add(more.units_allowed);
        found.limited += more.limited;
        found.starved += more.starved;
        found.peak = found.peak.max(more.peak);
        found.longest_wait_ns = found.longest_wait_ns.max(more.longest_wait_ns);
        found.inside += more.inside;
        found.inside_refused += more.inside_refused;
        for (mine, other) in self.each.iter_mut().zip(later.each) {
            *mine = (mine.0 || other.0, mine.1 || other.1);
        }
    }
}
