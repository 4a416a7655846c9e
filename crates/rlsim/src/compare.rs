//! The pipeline of `compare`, without its command line: a trace and policies in, a [`Report`] out.

use std::num::NonZeroUsize;

use ratelimit_core::{Policy, Quota, Rule, SlidingLog};

use crate::metrics::{Closing, Identity, Layout, PolicyMetrics, PolicyNumbers, Scope};
use crate::replay::{By, History, NamedPolicy, Observer, Replayed, replay};
use crate::report::{Meta, Report, TraceMeta};
use crate::trace::{Costs, Trace};

/// What to replay and how.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The policies, each with a name of its own.
    pub policies: Vec<NamedPolicy>,
    /// What is limited.
    pub by: By,
    /// How many threads to use; the report does not depend on it.
    pub threads: NonZeroUsize,
    /// The command that gives this report again, word by word.
    pub command: Vec<String>,
}

impl Comparison {
    /// Replays the trace under all policies. Linear in the number of events, for each policy.
    pub fn run(&self, trace: &Trace) -> Report {
        let baselines = self.missing_logs();
        let policies: Vec<Policy> =
            self.policies.iter().map(|named| named.policy).chain(baselines.iter().copied().map(log)).collect();
        let scopes: Vec<Scope> = self.policies.iter().map(|named| self.scope(named, trace)).collect();
        let watch = |i: usize| match scopes.get(i) {
            Some(scope) => Watch::Metrics(Box::new(PolicyMetrics::new(scope))),
            None => Watch::Units(0),
        };
        let mut replayed = replay(trace, self.by, &policies, self.threads.get(), watch);
        let hidden = replayed.split_off(self.policies.len());
        let log_units = |quota: Quota| {
            let shown = self.policies.iter().position(|named| named.policy == log(quota));
            let found = match shown {
                Some(i) => replayed.get(i),
                None => baselines.iter().position(|baseline| *baseline == quota).and_then(|i| hidden.get(i)),
            };
            found.map(|replayed| replayed.observer.units())
        };
        let closings: Vec<Option<u64>> = self.policies.iter().map(|named| named.quota().and_then(log_units)).collect();
        let numbers = self
            .policies
            .iter()
            .zip(replayed)
            .zip(closings)
            .filter_map(|((named, replayed), log_units)| numbers(named, replayed, log_units, trace));
        Report::new(self.meta(trace), numbers.collect())
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
        let shown = self.policies.iter().find_map(NamedPolicy::quota).map(|quota| quota.window().get());
        Scope {
            limit: named.quota().map(Quota::limit),
            window_ns: named.quota().map(|quota| quota.window().get()),
            burst: named.burst(),
            start_ns,
            end_ns,
            clients: trace.names.len() as u64,
            by_client: self.by == By::Client,
            layout: Layout::new(start_ns, end_ns, shown),
        }
    }

    fn meta(&self, trace: &Trace) -> Meta {
        Meta {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: self.command.clone(),
            trace: trace_meta(trace),
            names: trace.names.clone(),
        }
    }
}

/// The facts of a trace as every report states them.
pub fn trace_meta(trace: &Trace) -> TraceMeta {
    let facts = &trace.facts;
    let (start_ns, end_ns) = span(trace);
    TraceMeta {
        path: facts.paths.iter().map(|path| path.display().to_string()).collect(),
        format: facts.format.clone(),
        rows: facts.rows,
        events: facts.events,
        bad: facts.bad,
        blank: facts.blank,
        skipped: facts.skipped,
        clients: trace.names.len() as u64,
        units: units(trace),
        start_ns,
        end_ns,
        resolution_ns: facts.resolution_ns,
        reordered: facts.reordered,
        largest_step_back_ns: facts.largest_step_back_ns,
        notes: facts.notes.clone(),
    }
}

/// What is watched during a replay: everything, or only the units of a yardstick that is not shown.
enum Watch {
    Metrics(Box<PolicyMetrics>),
    Units(u128),
}

impl Watch {
    /// Units admitted.
    fn units(&self) -> u64 {
        let units = match self {
            Watch::Metrics(metrics) => metrics.units_allowed(),
            Watch::Units(units) => *units,
        };
        u64::try_from(units).unwrap_or(u64::MAX)
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
        }
    }

    fn merge(&mut self, later: Self) {
        match (self, later) {
            (Watch::Metrics(metrics), Watch::Metrics(later)) => metrics.merge(*later),
            (Watch::Units(units), Watch::Units(later)) => *units += later,
            // A policy is watched in one way throughout.
            (Watch::Metrics(_), Watch::Units(_)) | (Watch::Units(_), Watch::Metrics(_)) => {}
        }
    }
}

fn numbers(
    named: &NamedPolicy,
    replayed: Replayed<Watch>,
    log_units: Option<u64>,
    trace: &Trace,
) -> Option<PolicyNumbers> {
    let Watch::Metrics(metrics) = replayed.observer else {
        return None;
    };
    let identity =
        Identity { name: named.name.clone(), policy: named.policy.to_string(), algorithm: named.algorithm() };
    let keeps_state = named.policy.rules().iter().any(|rule| !matches!(rule, Rule::Unlimited));
    let state_bytes = keeps_state.then_some(replayed.state_bytes as u64);
    Some(metrics.finish(identity, &Closing { log_units, state_bytes, names: &trace.names }))
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
