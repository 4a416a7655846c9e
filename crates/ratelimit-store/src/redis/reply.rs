//! From the integers of a script to a decision.

use ratelimit_core::{Decision, Nanos};
use redis::Value;

use super::error::SharedError;
use crate::lease::Grant;

/// Reads what `decide`, `peek` and `take` return.
pub(crate) fn decision(value: &Value) -> Result<Grant, SharedError> {
    let unexpected = || SharedError::Reply { found: format!("{value:?}") };
    let numbers = integers(value).ok_or_else(unexpected)?;
    match numbers[..] {
        [1, remaining, reset, delay_micros, delay_nanos, charged] => {
            let delay = Nanos::from_micros(delay_micros).saturating_add(Nanos::new(delay_nanos));
            let decision = Decision::Allowed { remaining, reset_after: Nanos::from_micros(reset), delay };
            Ok(Grant { units: charged, decision })
        }
        [0, remaining, reset, retry] => {
            let decision = Decision::Denied {
                retry_after: Nanos::from_micros(retry),
                remaining,
                reset_after: Nanos::from_micros(reset),
            };
            Ok(Grant { decision, units: 0 })
        }
        _ => Err(unexpected()),
    }
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
    fn waits_are_microseconds_and_delays_finer() {
        let reply = decision(&array(&[1, 4, 5, 6, 7, 2])).unwrap();
        let expected = Decision::Allowed { remaining: 4, reset_after: Nanos::new(5000), delay: Nanos::new(6007) };
        assert_eq!(reply, Grant { decision: expected, units: 2 });
        let reply = decision(&array(&[0, 4, 5, 6])).unwrap();
        let expected = Decision::Denied { retry_after: Nanos::new(6000), remaining: 4, reset_after: Nanos::new(5000) };
        assert_eq!(reply, Grant { decision: expected, units: 0 });
    }

    #[test]
    fn anything_else_is_an_error_that_shows_it() {
        for bad in [array(&[]), array(&[2, 0, 0, 0]), array(&[0, -1, 0, 0]), Value::Nil, Value::Int(1)] {
            let text = decision(&bad).unwrap_err().to_string();
            assert!(text.contains(&format!("{bad:?}")), "{text}");
        }
        assert!(done(&array(&[1])).is_ok() && done(&array(&[0])).is_err());
    }
}
