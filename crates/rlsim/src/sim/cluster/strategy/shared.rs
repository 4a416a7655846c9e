//! One store for all: asked to decide (atomic), or only to remember (the race).

use ratelimit_core::{Algorithm, Decision, Nanos, Policy, PolicyState};

use super::own::Own;
use super::{Decider, Request, answer};
use crate::sim::cluster::faults::WhenDown;
use crate::sim::cluster::network::Network;
use crate::sim::limiter::{By, Limiter};

/// What a server does when the store does not answer in time.
pub(super) struct Fallback {
    local: Own,
}

impl Fallback {
    pub(super) fn new(policy: &Policy, servers: usize) -> Self {
        Fallback { local: Own::parts(policy, servers) }
    }

    /// Decides without the store.
    pub(super) fn decide<M>(&mut self, request: Request, network: &Network<M>) -> Decision {
        let now = Decision::Allowed { remaining: 0, reset_after: Nanos::ZERO, delay: Nanos::ZERO };
        match network.faults.when_down {
            WhenDown::Open => now,
            WhenDown::Closed => Decision::Never { capacity: 0 },
            WhenDown::Local => self.local.decide(request, network),
        }
    }
}

/// The store decides every request.
pub(in super::super) struct Shared {
    store: Limiter,
    fallback: Fallback,
}

/// Between a server and a store that decides.
pub(in super::super) enum Ask {
    /// To the store: may this pass?
    May(Request),
    /// To the server: the answer.
    Said(Request, Decision),
    /// The server has waited in vain.
    TimedOut(Request),
}

impl Shared {
    pub(in super::super) fn new(policy: &Policy, servers: usize) -> Self {
        Shared { store: Limiter::new(*policy, By::Client), fallback: Fallback::new(policy, servers) }
    }
}

/// Sends a message about a request; if it does not arrive, the server notices at its timeout.
pub(super) fn send_or_time_out<M>(message: M, timed_out: M, network: &mut Network<M>) {
    if !network.send(message) {
        network.alarm(network.faults.timeout.0, timed_out);
    }
}

impl Decider for Shared {
    type Message = Ask;

    fn arrive(&mut self, request: Request, network: &mut Network<Ask>) {
        send_or_time_out(Ask::May(request), Ask::TimedOut(request), network);
    }

    fn receive(&mut self, message: Ask, network: &mut Network<Ask>) {
        match message {
            Ask::May(request) => {
                network.ledger.store_operation(0, network.now());
                let decision = self.store.decide(request.client, network.now(), request.cost);
                send_or_time_out(Ask::Said(request, decision), Ask::TimedOut(request), network);
            }
            Ask::Said(request, decision) => answer(request, decision, network),
            Ask::TimedOut(request) => {
                let decision = self.fallback.decide(request, network);
                answer(request, decision, network);
            }
        }
    }
}

/// The store only remembers: the server reads a state, decides, and writes the changed state back. Whatever others wrote
/// in between is lost.
pub(in super::super) struct Race {
    policy: Policy,
    store: Vec<PolicyState>,
    fallback: Fallback,
}

/// Between a server and a store that remembers.
pub(in super::super) enum Remember {
    /// To the store: what is known?
    Read(Request),
    /// To the server: this.
    Known(Request, PolicyState),
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
        send_or_time_out(Remember::Read(request), Remember::TimedOut(request), network);
    }

    fn receive(&mut self, message: Remember, network: &mut Network<Remember>) {
        match message {
            Remember::Read(request) => {
                network.ledger.store_operation(0, network.now());
                let state = self.state(request.client).clone();
                send_or_time_out(Remember::Known(request, state), Remember::TimedOut(request), network);
            }
            Remember::Known(request, mut state) => {
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
