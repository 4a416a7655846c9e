//! The policy that most layers have: alone, in memory, for every request. What it takes is what a layer costs at least, so
//! that it has a way of its own, past all lists.

use super::{Begin, Engine, Kept, answer};
use crate::ask::{Ask, Outcome};
use crate::few::Few;
use crate::key::{ClientKey, Head};
use crate::limit::Limit;
use crate::store::Memory;

impl Engine {
    /// The layer's policy and its clients, if it is alone, decides at once, and shows no partitions.
    #[inline]
    pub(super) fn alone(&self) -> Option<(&Limit, &dyn Memory)> {
        match (&*self.limits, &*self.kept) {
            ([limit], [Kept::Memory(memory)])
                if limit.applies.is_none() && !self.settings.partition_key && !self.is_queue(0) =>
            {
                Some((limit, &**memory))
            }
            _ => None,
        }
    }

    /// As for several policies, in one step.
    #[inline]
    pub(super) fn begin_alone(&self, limit: &Limit, memory: &dyn Memory, head: &Head<'_>) -> Begin {
        let mut key = ClientKey::new(&self.secret);
        if let Err(error) = limit.key.extract(head, &mut key) {
            return self.unidentified(error);
        }
        let cost = limit.cost_of(head);
        let now = self.clock.now();
        let decision = memory.check(key.as_bytes(), now, cost);
        let ask = Ask { policy: 0, cost, key: key.stored() };
        let level = self.level(&ask, decision, now);
        Begin::Decided(Outcome {
            answer: answer([decision].into_iter()),
            asks: Few::One(ask),
            levels: Few::One(level),
            partitions: Box::default(),
            begun: now,
            is_local: true,
        })
    }
}
