//! From the integers of a script to a decision.

use ratelimit_core::{Decision, Nanos};
use redis::Value;

use super::error::SharedError;
use crate::lease::Grant;

/// How finely the waits are told until the server would decide otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// By the server's clock: whole microseconds, rounded up.
    Ticks,
    /// Exactly.
    Nanos,
}

/// Reads what `decide`, `peek` and `take` return.
pub(crate) fn decision(value: &Value, waits: Waits) -> Result<Grant, SharedError> {
    let unexpected = || SharedError::Reply { found: format!("{value:?}") };
    let wait = |micros, late| exact(micros, if waits == Waits::Ticks { 0 } else { late });
    let numbers = integers(value).ok_or_else(unexpected)?;
    match numbers[..] {
        [1, remaining, reset, reset_late, delay, delay_late, charged] => {
            let reset_after = wait(reset, reset_late);
            let decision = Decision::Allowed { remaining, reset_after, delay: exact(delay, delay_late) };
            Ok(Grant { units: charged, decision })
        }
        [0, remaining, reset, reset_late, retry, retry_late] => {
            let (retry_after, reset_after) = (wait(retry, retry_late), wait(reset, reset_late));
            Ok(Grant { units: 0, decision: Decision::Denied { retry_after, remaining, reset_after } })
        }
        _ => Err(unexpected()),
    }
}

/// A duration of the scripts.
fn exact(micros: u64, late_nanos: u64) -> Nanos {
    Nanos::from_micros(micros).saturating_sub(Nanos::new(late_nanos))
}

/// Reads what `charge` and `refund` return.
pub(crate) fn done(value: &Value) -> Result<(), SharedError> {
    match integers(value).as_deref() {
        Some([1]) => Ok(()),
        _ => Err(SharedError::Reply { found: format!("{value:?}") }),
    }
}

fn integers(value: &Value) -> Option<Vec<u64>> {
    let Value::Array(items) = value else { return None };
    items
        .iter()
        .map(|item| match item {
            Value::Int(number) => u64::try_from(*number).ok(),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(numbers: &[i64]) -> Value {
        Value::Array(numbers.iter().map(|&number| Value::Int(number)).collect())
    }

    #[test]
    fn waits_are_told_in_ticks_or_exactly_and_delays_exactly() {
        let allowed =
            |reset, delay| Decision::Allowed { remaining: 4, reset_after: Nanos::new(reset), delay: Nanos::new(delay) };
        let reply = array(&[1, 4, 5, 999, 6, 3, 2]);
        let grant = |decision| Grant { units: 2, decision };
        assert_eq!(decision(&reply, Waits::Ticks).unwrap(), grant(allowed(5000, 5997)));
        assert_eq!(decision(&reply, Waits::Nanos).unwrap(), grant(allowed(4001, 5997)));

        let denied = |reset, retry| Decision::Denied {
            retry_after: Nanos::new(retry),
            remaining: 4,
            reset_after: Nanos::new(reset),
        };
        let reply = array(&[0, 4, 5, 1, 6, 2]);
        let grant = |decision| Grant { units: 0, decision };
        assert_eq!(decision(&reply, Waits::Ticks).unwrap(), grant(denied(5000, 6000)));
        assert_eq!(decision(&reply, Waits::Nanos).unwrap(), grant(denied(4999, 5998)));
    }

    #[test]
    fn anything_else_is_an_error_that_shows_it() {
        for bad in [array(&[]), array(&[2, 0, 0, 0]), array(&[0, -1, 0, 0]), Value::Nil, Value::Int(1)] {
            let text = decision(&bad, Waits::Ticks).unwrap_err().to_string();
            assert!(text.contains(&format!("{bad:?}")), "{text}");
        }
        assert!(done(&array(&[1])).is_ok() && done(&array(&[0])).is_err());
    }
}
