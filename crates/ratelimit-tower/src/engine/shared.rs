//! Policies of which some are kept in a shared backend: asked one after another, and given back if a later one refuses.
//! Between the two, another server may see the charge: a moment in which the limit is a little too strict.

use ratelimit_core::{Decision, Nanos};

use super::{Engine, Kept, answer};
use crate::ask::{Ask, Outcome};
use crate::few::Few;
use crate::headers::{Level, Partition, View};
use crate::store::{Unavailable, next_unit, numbers};

impl Engine {
    pub(super) async fn decide_shared(
        &self,
        asks: Few<Ask>,
        partitions: Vec<Partition>,
    ) -> Result<Outcome, Unavailable> {
        let mut decisions: Vec<Decision> = Vec::new();
        for ask in asks.as_slice() {
            let decision = self.check(ask).await;
            let decision = match decision {
                Ok(decision) => decision,
                Err(error) => {
                    self.refund_all(&asks.as_slice()[..decisions.len()]).await;
                    return Err(error);
                }
            };
            decisions.push(decision);
            if !decision.is_allowed() {
                self.refund_all(&asks.as_slice()[..decisions.len() - 1]).await;
                return self.refused(asks, &decisions, partitions).await;
            }
        }
        let mut levels = Vec::with_capacity(decisions.len());
        for (ask, decision) in asks.as_slice().iter().zip(&decisions) {
            levels.push(self.level_of(ask, *decision).await?);
        }
        let answer = answer(decisions.into_iter());
        Ok(Outcome { asks, levels: levels.into_iter().collect(), partitions, answer, at: None })
    }

    /// The last decision refused. The earlier ones have been given back; they and those that were not asked say what is
    /// left.
    async fn refused(
        &self,
        asks: Few<Ask>,
        decisions: &[Decision],
        partitions: Vec<Partition>,
    ) -> Result<Outcome, Unavailable> {
        let mut levels = Vec::with_capacity(asks.as_slice().len());
        for (i, ask) in asks.as_slice().iter().enumerate() {
            let decision = match decisions.get(i).filter(|decision| !decision.is_allowed()) {
                Some(decision) => *decision,
                // Of those that were not asked, some may refuse too.
                None if i >= decisions.len() => match self.bounded(self.peek(ask, ask.cost).await?) {
                    Decision::Allowed { .. } => self.peek(ask, 0).await?,
                    refused => refused,
                },
                None => self.peek(ask, 0).await?,
            };
            levels.push(self.level_of(ask, decision).await?);
        }
        let answer = answer(levels.iter().map(|level: &Level| level.decision));
        Ok(Outcome { asks, levels: levels.into_iter().collect(), partitions, answer, at: None })
    }

    /// Decides one policy; a queue whose turn comes too late is left again.
    async fn check(&self, ask: &Ask) -> Result<Decision, Unavailable> {
        let key = ask.key.as_bytes();
        let decision = match &self.kept[ask.policy] {
            Kept::Memory(memory) => memory.check(key, self.clock.now(), ask.cost),
            Kept::Shared(shared) => shared.check(key, ask.cost).await?,
        };
        let bounded = self.bounded(decision);
        if decision.is_allowed() && !bounded.is_allowed() {
            self.refund(ask, ask.cost).await?;
        }
        Ok(bounded)
    }

    async fn peek(&self, ask: &Ask, cost: u64) -> Result<Decision, Unavailable> {
        match &self.kept[ask.policy] {
            Kept::Memory(memory) => Ok(memory.peek(ask.key.as_bytes(), self.clock.now(), cost)),
            Kept::Shared(shared) => shared.peek(ask.key.as_bytes(), cost).await,
        }
    }

    pub(super) async fn charge(&self, ask: &Ask, cost: u64) -> Result<(), Unavailable> {
        match &self.kept[ask.policy] {
            Kept::Memory(memory) => memory.charge(ask.key.as_bytes(), self.clock.now(), cost),
            Kept::Shared(shared) => shared.charge(ask.key.as_bytes(), cost).await?,
        }
        Ok(())
    }

    pub(super) async fn refund(&self, ask: &Ask, cost: u64) -> Result<(), Unavailable> {
        match &self.kept[ask.policy] {
            Kept::Memory(memory) => memory.refund(ask.key.as_bytes(), cost),
            Kept::Shared(shared) => shared.refund(ask.key.as_bytes(), cost).await?,
        }
        Ok(())
    }

    /// Gives back what it can: a backend that fails here has failed on the safe side.
    async fn refund_all(&self, asks: &[Ask]) {
        for ask in asks {
            let _safe = self.refund(ask, ask.cost).await;
        }
    }

    /// The level of a policy with nothing asked of it.
    pub(super) async fn idle_level(&self, ask: &Ask) -> Result<Level, Unavailable> {
        self.level_of(ask, self.peek(ask, 0).await?).await
    }

    /// As in memory, but for the time to the next unit where it depends on the client's history: then another question
    /// is asked only with nothing left, and otherwise the time until everything is there stands in for it, which is
    /// never too early.
    async fn level_of(&self, ask: &Ask, decision: Decision) -> Result<Level, Unavailable> {
        let (rule, rate) = (&self.rules[ask.policy], self.stated[ask.policy].rate);
        let known = match numbers(&decision) {
            Some(known) => known,
            None => numbers(&self.peek(ask, 0).await?).unwrap_or((0, Nanos::ZERO)),
        };
        let (remaining, reset_after) = known;
        let next_unit = match next_unit(rule, rate, remaining, reset_after) {
            Some(next) => next,
            None if remaining == 0 => self.peek(ask, 1).await?.retry_after().unwrap_or(Nanos::ZERO),
            None => reset_after,
        };
        let view = View { decision, remaining, next_unit };
        Ok(Level::new(ask.policy, rate, ask.cost, &view))
    }
}
