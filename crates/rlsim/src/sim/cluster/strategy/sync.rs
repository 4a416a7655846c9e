//! Asynchronous sync: servers decide alone on what they know, and tell the store every so often what they admitted.
//!
//! A server sends its running total for a client; the store charges the difference to the last total it has seen, so a
//! message that is lost or doubled does no harm, and answers with what it knows of everybody.

use std::collections::BTreeMap;

use ratelimit_core::{Algorithm, Nanos, Policy, PolicyState};

use super::{Decider, Request, answer};
use crate::sim::cluster::network::Network;

/// What a server knows of a client.
#[derive(Debug)]
struct Known {
    state: PolicyState,
    /// Units that this server has admitted since the beginning.
    total: u64,
    /// Whether something was admitted since the last message.
    news: bool,
}

/// What the store knows of a client: its state, and the last total of each server.
#[derive(Debug)]
struct Truth {
    state: PolicyState,
    totals: Vec<u64>,
}

/// Servers and store.
pub(in super::super) struct Sync {
    policy: Policy,
    interval: u64,
    servers: Vec<BTreeMap<u32, Known>>,
    store: BTreeMap<u32, Truth>,
    /// No request comes after this time, so that the clock can stop.
    until: u64,
}

/// Between a server and the store.
pub(in super::super) enum Tell {
    /// A server's own alarm: time to tell.
    Tick { server: usize },
    /// To the store: so much has this server admitted by now.
    Total { server: usize, client: u32, total: u64 },
    /// To the server: this is known, your own total included.
    State { server: usize, client: u32, state: PolicyState, total: u64 },
}

impl Sync {
    pub(in super::super) fn new(policy: &Policy, servers: usize, interval: u64, until: u64) -> Self {
        let known = (0..servers).map(|_| BTreeMap::new()).collect();
        Sync { policy: *policy, interval, servers: known, store: BTreeMap::new(), until }
    }
}

impl Decider for Sync {
    type Message = Tell;

    fn start(&mut self, from: u64, network: &mut Network<Tell>) {
        for server in 0..self.servers.len() {
            // Not all at once.
            let phase = u128::from(self.interval) * server as u128 / self.servers.len() as u128;
            let phase = u64::try_from(phase).unwrap_or(0);
            network.alarm(from.saturating_add(phase), Tell::Tick { server });
        }
    }

    fn arrive(&mut self, request: Request, network: &mut Network<Tell>) {
        let Sync { policy, servers, .. } = self;
        let known = servers[request.server].entry(request.client).or_insert_with(|| Known {
            state: policy.fresh(),
            total: 0,
            news: true,
        });
        let now = Nanos::new(network.clock(request.server));
        let decision = policy.decide(&mut known.state, now, request.cost);
        if decision.is_allowed() {
            known.total = known.total.saturating_add(request.cost);
            known.news = true;
        }
        answer(request, decision, network);
    }

    fn receive(&mut self, message: Tell, network: &mut Network<Tell>) {
        match message {
            Tell::Tick { server } => {
                for (&client, known) in &mut self.servers[server] {
                    // Whoever is still limited here wants to hear of the others.
                    let now = Nanos::new(network.now());
                    if std::mem::take(&mut known.news) || !self.policy.is_fresh(&known.state, now) {
                        network.send(Tell::Total { server, client, total: known.total });
                    }
                }
                if network.now() < self.until {
                    network.alarm(self.interval, Tell::Tick { server });
                }
            }
            Tell::Total { server, client, total } => {
                network.ledger.store_operation(0, network.now());
                let Sync { policy, store, servers, .. } = self;
                let servers = servers.len();
                let truth =
                    store.entry(client).or_insert_with(|| Truth { state: policy.fresh(), totals: vec![0; servers] });
                let news = total.saturating_sub(truth.totals[server]);
                truth.totals[server] = truth.totals[server].max(total);
                policy.charge(&mut truth.state, Nanos::new(network.now()), news);
                let state = truth.state.clone();
                network.send(Tell::State { server, client, state, total });
            }
            Tell::State { server, client, state, total } => {
                let now = Nanos::new(network.clock(server));
                if let Some(known) = self.servers[server].get_mut(&client) {
                    known.state = state;
                    // What was admitted while the message was under way.
                    let since = known.total.saturating_sub(total);
                    self.policy.charge(&mut known.state, now, since);
                }
            }
        }
    }
}
