//! Parts of a trace: without the attack, the first part to fit on, the rest to check on. Each has only the clients in it.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Extent, Promise, Split, Task};
use crate::error::{Error, Result};
use crate::replay::Grouped;
use crate::trace::{Costs, Facts, Trace};

/// Events of a trace, and the same grouped by whoever is limited.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) trace: Trace,
    /// One group a client; a single group under a global limit.
    pub(super) grouped: Grouped,
    /// The largest cost, at least 1.
    pub(super) largest_cost: u64,
}

impl Part {
    /// The events whose index and time `keep` accepts. Clients are numbered anew in the order of their first appearance.
    pub(super) fn of(trace: &Trace, global: bool, keep: impl Fn(usize, u64) -> bool) -> Self {
        let kept: Vec<usize> = (0..trace.at.len()).filter(|i| keep(*i, trace.at[*i])).collect();
        let mut numbers: Vec<Option<u32>> = vec![None; trace.names.len()];
        let mut names = Vec::new();
        let mut client = Vec::with_capacity(kept.len());
        for i in &kept {
            let old = trace.client[*i] as usize;
            let number = *numbers[old].get_or_insert_with(|| {
                names.push(trace.names[old].clone());
                // There are no more clients than before, and those were numbered by u32.
                u32::try_from(names.len() - 1).unwrap_or(u32::MAX)
            });
            client.push(number);
        }
        let cost = match &trace.cost {
            Costs::Unit => Costs::Unit,
            Costs::Each(costs) => Costs::Each(kept.iter().map(|i| costs[*i]).collect()),
        };
        let at: Vec<u64> = kept.iter().map(|i| trace.at[*i]).collect();
        let facts = Facts { events: at.len() as u64, rows: at.len() as u64, ..Facts::default() };
        let part = Trace { at, client, cost, names, facts };
        let grouped = if global {
            Grouped { at: part.at.clone(), cost: part.cost.clone(), starts: vec![0, part.at.len()] }
        } else {
            Grouped::new(&part)
        };
        let largest_cost = match &part.cost {
            Costs::Unit => 1,
            Costs::Each(costs) => costs.iter().copied().max().unwrap_or(1).max(1),
        };
        Part { trace: part, grouped, largest_cost }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.trace.at.is_empty()
    }

    fn extent(&self) -> Extent {
        Extent {
            requests: self.trace.at.len() as u64,
            clients: self.trace.names.len() as u64,
            span_ns: self.trace.at.last().zip(self.trace.at.first()).map_or(0, |(last, first)| last - first),
        }
    }
}

/// A trace without the attack, its first part, and the rest.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) whole: Part,
    pub(super) fit: Part,
    /// What the fit has not seen, if there is any.
    pub(super) rest: Option<Part>,
    cut_ns: Option<u64>,
}

impl Parts {
    /// Splits a trace as the task asks.
    pub(super) fn of(trace: &Trace, task: &Task) -> Result<Self> {
        let global = task.promise.is_global();
        let attack = match task.promise {
            Promise::Attack { from_ns, until_ns } => from_ns..until_ns,
            _ => 0..0,
        };
        let normal = |at: u64| !attack.contains(&at);
        let whole = Part::of(trace, global, |_, at| normal(at));
        if !attack.is_empty() && (whole.is_empty() || whole.trace.at.len() == trace.at.len()) {
            return Err(Error::usage(
                "--attack: the interval holds all of the trace or none of it, expected a part (times as in the output of \
                 inspect)",
            ));
        }
        let split = cut(trace, task.fit_millionths).map(|cut| {
            let fit = Part::of(trace, global, |_, at| normal(at) && at < cut);
            (cut, fit, Part::of(trace, global, |_, at| normal(at) && at >= cut))
        });
        // With normal traffic on one side only there is nothing to fit on, or nothing to check on.
        Ok(match split {
            Some((cut, fit, rest)) if !fit.is_empty() && !rest.is_empty() => {
                Parts { whole, fit, rest: Some(rest), cut_ns: Some(cut) }
            }
            _ => Parts { fit: Part::of(trace, global, |_, at| normal(at)), whole, rest: None, cut_ns: None },
        })
    }

    pub(super) fn split(&self) -> Split {
        Split { at_ns: self.cut_ns, fit: self.fit.extent(), rest: self.rest.as_ref().map(Part::extent) }
    }
}

/// The time of the first event of the rest, so that about this share of the events lies before it. `None` where one of the
/// parts would be empty.
fn cut(trace: &Trace, fit_millionths: u64) -> Option<u64> {
    let before = trace.at.len() as u128 * u128::from(fit_millionths) / 1_000_000;
    let at = *trace.at.get(usize::try_from(before).ok()?)?;
    (trace.at.first().is_some_and(|first| *first < at)).then_some(at)
}

/// `f(0)`, `f(1)`, ... on several threads, in order.
pub(super) fn in_parallel<T: Send>(count: usize, threads: NonZeroUsize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let done: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = done.get(job) else { return };
            let result = f(job);
            if let Ok(mut slot) = slot.lock() {
                *slot = Some(result);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.get().min(count) {
            scope.spawn(work);
        }
        work();
    });
    done.into_iter().filter_map(|slot| slot.into_inner().ok().flatten()).collect()
}
