//! Policies whose clients are in memory: decided at once, all or nothing.

use ratelimit_core::{Decision, Nanos, Rule};

use super::{Engine, Kept, answer};
use crate::ask::{Ask, Outcome};
use crate::few::Few;
use crate::headers::{Level, Partition};
use crate::store::{Memory, numbers, view};

impl Engine {
    pub(super) fn decide_in_memory(&self, asks: Few<Ask>, partitions: Box<[Partition]>) -> Outcome {
        let now = self.clock.now();
        let levels: Few<Level> = match &asks {
            Few::One(ask) if !self.is_queue(ask.policy) => {
                let decision = self.memory(ask).check(ask.key.as_bytes(), now, ask.cost);
                Few::One(self.level(ask, decision, now))
            }
            // Several policies, or a queue that may turn out too long: first asked, then charged, under a lock.
            _ => self.all_or_nothing(asks.as_slice(), now),
        };
        let answer = answer(levels.as_slice().iter().map(|level| level.decision));
        Outcome { asks, levels, partitions, answer, begun: now, is_local: true }
    }

    fn all_or_nothing(&self, asks: &[Ask], now: Nanos) -> Few<Level> {
        let _locked = self.stripes.lock(asks);
        let peek = |ask: &Ask| self.bounded(self.memory(ask).peek(ask.key.as_bytes(), now, ask.cost));
        if asks.iter().all(|ask| peek(ask).is_allowed()) {
            return self.charge_all(asks, now);
        }
        asks.iter().map(|ask| self.uncharged(ask, peek(ask), now)).collect()
    }

    /// Charges all that have just been seen to allow. Clients that share the state of a full store share no lock, so
    /// that one may be refused after all: then the others are given back.
    fn charge_all(&self, asks: &[Ask], now: Nanos) -> Few<Level> {
        let check = |ask: &Ask| self.memory(ask).check(ask.key.as_bytes(), now, ask.cost);
        let decisions: Few<Decision> = asks.iter().map(check).collect();
        let decided = || asks.iter().zip(decisions.as_slice());
        if decided().all(|(_, decision)| decision.is_allowed()) {
            return decided().map(|(ask, decision)| self.level(ask, *decision, now)).collect();
        }
        for (ask, _) in decided().filter(|(_, decision)| decision.is_allowed()) {
            self.memory(ask).refund(ask.key.as_bytes(), ask.cost);
        }
        decided().map(|(ask, decision)| self.uncharged(ask, *decision, now)).collect()
    }

    /// The level of a policy in a request that is refused: one that would have allowed it says what is left.
    fn uncharged(&self, ask: &Ask, decision: Decision, now: Nanos) -> Level {
        let idle = || self.memory(ask).peek(ask.key.as_bytes(), now, 0);
        self.level(ask, if decision.is_allowed() { idle() } else { decision }, now)
    }

    #[inline]
    pub(super) fn level(&self, ask: &Ask, decision: Decision, now: Nanos) -> Level {
        let (rule, rate) = (&self.rules[ask.policy], self.stated[ask.policy].rate);
        let view = view(rule, rate, decision, |cost| self.memory(ask).peek(ask.key.as_bytes(), now, cost));
        Level::new(ask.policy, rate, ask.cost, &view)
    }

    /// The store of an ask; this file is only for layers that have nothing else.
    fn memory(&self, ask: &Ask) -> &dyn Memory {
        match &self.kept[ask.policy] {
            Kept::Memory(memory) => &**memory,
            Kept::Shared(_) => unreachable!("a layer with a shared backend decides asynchronously"),
        }
    }

    /// Gives back what a request was charged that is dropped in the queue, where that needs no waiting.
    pub(crate) fn give_back(&self, outcome: &Outcome) {
        for (ask, level) in outcome.asks.as_slice().iter().zip(outcome.levels.as_slice()) {
            if let Kept::Memory(memory) = &self.kept[ask.policy] {
                self.refund_memory(&**memory, ask, ask.cost, outcome.at().map(|at| (at, level.decision)));
            }
        }
    }

    /// Gives back units of what was decided at a time. A place in a queue is given back only if it is the last one: the
    /// core takes the last one away, and whoever came next would have the turn of somebody who waits.
    pub(super) fn refund_memory(&self, memory: &dyn Memory, ask: &Ask, units: u64, decided: Option<(Nanos, Decision)>) {
        if !self.is_queue(ask.policy) {
            return memory.refund(ask.key.as_bytes(), units);
        }
        let _locked = self.stripes.lock(std::slice::from_ref(ask));
        if decided.is_some_and(|(at, decision)| self.is_last(memory, ask, at, decision)) {
            memory.refund(ask.key.as_bytes(), units);
        }
    }

    #[inline]
    pub(super) fn is_queue(&self, policy: usize) -> bool {
        matches!(self.rules[policy], Rule::LeakyBucket(_))
    }

    /// Whether nobody has joined the queue since: its end is where the decision made it.
    fn is_last(&self, memory: &dyn Memory, ask: &Ask, at: Nanos, decision: Decision) -> bool {
        let now = self.clock.now();
        let end = |since: Nanos, decision| numbers(&decision).map(|(_, reset_after)| since.saturating_add(reset_after));
        end(now, memory.peek(ask.key.as_bytes(), now, 0)) == end(at, decision)
    }

    /// Decides one policy, and joins no queue whose turn comes too late.
    pub(super) fn check_memory(&self, memory: &dyn Memory, ask: &Ask, now: Nanos) -> Decision {
        let key = ask.key.as_bytes();
        if !self.is_queue(ask.policy) {
            return memory.check(key, now, ask.cost);
        }
        let _locked = self.stripes.lock(std::slice::from_ref(ask));
        let peeked = self.bounded(memory.peek(key, now, ask.cost));
        if peeked.is_allowed() { memory.check(key, now, ask.cost) } else { peeked }
    }

    /// The clients that the policies keep in memory.
    pub(crate) fn clients(&self) -> Vec<(&str, usize)> {
        let named = self.limits.iter().zip(&self.kept);
        named
            .filter_map(|(limit, kept)| match kept {
                Kept::Memory(memory) => Some((limit.name.as_str(), memory.clients())),
                Kept::Shared(_) => None,
            })
            .collect()
    }
}
