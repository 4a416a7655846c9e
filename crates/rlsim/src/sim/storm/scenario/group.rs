//! The clients of a scenario.

use clap::Parser;
use serde::Deserialize;

use crate::generate::Pattern;
use crate::generate::units::Span;
use crate::sim::storm::retry::Mixture;
use crate::sim::storm::throttle::Throttle;
use crate::sim::storm::typed::Typed;

/// Clients that behave alike.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Group {
    /// What they are called.
    pub name: String,
    /// How many there are.
    pub count: u32,
    /// Open loop: when their requests come, as a pattern of `rlsim generate`.
    pub(super) arrivals: Option<Typed<Arrivals>>,
    /// Closed loop: the mean time between an answer and the client's next request, exponential.
    pub(super) think: Option<Typed<Span>>,
    /// What they do after a refusal.
    pub(super) retry: Typed<Mixture>,
    /// How they hold themselves back, all together.
    pub(super) throttle: Option<Typed<Throttle>>,
    /// The most attempts for one request.
    #[serde(default = "ten_attempts")]
    pub attempts: u32,
    /// How long after its beginning a request is worth another attempt.
    #[serde(default = "one_minute")]
    pub(super) deadline: Typed<Span>,
    /// How long a client waits for an answer.
    #[serde(default = "thirty_seconds")]
    pub(super) timeout: Typed<Span>,
}

/// A pattern of arrivals in its text form.
#[derive(Debug, Clone)]
pub struct Arrivals(pub Pattern);

impl std::str::FromStr for Arrivals {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        #[derive(Parser)]
        #[command(no_binary_name = true, disable_help_flag = true)]
        struct Words {
            #[command(subcommand)]
            pattern: Pattern,
        }
        let words = Words::try_parse_from(text.split_whitespace()).map_err(|error| {
            let line = error.to_string();
            let line = line.lines().next().unwrap_or_default();
            format!(
                "{}; expected a pattern of rlsim generate, such as \"poisson --rate 50/s\"",
                line.replace("error: ", "")
            )
        })?;
        Ok(Arrivals(words.pattern))
    }
}

impl Group {
    pub(super) fn check(&self) -> Result<(), String> {
        let name = &self.name;
        if self.count == 0 || self.attempts == 0 || self.timeout() == 0 {
            return Err(format!("clients \"{name}\": expected count, attempts and timeout above zero"));
        }
        match (&self.arrivals, &self.think) {
            (Some(_), None) | (None, Some(_)) => Ok(()),
            _ => Err(format!("clients \"{name}\": expected either `arrivals` (open loop) or `think` (closed loop)")),
        }
    }

    /// When requests come, in an open loop.
    pub fn arrivals(&self) -> Option<&Pattern> {
        self.arrivals.as_ref().map(|Typed(Arrivals(pattern))| pattern)
    }

    /// Mean thinking time in nanoseconds, in a closed loop.
    pub fn think(&self) -> Option<u64> {
        self.think.map(|Typed(Span(think))| think)
    }

    /// What they do after a refusal.
    pub fn retry(&self) -> &Mixture {
        &self.retry.0
    }

    /// How they hold themselves back, all together.
    pub fn throttle(&self) -> Option<Throttle> {
        self.throttle.map(|Typed(throttle)| throttle)
    }

    /// In nanoseconds after the request's beginning.
    pub fn deadline(&self) -> u64 {
        self.deadline.0.0
    }

    /// In nanoseconds after sending.
    pub fn timeout(&self) -> u64 {
        self.timeout.0.0
    }
}

fn one_minute() -> Typed<Span> {
    Typed(Span(60_000_000_000))
}

fn thirty_seconds() -> Typed<Span> {
    Typed(Span(30_000_000_000))
}

fn ten_attempts() -> u32 {
    10
}
