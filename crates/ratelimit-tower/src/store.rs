//! Where the clients of a policy are kept: in memory, or in a backend that servers share.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use ratelimit_core::{Algorithm, Decision, Nanos, Rule};
use ratelimit_store::{Backend, Clock, Fingerprint, KeyForm, KeyedLimiter};

use crate::headers::View;
use crate::rate::Rate;

/// A future of whatever type.
pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// There is no answer: the shared backend failed.
#[derive(Debug)]
pub struct Unavailable(pub(crate) Box<dyn std::error::Error + Send + Sync>);

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the shared limit cannot be asked: {}", self.0)
    }
}

impl std::error::Error for Unavailable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}

/// The clients of one policy in memory.
pub(crate) trait Memory: Send + Sync {
    fn check(&self, key: &[u8], now: Nanos, cost: u64) -> Decision;
    fn peek(&self, key: &[u8], now: Nanos, cost: u64) -> Decision;
    fn charge(&self, key: &[u8], now: Nanos, cost: u64);
    fn refund(&self, key: &[u8], cost: u64);
    fn clients(&self) -> usize;
}

impl<K: KeyForm, C: Clock> Memory for KeyedLimiter<Rule, K, C> {
    fn check(&self, key: &[u8], now: Nanos, cost: u64) -> Decision {
        self.check_n_at(key, now, cost)
    }

    fn peek(&self, key: &[u8], now: Nanos, cost: u64) -> Decision {
        self.peek_at(key, now, cost)
    }

    fn charge(&self, key: &[u8], now: Nanos, cost: u64) {
        self.charge_at(key, now, cost);
    }

    fn refund(&self, key: &[u8], cost: u64) {
        // What overflowed into the shared state stays used: the store says so, and it is the safe side.
        let _kept = KeyedLimiter::refund(self, key, cost);
    }

    fn clients(&self) -> usize {
        self.len()
    }
}

/// Fingerprints or whole keys, on any clock.
pub(crate) fn memory(rule: Rule, max_clients: usize, exact: bool, clock: Arc<dyn Clock>) -> Box<dyn Memory> {
    let builder = KeyedLimiter::<Rule, Fingerprint>::builder(rule).max_clients(max_clients).clock(clock);
    if exact { Box::new(builder.exact_keys().build()) } else { Box::new(builder.build()) }
}

/// The clients of one policy in a shared backend of whatever type.
pub(crate) trait Shared: Send + Sync {
    fn check(&self, key: &[u8], cost: u64) -> Boxed<Result<Decision, Unavailable>>;
    fn peek(&self, key: &[u8], cost: u64) -> Boxed<Result<Decision, Unavailable>>;
    fn charge(&self, key: &[u8], cost: u64) -> Boxed<Result<(), Unavailable>>;
    fn refund(&self, key: &[u8], cost: u64) -> Boxed<Result<(), Unavailable>>;
    /// All of `asked` in one step, as [`Backend::check_all`] does; `None` where they cannot be, being of other types than
    /// this one, say.
    fn check_all(&self, asked: &[(&dyn Shared, &[u8], u64)]) -> Option<Boxed<Result<Vec<Decision>, Unavailable>>>;
    fn as_any(&self) -> &dyn Any;
}

/// Forgets the types of a [`Backend`].
pub(crate) struct Remote<B>(pub(crate) B);

impl<B: Backend + 'static> Shared for Remote<B> {
    fn check(&self, key: &[u8], cost: u64) -> Boxed<Result<Decision, Unavailable>> {
        boxed(self.0.check_n(key, cost))
    }

    fn peek(&self, key: &[u8], cost: u64) -> Boxed<Result<Decision, Unavailable>> {
        boxed(self.0.peek(key, cost))
    }

    fn charge(&self, key: &[u8], cost: u64) -> Boxed<Result<(), Unavailable>> {
        boxed(self.0.charge(key, cost))
    }

    fn refund(&self, key: &[u8], cost: u64) -> Boxed<Result<(), Unavailable>> {
        boxed(self.0.refund(key, cost))
    }

    fn check_all(&self, asked: &[(&dyn Shared, &[u8], u64)]) -> Option<Boxed<Result<Vec<Decision>, Unavailable>>> {
        let mut inner = Vec::with_capacity(asked.len());
        for (shared, key, cost) in asked {
            inner.push((&shared.as_any().downcast_ref::<Self>()?.0, *key, *cost));
        }
        B::check_all(&inner).map(boxed)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn boxed<T, E>(future: impl Future<Output = Result<T, E>> + Send + 'static) -> Boxed<Result<T, Unavailable>>
where
    E: std::error::Error + Send + Sync + 'static,
{
    Box::pin(async { future.await.map_err(|error| Unavailable(Box::new(error))) })
}

/// What the fields need to know after `decision`; `peek` answers for a cost with nothing charged. Of a request that can
/// never fit they say what is there, as if nothing had been asked.
#[inline]
pub(crate) fn view(rule: &Rule, rate: Rate, decision: Decision, peek: impl Fn(u64) -> Decision) -> View {
    let (remaining, reset_after) = numbers(&decision).or_else(|| numbers(&peek(0))).unwrap_or((0, Nanos::ZERO));
    let next_unit = next_unit(rule, rate, remaining, reset_after)
        .or_else(|| peek(remaining.saturating_add(1)).retry_after())
        .unwrap_or(Nanos::ZERO);
    View { decision, remaining, next_unit }
}

/// What remains, and the time until all is there again.
#[inline]
pub(crate) fn numbers(decision: &Decision) -> Option<(u64, Nanos)> {
    match decision {
        Decision::Allowed { remaining, reset_after, .. } | Decision::Denied { remaining, reset_after, .. } => {
            Some((*remaining, *reset_after))
        }
        Decision::Never { .. } => None,
    }
}

/// The time until one unit more is there, where it follows from the time until all are: a window frees all at once,
/// and a bucket at its rate. `None` where it depends on the client's history.
#[inline]
pub(crate) fn next_unit(rule: &Rule, rate: Rate, remaining: u64, reset_after: Nanos) -> Option<Nanos> {
    match rule {
        Rule::FixedWindow(_) => Some(reset_after),
        Rule::TokenBucket(_) | Rule::LeakyBucket(_) => {
            let missing_later = rule.capacity().saturating_sub(remaining).saturating_sub(1);
            // Rounded down, so that the difference is never early.
            Some(reset_after.saturating_sub(rate.time_down(missing_later)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ratelimit_core::Policy;

    use super::*;

    /// What follows from the reset is what the core says when asked, to within the nanosecond of rounding.
    #[test]
    fn the_next_unit_is_the_cores() {
        for text in
            ["fixed-window:5/1m", "token-bucket:5/1m", "token-bucket:7/1m,burst=20", "leaky-bucket:3/1s,burst=9"]
        {
            let rule = text.parse::<Policy>().unwrap().rules()[0];
            let rate = Rate::of(rule.quota().unwrap());
            let mut state = rule.fresh();
            for step in 0..200u64 {
                let now = Nanos::new(step * 1_234_567_891);
                let cost = step % 3;
                let decision = rule.decide(&mut state, now, cost);
                let View { remaining, next_unit, .. } = view(&rule, rate, decision, |_| unreachable!());
                let asked = rule.peek(&state, now, remaining + 1).retry_after().unwrap_or(Nanos::ZERO);
                let early_or_late = next_unit.get().abs_diff(asked.get());
                assert!(early_or_late <= 1 && next_unit >= asked, "{text} at step {step}: {next_unit} {asked}");
            }
        }
    }
}
