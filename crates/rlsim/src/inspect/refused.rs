//! Requests that were already refused in the trace: then it shows what got through, not what was asked for.

use serde::Serialize;

use crate::trace::{Answers, Trace};

/// How many requests the trace itself shows as refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// The column that says so.
    pub column: String,
    /// Requests answered with 429, too many requests.
    pub too_many_requests: u64,
    /// Requests answered with 503, service unavailable.
    pub unavailable: u64,
    /// Requests answered with a throttling error of another name.
    pub throttled: u64,
}

impl Refused {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.too_many_requests.saturating_add(self.unavailable).saturating_add(self.throttled)
    }

    /// Each kind in words.
    pub(super) fn words(&self) -> String {
        let count = crate::report::count;
        if self.throttled > 0 {
            return format!("{} with a throttling error (column {})", count(self.throttled), self.column);
        }
        let (too_many, unavailable) = (count(self.too_many_requests), count(self.unavailable));
        format!("{too_many} with 429, {unavailable} with 503 (column {})", self.column)
    }
}

/// The refused requests of a trace that was read with these `answers` asked for; `None` where its input does not say.
pub fn refused(trace: &Trace, answers: &Answers) -> Option<Refused> {
    let found = trace.facts.answers.refused(answers)?;
    Some(Refused {
        column: found.column,
        too_many_requests: found.too_many_requests,
        unavailable: found.unavailable,
        throttled: found.throttled,
    })
}
