//! Metrics: what became of every event in, numbers out. A metric never sees a limiter.
//!
//! [`PolicyMetrics`] is the accumulator of one policy. It is handed the [`History`] of one limited subject after another
//! and keeps only what the report needs. Accumulators of disjoint chunks of clients are merged in a fixed order, and
//! every rule for a tie is total, so the numbers do not depend on how the work was cut.
//!
//! Definitions, formulas and sources are in `docs/metrics.md`; each is one file here. Everything is exact integer
//! arithmetic; a ratio becomes a float in the last step. What the protected service sees is measured at release times,
//! what the limiter decided at arrival times (they differ for the leaky bucket only).

mod admitted;
#[cfg(test)]
mod brute;
mod clients;
mod delay;
mod envelope;
mod excess;
mod fairness;
mod layout;
mod memory;
mod numbers;
mod offered;
mod online;
mod peak;
mod quality;
mod queue;
mod raster;
mod retry;
mod series;
#[cfg(test)]
pub(crate) mod testing;
mod trailing;

pub use clients::ClientTally;
pub use envelope::envelope_lengths;
pub use layout::Layout;
pub use memory::{Holding, Memory};
pub use numbers::{
    Affected, Clients, Delay, Details, Identity, Instant, Peak, PolicyNumbers, Requests, Retry, Series, Trailing,
    Units, Waiting,
};
pub use offered::{Offered, OfferedMetrics};
pub use online::OnlineMetrics;
pub use raster::{MOST_ROWS, RasterRow, busiest};

use crate::replay::History;

/// How much is measured; each level holds those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// What the table shows: requests, units, clients, the peak and the longest wait.
    Table,
    /// Also what pictures show over time.
    Pictures,
    /// Every number of the report.
    Everything,
}

/// What a metric needs to know of the policy and the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The limit L in units, `None` where a policy has no single one (`unlimited`, `a+b`).
    pub limit: Option<u64>,
    /// The window W in nanoseconds, `None` where a policy has no single one.
    pub window_ns: Option<u64>,
    /// The burst B in units, where the policy has one.
    pub burst: Option<u64>,
    /// The first event of the trace, in nanoseconds.
    pub start_ns: u64,
    /// The last event of the trace, in nanoseconds.
    pub end_ns: u64,
    /// The number of clients in the trace.
    pub clients: u64,
    /// Whether each client is limited on its own; otherwise all share one limit.
    pub by_client: bool,
    /// How much is measured.
    pub depth: Depth,
    /// Bins of the series and columns of the trailing line. The same for all policies of a report.
    pub layout: Layout,
    /// Lengths of the burst envelope in nanoseconds, rising; see [`envelope_lengths`]. Empty leaves out the envelope, which
    /// takes a pass over the releases for each length, and what denials promise, which takes 16 bytes for each of them.
    pub envelope: Vec<u64>,
    /// Clients that get a row of their own in the raster, at most [`MOST_ROWS`]; empty leaves it out.
    pub raster: Vec<u32>,
}

impl Scope {
    /// The quota, where the policy has one that makes sense: both parts known and the window not empty.
    fn quota(&self) -> Option<(u64, u64)> {
        self.limit.zip(self.window_ns).filter(|&(_, window)| window > 0)
    }

    /// Whether the costlier numbers are wanted.
    fn details(&self) -> bool {
        !self.envelope.is_empty()
    }

    /// The window of the trailing line: the policy's own, or the one all share.
    fn shown_window(&self) -> u64 {
        self.window_ns.unwrap_or(self.layout.window_ns).max(1)
    }
}

/// The length of the "instant": W/100, at least one nanosecond.
fn instant_ns(window: u64) -> u64 {
    (window / 100).max(1)
}

/// What only the caller knows when the replay is over.
#[derive(Debug, Clone, Copy, Default)]
pub struct Closing<'a> {
    /// Units that a sliding log of the same quota admits on the same trace. `None` where there is no single quota.
    pub log_units: Option<u64>,
    /// Bytes of state a client takes, `None` where the policy keeps none.
    pub state_bytes: Option<u64>,
    /// What the states of all clients take at the peak, where it was measured.
    pub memory: Option<Memory>,
    /// Client names by index, opaque bytes.
    pub names: &'a [Box<[u8]>],
}

