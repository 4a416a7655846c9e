//! A store that only remembers, and servers that read, decide and write: the race.

use ratelimit_core::{Algorithm, Nanos, Policy, PolicyState};

use super::shared::Fallback;
use super::{Decider, Request, answer};
use crate::sim::cluster::network::Network;

/// The store only remembers: the server reads a state, decides, and writes the changed state back. Whatever others wrote
/// in between is lost.
pub(in super::super) struct Race {
    policy: Policy,
    store: Vec<PolicyState>,
    fallback: Fallback,
}

/// Between a server and a store that remembers.
pub(in super::super) enum Remember {
    /// To the store: what is known? The server waits until then.
    Read(Request, u64),
    /// To the server, which waits until then: this.
    Known(Request, u64, PolicyState),
    /// To the store: this is known from now on.
    Write(u32, PolicyState),
    /// The server has waited in vain.
    TimedOut(Request),
}

impl Race {
    pub(in super::super) fn new(policy: &Policy, servers: usize) -> Self {
        Race { policy: *policy, store: Vec::new(), fallback: Fallback::new(policy, servers) }
    }

    fn state(&mut self, client: u32) -> &mut PolicyState {
        let index = client as usize;
        if self.store.len() <= index {
            self.store.resize(index + 1, self.policy.fresh());
        }
        &mut self.store[index]
    }
}

impl Decider for Race {
    type Message = Remember;

    fn arrive(&mut self, request: Request, network: &mut Network<Remember>) {
        let deadline = network.deadline();
        network.call(Remember::Read(request, deadline), deadline, Remember::TimedOut(request));
    }

    fn receive(&mut self, message: Remember, network: &mut Network<Remember>) {
        match message {
            Remember::Read(request, deadline) => {
                network.ledger.store_operation(0, network.now());
                let state = self.state(request.client).clone();
                network.call(Remember::Known(request, deadline, state), deadline, Remember::TimedOut(request));
            }
            // The server has answered by itself, and writes nothing.
            Remember::Known(_, deadline, _) if network.is_late(deadline) => {}
            Remember::Known(request, _, mut state) => {
                let now = Nanos::new(network.clock(request.server));
                let decision = self.policy.decide(&mut state, now, request.cost);
                if decision.is_allowed() {
                    // A write that is lost changes nothing for this server.
                    network.send(Remember::Write(request.client, state));
                }
                answer(request, decision, network);
            }
            Remember::Write(client, state) => {
                network.ledger.store_operation(0, network.now());
                *self.state(client) = state;
            }
            Remember::TimedOut(request) => {
                let decision = self.fallback.decide(request, network);
                answer(request, decision, network);
            }
        }
    }
}
