//! For tests: events through the core, straight to a report, without files or threads.

use super::{
    Closing, Identity, Layout, Offered, OfferedMetrics, PolicyMetrics, PolicyNumbers, Scope, busiest, envelope_lengths,
};
use crate::replay::{CostColumn, History, Subject, Verdict};
use crate::report::{Meta, Report, TraceMeta};
use ratelimit_core::{Algorithm, Decision, Nanos, Policy};

/// One event: nanoseconds, client, units.
pub(crate) type Event = (u64, u32, u64);

/// The five algorithms with their usual names at one quota, such as `100/1m`.
pub(crate) fn five(quota: &str) -> Vec<String> {
    ["fixed-window", "sliding-log", "sliding-counter", "token-bucket", "leaky-bucket"]
        .map(|name| format!("{name}:{quota}"))
        .to_vec()
}

/// The answers of a policy to a history.
pub(crate) fn decide(policy: &Policy, history: impl Iterator<Item = (u64, u64)>) -> Vec<Verdict> {
    let mut state = policy.fresh();
    let answer = |(at, cost)| match policy.decide(&mut state, Nanos::new(at), cost) {
        Decision::Allowed { delay, .. } => Verdict::Allowed { delay: delay.get() },
        Decision::Denied { retry_after, .. } => Verdict::Denied { retry_after: retry_after.get() },
        Decision::Never { .. } => Verdict::Never,
    };
    history.map(answer).collect()
}

/// A report on events in time order, cut into `parts` accumulators (by client) that are merged again.
pub(crate) fn report_in_parts(events: &[Event], policies: &[String], by_client: bool, parts: usize) -> Report {
    let clients = events.iter().map(|event| event.1 + 1).max().unwrap_or(1);
    let (start, end) = (events.first().map_or(0, |event| event.0), events.last().map_or(0, |event| event.0));
    let policies: Vec<Policy> = policies.iter().map(|text| text.parse().expect("a policy")).collect();
    let window = policies.iter().find_map(|policy| policy.rules()[0].quota()).map(|quota| quota.window().get());
    let layout = Layout::new(start, end, window);
    let windows: Vec<u64> = window.into_iter().collect();
    let envelope = envelope_lengths(1, end - start, &windows);
    let mut requests = vec![0; clients as usize];
    for event in events {
        requests[event.1 as usize] += 1;
    }
    let raster = busiest(&requests);
    let names: Vec<Box<[u8]>> = (0..clients).map(|client| format!("10.0.0.{client}").into_bytes().into()).collect();
    let numbers = |policy: &Policy| {
        let quota = if policy.rules().len() == 1 { policy.rules()[0].quota() } else { None };
        let scope = Scope {
            limit: quota.map(ratelimit_core::Quota::limit),
            window_ns: quota.map(|quota| quota.window().get()),
            burst: policy.rules()[0].burst(),
            start_ns: start,
            end_ns: end,
            clients: u64::from(clients),
            by_client,
            depth: crate::metrics::Depth::Everything,
            layout,
            envelope: envelope.clone(),
            raster: raster.clone(),
        };
        let text = policy.to_string();
        let name = policy.rules()[0].name().to_string();
        let identity = Identity { name: name.clone(), policy: text, algorithm: name };
        let log = quota.map(|quota| format!("sliding-log:{quota}").parse().expect("a policy"));
        let log_units =
            log.map(|log| accumulate(&log, &scope, events, 1).finish(identity.clone(), &Closing::default()));
        let closing = Closing {
            log_units: log_units.map(|log| log.units.allowed),
            state_bytes: Some(16),
            memory: None,
            names: &names,
        };
        accumulate(policy, &scope, events, parts).finish(identity, &closing)
    };
    let numbers: Vec<PolicyNumbers> = policies.iter().map(numbers).collect();
    let trace = TraceMeta {
        path: vec!["traces/burst.csv".into()],
        format: "csv".into(),
        rows: events.len() as u64,
        events: events.len() as u64,
        clients: u64::from(clients),
        units: events.iter().map(|event| event.2).sum(),
        start_ns: start,
        end_ns: end,
        ..TraceMeta::default()
    };
    let command = ["rlsim", "compare", "--trace", "traces/burst.csv"].map(String::from).to_vec();
    let mut report = Report::new(Meta { version: "0.1.0".into(), command, trace, names: names.clone() }, numbers);
    report.offered = Some(offered(events, &envelope, layout.window_ns, by_client, clients));
    report
}

/// A report on events in time order, each client limited on its own.
pub(crate) fn report(events: &[Event], policies: &[String]) -> Report {
    report_in_parts(events, policies, true, 1)
}

fn offered(events: &[Event], lengths: &[u64], window: u64, by_client: bool, clients: u32) -> Offered {
    let mut offered = OfferedMetrics::new(lengths, window);
    for subject in 0..if by_client { clients } else { 1 } {
        let mine: Vec<_> = events.iter().filter(|event| !by_client || event.1 == subject).collect();
        let at: Vec<_> = mine.iter().map(|event| event.0).collect();
        let cost: Vec<_> = mine.iter().map(|event| event.2).collect();
        let verdict = vec![Verdict::Never; at.len()];
        let cost = CostColumn::Each(&cost);
        let who: Vec<_> = mine.iter().map(|event| event.1).collect();
        let subject = if by_client { Subject::One(subject) } else { Subject::All(&who) };
        offered.observe(&History { at: &at, cost, subject, verdict: &verdict });
    }
    offered.finish()
}

fn accumulate(policy: &Policy, scope: &Scope, events: &[Event], parts: usize) -> PolicyMetrics {
    let mut total = PolicyMetrics::new(scope);
    let subjects = if scope.by_client { scope.clients } else { 1 };
    let mut part = PolicyMetrics::new(scope);
    for subject in 0..subjects {
        let subject = u32::try_from(subject).expect("few clients");
        let mine: Vec<_> = events.iter().filter(|event| !scope.by_client || event.1 == subject).collect();
        let at: Vec<_> = mine.iter().map(|event| event.0).collect();
        let cost: Vec<_> = mine.iter().map(|event| event.2).collect();
        let clients: Vec<_> = mine.iter().map(|event| event.1).collect();
        let verdict = decide(policy, at.iter().copied().zip(cost.iter().copied()));
        part.observe(&History {
            at: &at,
            cost: if cost.iter().all(|&units| units == 1) { CostColumn::Unit } else { CostColumn::Each(&cost) },
            subject: if scope.by_client { Subject::One(subject) } else { Subject::All(&clients) },
            verdict: &verdict,
        });
        if (u64::from(subject) + 1).is_multiple_of(subjects.div_ceil(parts as u64)) {
            total.merge(std::mem::replace(&mut part, PolicyMetrics::new(scope)));
        }
    }
    total.merge(part);
    total
}
