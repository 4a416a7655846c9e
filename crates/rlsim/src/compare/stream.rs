//! `compare` over a sorted input that is read once and not kept: every policy decides each block of events as it comes.

use ratelimit_core::Quota;

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
    numbers: Numbers,
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
        Running { comparison, lanes, hidden, numbers: Numbers::default(), span: None, units: 0 }
    }

    /// Decides a block, the policies shared out among the threads.
    fn take(&mut self, block: &Block<'_>) {
        let (Some(&first), Some(&last)) = (block.at.first(), block.at.last()) else { return };
        self.span = Some((self.span.map_or(first, |(start, _)| start), last));
        let unit = if block.cost.is_empty() { block.at.len() as u64 } else { 0 };
        self.units = block.cost.iter().fold(self.units.saturating_add(unit), |sum, cost| sum.saturating_add(*cost));
        let block = Block { client: self.numbers.of(block.client), ..*block };
        let by = self.comparison.by;
        let share = self.lanes.len().div_ceil(self.comparison.threads.get());
        std::thread::scope(|scope| {
            let mut shares = self.lanes.chunks_mut(share.max(1));
            let own = shares.next();
            for lanes in shares {
                scope.spawn(move || lanes.iter_mut().for_each(|lane| lane.feed(&block, by)));
            }
            own.into_iter().flatten().for_each(|lane| lane.feed(&block, by));
        });
    }

    fn finish(mut self, names: Vec<Box<[u8]>>, facts: &Facts) -> Report {
        let names = self.numbers.names(names);
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
            let closing = Closing { log_units: named.quota().and_then(log_units), state_bytes, names: &names };
            lane.observer.finish(identity(named), span.1, &closing)
        });
        let policies = policies.collect();
        let extent = Extent { clients: names.len() as u64, units: self.units, span };
        Report::new(self.comparison.meta_of(facts_meta(facts, &extent), names), policies)
    }
}

/// Numbers clients by their first event: the reader also knows those whose records were all bad.
#[derive(Default)]
struct Numbers {
    number: Vec<Option<u32>>,
    order: Vec<u32>,
    block: Vec<u32>,
}

impl Numbers {
    fn of(&mut self, clients: &[u32]) -> &[u32] {
        self.block.clear();
        for &client in clients {
            let index = client as usize;
            if self.number.len() <= index {
                self.number.resize(index + 1, None);
            }
            // There are no more of them than the reader numbered in 32 bits.
            let next = u32::try_from(self.order.len()).unwrap_or(u32::MAX);
            let number = *self.number[index].get_or_insert_with(|| {
                self.order.push(client);
                next
            });
            self.block.push(number);
        }
        &self.block
    }

    fn names(&self, mut names: Vec<Box<[u8]>>) -> Vec<Box<[u8]>> {
        self.order.iter().map(|&client| std::mem::take(&mut names[client as usize])).collect()
    }
}
