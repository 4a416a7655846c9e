//! Costs that are known only afterwards.

use std::fmt;
use std::sync::Arc;

use http::StatusCode;

use super::Engine;
use crate::ask::{Ask, Outcome};
use crate::few::Few;
use crate::headers::Level;
use crate::store::Unavailable;

/// What a request has really cost, put by the handler into the extensions of its response. The policies named here are
/// corrected from what was charged in advance to this, up or down, before the fields are written.
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

    fn units_of(&self, limit: &str) -> Option<u64> {
        self.0.iter().find(|(name, _)| name == limit).map(|(_, units)| *units)
    }
}

/// A correction of what one policy was charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Correction {
    Charge(u64),
    Refund(u64),
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
    fn corrections(&self, asks: &[Ask], status: StatusCode, actual: Option<&ActualCost>) -> Vec<(usize, Correction)> {
        let refunded = self.settings.refund.as_ref().is_some_and(|refund| refund(status));
        let corrected = |ask: &Ask| {
            let said = actual.and_then(|actual| actual.units_of(&self.limits[ask.policy].name));
            correction(ask.cost, said.unwrap_or(if refunded { 0 } else { ask.cost }))
        };
        asks.iter().enumerate().filter_map(|(i, ask)| Some((i, corrected(ask)?))).collect()
    }

    /// What must be corrected, if anything.
    pub(crate) fn settlement(
        self: &Arc<Self>,
        outcome: &Outcome,
        status: StatusCode,
        actual: Option<&ActualCost>,
    ) -> Option<Settlement> {
        if actual.is_none() && self.settings.refund.is_none() {
            return None;
        }
        let corrections = self.corrections(outcome.asks.as_slice(), status, actual);
        if corrections.is_empty() {
            return None;
        }
        Some(Settlement { engine: Arc::clone(self), asks: outcome.asks.clone(), corrections })
    }
}

/// Corrections that are to be made.
pub(crate) struct Settlement {
    engine: Arc<Engine>,
    asks: Few<Ask>,
    corrections: Vec<(usize, Correction)>,
}

impl Settlement {
    /// Makes them. In memory nothing has to be waited for.
    pub(crate) async fn settle(self) -> Result<Few<Level>, Unavailable> {
        let asks = self.asks.as_slice();
        for (place, correction) in &self.corrections {
            match correction {
                Correction::Charge(units) => self.engine.charge(&asks[*place], *units).await?,
                Correction::Refund(units) => self.engine.refund(&asks[*place], *units).await?,
            }
        }
        let mut levels = Vec::with_capacity(asks.len());
        for ask in asks {
            levels.push(self.engine.idle_level(ask).await?);
        }
        Ok(levels.into_iter().collect())
    }
}

/// Charges a request's client later: when a stream has ended, say. A layer built with
/// [`charge_handles`](crate::Builder::charge_handles) puts one into the extensions of each request.
#[derive(Clone)]
pub struct ChargeHandle {
    engine: Arc<Engine>,
    asks: Arc<[Ask]>,
}

impl ChargeHandle {
    pub(crate) fn new(engine: &Arc<Engine>, asks: &[Ask]) -> ChargeHandle {
        ChargeHandle { engine: Arc::clone(engine), asks: asks.into() }
    }

    /// Charges `units` more to the client under this policy, whatever the limit: what exceeds it is debt. In memory the
    /// future is ready at once.
    pub async fn charge(&self, limit: &str, units: u64) -> Result<(), ChargeError> {
        let asked = |ask: &&Ask| self.engine.limits[ask.policy].name == limit;
        let ask = self.asks.iter().find(asked).ok_or(ChargeError::UnknownLimit)?;
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
