//! A scenario: clients, server, trigger, and what is compared, as TOML and as what it means.
//!
//! `docs/storms.md` describes every key; `traces/scenarios/` holds the built-in ones.

use clap::Parser;
use ratelimit_core::Policy;
use serde::Deserialize;

use super::retry::Mixture;
use super::throttle::Throttle;
use super::typed::Typed;
use crate::error::{Error, Result};
use crate::generate::Pattern;
use crate::generate::units::{Rate, Span};
use crate::sim::limiter::By;

/// Scenarios in the binary: name and text.
const BUILT_IN: [(&str, &str); 5] = [
    ("polite-queue", include_str!("../../../../../traces/scenarios/polite-queue.toml")),
    ("synchronized-retry", include_str!("../../../../../traces/scenarios/synchronized-retry.toml")),
    ("metastable", include_str!("../../../../../traces/scenarios/metastable.toml")),
    ("noisy-neighbour", include_str!("../../../../../traces/scenarios/noisy-neighbour.toml")),
    ("top-of-the-hour", include_str!("../../../../../traces/scenarios/top-of-the-hour.toml")),
];

/// Who sends what to whom.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// What the scenario asks, in one sentence.
    pub question: String,
    /// How long new requests come.
    duration: Typed<Span>,
    /// How long after that the rest may take.
    #[serde(default = "ten_minutes")]
    drain: Typed<Span>,
    /// The server.
    pub server: Server,
    /// What goes wrong, if anything.
    pub trigger: Option<Trigger>,
    /// Groups of clients.
    pub clients: Vec<Group>,
    /// What is compared; with nothing, the scenario as it stands.
    #[serde(default)]
    pub compare: Vec<Variant>,
}

/// The server and the limiter in front of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Server {
    /// Requests served at the same time.
    pub workers: u32,
    /// How long one takes.
    service: Typed<Span>,
    /// Whether that is the mean of an exponential distribution instead of the same for all.
    #[serde(default)]
    pub random_service: bool,
    /// Attempts that can wait for a worker; one more is turned away.
    pub queue: usize,
    /// What refusing one attempt costs a worker, in percent of a request's time.
    #[serde(default)]
    pub refusal_percent: u32,
    /// From a client to the server, and back again.
    latency: Typed<Span>,
    /// The policy in front, if any.
    limiter: Option<Typed<Policy>>,
    /// Whose limit it is.
    #[serde(default)]
    pub limit_by: By,
    /// What a refusal says about coming back.
    #[serde(default)]
    pub hints: Hints,
}

/// What a refusal by the limiter says about coming back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hints {
    /// Nothing.
    None,
    /// The exact time.
    Exact,
    /// Whole seconds, rounded up, as in the `Retry-After` header.
    #[default]
    Seconds,
}

/// Something that goes wrong from one time to another.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Trigger {
    /// What.
    pub what: What,
    from: Typed<Span>,
    to: Typed<Span>,
    /// Of a slowdown: how many times as long a request takes.
    pub times: Option<u32>,
    /// Of a flash crowd: how many requests of the first group come on top (open loop).
    rate: Option<Typed<Rate>>,
    /// Of a flash crowd: how long clients think now (closed loop).
    think: Option<Typed<Span>>,
    /// Of a limit cut: the policy that is in force.
    limiter: Option<Typed<Policy>>,
}

/// Kinds of triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Every attempt fails at once.
    Outage,
    /// Requests take several times as long.
    Slowdown,
    /// More requests come.
    FlashCrowd,
    /// A stricter policy is in force.
    LimitCut,
}

/// Clients that behave alike.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Group {
    /// What they are called.
    pub name: String,
    /// How many there are.
    pub count: u32,
    /// Open loop: when their requests come, as a pattern of `rlsim generate`.
    arrivals: Option<Typed<Arrivals>>,
    /// Closed loop: the mean time between an answer and the client's next request, exponential.
    think: Option<Typed<Span>>,
    /// What they do after a refusal.
    retry: Typed<Mixture>,
    /// How they hold themselves back, all together.
    throttle: Option<Typed<Throttle>>,
    /// The most attempts for one request.
    #[serde(default = "ten_attempts")]
    pub attempts: u32,
    /// How long after its beginning a request is worth another attempt.
    #[serde(default = "one_minute")]
    deadline: Typed<Span>,
    /// How long a client waits for an answer.
    #[serde(default = "thirty_seconds")]
    timeout: Typed<Span>,
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

