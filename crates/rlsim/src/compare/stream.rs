//! `compare` over a sorted input that is read once and not kept: every policy decides each block of events as it comes.

use std::sync::Mutex;

use ratelimit_core::Quota;

use super::gather::Gather;
use super::{Comparison, Extent, facts_meta, identity, kept_bytes, log};
use crate::error::Result;
use crate::metrics::{Closing, OnlineMetrics};
use crate::replay::{By, Lane};
use crate::report::Report;
use crate::trace::{Block, Facts, Input, ReadOptions, sorted_stream};

impl Comparison {
    /// Replays sorted inputs under all policies while they are read. Memory grows with the clients and with what the limits
    /// admit in a window, not with the events. The report's numbers equal those of [`run`](Self::run); those that need all
    /// events at once are null (see [`OnlineMetrics`]). `depth` does not matter.
    ///
    /// # Errors
    /// Those of [`sorted_stream`].
    pub fn run_stream(&self, inputs: &[Input], options: &ReadOptions) -> Result<(Report, Facts)> {
        let mut run = Running::new(self);
        let mut each = |block: Block<'_>| {
            run.take(&block);
            Ok(())
        };
        let (names, facts) = sorted_stream(inputs, options, &mut each)?;
        Ok((run.finish(names, &facts), facts))
    }
}

/// A comparison while its trace is read.
struct Running<'c> {
    comparison: &'c Comparison,
    /// The policies, and after them the sliding logs that efficiency needs and nobody asked for.
    lanes: Vec<Lane<OnlineMetrics>>,
    hidden: Vec<Quota>,
    gather: Gather,
    span: Option<(u64, u64)>,
    units: u64,
}

impl<'c> Running<'c> {
    fn new(comparison: &'c Comparison) -> Self {
        let by_client = comparison.by == By::Client;
        let shown = comparison.policies.iter().map(|named| {
            let quota = named.quota().map(|quota| (quota.limit(), quota.window().get()));
            Lane::new(&named.policy, OnlineMetrics::new(by_client, quota, named.burst()))
        });
        let hidden = comparison.missing_logs();
        let logs = hidden.iter().map(|&quota| Lane::new(&log(quota), OnlineMetrics::new(by_client, None, None)));
        let lanes = shown.chain(logs).collect();
        Running { comparison, lanes, hidden, gather: Gather::default(), span: None, units: 0 }
    }

    fn take(&mut self, block: &Block<'_>) {
        let (Some(&first), Some(&last)) = (block.at.first(), block.at.last()) else { return };
        self.span = Some((self.span.map_or(first, |(start, _)| start), last));
        let unit = if block.cost.is_empty() { block.at.len() as u64 } else { 0 };
        self.units = block.cost.iter().fold(self.units.saturating_add(unit), |sum, cost| sum.saturating_add(*cost));
        self.gather.add(block);
        if self.gather.is_full() {
            self.decide();
        }
    }

    /// Decides what has been gathered, the policies shared out among the threads.
    fn decide(&mut self) {
        let by = self.comparison.by;
        let gathered = self.gather.take(by);
        let block = gathered.block();
        let next = Mutex::new(self.lanes.iter_mut());
        let work = || {
            while let Some(lane) = next.lock().ok().and_then(|mut lanes| lanes.next()) {
                lane.feed(&block, by);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.comparison.threads.get() {
                scope.spawn(work);
            }
            work();
        });
    }

    fn finish(mut self, names: Vec<Box<[u8]>>, facts: &Facts) -> Report {
        self.decide();
        let names = self.gather.names(names);
        let span = self.span.unwrap_or_default();
        let units = |lane: &Lane<OnlineMetrics>| u64::try_from(lane.observer.units_allowed()).unwrap_or(u64::MAX);
        let logs: Vec<(Quota, u64)> = self
            .hidden
            .iter()
            .copied()
            .zip(self.lanes.split_off(self.comparison.policies.len()).iter().map(units))
            .collect();
        let shown: Vec<u64> = self.lanes.iter().map(units).collect();
        let log_units = |quota: Quota| {
            let own = self.comparison.policies.iter().position(|named| named.policy == log(quota)).map(|i| shown[i]);
            own.or_else(|| logs.iter().find(|(hidden, _)| *hidden == quota).map(|(_, units)| *units))
        };
        let policies = self.comparison.policies.iter().zip(self.lanes).map(|(named, lane)| {
            let state_bytes = kept_bytes(named, lane.state_bytes());
            let closing =
                Closing { log_units: named.quota().and_then(log_units), state_bytes, memory: None, names: &names };
            lane.observer.finish(identity(named), span.1, &closing)
        });
        let policies = policies.collect();
        let extent = Extent { clients: names.len() as u64, units: self.units, span };
        Report::new(self.comparison.meta_of(facts_meta(facts, &extent), names), policies)
    }
}
