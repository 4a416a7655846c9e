//! Leases: a server takes several units at once from the store, which charges them when they are taken, and spends them
//! alone. What is left after a while it gives back.

use std::collections::HashMap;

use ratelimit_core::{Decision, Nanos, Policy};

use super::shared::Fallback;
use super::{Decider, Request, answer};
use crate::sim::cluster::network::Network;
use crate::sim::limiter::{By, Limiter};

/// Units that a server may spend for a client.
#[derive(Debug, Default)]
struct Lease {
    units: u64,
    /// How many it was at first; zero when the lease is over.
    taken: u64,
    /// How many were used of the last lease that was not used up.
    used: Option<u64>,
    /// Counts the leases of this server and client.
    serial: u64,
    /// Requests that wait for the store's answer.
    waiting: Vec<Request>,
    /// Until the store has units again, asking is of no use.
    refused_until: u64,
}

impl Lease {
    /// Decides without asking the store, if that is possible.
    fn decide(&mut self, request: Request, now: u64) -> Option<Decision> {
        if request.cost <= self.units {
            self.units -= request.cost;
            return Some(ALLOWED);
        }
        (now < self.refused_until).then_some(REFUSED)
    }

    /// How many units to take: what was used last time, or twice as many as before if they did not suffice.
    fn wanted(&self, most: u64, least: u64) -> u64 {
        let demand = if self.taken > 0 { self.taken.saturating_mul(2) } else { self.used.unwrap_or(most) };
        demand.clamp(1, most).max(least)
    }
}

/// Leases of all servers, and the store.
pub(in super::super) struct Leases {
    store: Limiter,
    fallback: Fallback,
    /// By server and client.
    held: HashMap<(usize, u32), Lease>,
    slice: u64,
    /// How long units may be kept, in nanoseconds: a tenth of the window.
    keep: u64,
}

/// Between a server and the store.
pub(in super::super) enum Take {
    /// To the store: so many units for this client, or at least so many. The server waits until the deadline.
    Units { server: usize, client: u32, wanted: u64, least: u64, deadline: u64 },
    /// To the server: so many are yours. Units that come too late stay charged, and nobody has them.
    Granted { server: usize, client: u32, units: u64, deadline: u64 },
    /// To the server: nothing for so long.
    Refused { server: usize, client: u32, retry_after: u64, deadline: u64 },
    /// A server's own alarm: the lease is over.
    Expired { server: usize, client: u32, serial: u64 },
    /// To the store: so many were not needed.
    Back { client: u32, units: u64 },
    /// The server has waited in vain.
    TimedOut { server: usize, client: u32 },
}

impl Leases {
    /// `slice` units at a time; zero is a hundredth of the limit for each server.
    pub(in super::super) fn new(policy: &Policy, servers: usize, slice: u64) -> Self {
        let quota = policy.rules().iter().find_map(ratelimit_core::Rule::quota);
        let (limit, window) = quota.map_or((1, 1), |quota| (quota.limit(), quota.window().get()));
        let own = limit / 10 / servers.max(1) as u64;
        Leases {
            store: Limiter::new(*policy, By::Client),
            fallback: Fallback::new(policy, servers),
            held: HashMap::new(),
            slice: if slice == 0 { own.max(1) } else { slice },
            keep: (window / 10).max(1),
        }
    }

    /// The store charges what is wanted, or all there is if that is enough for the first request; or it says how long
    /// that will take, in nanoseconds.
    fn take(&mut self, client: u32, now: u64, wanted: u64, least: u64) -> Result<u64, u64> {
        let room = match self.store.decide(client, now, 0) {
            Decision::Allowed { remaining, .. } => remaining,
            Decision::Denied { .. } | Decision::Never { .. } => 0,
        };
        let units = if room < least { least } else { wanted.min(room) };
        match self.store.decide(client, now, units) {
            Decision::Allowed { .. } => Ok(units),
            Decision::Denied { retry_after, .. } => Err(retry_after.get()),
            Decision::Never { .. } => Err(1),
        }
    }