/// A change to the scenario, to be compared with others.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Variant {
    /// What it is called.
    pub name: String,
    /// Which group of clients behaves otherwise; without it, all do.
    pub clients: Option<String>,
    retry: Option<Typed<Mixture>>,
    arrivals: Option<Typed<Arrivals>>,
    limiter: Option<Typed<Policy>>,
    limit_by: Option<By>,
    hints: Option<Hints>,
    queue: Option<usize>,
    throttle: Option<Typed<Throttle>>,
}

impl Scenario {
    /// Names of the built-in scenarios.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|&(name, _)| name)
    }

    /// The TOML text of a built-in scenario.
    pub fn built_in(name: &str) -> Option<&'static str> {
        BUILT_IN.iter().find(|(known, _)| *known == name).map(|&(_, text)| text)
    }

    /// Reads a scenario; `origin` is what errors call it.
    ///
    /// # Errors
    /// When the text is not TOML, a key is unknown or missing, or values contradict each other.
    pub fn parse(text: &str, origin: &str) -> Result<Self> {
        let scenario: Scenario = toml::from_str(text)
            .map_err(|error| Error::failed(format!("{origin}: {}", error.to_string().trim_end())))?;
        scenario.check().map_err(|why| Error::failed(format!("{origin}: {why}")))?;
        Ok(scenario)
    }

    fn check(&self) -> Result<(), String> {
        let server = &self.server;
        if server.workers == 0 || server.service() == 0 || server.latency() == 0 {
            return Err("[server] needs workers, service and latency above zero".into());
        }
        if server.refusal_percent > 100 {
            return Err(format!("refusal-percent is {}, expected 0 to 100", server.refusal_percent));
        }
        if self.duration() == 0 {
            return Err("duration is 0, expected a time such as \"60s\"".into());
        }
        if self.clients.is_empty() {
            return Err("no [[clients]]: expected at least one group".into());
        }
        self.clients.iter().try_for_each(Group::check)?;
        self.trigger.as_ref().map_or(Ok(()), |trigger| trigger.check(self))?;
        let known = |name: &String| self.clients.iter().any(|group| group.name == *name);
        match self.compare.iter().filter_map(|variant| variant.clients.as_ref()).find(|name| !known(name)) {
            Some(name) => Err(format!("[[compare]] names clients \"{name}\", but no group is called that")),
            None => Ok(()),
        }
    }

    /// How long new requests come, in nanoseconds.
    pub fn duration(&self) -> u64 {
        self.duration.0.0
    }

    /// When the simulation stops at the latest, in nanoseconds.
    pub fn end(&self) -> u64 {
        self.duration().saturating_add(self.drain.0.0)
    }

    /// What is compared: each variant's name and the scenario as it changes it.
    pub fn variants(&self) -> Vec<(String, Scenario)> {
        if self.compare.is_empty() {
            return vec![("as it stands".into(), self.clone())];
        }
        self.compare.iter().map(|variant| (variant.name.clone(), self.with(variant))).collect()
    }

    fn with(&self, variant: &Variant) -> Scenario {
        let mut changed = self.clone();
        if let Some(retry) = &variant.retry {
            changed.set_retry(&retry.0, variant.clients.as_deref());
        }
        let named = |group: &&mut Group| variant.clients.as_ref().is_none_or(|name| group.name == *name);
        for group in changed.clients.iter_mut().filter(named).filter(|group| group.arrivals.is_some()) {
            group.arrivals = variant.arrivals.clone().or_else(|| group.arrivals.take());
        }
        for group in changed.clients.iter_mut().filter(named) {
            group.throttle = variant.throttle.or(group.throttle);
        }
        let server = &mut changed.server;
        server.limiter = variant.limiter.or(server.limiter);
        server.limit_by = variant.limit_by.unwrap_or(server.limit_by);
        server.hints = variant.hints.unwrap_or(server.hints);
        server.queue = variant.queue.unwrap_or(server.queue);
        changed
    }

    /// Compares these behaviours of all clients, instead of what the scenario compares.
    pub fn compare_behaviours(&mut self, behaviours: &[Mixture]) {
        let variant = |retry: &Mixture| Variant {
            name: retry.to_string(),
            retry: Some(Typed(retry.clone())),
            ..Variant::default()
        };
        self.compare = behaviours.iter().map(variant).collect();
    }

    /// Compares only the variants with these names; with none named, all.
    ///
    /// # Errors
    /// When there is no variant of a name.
    pub fn keep_variants(&mut self, names: &[String]) -> Result<()> {
        if let Some(unknown) = names.iter().find(|name| !self.compare.iter().any(|variant| variant.name == **name)) {
            let known: Vec<_> = self.compare.iter().map(|variant| format!("\"{}\"", variant.name)).collect();
            return Err(Error::usage(format!("--only \"{unknown}\": expected one of {}", known.join(", "))));
        }
        self.compare.retain(|variant| names.is_empty() || names.contains(&variant.name));
        Ok(())
    }

    /// Gives the clients of group `name`, or all, another behaviour.
    pub fn set_retry(&mut self, retry: &Mixture, name: Option<&str>) {
        for group in self.clients.iter_mut().filter(|group| name.is_none_or(|name| group.name == name)) {
            group.retry = Typed(retry.clone());
        }
    }

    /// The same load on a server of another speed: requests take `percent` of their time.
    pub fn scale_service(&mut self, percent: u64) {
        let service = self.server.service.0.0;
        self.server.service.0.0 = (service.saturating_mul(percent) / 100).max(1);
    }

    /// Lets the trigger last so long.
    pub fn set_trigger_length(&mut self, length: u64) {
        if let Some(trigger) = &mut self.trigger {
            trigger.to = Typed(Span(trigger.from().saturating_add(length)));
        }
    }
}