/// The accumulator of one policy. Costs 64 bytes a client and, where everything is measured, 8 bytes for each delayed request.
#[derive(Debug)]
pub struct PolicyMetrics {
    scope: Scope,
    counts: Counts,
    peak: Option<peak::Window>,
    instant: Option<peak::Window>,
    excess: excess::Excess,
    quality: quality::Quality,
    delays: delay::Delays,
    promises: retry::Promises,
    clients: clients::Tallies,
    series: series::Bins,
    trailing: trailing::Columns,
    envelope: envelope::Envelope,
    raster: raster::Raster,
    scratch: Vec<admitted::Admission>,
}

/// Requests and units by answer.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    allowed: u64,
    denied: u64,
    never: u64,
    units_offered: u128,
    units_allowed: u128,
}

impl PolicyMetrics {
    /// An empty accumulator.
    pub fn new(scope: &Scope) -> Self {
        PolicyMetrics {
            counts: Counts::default(),
            peak: None,
            instant: None,
            excess: excess::Excess::new(scope.start_ns, scope.end_ns),
            quality: quality::Quality::default(),
            delays: delay::Delays::new(scope.end_ns, scope.depth == Depth::Everything),
            promises: retry::Promises::default(),
            clients: clients::Tallies::new(scope.by_client, scope.clients),
            series: series::Bins::new(&scope.layout),
            trailing: trailing::Columns::new(&scope.layout),
            envelope: envelope::Envelope::new(&scope.envelope),
            raster: raster::Raster::new(&scope.layout, &scope.raster),
            scratch: Vec::new(),
            scope: scope.clone(),
        }
    }

    /// Takes in the whole history of one limited subject. Linear in its events; allocates only to grow its buffers.
    pub fn observe(&mut self, history: &History<'_>) {
        let tally = self.clients.observe(history);
        self.counts.add(&tally);
        self.delays.observe(history);
        if self.scope.depth >= Depth::Pictures {
            self.series.observe(history);
        }
        self.raster.observe(history);
        if self.scope.details() {
            self.promises.observe(history);
        }
        admitted::collect(history, &mut self.scratch);
        self.envelope.observe(&self.scratch);
        let client = tally.client;
        let peak = self.observe_windows(client, tally.units_allowed);
        if client.is_some() {
            self.clients.set_last_peak(peak);
        }
        if let Some((limit, window)) = self.scope.quota().filter(|_| self.scope.depth == Depth::Everything) {
            self.quality.observe(history, limit, window);
            let found = peak::densest(&self.scratch, instant_ns(window), client);
            self.instant = peak::worse(self.instant, found);
        }
    }

    /// One pass over the trailing window: its maximum, the time over the limit, the columns of the line. The maximum alone
    /// takes less.
    fn observe_windows(&mut self, client: Option<u32>, total: u128) -> u64 {
        if self.scope.depth == Depth::Table {
            let best = self.scope.quota().and_then(|(_, window)| peak::densest(&self.scratch, window, client));
            self.peak = peak::worse(self.peak, best);
            return best.map_or(0, |window| saturate(window.units));
        }
        let limit = self.scope.limit.map_or(u128::MAX, u128::from);
        let window = self.scope.shown_window();
        let mut best: Option<peak::Window> = None;
        let (excess, trailing) = (&mut self.excess, &mut self.trailing);
        let mut line = trailing.begin(total);
        admitted::segments(&self.scratch, window, |segment| {
            if segment.units > limit {
                excess.push(segment.from, segment.until);
            }
            best = peak::worse(best, peak::Window::of(&segment, client));
            line.push(segment.from, segment.until, segment.units);
        });
        line.end();
        self.peak = peak::worse(self.peak, best);
        best.map_or(0, |window| saturate(window.units))
    }

