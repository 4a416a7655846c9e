//! Allowed and denied units over time: allowed at release, denied at arrival.

use super::layout::Layout;
use super::numbers::Series;
use super::saturate;
use crate::replay::{History, Verdict};

/// Bins grow on demand past the trace's end (a queue still drains there), but never to more than this many.
const MOST_BINS: usize = 4096;

#[derive(Debug)]
pub(super) struct Bins {
    start: u64,
    width: u64,
    allowed: Vec<u128>,
    denied: Vec<u128>,
    never: Vec<u128>,
    later: u128,
}

impl Bins {
    pub(super) fn new(layout: &Layout) -> Self {
        let bins = layout.bins().min(MOST_BINS);
        Bins {
            start: layout.start_ns,
            width: layout.bin_ns,
            allowed: vec![0; bins],
            denied: vec![0; bins],
            never: vec![0; bins],
            later: 0,
        }
    }

    pub(super) fn observe(&mut self, history: &History<'_>) {
        for outcome in history.iter() {
            let at = outcome.release().unwrap_or(outcome.at);
            let bin = usize::try_from(at.saturating_sub(self.start) / self.width).unwrap_or(usize::MAX);
            let bins = match outcome.verdict {
                Verdict::Allowed { .. } => &mut self.allowed,
                Verdict::Denied { .. } => &mut self.denied,
                Verdict::Never => &mut self.never,
            };
            if bin >= bins.len() {
                if bin >= MOST_BINS {
                    self.later += u128::from(outcome.cost);
                    continue;
                }
                bins.resize(bin + 1, 0);
            }
            bins[bin] += u128::from(outcome.cost);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        add(&mut self.allowed, &other.allowed);
        add(&mut self.denied, &other.denied);
        add(&mut self.never, &other.never);
        self.later += other.later;
    }

    pub(super) fn finish(mut self) -> Series {
        let bins = self.allowed.len().max(self.denied.len()).max(self.never.len());
        self.allowed.resize(bins, 0);
        self.denied.resize(bins, 0);
        self.never.resize(bins, 0);
        let units = |bins: Vec<u128>| bins.into_iter().map(saturate).collect();
        Series {
            start_ns: self.start,
            bin_ns: self.width,
            allowed: units(self.allowed),
            denied: units(self.denied),
            never: if self.never.iter().all(|&units| units == 0) { Vec::new() } else { units(self.never) },
            later: saturate(self.later),
        }
    }
}

fn add(to: &mut Vec<u128>, from: &[u128]) {
    to.resize(to.len().max(from.len()), 0);
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}
