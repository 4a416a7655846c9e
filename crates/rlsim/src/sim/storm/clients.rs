//! Clients: they begin requests, send attempts, wait, try again, give up.

use super::event::{Answer, Attempt, Event};
use super::meter::Meter;
use super::retry::Retry;
use super::scenario::{Group, Scenario, Trigger};
use super::throttle::Brake;
use crate::generate::random::Draws;
use crate::sim::queue::Queue;

/// A piece of work that somebody wants done, however many attempts it takes.
#[derive(Debug, Clone, Copy)]
struct Request {
    client: u32,
    began: u64,
    /// Attempts sent so far.
    attempts: u32,
    /// The attempt whose answer is awaited; zero while waiting to send.
    serial: u64,
    /// The wait before the newest attempt, in nanoseconds.
    last_wait: u64,
}

/// What is fixed about one client.
#[derive(Debug, Clone, Copy)]
struct Client {
    group: usize,
    retry: Retry,
}

/// How a group of clients treats its requests; nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Habits {
    attempts: u32,
    deadline: u64,
    timeout: u64,
    think: Option<u64>,
}

/// All clients, numbered from zero in the order of their groups.
pub(super) struct Clients {
    habits: Vec<Habits>,
    /// One a group.
    brakes: Vec<Brake>,
    all: Vec<Client>,
    requests: Vec<Request>,
    free: Vec<usize>,
    serials: u64,
    latency: u64,
    /// The mean thinking time while a flash crowd lasts.
    crowd: Option<u64>,
    crowded: bool,
    /// New requests begin before this time.
    until: u64,
    retry_draws: Draws,
    think_draws: Draws,
}

impl Clients {
    pub(super) fn new(scenario: &Scenario, retry_draws: Draws, think_draws: Draws) -> Self {
        let habits = |group: &Group| Habits {
            attempts: group.attempts,
            deadline: group.deadline(),
            timeout: group.timeout(),
            think: group.think(),
        };
        let clients = scenario.clients.iter().enumerate().flat_map(|(index, group)| {
            (0..group.count).map(move |n| Client { group: index, retry: group.retry().of_client(n, group.count) })
        });
        Clients {
            habits: scenario.clients.iter().map(habits).collect(),
            brakes: scenario.clients.iter().map(|group| Brake::new(group.throttle())).collect(),
            all: clients.collect(),
            requests: Vec::new(),
            free: Vec::new(),
            serials: 0,
            latency: scenario.server.latency(),
            crowd: scenario.trigger.as_ref().and_then(Trigger::think),
            crowded: false,
            until: scenario.duration(),
            retry_draws,
            think_draws,
        }
    }

    /// Lets every closed-loop client think for the first time.
    pub(super) fn start(&mut self, queue: &mut Queue<Event>) {
        for client in 0..u32::try_from(self.all.len()).unwrap_or(u32::MAX) {
            self.think(client, queue);
        }
    }

    /// In a closed loop, the next request follows after a random time.
    fn think(&mut self, client: u32, queue: &mut Queue<Event>) {
        if let Some(mean) = self.habits[self.all[client as usize].group].think {
            let mean = self.crowd.filter(|_| self.crowded).unwrap_or(mean);
            queue.after(self.think_draws.exponential_of(mean), Event::Thought { client });
        }
    }

    /// The trigger begins or ends: in a flash crowd, clients think less.
    pub(super) fn trigger(&mut self, on: bool) {
        self.crowded = on;
    }

    /// A client wants something done.
    pub(super) fn begin(&mut self, client: u32, queue: &mut Queue<Event>, meter: &mut Meter) {
        if queue.now() >= self.until {
            return;
        }
        let group = self.all[client as usize].group;
        meter.began(queue.now(), group);
        self.brakes[group].began();
        let request = Request { client, began: queue.now(), attempts: 0, serial: 0, last_wait: 0 };
        let slot = self.free.pop().unwrap_or(self.requests.len());
        if slot == self.requests.len() {
            self.requests.push(request);
        } else {
            self.requests[slot] = request;
        }
        self.send(slot, queue, meter);
    }

    /// Sends the next attempt of a request.
    pub(super) fn send(&mut self, slot: usize, queue: &mut Queue<Event>, meter: &mut Meter) {
        let request = &mut self.requests[slot];
        request.attempts += 1;
        self.serials += 1;
        request.serial = self.serials;
        let attempt = Attempt { request: slot, serial: self.serials, client: request.client };
        let group = self.all[request.client as usize].group;
        if !self.brakes[group].may_send(queue.now(), &mut self.retry_draws) {
            // It fails at the caller, no sooner than an answer could have come.
            queue.after(self.latency, Event::Answered(attempt, Answer::Withheld));
            return;
        }
        meter.sent(queue.now(), request.attempts);
        queue.after(self.latency, Event::Arrive(attempt));
        queue.after(self.habits[group].timeout, Event::Timeout(attempt));
    }

    /// An answer arrives; it counts only if the client still waits for it.
    pub(super) fn answered(&mut self, attempt: Attempt, answer: Answer, queue: &mut Queue<Event>, meter: &mut Meter) {
        if !self.awaits(attempt) {
            meter.late(answer);
            return;
        }
        meter.ended(answer);
        let group = self.all[attempt.client as usize].group;
        if matches!(answer, Answer::Served | Answer::Never) {
            self.brakes[group].accepted(queue.now());
        }
        match answer {
            Answer::Served => {
                let request = self.requests[attempt.request];
                meter.served(queue.now(), group, queue.now() - request.began, request.attempts);
                self.finish(attempt.request, queue);
            }
            Answer::Never => self.give_up(attempt.request, queue, meter),
            Answer::Limited { retry_after } => self.retry(attempt.request, retry_after, queue, meter),
            Answer::Full | Answer::Failed | Answer::Withheld => self.retry(attempt.request, None, queue, meter),
        }
    }

    /// Patience is over, unless the answer came in time.
    pub(super) fn timed_out(&mut self, attempt: Attempt, queue: &mut Queue<Event>, meter: &mut Meter) {
        if self.awaits(attempt) {
            meter.timed_out();
            self.retry(attempt.request, None, queue, meter);
        }
    }

    fn awaits(&self, attempt: Attempt) -> bool {
        self.requests[attempt.request].serial == attempt.serial
    }

    /// Waits for another attempt, if there is to be one.
    fn retry(&mut self, slot: usize, hint: Option<u64>, queue: &mut Queue<Event>, meter: &mut Meter) {
        let request = &mut self.requests[slot];
        let client = self.all[request.client as usize];
        let habits = self.habits[client.group];
        let tired = request.attempts >= habits.attempts;
        let wait = if tired {
            None
        } else {
            client.retry.wait(request.attempts, hint, request.last_wait, &mut self.retry_draws)
        };
        let in_time = |wait: &u64| queue.now().saturating_add(*wait) <= request.began.saturating_add(habits.deadline);
        match wait.filter(in_time).filter(|_| self.brakes[client.group].may_retry()) {
            Some(wait) => {
                request.serial = 0;
                request.last_wait = wait;
                queue.after(wait, Event::Send { request: slot });
            }
            None => self.give_up(slot, queue, meter),
        }
    }

    fn give_up(&mut self, slot: usize, queue: &mut Queue<Event>, meter: &mut Meter) {
        meter.gave_up();
        self.finish(slot, queue);
    }

    fn finish(&mut self, slot: usize, queue: &mut Queue<Event>) {
        self.requests[slot].serial = 0;
        self.free.push(slot);
        self.think(self.requests[slot].client, queue);
    }
}
