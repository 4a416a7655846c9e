//! Callers that hold themselves back, one throttle a group of clients: think of a group as the threads of one caller.
//!
//! | text | what it does |
//! |---|---|
//! | `budget:10%` | retries are at most so many percent of requests: past that, a refused request is given up |
//! | `adaptive:2` | attempts beyond so many times what was accepted lately fail at the caller, at random, unsent |
//!
//! Both are from "Handling Overload" (Site Reliability Engineering, 2016), which uses 10 % and 2.

use std::fmt;
use std::str::FromStr;

use crate::generate::random::Draws;

/// A caller's rule against overload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Throttle {
    /// Retries in percent of requests.
    Budget(u32),
    /// Attempts as a multiple of accepted ones.
    Adaptive(u32),
}

/// How long attempts count as "lately": between one and two of these, in nanoseconds.
const LATELY: u64 = 10_000_000_000;
/// The most retries that a budget saves up, in hundredths.
const SAVED: u64 = 1_000;

/// A throttle at work.
#[derive(Debug, Clone)]
pub(super) struct Brake {
    rule: Option<Throttle>,
    /// Retries in stock, in hundredths.
    stock: u64,
    /// Attempts and accepted ones, in this period and the one before.
    attempts: [u64; 2],
    accepts: [u64; 2],
    period: u64,
}

impl Brake {
    pub(super) fn new(rule: Option<Throttle>) -> Self {
        Brake { rule, stock: 0, attempts: [0; 2], accepts: [0; 2], period: 0 }
    }

    /// A request begins: a budget grows.
    pub(super) fn began(&mut self) {
        if let Some(Throttle::Budget(percent)) = self.rule {
            self.stock = (self.stock + u64::from(percent)).min(SAVED);
        }
    }

    /// Whether there may be one more retry; it is taken from the budget.
    pub(super) fn may_retry(&mut self) -> bool {
        match self.rule {
            Some(Throttle::Budget(_)) if self.stock < 100 => false,
            Some(Throttle::Budget(_)) => {
                self.stock -= 100;
                true
            }
            _ => true,
        }
    }

    /// Whether an attempt may be sent at `now`; it counts either way.
    ///
    /// The chance to fail is `max(0, (attempts - k * accepts) / (attempts + 1))`.
    pub(super) fn may_send(&mut self, now: u64, draws: &mut Draws) -> bool {
        let Some(Throttle::Adaptive(multiple)) = self.rule else { return true };
        self.turn(now);
        let attempts: u64 = self.attempts.iter().sum();
        let accepts: u64 = self.accepts.iter().sum();
        self.attempts[0] += 1;
        let beyond = attempts.saturating_sub(accepts.saturating_mul(u64::from(multiple)));
        draws.below(attempts + 1) >= beyond
    }

    /// The server did not refuse an attempt.
    pub(super) fn accepted(&mut self, now: u64) {
        if self.rule.is_some() {
            self.turn(now);
            self.accepts[0] += 1;
        }
    }

    /// Goes on to the period of `now`.
    fn turn(&mut self, now: u64) {
        let period = now / LATELY;
        match period - self.period {
            0 => return,
            1 => {
                self.attempts = [0, self.attempts[0]];
                self.accepts = [0, self.accepts[0]];
            }
            _ => (self.attempts, self.accepts) = ([0; 2], [0; 2]),
        }
        self.period = period;
    }
}

impl FromStr for Throttle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected budget:10% or adaptive:2, found `{text}`");
        if let Some(percent) = text.strip_prefix("budget:").and_then(|rest| rest.strip_suffix('%')) {
            return percent.parse().map(Throttle::Budget).map_err(|_| wrong());
        }
        let multiple = text.strip_prefix("adaptive:").and_then(|rest| rest.parse().ok());
        multiple.filter(|&multiple| multiple > 0).map(Throttle::Adaptive).ok_or_else(wrong)
    }
}

impl fmt::Display for Throttle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Throttle::Budget(percent) => write!(f, "budget:{percent}%"),
            Throttle::Adaptive(multiple) => write!(f, "adaptive:{multiple}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_allows_its_share_of_retries() {
        let mut brake = Brake::new(Some(Throttle::Budget(10)));
        let retries = (0..1000).filter(|_| {
            brake.began();
            brake.may_retry()
        });
        assert_eq!(retries.count(), 100);
        assert!(!brake.may_retry());
    }

    #[test]
    fn adaptive_throttling_sends_about_twice_what_is_accepted() {
        let mut brake = Brake::new(Some(Throttle::Adaptive(2)));
        let mut draws = Draws::new(1, 0);
        let mut sent = 0;
        for attempt in 0..20_000u64 {
            // One in ten is accepted, whatever is sent.
            if attempt % 10 == 0 {
                brake.accepted(0);
            }
            sent += u64::from(brake.may_send(0, &mut draws));
        }
        assert!((3_500..4_500).contains(&sent), "{sent}");
        // After a long silence all is forgotten.
        assert!(brake.may_send(10 * LATELY, &mut draws));
    }

    #[test]
    fn text_round_trips() {
        for text in ["budget:10%", "adaptive:2"] {
            assert_eq!(text.parse::<Throttle>().unwrap().to_string(), text);
        }
        assert!(["", "budget:10", "adaptive:0", "adaptive:x"].iter().all(|text| text.parse::<Throttle>().is_err()));
    }
}
