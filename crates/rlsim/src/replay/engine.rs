//! The walk over the events: each policy decides each subject's history, on as many threads as are given.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ratelimit_core::{Algorithm, Decision, Nanos, Policy};

use super::dispatch::with_algorithm;
use super::{CostColumn, Grouped, History, Subject, Verdict};
use crate::trace::{Costs, Trace};

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Each client on its own.
    Client,
    /// All clients together.
    Global,
}

/// Takes in histories of disjoint subjects. A merge of the observers of two chunks must be the observer of both.
pub trait Observer: Send {
    /// The whole history of one subject.
    fn observe(&mut self, history: &History<'_>);
    /// Adds what another observer saw, of subjects that come after those seen here.
    fn merge(&mut self, later: Self);
}

/// What a replay of one policy gives.
#[derive(Debug)]
pub struct Replayed<O> {
    /// The observer that saw all histories.
    pub observer: O,
    /// The most bytes that the state of one subject took.
    pub state_bytes: usize,
}

/// Chunks a policy is cut into: enough to keep several threads busy to the end, and the same for any number of threads.
const CHUNKS: usize = 16;

/// Replays `trace` under each of `policies` on `threads` threads (at least one). `observer(i)` makes an empty observer
/// for policy `i`. The result is the same for any number of threads.
pub fn replay<O: Observer>(
    trace: &Trace,
    by: By,
    policies: &[Policy],
    threads: usize,
    observer: impl Fn(usize) -> O + Sync,
) -> Vec<Replayed<O>> {
    let grouped = (by == By::Client).then(|| Grouped::new(trace));
    let events = match &grouped {
        Some(grouped) => Events::Clients(grouped),
        None => Events::All(trace),
    };
    let chunks = events.chunks();
    let jobs: Vec<(usize, Range<usize>)> =
        (0..policies.len()).flat_map(|policy| chunks.iter().map(move |chunk| (policy, chunk.clone()))).collect();
    let done: Vec<Mutex<Option<Replayed<O>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((job, (policy, subjects))) = take(&next, &jobs) {
            let replayed = decide_subjects(&policies[*policy], &events, subjects.clone(), observer(*policy));
            if let Ok(mut slot) = done[job].lock() {
                *slot = Some(replayed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(jobs.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut parts = done.into_iter().map(|slot| slot.into_inner().ok().flatten());
    (0..policies.len())
        .map(|policy| {
            let nothing = Replayed { observer: observer(policy), state_bytes: 0 };
            parts.by_ref().take(chunks.len()).flatten().fold(nothing, joined)
        })
        .collect()
}

fn take<'a, J>(next: &AtomicUsize, jobs: &'a [J]) -> Option<(usize, &'a J)> {
    let job = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(job).map(|j| (job, j))
}

fn joined<O: Observer>(mut all: Replayed<O>, part: Replayed<O>) -> Replayed<O> {
    all.observer.merge(part.observer);
    all.state_bytes = all.state_bytes.max(part.state_bytes);
    all
}

/// The events of a replay: histories of subjects, addressed by index.
enum Events<'a> {
    Clients(&'a Grouped),
    All(&'a Trace),
}

impl Events<'_> {
    /// Ranges of subjects with about equally many events each.
    fn chunks(&self) -> Vec<Range<usize>> {
        let Events::Clients(grouped) = self else {
            return vec![Range { start: 0, end: 1 }];
        };
        let (clients, events) = (grouped.clients(), grouped.at.len());
        let mut cuts: Vec<usize> = (0..=CHUNKS)
            .map(|i| grouped.starts.partition_point(|start| *start < events * i / CHUNKS).min(clients))
            .collect();
        cuts[CHUNKS] = clients;
        cuts.dedup();
        cuts.windows(2).map(|cut| cut[0]..cut[1]).collect()
    }

    /// The history of one subject; the verdicts are still to be found.
    fn history(&self, subject: usize) -> History<'_> {
        match self {
            Events::Clients(grouped) => {
                let range = grouped.starts[subject]..grouped.starts[subject + 1];
                let cost = cost_column(&grouped.cost, range.clone());
                // Clients are numbered by `u32` in the trace's own column.
                let client = u32::try_from(subject).unwrap_or(u32::MAX);
                History { at: &grouped.at[range], cost, subject: Subject::One(client), verdict: &[] }
            }
            Events::All(trace) => History {
                at: &trace.at,
                cost: cost_column(&trace.cost, 0..trace.at.len()),
                subject: Subject::All(&trace.client),
                verdict: &[],
            },
        }
    }
}

pub(super) fn cost_column(costs: &Costs, range: Range<usize>) -> CostColumn<'_> {
    match costs {
        Costs::Unit => CostColumn::Unit,
        Costs::Each(costs) => CostColumn::Each(&costs[range]),
    }
}

/// Picks the algorithm once, so that the loop over events is compiled for each of them.
fn decide_subjects<O: Observer>(
    policy: &Policy,
    events: &Events<'_>,
    subjects: Range<usize>,
    observer: O,
) -> Replayed<O> {
    with_algorithm!(policy, |algorithm| walk(algorithm, events, subjects, observer))
}

fn walk<A: Algorithm, O: Observer>(
    algorithm: &A,
    events: &Events<'_>,
    subjects: Range<usize>,
    mut observer: O,
) -> Replayed<O> {
    let mut verdicts = Vec::new();
    let mut state_bytes = 0;
    for subject in subjects {
        let history = events.history(subject);
        let bytes = decide_history(algorithm, &history, &mut verdicts);
        state_bytes = state_bytes.max(bytes);
        observer.observe(&History { verdict: &verdicts, ..history });
    }
    Replayed { observer, state_bytes }
}

/// Decides one history into `verdicts`; returns the most bytes that its state took.
fn decide_history<A: Algorithm>(algorithm: &A, history: &History<'_>, verdicts: &mut Vec<Verdict>) -> usize {
    let mut state = algorithm.fresh();
    let mut bytes = algorithm.state_bytes(&state);
    verdicts.clear();
    verdicts.reserve(history.len());
    let mut decide = |at: u64, cost: u64| {
        let decision = algorithm.decide(&mut state, Nanos::new(at), cost);
        bytes = bytes.max(algorithm.state_bytes(&state));
        verdict(decision)
    };
    match history.cost {
        CostColumn::Unit => verdicts.extend(history.at.iter().map(|at| decide(*at, 1))),
        CostColumn::Each(costs) => verdicts.extend(history.at.iter().zip(costs).map(|(at, cost)| decide(*at, *cost))),
    }
    bytes
}

/// The part of a decision that metrics see.
pub(super) fn verdict(decision: Decision) -> Verdict {
    match decision {
        Decision::Allowed { delay, .. } => Verdict::Allowed { delay: delay.get() },
        Decision::Denied { retry_after, .. } => Verdict::Denied { retry_after: retry_after.get() },
        Decision::Never { .. } => Verdict::Never,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ratelimit_core::{FixedWindow, Rule, SlidingLog};

    use super::*;
    use crate::trace::Facts;

    /// Everything that was handed over, in order.
    struct Everything(Vec<(u64, u64, u32, Verdict)>);

    impl Observer for Everything {
        fn observe(&mut self, history: &History<'_>) {
            self.0.extend(history.iter().map(|outcome| (outcome.at, outcome.cost, outcome.client, outcome.verdict)));
        }

        fn merge(&mut self, later: Self) {
            self.0.extend(later.0);
        }
    }

    fn trace(events: &[(u64, u32, u64)], clients: u8) -> Trace {
        Trace {
            at: events.iter().map(|event| event.0).collect(),
            client: events.iter().map(|event| event.1).collect(),
            cost: Costs::Each(events.iter().map(|event| event.2).collect()),
            names: (0..clients).map(|i| vec![i].into_boxed_slice()).collect(),
            facts: Facts::default(),
        }
    }

    fn many() -> Trace {
        let events: Vec<_> = (0..500_u32).map(|i| (u64::from(i / 3), i * i % 29, u64::from(i % 3))).collect();
        trace(&events, 40)
    }

    fn policies() -> Vec<Policy> {
        let window = Duration::from_nanos(20);
        vec![
            Rule::FixedWindow(FixedWindow::per(4, window).unwrap()).into(),
            Rule::SlidingLog(SlidingLog::per(4, window).unwrap()).into(),
            "token-bucket:3/7ns+leaky-bucket:9/40ns".parse().unwrap(),
            Rule::Unlimited.into(),
        ]
    }

    #[test]
    fn every_event_is_decided_once_by_its_own_clients_state() {
        let trace = many();
        for (policy, replayed) in
            policies().iter().zip(replay(&trace, By::Client, &policies(), 3, |_| Everything(vec![])))
        {
            let mut expected = Vec::new();
            for client in 0..40 {
                let mut state = policy.fresh();
                for i in (0..trace.at.len()).filter(|i| trace.client[*i] == client) {
                    let decision = policy.decide(&mut state, Nanos::new(trace.at[i]), trace.cost.get(i));
                    expected.push((trace.at[i], trace.cost.get(i), client, verdict(decision)));
                }
            }
            assert_eq!(replayed.observer.0, expected);
        }
    }

    #[test]
    fn a_global_limit_sees_all_clients_in_time_order() {
        let trace = many();
        let replayed = replay(&trace, By::Global, &policies(), 2, |_| Everything(vec![]));
        let mut state = policies()[1].fresh();
        let log = &policies()[1];
        let expected: Vec<_> = (0..trace.at.len())
            .map(|i| {
                let decision = log.decide(&mut state, Nanos::new(trace.at[i]), trace.cost.get(i));
                (trace.at[i], trace.cost.get(i), trace.client[i], verdict(decision))
            })
            .collect();
        assert_eq!(replayed[1].observer.0, expected);
    }

    #[test]
    fn threads_change_nothing() {
        let trace = many();
        let run = |threads| {
            let replayed = replay(&trace, By::Client, &policies(), threads, |_| Everything(vec![]));
            replayed.into_iter().map(|policy| (policy.observer.0, policy.state_bytes)).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(2));
        assert_eq!(run(1), run(64));
    }

    #[test]
    fn an_empty_trace_and_idle_clients_are_no_problem() {
        let replayed = replay(&trace(&[], 0), By::Client, &policies(), 2, |_| Everything(vec![]));
        assert!(replayed.iter().all(|policy| policy.observer.0.is_empty()));
        let replayed = replay(&trace(&[(5, 2, 1)], 3), By::Client, &policies(), 2, |_| Everything(vec![]));
        assert!(replayed.iter().all(|policy| policy.observer.0.len() == 1));
    }

    #[test]
    fn the_state_of_a_log_is_measured_at_its_largest() {
        let events: Vec<_> = (0..4).map(|i| (i, 0, 1)).chain([(100, 0, 1)]).collect();
        let replayed = replay(&trace(&events, 1), By::Client, &policies(), 1, |_| Everything(vec![]));
        assert_eq!(replayed[0].state_bytes, 16);
        assert_eq!(replayed[1].state_bytes, 40 + 4 * 16);
    }
}
