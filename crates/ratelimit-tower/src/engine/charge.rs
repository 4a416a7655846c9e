//! Costs that are known only afterwards.

use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::sync::Arc;
use std::task::Poll;

use http::{Extensions, Response, StatusCode};
use ratelimit_core::Nanos;

use super::{Engine, Kept};
use crate::ask::{Answer, Ask, Outcome};
use crate::few::Few;
use crate::headers::Level;
use crate::store::{Boxed, Unavailable, numbers};

/// What a request has really cost, put by the handler into the extensions of its response. The policies named here are
/// corrected from what was charged in advance to this, up or down, before the fields are written. A layer takes out what
/// concerns it and leaves the rest to the layers around it, so what is left outside of all of them names no policy that
/// was asked.
///
/// Charge an estimate in advance ([`Limit::cost`](crate::Limit::cost)): a client that goes away before the response has
/// come is charged no more than that.
///
/// ```
/// # use http::Response;
/// # use ratelimit_tower::ActualCost;
/// let mut response = Response::new(());
/// response.extensions_mut().insert(ActualCost::of("tokens", 1234));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActualCost(Vec<(String, u64)>);

impl ActualCost {
    /// So many units of this policy.
    pub fn of(limit: impl Into<String>, units: u64) -> ActualCost {
        ActualCost::default().and(limit, units)
    }

    /// And so many of that one.
    #[must_use]
    pub fn and(mut self, limit: impl Into<String>, units: u64) -> ActualCost {
        self.0.push((limit.into(), units));
        self
    }

    /// The policies that are named, and their units.
    pub fn costs(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, units)| (name.as_str(), *units))
    }

    fn units_of(&self, limit: &str) -> Option<u64> {
        self.costs().find(|(name, _)| *name == limit).map(|(_, units)| units)
    }

    /// Takes out what it says of these policies.
    fn take(&mut self, is_ours: impl Fn(&str) -> bool) -> ActualCost {
        let (ours, others) = mem::take(&mut self.0).into_iter().partition(|(name, _)| is_ours(name));
        self.0 = others;
        ActualCost(ours)
    }
}

/// A correction of what one policy was charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Correction {
    Charge(u64),
    Refund(u64),
}

impl Correction {
    fn is_refund(self) -> bool {
        matches!(self, Correction::Refund(_))
    }
}

/// How the cost charged becomes the cost known now: `None` where they agree.
fn correction(charged: u64, actual: u64) -> Option<Correction> {
    match actual.checked_sub(charged) {
        Some(0) => None,
        Some(more) => Some(Correction::Charge(more)),
        None => Some(Correction::Refund(charged - actual)),
    }
}

impl Engine {
    /// The corrections that a response asks for: by its status, and by what the handler says it cost.
    fn corrections(&self, outcome: &Outcome, status: StatusCode, actual: &ActualCost) -> Vec<(usize, Correction)> {
        let refunded = self.settings.refund.as_ref().is_some_and(|refund| refund(status));
        let corrected = |ask: &Ask| {
            let said = actual.units_of(&self.limits[ask.policy].name);
            correction(ask.cost, said.unwrap_or(if refunded { 0 } else { ask.cost }))
        };
        let now = self.clock.now();
        let asked = outcome.asks.as_slice().iter().zip(outcome.levels.as_slice()).enumerate();
        asked
            .filter_map(|(place, (ask, level))| Some((place, corrected(ask)?, level)))
            .filter(|(_, correction, level)| !correction.is_refund() || still_counts(outcome, level, now))
            .map(|(place, correction, _)| (place, correction))
            .collect()
    }

    /// What must be corrected, if anything. A request that passed only because the layer is in shadow mode was charged
    /// nothing, as it would not have been served at all.
    #[inline]
    pub(crate) fn settlement<B>(self: &Arc<Self>, outcome: &Outcome, response: &mut Response<B>) -> Option<Settlement> {
        let said = self.said(outcome.asks.as_slice(), response.extensions_mut());
        let was_charged = matches!(outcome.answer, Answer::Pass { .. });
        if !was_charged || (said.is_none() && self.settings.refund.is_none()) {
            return None;
        }
        let corrections = self.corrections(outcome, response.status(), &said.unwrap_or_default());
        if corrections.is_empty() {
            return None;
        }
        let (engine, asks, levels) = (Arc::clone(self), outcome.asks.clone(), outcome.levels.clone());
        Some(Settlement { engine, asks, levels, at: outcome.at(), corrections })
    }

    /// What the handler said of our policies. What it said of others stays, for the layers around this one.
    fn said(&self, asks: &[Ask], extensions: &mut Extensions) -> Option<ActualCost> {
        let mut actual = extensions.remove::<ActualCost>()?;
        let ours = actual.take(|name| asks.iter().any(|ask| self.limits[ask.policy].name == name));
        if !actual.0.is_empty() {
            extensions.insert(actual);
        }
        Some(ours)
    }
}

