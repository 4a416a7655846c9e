//! Replay of events as they come, all clients mixed: every policy keeps the states of all clients, and is handed one block
//! of events after another.

use ratelimit_core::{Algorithm, Nanos, Policy, Rule, Unlimited};

use super::engine::verdict;
use super::{By, Outcome};
use crate::trace::Block;

/// Takes in outcomes in time order.
pub trait StreamObserver: Send {
    /// One event and its answer.
    fn observe(&mut self, outcome: &Outcome);
}

/// One policy over a stream: its states, and who watches.
pub struct Lane<O> {
    states: Box<dyn States<O>>,
    /// What was seen so far.
    pub observer: O,
}

/// The states of all subjects under one policy.
trait States<O>: Send {
    fn feed(&mut self, block: &Block<'_>, by: By, observer: &mut O);
    fn most_bytes(&self) -> usize;
}

struct Kept<A: Algorithm> {
    algorithm: A,
    states: Vec<A::State>,
    most_bytes: usize,
}

impl<O: StreamObserver + 'static> Lane<O> {
    /// A policy without any state yet. The algorithm is picked here once, so that the loop over events is compiled for each.
    pub fn new(policy: &Policy, observer: O) -> Self {
        let states: Box<dyn States<O>> = match policy.rules() {
            [Rule::Unlimited] => kept(Unlimited),
            [Rule::FixedWindow(algorithm)] => kept(*algorithm),
            [Rule::SlidingLog(algorithm)] => kept(*algorithm),
            [Rule::SlidingCounter(algorithm)] => kept(*algorithm),
            [Rule::TokenBucket(algorithm)] => kept(*algorithm),
            [Rule::LeakyBucket(algorithm)] => kept(*algorithm),
            _ => kept(*policy),
        };
        Lane { states, observer }
    }

    /// Decides the events of a block, which come after those decided already.
    pub fn feed(&mut self, block: &Block<'_>, by: By) {
        self.states.feed(block, by, &mut self.observer);
    }

    /// The most bytes that the state of one subject took.
    pub fn state_bytes(&self) -> usize {
        self.states.most_bytes()
    }
}

fn kept<A, O>(algorithm: A) -> Box<dyn States<O>>
where
    A: Algorithm + Send + 'static,
    A::State: Send,
    O: StreamObserver,
{
    let most_bytes = algorithm.state_bytes(&algorithm.fresh());
    Box::new(Kept { algorithm, states: Vec::new(), most_bytes })
}

impl<A, O> States<O> for Kept<A>
where
    A: Algorithm + Send,
    A::State: Send,
    O: StreamObserver,
{
    fn feed(&mut self, block: &Block<'_>, by: By, observer: &mut O) {
        for (i, (&at, &client)) in block.at.iter().zip(block.client).enumerate() {
            let cost = block.cost.get(i).copied().unwrap_or(1);
            let subject = match by {
                By::Client => client as usize,
                By::Global => 0,
            };
            if self.states.len() <= subject {
                self.states.resize_with(subject + 1, || self.algorithm.fresh());
            }
            let state = &mut self.states[subject];
            let verdict = verdict(self.algorithm.decide(state, Nanos::new(at), cost));
            self.most_bytes = self.most_bytes.max(self.algorithm.state_bytes(state));
            observer.observe(&Outcome { at, cost, client, verdict });
        }
    }

    fn most_bytes(&self) -> usize {
        self.most_bytes
    }
}
