//! Asynchronous sync: servers decide alone on what they know, and tell the store every so often what they admitted.
//!
//! A server sends its running total for a client; the store charges the difference to the last total it has seen, so a
//! message that is lost or doubled does no harm, and answers with what it knows of everybody. What it knows is late: units
//! count from when it hears of them. So a server takes that over only where the others have admitted something since; by
//! itself it knows better, and a server alone is exact.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ratelimit_core::{Algorithm, Nanos, Policy, PolicyState};

use super::{Decider, Request, answer};
use crate::sim::cluster::network::Network;

/// What a server knows of a client.
#[derive(Debug)]
struct Known {
    state: PolicyState,
    /// Units that this server has admitted since the beginning.
    total: u64,
    /// Units that the others have admitted, as far as was heard.
    others: u64,
    /// Whether something was admitted since the last message.
    news: bool,
}

/// A server.
#[derive(Debug, Default)]
struct Server {
    known: BTreeMap<u32, Known>,
    /// Clients to tell and to hear of: those with news, or limited here by what is known.
    active: BTreeSet<u32>,
    /// Its first alarm; the others follow in steps of the interval, wherever somebody is active.
    phase: u64,
    alarmed: bool,
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
    servers: Vec<Server>,
    store: HashMap<u32, Truth>,
    /// No request comes after this time, so that the clock can stop.
    until: u64,
}

/// Between a server and the store.
pub(in super::super) enum Tell {
    /// A server's own alarm: time to tell.
    Tick { server: usize },
    /// To the store: so much has this server admitted by now.
    Total { server: usize, client: u32, total: u64 },
    /// To the server: this is known, your own total included, and so much of it is of the others.
    State { server: usize, client: u32, state: PolicyState, total: u64, others: u64 },
}

impl Sync {
    pub(in super::super) fn new(policy: &Policy, servers: usize, interval: u64, until: u64) -> Self {
        let servers = (0..servers).map(|_| Server::default()).collect();
        Sync { policy: *policy, interval, servers, store: HashMap::new(), until }
    }

    /// Wakes a server at its next time to tell, unless that is known already or nobody comes any more.
    fn wake(&mut self, server: usize, network: &mut Network<Tell>) {
        let (now, this) = (network.now(), &mut self.servers[server]);
        if this.alarmed || this.active.is_empty() || now > self.until {
            return;
        }
        this.alarmed = true;
        let wait = match now.checked_sub(this.phase) {
            None => this.phase - now,
            Some(since) => self.interval - since % self.interval,
        };
        network.alarm(wait, Tell::Tick { server });
    }
}

impl Decider for Sync {
    type Message = Tell;

    fn start(&mut self, from: u64, _: &mut Network<Tell>) {
        let count = self.servers.len() as u128;
        for (server, this) in self.servers.iter_mut().enumerate() {
            // Not all at once.
            let phase = u128::from(self.interval) * server as u128 / count;
            this.phase = from.saturating_add(u64::try_from(phase).unwrap_or(0));
        }
    }

    fn arrive(&mut self, request: Request, network: &mut Network<Tell>) {
        let Sync { policy, servers, .. } = self;
        let this = &mut servers[request.server];
        let fresh = || Known { state: policy.fresh(), total: 0, others: 0, news: true };
        let known = this.known.entry(request.client).or_insert_with(fresh);
        let now = Nanos::new(network.clock(request.server));
        let decision = policy.decide(&mut known.state, now, request.cost);
        if decision.is_allowed() {
            known.total = known.total.saturating_add(request.cost);
            known.news = true;
        }
        if known.news {
            this.active.insert(request.client);
        }
        answer(request, decision, network);
        // A server without others has nobody to tell.
        if self.servers.len() > 1 {
            self.wake(request.server, network);
        }
    }

    fn receive(&mut self, message: Tell, network: &mut Network<Tell>) {
        match message {
            Tell::Tick { server } => {
                let now = Nanos::new(network.clock(server));
                let Server { known, active, alarmed, .. } = &mut self.servers[server];
                *alarmed = false;
                active.retain(|&client| {
                    let Some(known) = known.get_mut(&client) else { return false };
                    // Whoever is still limited here wants to hear of the others.
                    let wanted = std::mem::take(&mut known.news) || !self.policy.is_fresh(&known.state, now);
                    if wanted {
                        network.send(Tell::Total { server, client, total: known.total });
                    }
                    wanted
                });
                if network.now() < self.until {
                    self.wake(server, network);
                }
            }
            Tell::Total { server, client, total } => {
                network.ledger.store_operation(0, network.now());
                let Sync { policy, store, servers, .. } = self;
                let fresh = || Truth { state: policy.fresh(), totals: vec![0; servers.len()] };
                let Truth { state, totals } = store.entry(client).or_insert_with(fresh);
                policy.charge(state, Nanos::new(network.now()), total.saturating_sub(totals[server]));
                totals[server] = totals[server].max(total);
                let all = totals.iter().fold(0, |sum: u64, total| sum.saturating_add(*total));
                let (state, others) = (state.clone(), all.saturating_sub(totals[server]));
                network.send(Tell::State { server, client, state, total, others });
            }
            Tell::State { server, client, state, total, others } => {
                let now = Nanos::new(network.clock(server));
                let this = &mut self.servers[server];
                if let Some(known) = this.known.get_mut(&client).filter(|known| others > known.others) {
                    known.state = state;
                    known.others = others;
                    // What was admitted while the message was under way.
                    self.policy.charge(&mut known.state, now, known.total.saturating_sub(total));
                    if !self.policy.is_fresh(&known.state, now) {
                        this.active.insert(client);
                    }
                }
                self.wake(server, network);
            }
        }
    }
}
