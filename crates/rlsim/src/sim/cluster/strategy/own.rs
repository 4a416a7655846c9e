//! Every server for itself: with the whole limit, or with its part of it. No messages.

use std::convert::Infallible;

use ratelimit_core::{Decision, Policy};

use super::{Decider, Request, answer};
use crate::sim::cluster::network::Network;
use crate::sim::cluster::share::divide;
use crate::sim::limiter::{By, Limiter};

/// One limiter a server. `None` is a part of zero units: it refuses everything.
pub(in super::super) struct Own {
    limiters: Vec<Option<Limiter>>,
}

impl Own {
    /// Each server has the whole limit.
    pub(in super::super) fn whole(policy: &Policy, servers: usize) -> Self {
        Own { limiters: vec![Some(Limiter::new(*policy, By::Client)); servers] }
    }

    /// Each server has its part of the limit.
    pub(in super::super) fn parts(policy: &Policy, servers: usize) -> Self {
        let part = |server| divide(policy, servers as u64, server as u64);
        Own { limiters: (0..servers).map(|server| part(server).map(|part| Limiter::new(part, By::Client))).collect() }
    }

    /// What the server of the request says, by its own clock.
    pub(super) fn decide<M>(&mut self, request: Request, network: &Network<M>) -> Decision {
        let now = network.clock(request.server);
        match &mut self.limiters[request.server] {
            Some(limiter) => limiter.decide(request.client, now, request.cost),
            None => Decision::Never { capacity: 0 },
        }
    }
}

impl Decider for Own {
    type Message = Infallible;

    fn arrive(&mut self, request: Request, network: &mut Network<Infallible>) {
        let decision = self.decide(request, network);
        answer(request, decision, network);
    }

    fn receive(&mut self, message: Infallible, _: &mut Network<Infallible>) {
        match message {}
    }
}
