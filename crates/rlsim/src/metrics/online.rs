//! Metrics of events as they come, all clients mixed, in time order: what a stream can measure without keeping the events.
//!
//! For each limited subject it keeps a tally, and the admitted units of its latest window, which the limit bounds. So the
//! memory grows with the clients and with what a window may admit, not with the events. Every number that comes out
//! equals that of [`PolicyMetrics`](super::PolicyMetrics); numbers that need all events at once are `None`: the time over
//! the limit, percentiles of waiting, the envelope, what denials promise, the series.

use std::collections::VecDeque;

use super::clients::ClientTally;
use super::numbers::{Clients, Delay, Details, Requests, Trailing, Units, Waiting, ratio};
use super::peak::{Window, worse};
use super::queue::Queue;
use super::{Closing, Identity, PolicyNumbers, clients, fairness, instant_ns, peak, saturate};
use crate::replay::{Outcome, StreamObserver, Verdict};

/// The accumulator of one policy over a stream.
#[derive(Debug)]
pub struct OnlineMetrics {
    by_client: bool,
    quota: Option<(u64, u64)>,
    burst: Option<u64>,
    requests: Requests,
    units_offered: u128,
    units_allowed: u128,
    peak: Option<Window>,
    instant: Option<Window>,
    over_limit_accepts: u64,
    needless_denials: u64,
    contested: u64,
    longest_delay: u64,
    tallies: Vec<ClientTally>,
    subjects: Vec<Subject>,
}

/// What is kept of one limited subject: nothing but empty queues where the policy has no quota.
#[derive(Debug, Default)]
struct Subject {
    /// Admitted units at their release.
    released: Queue,
    /// Kept once a release came later than its arrival.
    late: Option<Box<Late>>,
}

impl Subject {
    /// What is kept from the first request on that waits.
    fn wait(&mut self) -> &mut Late {
        let arrived = &self.released;
        self.late.get_or_insert_with(|| Box::new(Late { arrived: arrived.clone(), waiting: VecDeque::new() }))
    }
}

/// What is kept of a subject whose requests wait.
#[derive(Debug)]
struct Late {
    /// Admitted units at their arrival; of a subject whose requests do not wait, these are those at their release.
    arrived: Queue,
    /// Releases that had not come when the subject asked last.
    waiting: VecDeque<u64>,
}

impl StreamObserver for OnlineMetrics {
    /// Amortised constant time.
    fn observe(&mut self, outcome: &Outcome) {
        self.count(outcome);
        let subject = if self.by_client { outcome.client as usize } else { 0 };
        if self.subjects.len() <= subject {
            self.subjects.resize_with(subject + 1, Subject::default);
        }
        if let Some((limit, window)) = self.quota {
            self.judge(subject, outcome, limit, window);
            self.admit(subject, outcome, window);
        }
        self.wait(subject, outcome);
    }
}

impl OnlineMetrics {
    /// An empty accumulator of a policy: its limit and window (`None` where it has no single quota) and its burst.
    pub fn new(by_client: bool, quota: Option<(u64, u64)>, burst: Option<u64>) -> Self {
        OnlineMetrics {
            by_client,
            quota: quota.filter(|&(_, window)| window > 0),
            burst,
            requests: Requests { offered: 0, allowed: 0, denied: 0, never: 0 },
            units_offered: 0,
            units_allowed: 0,
            peak: None,
            instant: None,
            over_limit_accepts: 0,
            needless_denials: 0,
            contested: 0,
            longest_delay: 0,
            tallies: Vec::new(),
            subjects: Vec::new(),
        }
    }

    fn count(&mut self, outcome: &Outcome) {
        let client = outcome.client as usize;
        while self.tallies.len() <= client {
            // Clients are numbered by `u32`.
            let client = u32::try_from(self.tallies.len()).unwrap_or(u32::MAX);
            self.tallies.push(ClientTally { client, ..ClientTally::default() });
        }
        let tally = &mut self.tallies[client];
        tally.units_offered = tally.units_offered.saturating_add(outcome.cost);
        self.requests.offered += 1;
        self.units_offered += u128::from(outcome.cost);
        match outcome.verdict {
            Verdict::Allowed { .. } => {
                tally.allowed += 1;
                tally.units_allowed = tally.units_allowed.saturating_add(outcome.cost);
                self.requests.allowed += 1;
                self.units_allowed += u128::from(outcome.cost);
            }
            Verdict::Denied { .. } => {
                tally.denied += 1;
                self.requests.denied += 1;
            }
            Verdict::Never => {
                tally.never += 1;
                self.requests.never += 1;
            }
        }
    }

