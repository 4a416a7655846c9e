//! The pipeline of `compare`, without its command line: a trace and policies in, a [`Report`] out.

mod gather;
mod stream;

use std::num::NonZeroUsize;

use ratelimit_core::{Algorithm, Policy, Quota, Rule, SlidingLog};

use crate::error::Result;
use crate::metrics::{
    Closing, Depth, Identity, Layout, Memory, Offered, OfferedMetrics, PolicyMetrics, PolicyNumbers, Scope, busiest,
    envelope_lengths,
};
use crate::replay::{By, Decider, History, NamedPolicy, Observer, Replayed, memory, replay, replay_in_order};
use crate::report::{Meta, Report, TraceMeta};
use crate::trace::{Costs, Facts, Trace};

/// What to replay and how.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The policies, each with a name of its own.
    pub policies: Vec<NamedPolicy>,
    /// What is limited.
    pub by: By,
    /// How many threads to use; the report does not depend on it.
    pub threads: NonZeroUsize,
    /// How much is measured. Everything includes burst envelopes (a pass over what was admitted for each of some forty
    /// lengths) and what each of the busiest clients met over time.
    pub depth: Depth,
    /// The command that gives this report again, word by word.
    pub command: Vec<String>,
}

impl Comparison {
    /// Replays the trace under all policies. Linear in the number of events, for each policy.
    pub fn run(&self, trace: &Trace) -> Report {
        let shown: Vec<Policy> = self.policies.iter().map(|named| named.policy).collect();
        let baselines = self.missing_logs();
        let hidden: Vec<Policy> = baselines.iter().copied().map(log).collect();
        let policies = [shown, hidden].concat();
        let watch = |i: usize| self.policies.get(i).map_or(Watch::Units(0), |named| self.watch(named, trace));
        let mut replayed = replay(trace, self.by, &policies, self.threads.get(), watch);
        let hidden = replayed.split_off(self.policies.len());
        self.report(trace, replayed, &yardsticks(&baselines, &hidden))
    }

    /// Replays the trace through limiters that keep their own clients, one made by `limiter` for each policy, event by
    /// event in time order. The report is that of [`run`](Self::run), but for `state_bytes` of algorithms whose state grows.
    ///
    /// # Errors
    /// Whatever keeps a limiter from being made or from answering.
    pub fn run_through<D: Decider>(&self, trace: &Trace, limiter: impl Fn(&Policy) -> Result<D>) -> Result<Report> {
        let baselines = self.missing_logs();
        let hidden: Vec<Policy> = baselines.iter().copied().map(log).collect();
        let hidden = replay(trace, self.by, &hidden, self.threads.get(), |_| Watch::Units(0));
        let mut replayed = Vec::with_capacity(self.policies.len());
        for named in &self.policies {
            let mut limiter = limiter(&named.policy)?;
            let observer = replay_in_order(trace, self.by, &mut limiter, self.watch(named, trace))?;
            let state_bytes = named.policy.state_bytes(&named.policy.fresh());
            replayed.push(Replayed { observer, state_bytes });
        }
        Ok(self.report(trace, replayed, &yardsticks(&baselines, &hidden)))
    }

    fn watch(&self, named: &NamedPolicy, trace: &Trace) -> Watch {
        Watch::Metrics(Box::new(PolicyMetrics::new(&self.scope(named, trace))))
    }

    fn report(&self, trace: &Trace, replayed: Vec<Replayed<Watch>>, hidden: &[(Quota, u64)]) -> Report {
        let shown = self.policies.iter().zip(&replayed);
        let logs: Vec<(Policy, u64)> =
            shown.map(|(named, replayed)| (named.policy, replayed.observer.units())).collect();
        let log_units = |quota: Quota| {
            let shown = logs.iter().find(|(policy, _)| *policy == log(quota)).map(|(_, units)| *units);
            shown.or_else(|| hidden.iter().find(|(hidden, _)| *hidden == quota).map(|(_, units)| *units))
        };
        let memory = self.memory(trace);
        let numbers = self.policies.iter().zip(replayed).enumerate().filter_map(|(i, (named, replayed))| {
            numbers(named, replayed, named.quota().and_then(log_units), memory.get(i).copied(), trace)
        });
        let mut report = Report::new(self.meta(trace), numbers.collect());
        report.offered = self.offered(trace);
        report
    }

