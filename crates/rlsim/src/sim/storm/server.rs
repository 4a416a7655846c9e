//! The server: a limiter in front, a queue, and workers that also pay for refusals.

use std::collections::VecDeque;

use ratelimit_core::{Decision, Nanos, Policy};

use super::event::{Answer, Attempt, Event};
use super::scenario::{Hints, Scenario, Trigger, What};
use crate::generate::random::Draws;
use crate::sim::limiter::Limiter;
use crate::sim::queue::Queue;

/// State of the server. The limiter decides when an attempt arrives; to serve it, or to tell it that it is refused, takes
/// a worker, and attempts of both kinds wait for one in the same queue.
pub(super) struct Server {
    limiter: Option<Limiter>,
    /// The policy outside of a limit cut.
    policy: Option<Policy>,
    hints: Hints,
    trigger: Option<Trigger>,
    /// How many times as long a request takes now.
    slowness: u64,
    out: bool,
    idle: u32,
    /// Who waits for a worker, and what the worker will answer.
    waiting: VecDeque<(Attempt, Answer)>,
    room: usize,
    service: u64,
    random_service: bool,
    refusal_work: u64,
    latency: u64,
    draws: Draws,
}

impl Server {
    pub(super) fn new(scenario: &Scenario, draws: Draws) -> Self {
        let spec = &scenario.server;
        let service = spec.service();
        let refusal_work = u128::from(service) * u128::from(spec.refusal_percent) / 100;
        Server {
            limiter: spec.limiter().map(|policy| Limiter::new(policy, spec.limit_by)),
            policy: spec.limiter(),
            hints: spec.hints,
            trigger: scenario.trigger.clone(),
            slowness: 1,
            out: false,
            idle: spec.workers,
            waiting: VecDeque::new(),
            room: spec.queue,
            service,
            random_service: spec.random_service,
            // At most the service time.
            refusal_work: u64::try_from(refusal_work).unwrap_or(service),
            latency: spec.latency(),
            draws,
        }
    }

    /// An attempt arrives: refused, or on its way to a worker.
    pub(super) fn arrive(&mut self, attempt: Attempt, queue: &mut Queue<Event>) {
        if self.out {
            self.answer(attempt, Answer::Failed, queue);
            return;
        }
        let decision = self.limiter.as_mut().map(|limiter| limiter.decide(attempt.client, queue.now(), 1));
        match decision {
            None | Some(Decision::Allowed { delay: Nanos::ZERO, .. }) => self.admit(attempt, queue),
            Some(Decision::Allowed { delay, .. }) => queue.after(delay.get(), Event::Turn(attempt)),
            Some(Decision::Denied { retry_after, .. }) => {
                let retry_after = self.hint(retry_after);
                self.enter(attempt, Answer::Limited { retry_after }, queue);
            }
            Some(Decision::Never { .. }) => self.enter(attempt, Answer::Never, queue),
        }
    }

    /// Past the limiter.
    pub(super) fn admit(&mut self, attempt: Attempt, queue: &mut Queue<Event>) {
        self.enter(attempt, Answer::Served, queue);
    }

    /// To a worker, to the queue, or away.
    fn enter(&mut self, attempt: Attempt, answer: Answer, queue: &mut Queue<Event>) {
        if answer != Answer::Served && self.refusal_work == 0 {
            self.answer(attempt, answer, queue);
        } else if self.idle > 0 {
            self.work(attempt, answer, queue);
        } else if self.waiting.len() < self.room {
            self.waiting.push_back((attempt, answer));
        } else {
            self.answer(attempt, Answer::Full, queue);
        }
    }

    /// A worker is free again.
    pub(super) fn done(&mut self, attempt: Attempt, answer: Answer, queue: &mut Queue<Event>) {
        self.idle += 1;
        self.answer(attempt, answer, queue);
        if let Some((attempt, answer)) = self.waiting.pop_front() {
            self.work(attempt, answer, queue);
        }
    }

    /// The trigger begins or ends.
    pub(super) fn trigger(&mut self, on: bool, now: u64) {
        let Some(trigger) = &self.trigger else { return };
        match trigger.what {
            What::Outage => self.out = on,
            What::Slowdown => self.slowness = if on { u64::from(trigger.times.unwrap_or(1)) } else { 1 },
            What::LimitCut => {
                let policy = if on { trigger.limiter() } else { self.policy };
                if let (Some(limiter), Some(policy)) = (&mut self.limiter, policy) {
                    limiter.change(policy, now);
                }
            }
            // More requests come by themselves.
            What::FlashCrowd => {}
        }
    }

    fn work(&mut self, attempt: Attempt, answer: Answer, queue: &mut Queue<Event>) {
        self.idle -= 1;
        let mean = if answer == Answer::Served { self.service } else { self.refusal_work };
        let mean = mean.saturating_mul(self.slowness);
        let time = if self.random_service { self.draws.exponential_of(mean) } else { mean };
        queue.after(time, Event::Done(attempt, answer));
    }

    fn answer(&self, attempt: Attempt, answer: Answer, queue: &mut Queue<Event>) {
        queue.after(self.latency, Event::Answered(attempt, answer));
    }

    fn hint(&self, retry_after: Nanos) -> Option<u64> {
        match self.hints {
            Hints::None => None,
            Hints::Exact => Some(retry_after.get()),
            Hints::Seconds => Some(retry_after.as_secs_ceil().max(1).saturating_mul(1_000_000_000)),
        }
    }
}