    /// The decision against the policy's own admitted history under a strict window, as `quality` does it.
    fn judge(&mut self, subject: usize, outcome: &Outcome, limit: u64, window: u64) {
        let subject = &mut self.subjects[subject];
        let arrived = subject.late.as_mut().map_or(&mut subject.released, |late| &mut late.arrived);
        arrived.advance(outcome.at, window);
        let (limit, used) = (u128::from(limit), arrived.units);
        let after = used + u128::from(outcome.cost);
        let mut contested = used * 10 >= limit * 9;
        match outcome.verdict {
            Verdict::Allowed { .. } => self.over_limit_accepts += u64::from(after > limit && outcome.cost > 0),
            Verdict::Denied { .. } => {
                self.needless_denials += u64::from(after <= limit);
                contested = true;
            }
            Verdict::Never => {}
        }
        self.contested += u64::from(contested);
    }

    /// Admitted units enter the windows that end with them.
    fn admit(&mut self, subject: usize, outcome: &Outcome, window: u64) {
        let Verdict::Allowed { delay } = outcome.verdict else { return };
        if outcome.cost == 0 {
            return;
        }
        let client = self.by_client.then_some(outcome.client);
        let subject = &mut self.subjects[subject];
        if delay > 0 {
            subject.wait();
        }
        if let Some(late) = &mut subject.late {
            late.arrived.push(outcome.at, outcome.cost);
        }
        // A queue is first in, first out: releases never decrease.
        let release = outcome.at.saturating_add(delay);
        subject.released.advance(release, window);
        subject.released.push(release, outcome.cost);
        let whole = subject.released.whole(client);
        self.peak = worse(self.peak, whole);
        self.instant = worse(self.instant, subject.released.densest(instant_ns(window), client));
        if let (true, Some(whole)) = (self.by_client, whole) {
            let tally = &mut self.tallies[outcome.client as usize];
            tally.peak_units = tally.peak_units.max(saturate(whole.units));
        }
    }

    /// How long requests wait, and which still do.
    fn wait(&mut self, subject: usize, outcome: &Outcome) {
        let subject = &mut self.subjects[subject];
        if let Some(late) = &mut subject.late {
            while late.waiting.front().is_some_and(|&release| release <= outcome.at) {
                late.waiting.pop_front();
            }
        }
        if let Verdict::Allowed { delay } = outcome.verdict
            && delay > 0
        {
            self.longest_delay = self.longest_delay.max(delay);
            subject.wait().waiting.push_back(outcome.at.saturating_add(delay));
        }
    }

    /// Units admitted so far.
    pub fn units_allowed(&self) -> u128 {
        self.units_allowed
    }

    /// The numbers of the report; the last event came at `end_ns`.
    pub fn finish(self, identity: Identity, end_ns: u64, closing: &Closing<'_>) -> PolicyNumbers {
        let quota = self.quota;
        let limit = quota.map(|(limit, _)| limit);
        let queued_at_end =
            self.subjects.iter().filter_map(|subject| subject.late.as_ref()).flat_map(|late| &late.waiting);
        let queued_at_end = queued_at_end.filter(|&&release| release > end_ns).count();
        let (limited, starved) = clients::limited_and_starved(&self.tallies);
        let judged = |count: u64| quota.map(|_| count);
        // Without any wait, the percentiles are known after all.
        let percentile = (self.longest_delay == 0).then_some(0);
        PolicyNumbers {
            name: identity.name,
            policy: identity.policy,
            algorithm: identity.algorithm,
            limit,
            window_ns: quota.map(|(_, window)| window),
            burst: self.burst,
            requests: self.requests,
            units: Units { offered: saturate(self.units_offered), allowed: saturate(self.units_allowed) },
            peak: limit.map(|limit| peak::peak(self.peak, Some(limit), closing.names)),
            instant: quota.map(|(limit, window)| peak::instant(self.instant, limit, instant_ns(window))),
            over_limit_time: None,
            over_limit_accepts: judged(self.over_limit_accepts),
            needless_denials: judged(self.needless_denials),
            contested: judged(self.contested),
            efficiency: closing.log_units.and_then(|log| ratio(self.units_allowed, u128::from(log))),
            delay_ns: (self.requests.allowed > 0).then_some(Delay {
                p50: percentile,
                p95: percentile,
                p99: percentile,
                max: self.longest_delay,
            }),
            clients: Clients { total: self.tallies.len() as u64, limited, starved },
            fairness: fairness::jain(&self.tallies),
            state_bytes: closing.state_bytes,
            envelope: None,
            series: None,
            waiting: Waiting { queued_at_end: queued_at_end as u64 },
            retry: None,
            most_affected: clients::most_refused(&self.tallies, closing.names),
            largest_share: clients::largest_share(&self.tallies, self.units_allowed),
            memory: None,
            details: Details {
                by_client: self.by_client,
                window_ns: quota.map_or(1, |(_, window)| window),
                peak: peak::peak(self.peak, limit, closing.names),
                trailing: Trailing::default(),
                clients: self.tallies,
                raster: Vec::new(),
            },
        }
    }
}