    /// Quotas whose sliding log, the yardstick of efficiency, is not among the policies.
    fn missing_logs(&self) -> Vec<Quota> {
        let mut missing: Vec<Quota> = Vec::new();
        for quota in self.policies.iter().filter_map(NamedPolicy::quota) {
            let shown = self.policies.iter().any(|named| named.policy == log(quota));
            if !shown && !missing.contains(&quota) {
                missing.push(quota);
            }
        }
        missing
    }

    fn scope(&self, named: &NamedPolicy, trace: &Trace) -> Scope {
        let (start_ns, end_ns) = span(trace);
        Scope {
            limit: named.quota().map(Quota::limit),
            window_ns: named.quota().map(|quota| quota.window().get()),
            burst: named.burst(),
            start_ns,
            end_ns,
            clients: trace.names.len() as u64,
            by_client: self.by == By::Client,
            depth: self.depth,
            layout: Layout::new(start_ns, end_ns, self.window()),
            envelope: self.envelope_lengths(trace),
            raster: if self.depth == Depth::Everything { busiest(&requests(trace)) } else { Vec::new() },
        }
    }

    /// The window that pictures show for policies without one of their own.
    fn window(&self) -> Option<u64> {
        self.policies.iter().find_map(NamedPolicy::quota).map(|quota| quota.window().get())
    }

    /// Lengths of the burst envelopes, the same for all policies; none when they are not wanted.
    fn envelope_lengths(&self, trace: &Trace) -> Vec<u64> {
        if self.depth < Depth::Everything {
            return Vec::new();
        }
        let (start_ns, end_ns) = span(trace);
        let windows: Vec<u64> =
            self.policies.iter().filter_map(NamedPolicy::quota).map(|quota| quota.window().get()).collect();
        envelope_lengths(trace.facts.resolution_ns, end_ns - start_ns, &windows)
    }

    /// What was asked for, where that is wanted.
    fn offered(&self, trace: &Trace) -> Option<Offered> {
        if self.depth < Depth::Everything {
            return None;
        }
        let lengths = self.envelope_lengths(trace);
        let window = self.window().unwrap_or(1);
        let watch = |_| Watch::Offered(Box::new(OfferedMetrics::new(&lengths, window)));
        let replayed = replay(trace, self.by, &[Rule::Unlimited.into()], self.threads.get(), watch);
        replayed.into_iter().next().and_then(|replayed| replayed.observer.offered())
    }

    /// What the states of each policy take at the peak, where that is wanted: it takes deciding everything once more.
    fn memory(&self, trace: &Trace) -> Vec<Memory> {
        let policies: Vec<Policy> = self.policies.iter().map(|named| named.policy).collect();
        if self.depth == Depth::Everything { memory(trace, self.by, &policies, self.threads.get()) } else { Vec::new() }
    }

    fn meta(&self, trace: &Trace) -> Meta {
        self.meta_of(trace_meta(trace), trace.names.clone())
    }

    fn meta_of(&self, trace: TraceMeta, names: Vec<Box<[u8]>>) -> Meta {
        Meta { version: env!("CARGO_PKG_VERSION").to_owned(), command: self.command.clone(), trace, names }
    }
}

/// The facts of a trace as every report states them.
pub fn trace_meta(trace: &Trace) -> TraceMeta {
    facts_meta(&trace.facts, &Extent { clients: trace.names.len() as u64, units: units(trace), span: span(trace) })
}

/// How far a trace reaches.
struct Extent {
    clients: u64,
    units: u64,
    /// The first and the last event, in nanoseconds.
    span: (u64, u64),
}

fn facts_meta(facts: &Facts, extent: &Extent) -> TraceMeta {
    TraceMeta {
        path: facts.paths.iter().map(|path| path.display().to_string()).collect(),
        format: facts.format.clone(),
        rows: facts.rows,
        events: facts.events,
        bad: facts.bad,
        blank: facts.blank,
        skipped: facts.skipped,
        clients: extent.clients,
        units: extent.units,
        start_ns: extent.span.0,
        end_ns: extent.span.1,
        resolution_ns: facts.resolution_ns,
        reordered: facts.reordered,
        largest_step_back_ns: facts.largest_step_back_ns,
        notes: facts.notes.clone(),
    }
}

