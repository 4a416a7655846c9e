//! Policies of which some are kept in a shared backend. Those that one backend can decide together are one step: all are
//! charged, or none. The others are asked one after another, and given back if a later one refuses; between the two, another
//! server may see the charge: a moment in which the limit is a little too strict.

use ratelimit_core::{Decision, Nanos};

use super::{Engine, Kept, answer};
use crate::ask::{Ask, Outcome};
use crate::few::Few;
use crate::headers::{Level, Partition, View};
use crate::store::{Boxed, Unavailable, next_unit, numbers};

/// What one policy has said of a request so far.
#[derive(Debug, Clone, Copy)]
enum Said {
    /// It has not been asked.
    Nothing,
    /// It allows, and has been charged, at this time on this server's clock, which is that of the policies in memory.
    Charged(Decision, Nanos),
    /// It would have allowed what another refused in the same step: what is there, with nothing charged.
    Idle(Decision),
    Refused(Decision),
}

/// What is asked at a time.
enum Step {
    One(usize),
    /// Policies that their backend decides in one step.
    Together(Vec<usize>, Boxed<Result<Vec<Decision>, Unavailable>>),
}

impl Said {
    fn decision(&self) -> Option<Decision> {
        match *self {
            Said::Nothing => None,
            Said::Charged(decision, _) | Said::Idle(decision) | Said::Refused(decision) => Some(decision),
        }
    }
}

impl Engine {
    pub(super) async fn decide_shared(
        &self,
        asks: Few<Ask>,
        partitions: Box<[Partition]>,
    ) -> Result<Outcome, Unavailable> {
        let begun = self.clock.now();
        let mut said = vec![Said::Nothing; asks.as_slice().len()];
        for step in self.steps(asks.as_slice()) {
            let refused = match self.ask(asks.as_slice(), step, &mut said).await {
                Ok(allowed) => !allowed,
                Err(error) => {
                    self.refund_all(asks.as_slice(), &said).await;
                    return Err(error);
                }
            };
            if refused {
                self.refund_all(asks.as_slice(), &said).await;
                return Ok(self.refused(asks, &said, partitions, begun).await);
            }
        }
        // All of them have allowed.
        let decisions: Vec<Decision> = said.iter().filter_map(Said::decision).collect();
        let mut levels = Vec::with_capacity(decisions.len());
        for (ask, decision) in asks.as_slice().iter().zip(&decisions) {
            levels.push(self.level_of(ask, *decision).await);
        }
        let answer = answer(decisions.into_iter());
        Ok(Outcome { asks, levels: levels.into_iter().collect(), partitions, answer, begun, is_local: false })
    }

    /// Which policies are asked at a time, and in which order.
    fn steps(&self, asks: &[Ask]) -> Vec<Step> {
        let order = self.order(asks);
        let (joined, others): (Vec<usize>, Vec<usize>) = order.iter().partition(|place| self.is_joined(&asks[**place]));
        let Some(call) = self.together(asks, &joined) else { return order.into_iter().map(Step::One).collect() };
        let (queues, memory): (Vec<usize>, Vec<usize>) =
            others.iter().partition(|place| self.is_queue(asks[**place].policy));
        let together = [Step::Together(joined, call)];
        memory.into_iter().map(Step::One).chain(together).chain(queues.into_iter().map(Step::One)).collect()
    }

    /// Whether it may be asked together with others. Queues are not: a turn that comes too late is refused here, which the
    /// backend knows nothing of.
    fn is_joined(&self, ask: &Ask) -> bool {
        !self.is_queue(ask.policy) && matches!(self.kept[ask.policy], Kept::Shared(_))
    }

    /// One call for all of these, if they are several and their backend has one.
    fn together(&self, asks: &[Ask], places: &[usize]) -> Option<Boxed<Result<Vec<Decision>, Unavailable>>> {
        let part = |place: &usize| match &self.kept[asks[*place].policy] {
            Kept::Shared(shared) => Some((&**shared, asks[*place].key.as_bytes(), asks[*place].cost)),
            Kept::Memory(_) => None,
        };
        let parts: Vec<_> = places.iter().map_while(part).collect();
        match &parts[..] {
            [(first, ..), _, ..] => first.check_all(&parts),
            _ => None,
        }
    }

    /// Asks the policies of one step, notes what they say, and returns whether they allow.
    async fn ask(&self, asks: &[Ask], step: Step, said: &mut [Said]) -> Result<bool, Unavailable> {
        let now = self.clock.now();
        let (places, decisions) = match step {
            Step::One(place) => (vec![place], vec![self.check(&asks[place], now).await?]),
            Step::Together(places, call) => (places, call.await?),
        };
        if decisions.len() != places.len() {
            return Err(Unavailable("a backend did not answer for each limit".into()));
        }
        let allowed = decisions.iter().all(Decision::is_allowed);
        for (place, decision) in places.into_iter().zip(decisions) {
            said[place] = match decision {
                Decision::Allowed { .. } if allowed => Said::Charged(decision, now),
                Decision::Allowed { .. } => Said::Idle(decision),
                Decision::Denied { .. } | Decision::Never { .. } => Said::Refused(decision),
            };
        }
        Ok(allowed)
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
    async fn refused(&self, asks: Few<Ask>, said: &[Said], partitions: Box<[Partition]>, begun: Nanos) -> Outcome {
        let (mut levels, mut shown) = (Vec::with_capacity(said.len()), Vec::with_capacity(partitions.len()));
        for (place, (ask, said)) in asks.as_slice().iter().zip(said).enumerate() {
            if let Ok(level) = self.level_beside(ask, *said).await {
                levels.push(level);
                shown.extend(partitions.get(place).cloned());
            }
        }
        let answer = answer(levels.iter().map(|level: &Level| level.decision));
        Outcome { asks, levels: levels.into_iter().collect(), partitions: shown.into(), answer, begun, is_local: false }
    }

    /// The level of a policy in a request that some policy refused.
    async fn level_beside(&self, ask: &Ask, said: Said) -> Result<Level, Unavailable> {
        let decision = match said {
            Said::Refused(decision) | Said::Idle(decision) => decision,
            Said::Charged(..) => self.peek(ask, 0).await?,
            // Of those that were not asked, some may refuse too.
            Said::Nothing => match self.bounded(self.peek(ask, ask.cost).await?) {
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
    async fn refund_all(&self, asks: &[Ask], said: &[Said]) {
        for (ask, said) in asks.iter().zip(said) {
            let Said::Charged(decision, at) = *said else { continue };
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
    /// never too early, as it does while the backend fails. Of a refusal for ever nothing is known while it fails.
    async fn level_of(&self, ask: &Ask, decision: Decision) -> Level {
        let (rule, rate) = (&self.rules[ask.policy], self.stated[ask.policy].rate);
        let known = match numbers(&decision) {
            Some(known) => Some(known),
            None => self.peek(ask, 0).await.ok().and_then(|idle| numbers(&idle)),
        };
        let Some((remaining, reset_after)) = known else { return Level::unknown(ask.policy, ask.cost, decision) };
        let next_unit = match (next_unit(rule, rate, remaining, reset_after), decision) {
            (Some(next), _) => next,
            (None, Decision::Denied { retry_after, .. }) if remaining == 0 && ask.cost == 1 => retry_after,
            (None, _) if remaining == 0 => {
                let next = self.peek(ask, 1).await;
                next.map_or(reset_after, |next| next.retry_after().unwrap_or(Nanos::ZERO))
            }
            (None, _) => reset_after,
        };
        let view = View { decision, remaining, next_unit };
        Level::new(ask.policy, rate, ask.cost, &view)
    }
}
