//! The run: events in the order of their times, each handed to whom it concerns.

use super::clients::Clients;
use super::event::Event;
use super::meter::Meter;
use super::outcome::Outcome;
use super::scenario::{Scenario, What};
use super::server::Server;
use crate::error::{Error, Result};
use crate::generate::Stop;
use crate::generate::clients::Clients as Choice;
use crate::generate::pattern::{Instants, Pattern, Period, Poisson};
use crate::generate::random::Draws;
use crate::report::{count, duration};
use crate::sim::queue::Queue;

/// Events of one run at most: some seconds of work. The built-in scenarios take up to 1.5 million.
pub(super) const MOST_EVENTS: u64 = 20_000_000;

/// Streams of random numbers, one a purpose, so that another behaviour of the clients leaves the traffic alone.
mod stream {
    pub(super) const SERVICE: u64 = 0;
    pub(super) const RETRY: u64 = 1;
    pub(super) const THINK: u64 = 2;
    /// Two for each source from here on.
    pub(super) const SOURCES: u64 = 16;
}

/// Requests that come whatever happens to the earlier ones.
struct Source {
    instants: Instants,
    /// Number of the first client of the group.
    first: u32,
    who: Choice,
}

/// Runs a scenario (as it stands, without its variants) from a seed.
///
/// # Errors
/// When a pattern's options contradict each other.
pub fn run(scenario: &Scenario, seed: u64) -> Result<Outcome> {
    let draws = |stream| Draws::new(seed, stream);
    let mut queue = Queue::new();
    let mut meter = Meter::new(scenario.duration(), scenario.clients.len());
    let mut sources = sources(scenario, seed)?;
    let mut clients = Clients::new(scenario, draws(stream::RETRY), draws(stream::THINK));
    let mut server = Server::new(scenario, draws(stream::SERVICE));

    clients.start(&mut queue);
    for (index, source) in sources.iter_mut().enumerate() {
        schedule(index, source, &mut queue);
    }
    if let Some(trigger) = &scenario.trigger {
        queue.at(trigger.from(), Event::Trigger { on: true });
        queue.at(trigger.to(), Event::Trigger { on: false });
    }
    while let Some(event) = queue.next_before(scenario.end()) {
        if queue.scheduled() > MOST_EVENTS {
            return Err(Error::failed(format!(
                "more than {} events by {} of {}: too many to simulate; a smaller `count` or rate of [[clients]], fewer \
                 `attempts`, or a shorter `duration` takes fewer",
                count(MOST_EVENTS),
                duration(queue.now()),
                duration(scenario.duration())
            )));
        }
        match event {
            Event::Begin { source } => {
                let origin = &mut sources[source];
                let client = origin.first + origin.who.next_client();
                schedule(source, origin, &mut queue);
                clients.begin(client, &mut queue, &mut meter);
            }
            Event::Thought { client } => clients.begin(client, &mut queue, &mut meter),
            Event::Send { request } => clients.send(request, &mut queue, &mut meter),
            Event::Arrive(attempt) => server.arrive(attempt, &mut queue),
            Event::Turn(attempt) => server.admit(attempt, &mut queue),
            Event::Done(attempt, answer) => server.done(attempt, answer, &mut queue),
            Event::Answered(attempt, answer) => clients.answered(attempt, answer, &mut queue, &mut meter),
            Event::Timeout(attempt) => clients.timed_out(attempt, &mut queue, &mut meter),
            Event::Trigger { on } => {
                clients.trigger(on);
                server.trigger(on, queue.now());
            }
        }
    }
    Ok(Outcome::of(scenario, meter, queue.scheduled()))
}

fn schedule(index: usize, source: &mut Source, queue: &mut Queue<Event>) {
    if let Some(at) = source.instants.next() {
        queue.at(at, Event::Begin { source: index });
    }
}

/// One source for each open-loop group, and one for a flash crowd.
fn sources(scenario: &Scenario, seed: u64) -> Result<Vec<Source>> {
    let whole = Period { start: 0, end: scenario.duration() };
    let mut sources = Vec::new();
    let mut first = 0;
    let mut add = |pattern: &Pattern, period, first, count| {
        let stream = stream::SOURCES + 2 * sources.len() as u64;
        let instants = pattern.instants(period, count, Draws::new(seed, stream), &Stop::default())?;
        let draws = Draws::new(seed, stream + 1);
        let who = if pattern.deals() { Choice::dealt(count) } else { Choice::uniform(count, draws) };
        sources.push(Source { instants, first, who });
        Ok(())
    };
    for group in &scenario.clients {
        if let Some(pattern) = group.arrivals() {
            add(pattern, whole, first, group.count)?;
        }
        first += group.count;
    }
    let crowd = scenario.trigger.as_ref().filter(|trigger| trigger.what == What::FlashCrowd);
    if let Some((trigger, rate)) = crowd.and_then(|trigger| Some((trigger, trigger.rate()?))) {
        let period = Period { start: trigger.from(), end: trigger.to() };
        add(&Pattern::Poisson(Poisson { rate }), period, 0, scenario.clients[0].count)?;
    }
    Ok(sources)
}