    /// Units admitted so far.
    pub fn units_allowed(&self) -> u128 {
        self.counts.units_allowed
    }

    /// Adds another accumulator of the same scope. Merging chunks in a fixed order gives the same numbers as one pass.
    pub fn merge(&mut self, other: Self) {
        self.counts.merge(&other.counts);
        self.peak = peak::worse(self.peak, other.peak);
        self.instant = peak::worse(self.instant, other.instant);
        self.excess.merge(other.excess);
        self.quality.merge(&other.quality);
        self.delays.merge(other.delays);
        self.promises.merge(other.promises);
        self.clients.merge(other.clients);
        self.series.merge(&other.series);
        self.trailing.merge(&other.trailing);
        self.envelope.merge(&other.envelope);
        self.raster.merge(&other.raster);
    }

    /// The numbers of the report.
    pub fn finish(self, identity: Identity, closing: &Closing<'_>) -> PolicyNumbers {
        let scope = self.scope;
        let quota = scope.quota();
        let counts = self.counts;
        // A number that was not measured is none, as is one without meaning.
        let full = quota.filter(|_| scope.depth == Depth::Everything);
        let pictures = scope.depth >= Depth::Pictures;
        let over_limit_time = full.map(|_| self.excess.share());
        let queued_at_end = self.delays.queued_at_end();
        let retry = scope.details().then(|| self.promises.finish());
        let tallies = self.clients.finish();
        let (limited, starved) = clients::limited_and_starved(&tallies);
        let judged = |count: u64| full.map(|_| count);
        PolicyNumbers {
            name: identity.name,
            policy: identity.policy,
            algorithm: identity.algorithm,
            limit: scope.limit,
            window_ns: scope.window_ns,
            burst: scope.burst,
            requests: Requests {
                offered: counts.allowed + counts.denied + counts.never,
                allowed: counts.allowed,
                denied: counts.denied,
                never: counts.never,
            },
            units: Units { offered: saturate(counts.units_offered), allowed: saturate(counts.units_allowed) },
            peak: quota.map(|(limit, _)| peak::peak(self.peak, Some(limit), closing.names)),
            instant: full.map(|(limit, window)| peak::instant(self.instant, limit, instant_ns(window))),
            over_limit_time,
            over_limit_accepts: judged(self.quality.over_limit_accepts),
            needless_denials: judged(self.quality.needless_denials),
            contested: judged(self.quality.contested),
            efficiency: closing.log_units.and_then(|log| numbers::ratio(counts.units_allowed, u128::from(log))),
            delay_ns: self.delays.finish(),
            clients: Clients { total: scope.clients, limited, starved },
            fairness: fairness::jain(&tallies),
            state_bytes: closing.state_bytes,
            envelope: self.envelope.finish(),
            series: pictures.then(|| self.series.finish()),
            waiting: Waiting { queued_at_end },
            retry,
            most_affected: clients::most_refused(&tallies, closing.names),
            largest_share: clients::largest_share(&tallies, counts.units_allowed),
            memory: closing.memory,
            details: Details {
                by_client: scope.by_client,
                window_ns: scope.shown_window(),
                peak: peak::peak(self.peak, scope.limit, closing.names),
                trailing: self.trailing.finish(),
                clients: tallies,
                raster: self.raster.finish(),
            },
        }
    }
}

impl Counts {
    fn add(&mut self, tally: &clients::Sum) {
        self.allowed += tally.allowed;
        self.denied += tally.denied;
        self.never += tally.never;
        self.units_offered += tally.units_offered;
        self.units_allowed += tally.units_allowed;
    }

    fn merge(&mut self, other: &Self) {
        self.allowed += other.allowed;
        self.denied += other.denied;
        self.never += other.never;
        self.units_offered += other.units_offered;
        self.units_allowed += other.units_allowed;
    }
}

/// Sums are kept in 128 bits; a report has 64, and a sum beyond them is shown as the largest one.
fn saturate(units: u128) -> u64 {
    u64::try_from(units).unwrap_or(u64::MAX)
}
