//! The limit cut over several keys of the store, each in a slot of its own: no slot gets all the load of a hot client,
//! but a request that finds its key used up is refused although others have room.

use ratelimit_core::{Decision, Policy};

use super::shared::{Ask, Fallback, send_or_time_out};
use super::{Decider, Request, answer};
use crate::generate::random::Draws;
use crate::sim::cluster::network::Network;
use crate::sim::cluster::share::divide;
use crate::sim::limiter::{By, Limiter};

/// One limiter a slot.
pub(in super::super) struct SubKeys {
    slots: Vec<Option<Limiter>>,
    fallback: Fallback,
    draws: Draws,
}

impl SubKeys {
    pub(in super::super) fn new(policy: &Policy, servers: usize, keys: u32, draws: Draws) -> Self {
        let part = |key| divide(policy, u64::from(keys), u64::from(key)).map(|part| Limiter::new(part, By::Client));
        SubKeys { slots: (0..keys).map(part).collect(), fallback: Fallback::new(policy, servers), draws }
    }
}

impl Decider for SubKeys {
    type Message = Ask;

    fn arrive(&mut self, request: Request, network: &mut Network<Ask>) {
        send_or_time_out(Ask::May(request), Ask::TimedOut(request), network);
    }

    fn receive(&mut self, message: Ask, network: &mut Network<Ask>) {
        match message {
            Ask::May(request) => {
                // The server chose a key at random.
                let slot = usize::try_from(self.draws.below(self.slots.len() as u64)).unwrap_or(0);
                network.ledger.store_operation(slot, network.now());
                let decision = match &mut self.slots[slot] {
                    Some(limiter) => limiter.decide(request.client, network.now(), request.cost),
                    None => Decision::Never { capacity: 0 },
                };
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