/// Whether some of what a request was charged is still counted. Once all that was used then has aged, there is nothing
/// to give back but what others have used since.
fn still_counts(outcome: &Outcome, level: &Level, now: Nanos) -> bool {
    numbers(&level.decision).is_some_and(|(_, reset_after)| now < outcome.begun.saturating_add(reset_after))
}

/// Corrections that are to be made.
pub(crate) struct Settlement {
    engine: Arc<Engine>,
    asks: Few<Ask>,
    levels: Few<Level>,
    at: Option<Nanos>,
    corrections: Vec<(usize, Correction)>,
}

impl Settlement {
    /// Makes them, and reads what is left. In memory nothing has to be waited for.
    pub(crate) async fn settle(self) -> Result<Few<Level>, Unavailable> {
        all(self.begin()).await?;
        let asks = self.asks.as_slice();
        let mut levels = Vec::with_capacity(asks.len());
        for ask in asks {
            levels.push(self.engine.idle_level(ask).await?);
        }
        Ok(levels.into_iter().collect())
    }

    /// Makes the corrections in memory, and hands out those of shared backends.
    fn begin(&self) -> Vec<Boxed<Result<(), Unavailable>>> {
        let mut pending = Vec::new();
        for (place, correction) in &self.corrections {
            let ask = &self.asks.as_slice()[*place];
            let key = ask.key.as_bytes();
            match (&self.engine.kept[ask.policy], *correction) {
                (Kept::Memory(memory), Correction::Charge(units)) => memory.charge(key, self.engine.clock.now(), units),
                (Kept::Memory(memory), Correction::Refund(units)) => {
                    let decided = self.at.map(|at| (at, self.levels.as_slice()[*place].decision));
                    self.engine.refund_memory(&**memory, ask, units, decided);
                }
                (Kept::Shared(shared), Correction::Charge(units)) => pending.push(shared.charge(key, units)),
                (Kept::Shared(shared), Correction::Refund(units)) => pending.push(shared.refund(key, units)),
            }
        }
        pending
    }
}

/// Waits for all, and returns the first error. All are begun at once: neither one that fails nor a client that goes away
/// meanwhile keeps the others from being asked for.
async fn all(mut pending: Vec<Boxed<Result<(), Unavailable>>>) -> Result<(), Unavailable> {
    let mut failed = None;
    poll_fn(|context| {
        pending.retain_mut(|one| match one.as_mut().poll(context) {
            Poll::Ready(answer) => {
                failed = failed.take().or(answer.err());
                false
            }
            Poll::Pending => true,
        });
        if pending.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    failed.map_or(Ok(()), Err)
}

/// Charges a request's client later: when a stream has ended, say. A layer built with
/// [`charge_handles`](crate::Builder::charge_handles) puts one into the extensions of each request.
#[derive(Clone)]
pub struct ChargeHandle {
    engine: Arc<Engine>,
    asks: Arc<[Ask]>,
    /// False where the request passes in shadow mode alone: it would not have been served, and costs nothing.
    counts: bool,
}

impl ChargeHandle {
    pub(crate) fn new(engine: &Arc<Engine>, outcome: &Outcome) -> ChargeHandle {
        let counts = matches!(outcome.answer, Answer::Pass { .. });
        ChargeHandle { engine: Arc::clone(engine), asks: outcome.asks.as_slice().into(), counts }
    }

    /// Charges `units` more to the client under this policy, whatever the limit: what exceeds it is debt. In memory the
    /// future is ready at once.
    pub async fn charge(&self, limit: &str, units: u64) -> Result<(), ChargeError> {
        let asked = |ask: &&Ask| self.engine.limits[ask.policy].name == limit;
        let ask = self.asks.iter().find(asked).ok_or(ChargeError::UnknownLimit)?;
        if !self.counts {
            return Ok(());
        }
        self.engine.charge(ask, units).await.map_err(ChargeError::Unavailable)
    }
}

impl fmt::Debug for ChargeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChargeHandle").finish_non_exhaustive()
    }
}

/// Why a later charge was not made.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChargeError {
    /// The layer has no policy of that name, or it did not apply to the request.
    UnknownLimit,
    /// The shared backend failed.
    Unavailable(Unavailable),
}

impl fmt::Display for ChargeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChargeError::UnknownLimit => f.write_str("no policy of this name was asked about the request"),
            ChargeError::Unavailable(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ChargeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correction_is_the_difference() {
        assert_eq!(correction(1, 1), None);
        assert_eq!(correction(1, 5), Some(Correction::Charge(4)));
        assert_eq!(correction(5, 1), Some(Correction::Refund(4)));
        assert_eq!(correction(u64::MAX, 0), Some(Correction::Refund(u64::MAX)));
    }
}