/// What is watched during a replay: everything, only the units of a yardstick that is not shown, or what was asked for.
enum Watch {
    Metrics(Box<PolicyMetrics>),
    Units(u128),
    Offered(Box<OfferedMetrics>),
}

impl Watch {
    /// Units admitted.
    fn units(&self) -> u64 {
        let units = match self {
            Watch::Metrics(metrics) => metrics.units_allowed(),
            Watch::Units(units) => *units,
            Watch::Offered(_) => 0,
        };
        u64::try_from(units).unwrap_or(u64::MAX)
    }

    fn offered(self) -> Option<Offered> {
        match self {
            Watch::Offered(offered) => Some(offered.finish()),
            Watch::Metrics(_) | Watch::Units(_) => None,
        }
    }
}

impl Observer for Watch {
    fn observe(&mut self, history: &History<'_>) {
        match self {
            Watch::Metrics(metrics) => metrics.observe(history),
            Watch::Units(units) => {
                let admitted = history.iter().filter(|outcome| outcome.release().is_some());
                *units += admitted.map(|outcome| u128::from(outcome.cost)).sum::<u128>();
            }
            Watch::Offered(offered) => offered.observe(history),
        }
    }

    fn merge(&mut self, later: Self) {
        match (self, later) {
            (Watch::Metrics(metrics), Watch::Metrics(later)) => metrics.merge(*later),
            (Watch::Units(units), Watch::Units(later)) => *units += later,
            (Watch::Offered(offered), Watch::Offered(later)) => offered.merge(*later),
            // A policy is watched in one way throughout.
            (Watch::Metrics(_) | Watch::Units(_) | Watch::Offered(_), _) => {}
        }
    }
}

/// Units that the sliding log of each quota admitted.
fn yardsticks(quotas: &[Quota], logs: &[Replayed<Watch>]) -> Vec<(Quota, u64)> {
    quotas.iter().copied().zip(logs.iter().map(|log| log.observer.units())).collect()
}

fn numbers(
    named: &NamedPolicy,
    replayed: Replayed<Watch>,
    log_units: Option<u64>,
    memory: Option<Memory>,
    trace: &Trace,
) -> Option<PolicyNumbers> {
    let Watch::Metrics(metrics) = replayed.observer else {
        return None;
    };
    let state_bytes = kept_bytes(named, replayed.state_bytes);
    let memory = memory.filter(|_| state_bytes.is_some());
    Some(metrics.finish(identity(named), &Closing { log_units, state_bytes, memory, names: &trace.names }))
}

fn identity(named: &NamedPolicy) -> Identity {
    Identity { name: named.name.clone(), policy: named.policy.to_string(), algorithm: named.algorithm() }
}

/// The bytes of state, `None` where a policy keeps none.
fn kept_bytes(named: &NamedPolicy, bytes: usize) -> Option<u64> {
    let keeps_state = named.policy.rules().iter().any(|rule| !matches!(rule, Rule::Unlimited));
    keeps_state.then_some(bytes as u64)
}

fn log(quota: Quota) -> Policy {
    Rule::SlidingLog(SlidingLog::new(quota)).into()
}

/// The first and the last event, in nanoseconds.
fn span(trace: &Trace) -> (u64, u64) {
    let first = trace.at.first().copied().unwrap_or(0);
    (first, trace.at.last().copied().unwrap_or(first))
}

fn units(trace: &Trace) -> u64 {
    match &trace.cost {
        Costs::Unit => trace.at.len() as u64,
        Costs::Each(costs) => costs.iter().fold(0, |sum, cost| sum.saturating_add(*cost)),
    }
}

/// Requests of each client.
fn requests(trace: &Trace) -> Vec<u64> {
    let mut requests = vec![0; trace.names.len()];
    for &client in &trace.client {
        requests[client as usize] += 1;
    }
    requests
}