impl Server {
    /// Mean service time in nanoseconds.
    pub fn service(&self) -> u64 {
        self.service.0.0
    }

    /// One way, in nanoseconds.
    pub fn latency(&self) -> u64 {
        self.latency.0.0
    }

    /// The policy in front.
    pub fn limiter(&self) -> Option<Policy> {
        self.limiter.map(|Typed(policy)| policy)
    }
}

impl Trigger {
    /// First instant, in nanoseconds.
    pub fn from(&self) -> u64 {
        self.from.0.0
    }

    /// First instant after it.
    pub fn to(&self) -> u64 {
        self.to.0.0
    }

    /// The thinking time in a flash crowd, in nanoseconds.
    pub fn think(&self) -> Option<u64> {
        self.think.map(|Typed(Span(think))| think)
    }

    /// The rate of a flash crowd.
    pub fn rate(&self) -> Option<Rate> {
        self.rate.map(|Typed(rate)| rate)
    }

    /// The policy of a limit cut.
    pub fn limiter(&self) -> Option<Policy> {
        self.limiter.map(|Typed(policy)| policy)
    }

    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        if self.from() >= self.to() || self.to() > scenario.duration() {
            return Err("[trigger] expected from < to, and to within the duration".into());
        }
        let missing = match self.what {
            What::Slowdown => self.times.is_none().then_some("slowdown needs `times`, such as 3"),
            What::FlashCrowd => {
                let none = self.rate.is_none() && self.think.is_none();
                none.then_some("flash-crowd needs `rate`, such as \"500/s\", or `think`, such as \"1s\"")
            }
            What::LimitCut if scenario.server.limiter.is_none() => Some("limit-cut needs a `limiter` in [server]"),
            What::LimitCut => self.limiter.is_none().then_some("limit-cut needs `limiter`, a policy"),
            What::Outage => None,
        };
        missing.map_or(Ok(()), |missing| Err(format!("[trigger] {missing}")))
    }
}

impl Group {
    fn check(&self) -> Result<(), String> {
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

fn ten_minutes() -> Typed<Span> {
    Typed(Span(600_000_000_000))
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
