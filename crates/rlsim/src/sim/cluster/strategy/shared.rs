//! One store for all that decides, atomically: the whole limit on one key, or cut over several keys, each in a slot of
//! its own. Then no slot gets all the load of a hot client, but a request that finds its key used up is refused although
//! others have room.

use ratelimit_core::{Decision, Nanos, Policy};

use super::own::Own;
use super::{Decider, Request, answer};
use crate::generate::random::Draws;
use crate::sim::cluster::faults::WhenDown;
use crate::sim::cluster::network::Network;
use crate::sim::cluster::share::divide;
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

/// The store decides every request. `None` is a key with zero units: it refuses everything.
pub(in super::super) struct Shared {
    slots: Vec<Option<Limiter>>,
    fallback: Fallback,
    draws: Draws,
}

/// Between a server and a store that decides.
pub(in super::super) enum Ask {
    /// To the store: may this pass? The server waits until then.
    May(Request, u64),
    /// To the server, which waits until then: the answer.
    Said(Request, u64, Decision),
    /// The server has waited in vain.
    TimedOut(Request),
}

impl Shared {
    pub(in super::super) fn new(policy: &Policy, servers: usize, keys: u32, draws: Draws) -> Self {
        let part = |key| divide(policy, u64::from(keys), u64::from(key)).map(|part| Limiter::new(part, By::Client));
        Shared { slots: (0..keys).map(part).collect(), fallback: Fallback::new(policy, servers), draws }
    }
}

impl Decider for Shared {
    type Message = Ask;

    fn arrive(&mut self, request: Request, network: &mut Network<Ask>) {
        let deadline = network.deadline();
        network.call(Ask::May(request, deadline), deadline, Ask::TimedOut(request));
    }

    fn receive(&mut self, message: Ask, network: &mut Network<Ask>) {
        match message {
            Ask::May(request, deadline) => {
                // The server chose a key at random.
                let slot = usize::try_from(self.draws.below(self.slots.len() as u64)).unwrap_or(0);
                network.ledger.store_operation(slot, network.now());
                let decision = match &mut self.slots[slot] {
                    Some(limiter) => limiter.decide(request.client, network.now(), request.cost),
                    None => Decision::Never { capacity: 0 },
                };
                network.call(Ask::Said(request, deadline, decision), deadline, Ask::TimedOut(request));
            }
            // The server has answered by itself.
            Ask::Said(_, deadline, _) if network.is_late(deadline) => {}
            Ask::Said(request, _, decision) => answer(request, decision, network),
            Ask::TimedOut(request) => {
                let decision = self.fallback.decide(request, network);
                answer(request, decision, network);
            }
        }
    }
}
