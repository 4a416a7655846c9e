//! What each client got.

use super::numbers::{Affected, ratio};
use super::saturate;
use crate::replay::{CostColumn, History, Outcome, Subject, Verdict};

/// One client's share of a policy's decisions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientTally {
    /// Index into the trace's names.
    pub client: u32,
    /// Requests admitted.
    pub allowed: u64,
    /// Requests denied for now.
    pub denied: u64,
    /// Requests refused for good.
    pub never: u64,
    /// Units asked for.
    pub units_offered: u64,
    /// Units admitted.
    pub units_allowed: u64,
    /// Most units in its trailing window; 0 where clients are not limited on their own.
    pub peak_units: u64,
}

impl ClientTally {
    /// Requests made.
    pub fn offered(&self) -> u64 {
        self.allowed + self.denied + self.never
    }
}

/// The sums over one history.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    /// The client, where the history is one client's.
    pub(super) client: Option<u32>,
    pub(super) allowed: u64,
    pub(super) denied: u64,
    pub(super) never: u64,
    pub(super) units_offered: u128,
    pub(super) units_allowed: u128,
}

impl Sum {
    fn add(&mut self, outcome: &Outcome) {
        self.units_offered += u128::from(outcome.cost);
        match outcome.verdict {
            Verdict::Allowed { .. } => {
                self.allowed += 1;
                self.units_allowed += u128::from(outcome.cost);
            }
            Verdict::Denied { .. } => self.denied += 1,
            Verdict::Never => self.never += 1,
        }
    }

    /// Requests of one unit each.
    fn add_units(&mut self, verdicts: &[Verdict]) {
        let (mut allowed, mut denied) = (0_u64, 0_u64);
        for verdict in verdicts {
            allowed += u64::from(matches!(verdict, Verdict::Allowed { .. }));
            denied += u64::from(matches!(verdict, Verdict::Denied { .. }));
        }
        let offered = verdicts.len() as u64;
        self.allowed += allowed;
        self.denied += denied;
        self.never += offered - allowed - denied;
        self.units_offered += u128::from(offered);
        self.units_allowed += u128::from(allowed);
    }

    fn tally(&self, client: u32) -> ClientTally {
        ClientTally {
            client,
            allowed: self.allowed,
            denied: self.denied,
            never: self.never,
            units_offered: saturate(self.units_offered),
            units_allowed: saturate(self.units_allowed),
            peak_units: 0,
        }
    }
}

/// The tallies of all clients seen: in the order they came where each has a history of its own, by index otherwise.
#[derive(Debug)]
pub(super) struct Tallies {
    list: Vec<ClientTally>,
}

impl Tallies {
    pub(super) fn new(by_client: bool, clients: u64) -> Self {
        let shared = if by_client { 0 } else { u32::try_from(clients).unwrap_or(u32::MAX) };
        Tallies { list: (0..shared).map(|client| ClientTally { client, ..ClientTally::default() }).collect() }
    }

    pub(super) fn observe(&mut self, history: &History<'_>) -> Sum {
        let mut sum = Sum::default();
        match history.subject {
            Subject::One(client) => {
                match history.cost {
                    CostColumn::Unit => sum.add_units(history.verdict),
                    CostColumn::Each(_) => history.iter().for_each(|outcome| sum.add(&outcome)),
                }
                sum.client = Some(client);
                self.list.push(sum.tally(client));
            }
            Subject::All(_) => {
                for outcome in history.iter() {
                    sum.add(&outcome);
                    self.count(&outcome);
                }
            }
        }
        sum
    }

    fn count(&mut self, outcome: &Outcome) {
        let Some(tally) = self.list.get_mut(outcome.client as usize) else { return };
        tally.units_offered = tally.units_offered.saturating_add(outcome.cost);
        match outcome.verdict {
            Verdict::Allowed { .. } => {
                tally.allowed += 1;
                tally.units_allowed = tally.units_allowed.saturating_add(outcome.cost);
            }
            Verdict::Denied { .. } => tally.denied += 1,
            Verdict::Never => tally.never += 1,
        }
    }

    /// Notes the peak of the client whose history came last.
    pub(super) fn set_last_peak(&mut self, units: u64) {
        if let Some(last) = self.list.last_mut() {
            last.peak_units = units;
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.list.extend(other.list);
    }

    /// One tally a client, by index. Parts of one client (merged accumulators) are added up.
    pub(super) fn finish(mut self) -> Vec<ClientTally> {
        self.list.sort_by_key(|tally| tally.client);
        self.list.dedup_by(|part, whole| {
            let same = part.client == whole.client;
            if same {
                whole.allowed += part.allowed;
                whole.denied += part.denied;
                whole.never += part.never;
                whole.units_offered = whole.units_offered.saturating_add(part.units_offered);
                whole.units_allowed = whole.units_allowed.saturating_add(part.units_allowed);
                whole.peak_units = whole.peak_units.max(part.peak_units);
            }
            same
        });
        self.list
    }
}

/// Clients with a denial, and clients that asked and got nothing.
pub(super) fn limited_and_starved(tallies: &[ClientTally]) -> (u64, u64) {
    let limited = tallies.iter().filter(|tally| tally.denied > 0).count();
    let starved = tallies.iter().filter(|tally| tally.allowed == 0 && tally.offered() > 0).count();
    (limited as u64, starved as u64)
}

/// The client refused most often, the first of equals.
pub(super) fn most_refused(tallies: &[ClientTally], names: &[Box<[u8]>]) -> Option<Affected> {
    let rejected = |tally: &ClientTally| tally.denied + tally.never;
    let worst = tallies.iter().reduce(|a, b| if rejected(b) > rejected(a) { b } else { a });
    worst.filter(|tally| rejected(tally) > 0).map(|tally| Affected {
        client: name_of(tally.client, names),
        offered: tally.offered(),
        rejected: rejected(tally),
    })
}

/// The largest share of `admitted` units that one client got.
pub(super) fn largest_share(tallies: &[ClientTally], admitted: u128) -> Option<f64> {
    ratio(tallies.iter().map(|tally| u128::from(tally.units_allowed)).max()?, admitted)
}

/// A client's name as text, `None` in a trace without names.
pub(super) fn name_of(client: u32, names: &[Box<[u8]>]) -> Option<String> {
    let name = names.get(client as usize).filter(|name| !name.is_empty());
    name.map(|name| String::from_utf8_lossy(name).into_owned())
}
