//! Writes down what happens during a run.

use super::event::Answer;

/// Stretches of the run in the series.
const BINS: u64 = 120;
/// Retries within so many nanoseconds of each other are a herd.
const HERD: u64 = 1_000_000;

/// How attempts ended for the client: each attempt in exactly one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ends {
    /// Answered with the result.
    pub served: u64,
    /// Refused by the limiter.
    pub limited: u64,
    /// Refused by the limiter for good.
    pub never: u64,
    /// Refused because the queue was full.
    pub full: u64,
    /// Failed in an outage.
    pub failed: u64,
    /// Given up by the client before an answer.
    pub timed_out: u64,
}

impl Ends {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.served + self.limited + self.never + self.full + self.failed + self.timed_out
    }
}

/// A stretch of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bin {
    /// Requests that began.
    pub began: u64,
    /// Attempts sent.
    pub attempts: u64,
    /// Requests served in time.
    pub served: u64,
}

/// What became of one group's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Requests that began.
    pub requests: u64,
    /// Requests served in time.
    pub served: u64,
}

/// Counts of one run.
#[derive(Debug)]
pub(super) struct Meter {
    pub(super) requests: u64,
    pub(super) attempts: u64,
    pub(super) ends: Ends,
    /// Attempts that callers held back: not sent, so not among the attempts.
    pub(super) withheld: u64,
    pub(super) gave_up: u64,
    pub(super) first_try: u64,
    /// Served after the client had given up waiting: work for nothing.
    pub(super) wasted: u64,
    /// From a request's beginning to its result, in nanoseconds.
    pub(super) waits: Vec<u64>,
    /// The largest number of retries sent within a millisecond.
    pub(super) herd: u64,
    herd_now: (u64, u64),
    /// One a group of clients.
    pub(super) groups: Vec<Tally>,
    pub(super) bin_ns: u64,
    pub(super) bins: Vec<Bin>,
}

impl Meter {
    /// A meter of a run whose requests begin before `duration`. The series covers that and as much again.
    pub(super) fn new(duration: u64, groups: usize) -> Self {
        Meter {
            requests: 0,
            attempts: 0,
            ends: Ends::default(),
            withheld: 0,
            gave_up: 0,
            first_try: 0,
            wasted: 0,
            waits: Vec::new(),
            herd: 0,
            herd_now: (0, 0),
            groups: vec![Tally::default(); groups],
            bin_ns: duration.div_ceil(BINS).max(1),
            bins: Vec::new(),
        }
    }

    fn bin(&mut self, now: u64) -> Option<&mut Bin> {
        let index = now / self.bin_ns;
        if index >= 2 * BINS {
            return None;
        }
        // Below 240.
        let index = usize::try_from(index).unwrap_or(0);
        if self.bins.len() <= index {
            self.bins.resize(index + 1, Bin::default());
        }
        self.bins.get_mut(index)
    }

    pub(super) fn began(&mut self, now: u64, group: usize) {
        self.requests += 1;
        self.groups[group].requests += 1;
        if let Some(bin) = self.bin(now) {
            bin.began += 1;
        }
    }

    pub(super) fn sent(&mut self, now: u64, attempt: u32) {
        self.attempts += 1;
        if let Some(bin) = self.bin(now) {
            bin.attempts += 1;
        }
        if attempt > 1 {
            let (slot, count) = self.herd_now;
            self.herd_now = if slot == now / HERD { (slot, count + 1) } else { (now / HERD, 1) };
            self.herd = self.herd.max(self.herd_now.1);
        }
    }

    pub(super) fn ended(&mut self, answer: Answer) {
        match answer {
            Answer::Served => self.ends.served += 1,
            Answer::Limited { .. } => self.ends.limited += 1,
            Answer::Never => self.ends.never += 1,
            Answer::Full => self.ends.full += 1,
            Answer::Failed => self.ends.failed += 1,
            Answer::Withheld => self.withheld += 1,
        }
    }

    pub(super) fn timed_out(&mut self) {
        self.ends.timed_out += 1;
    }

    pub(super) fn late(&mut self, answer: Answer) {
        if answer == Answer::Served {
            self.wasted += 1;
        }
    }

    pub(super) fn served(&mut self, now: u64, group: usize, wait: u64, attempts: u32) {
        self.waits.push(wait);
        self.groups[group].served += 1;
        if attempts == 1 {
            self.first_try += 1;
        }
        if let Some(bin) = self.bin(now) {
            bin.served += 1;
        }
    }

    pub(super) fn gave_up(&mut self) {
        self.gave_up += 1;
    }
}
