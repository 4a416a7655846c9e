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
        partitions: Box<[Partition]>,
    ) -> Result<Outcome, Unavailable> {
        let begun = self.clock.now();
        // Each with the time on this server's clock, which is that of the policies in memory.
        let mut decisions: Vec<Option<(Decision, Nanos)>> = vec![None; asks.as_slice().len()];
        for place in self.order(asks.as_slice()) {
            let now = self.clock.now();
            let decision = self.check(&asks.as_slice()[place], now).await;
            if !decision.as_ref().is_ok_and(Decision::is_allowed) {
                self.refund_all(asks.as_slice(), &decisions).await;
            }
            let decision = decision?;
            decisions[place] = Some((decision, now));
            if !decision.is_allowed() {
                return Ok(self.refused(asks, &decisions, partitions, begun).await);
            }
        }
        // All of them have allowed.
        let decisions: Vec<Decision> = decisions.into_iter().flatten().map(|(decision, _)| decision).collect();
        let mut levels = Vec::with_capacity(decisions.len());
        for (ask, decision) in asks.as_slice().iter().zip(&decisions) {
            levels.push(self.level_of(ask, *decision).await);
        }
        let answer = answer(decisions.into_iter());
        Ok(Outcome { asks, levels: levels.into_iter().collect(), partitions, answer, begun, is_local: false })
    }

    /// The order in which policies are asked: memory first, as what it refuses is no load for the backend; but queues
    /// last, as a place in one cannot be given back once others stand behind it.
    fn order(&self, asks: &[Ask]) -> Vec<usize> {
        let mut places: Vec<usize> = (0..asks.len()).collect();
        let is_shared = |ask: &Ask| matches!(self.kept[ask.policy], Kept::Shared(_));
        places.sort_by_key(|place| (self.is_queue(asks[*place].policy), is_shared(&asks[*place])));
        places
    }

    /// One of the decisions refused. The earlier ones have been given back; they and those that were not asked say what
    /// is left. Of a backend that fails now the fields say nothing; the refusal stands.
    async fn refused(
        &self,
        asks: Few<Ask>,
        decisions: &[Option<(Decision, Nanos)>],
        partitions: Box<[Partition]>,
        begun: Nanos,
    ) -> Outcome {
        let (mut levels, mut shown) = (Vec::with_capacity(decisions.len()), Vec::with_capacity(partitions.len()));
        for (place, (ask, decision)) in asks.as_slice().iter().zip(decisions).enumerate() {
            if let Ok(level) = self.level_beside(ask, decision.map(|(decision, _)| decision)).await {
                levels.push(level);
                shown.extend(partitions.get(place).cloned());
            }
        }
        let answer = answer(levels.iter().map(|level: &Level| level.decision));
        Outcome { asks, levels: levels.into_iter().collect(), partitions: shown.into(), answer, begun, is_local: false }
    }

    /// The level of a policy in a request that some policy refused.
    async fn level_beside(&self, ask: &Ask, decision: Option<Decision>) -> Result<Level, Unavailable> {
        let decision = match decision {
            Some(decision) if !decision.is_allowed() => decision,
            Some(_) => self.peek(ask, 0).await?,
            // Of those that were not asked, some may refuse too.
            None => match self.bounded(self.peek(ask, ask.cost).await?) {
                Decision::Allowed { .. } => self.peek(ask, 0).await?,
                refused => refused,
            },
        };
        Ok(self.level_of(ask, decision).await)
    }

    /// Decides one policy; a queue whose turn comes too late is left again.
    async fn check(&self, ask: &Ask, now: Nanos) -> Result<Decision, Unavailable> {
        let shared = match &self.kept[ask.policy] {
            Kept::Memory(memory) => return Ok(self.check_memory(&**memory, ask, now)),
            Kept::Shared(shared) => shared,
        };
        let decision = shared.check(ask.key.as_bytes(), ask.cost).await?;
        let bounded = self.bounded(decision);
        if decision.is_allowed() && !bounded.is_allowed() {
            // A backend that fails here has failed on the safe side.
            let _safe = shared.refund(ask.key.as_bytes(), ask.cost).await;
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

    /// Gives back what has been charged, as far as it can: a backend that fails here has failed on the safe side.
    async fn refund_all(&self, asks: &[Ask], decisions: &[Option<(Decision, Nanos)>]) {
        for (ask, decision) in asks.iter().zip(decisions) {
            let Some((decision, at)) = *decision else { continue };
            match &self.kept[ask.policy] {
                Kept::Memory(memory) => self.refund_memory(&**memory, ask, ask.cost, Some((at, decision))),
                Kept::Shared(shared) => {
                    let _safe = shared.refund(ask.key.as_bytes(), ask.cost).await;
                }
            }
        }
    }

    /// The level of a policy with nothing asked of it.
    pub(super) async fn idle_level(&self, ask: &Ask) -> Result<Level, Unavailable> {
        Ok(self.level_of(ask, self.peek(ask, 0).await?).await)
    }

    /// As in memory, but for the time to the next unit where it depends on the client's history: then another question
    /// is asked only with nothing left, and otherwise the time until everything is there stands in for it, which is
    /// never too early, as it does while the backend fails.
    async fn level_of(&self, ask: &Ask, decision: Decision) -> Level {
        let (rule, rate) = (&self.rules[ask.policy], self.stated[ask.policy].rate);
        let known = match numbers(&decision) {
            Some(known) => known,
            None => self.peek(ask, 0).await.ok().and_then(|idle| numbers(&idle)).unwrap_or((0, Nanos::ZERO)),
        };
        let (remaining, reset_after) = known;
        let next_unit = match next_unit(rule, rate, remaining, reset_after) {
            Some(next) => next,
            None if remaining == 0 => {
                let next = self.peek(ask, 1).await;
                next.map_or(reset_after, |next| next.retry_after().unwrap_or(Nanos::ZERO))
            }
            None => reset_after,
        };
        let view = View { decision, remaining, next_unit };
        Level::new(ask.policy, rate, ask.cost, &view)
    }
}
