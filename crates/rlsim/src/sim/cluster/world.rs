//! The run: requests and messages in the order of their times.

use ratelimit_core::Policy;

use super::arrivals::Arrival;
use super::exact::Exact;
use super::faults::Faults;
use super::ledger::{Answer, Ledger};
use super::network::{Delay, Event, Network};
use super::outcome::Outcome;
use super::routing::{Router, Routing};
use super::strategy::{Decider, Leases, Own, Race, Request, Shared, Strategy, Sync};
use crate::generate::random::Draws;

/// Streams of random numbers, one a purpose.
mod stream {
    pub(super) const ROUTE: u64 = 1_000;
    pub(super) const TRAVEL: u64 = 1_001;
    pub(super) const KEYS: u64 = 1_002;
}

/// Servers that share a limit.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// How many servers; at least one.
    pub servers: usize,
    /// The limit that they share, for each client.
    pub policy: Policy,
    /// Which server a request goes to.
    pub routing: Routing,
    /// How long messages to and from the store take.
    pub delay: Delay,
    /// What goes wrong.
    pub faults: Faults,
    /// The seed of routing and delays.
    pub seed: u64,
}

/// Runs one strategy on `arrivals`, which are in time order; `exact` is what one limiter makes of them.
pub fn run(cluster: &Cluster, strategy: Strategy, arrivals: &[Arrival], exact: &Exact) -> Outcome {
    let (ledger, events) = play(cluster, strategy, arrivals);
    Outcome::of(cluster, arrivals, exact, &ledger, events)
}

/// The answers alone, one a request, in the order of `arrivals`; `None` would be a request without an answer.
pub fn answers(cluster: &Cluster, strategy: Strategy, arrivals: &[Arrival]) -> Vec<Option<Answer>> {
    play(cluster, strategy, arrivals).0.answers
}

fn play(cluster: &Cluster, strategy: Strategy, arrivals: &[Arrival]) -> (Ledger, u64) {
    let Cluster { servers, ref policy, .. } = *cluster;
    let keys = Draws::new(cluster.seed, stream::KEYS);
    let until = arrivals.last().map_or(0, |arrival| arrival.at);
    match strategy {
        Strategy::OwnLimit => simulate(cluster, arrivals, Own::whole(policy, servers)),
        Strategy::SplitLimit => simulate(cluster, arrivals, Own::parts(policy, servers)),
        Strategy::SharedStore => simulate(cluster, arrivals, Shared::new(policy, servers, 1, keys)),
        Strategy::ReadThenWrite => simulate(cluster, arrivals, Race::new(policy, servers)),
        Strategy::SubKeys(count) => simulate(cluster, arrivals, Shared::new(policy, servers, count, keys)),
        Strategy::Leases(units) => simulate(cluster, arrivals, Leases::new(policy, servers, units)),
        Strategy::Sync(interval) => simulate(cluster, arrivals, Sync::new(policy, servers, interval, until)),
    }
}

fn simulate<D: Decider>(cluster: &Cluster, arrivals: &[Arrival], mut decider: D) -> (Ledger, u64) {
    let ledger = Ledger::new(arrivals);
    let travel = Draws::new(cluster.seed, stream::TRAVEL);
    let mut network = Network::new(cluster.servers, cluster.delay, cluster.faults.clone(), ledger, travel);
    let mut router = Router::new(cluster.routing.clone(), Draws::new(cluster.seed, stream::ROUTE));
    let mut coming = arrivals.iter().copied().enumerate();
    let mut next = coming.next();
    if let Some((_, first)) = next {
        network.queue.at(first.at, Event::Arrive);
        decider.start(first.at, &mut network);
    }
    while let Some(event) = network.queue.next_before(u64::MAX) {
        match event {
            Event::Arrive => {
                let Some((index, arrival)) = next else { continue };
                next = coming.next();
                if let Some((_, following)) = next {
                    network.queue.at(following.at, Event::Arrive);
                }
                let in_service = cluster.faults.in_service(cluster.servers, arrival.at);
                let server = router.choose(arrival.client, in_service);
                decider.arrive(Request::new(index, arrival, server), &mut network);
            }
            Event::Message(message) => decider.receive(message, &mut network),
        }
    }
    let events = network.queue.scheduled();
    (network.ledger, events)
}