    /// Serves what waits from the units there are, and asks for more if some is left waiting.
    fn spend(&mut self, server: usize, client: u32, network: &mut Network<Take>) {
        let now = network.now();
        let Some(lease) = self.held.get_mut(&(server, client)) else { return };
        let waiting = std::mem::take(&mut lease.waiting);
        for request in waiting {
            match lease.decide(request, now) {
                Some(decision) => answer(request, decision, network),
                None => lease.waiting.push(request),
            }
        }
        if let Some(first) = lease.waiting.first() {
            let least = first.cost;
            ask(server, client, lease.wanted(self.slice, least), least, network);
        }
    }
}

const ALLOWED: Decision = Decision::Allowed { remaining: 0, reset_after: Nanos::ZERO, delay: Nanos::ZERO };
const REFUSED: Decision = Decision::Denied { retry_after: Nanos::ZERO, remaining: 0, reset_after: Nanos::ZERO };

/// Units that are lost on the way stay charged.
fn give_back(client: u32, units: u64, network: &mut Network<Take>) {
    if units > 0 {
        network.send(Take::Back { client, units });
    }
}

fn ask(server: usize, client: u32, wanted: u64, least: u64, network: &mut Network<Take>) {
    let deadline = network.deadline();
    let message = Take::Units { server, client, wanted, least, deadline };
    network.call(message, deadline, Take::TimedOut { server, client });
}

impl Decider for Leases {
    type Message = Take;

    fn arrive(&mut self, request: Request, network: &mut Network<Take>) {
        let now = network.now();
        let lease = self.held.entry((request.server, request.client)).or_default();
        // While the store is being asked, everybody waits for its answer.
        let decision = if lease.waiting.is_empty() { lease.decide(request, now) } else { None };
        if let Some(decision) = decision {
            answer(request, decision, network);
            return;
        }
        lease.waiting.push(request);
        if lease.waiting.len() == 1 {
            let wanted = lease.wanted(self.slice, request.cost);
            ask(request.server, request.client, wanted, request.cost, network);
        }
    }

    fn receive(&mut self, message: Take, network: &mut Network<Take>) {
        match message {
            Take::Units { server, client, wanted, least, deadline } => {
                network.ledger.store_operation(0, network.now());
                let now = network.now();
                let reply = match self.take(client, now, wanted, least) {
                    Ok(units) => Take::Granted { server, client, units, deadline },
                    Err(retry_after) => Take::Refused { server, client, retry_after, deadline },
                };
                network.call(reply, deadline, Take::TimedOut { server, client });
            }
            Take::Granted { deadline, .. } | Take::Refused { deadline, .. } if network.is_late(deadline) => {}
            Take::Granted { server, client, units, .. } => {
                let lease = self.held.entry((server, client)).or_default();
                let left = std::mem::replace(&mut lease.units, units);
                lease.taken = units;
                lease.serial += 1;
                let serial = lease.serial;
                give_back(client, left, network);
                network.alarm(self.keep, Take::Expired { server, client, serial });
                self.spend(server, client, network);
            }
            Take::Refused { server, client, retry_after, .. } => {
                let lease = self.held.entry((server, client)).or_default();
                lease.refused_until = network.now().saturating_add(retry_after.max(1));
                self.spend(server, client, network);
            }
            Take::Expired { server, client, serial } => {
                let lease = self.held.entry((server, client)).or_default();
                if lease.serial == serial {
                    let left = std::mem::take(&mut lease.units);
                    lease.used = Some(std::mem::take(&mut lease.taken).saturating_sub(left));
                    give_back(client, left, network);
                }
            }
            Take::Back { client, units } => {
                network.ledger.store_operation(0, network.now());
                self.store.refund(client, units);
            }
            Take::TimedOut { server, client } => {
                let lease = self.held.entry((server, client)).or_default();
                for request in std::mem::take(&mut lease.waiting) {
                    let decision = self.fallback.decide(request, network);
                    answer(request, decision, network);
                }
            }
        }
    }
}
