//! A scenario: clients, server, trigger, and what is compared, as TOML and as what it means.
//!
//! `docs/storms.md` describes every key; `traces/scenarios/` holds the built-in ones.

mod group;
mod server;
mod trigger;

use ratelimit_core::Policy;
use serde::Deserialize;

pub use group::{Arrivals, Group};
pub use server::{Hints, Server};
pub use trigger::{Trigger, What};

use super::retry::Mixture;
use super::throttle::Throttle;
use super::typed::Typed;
use crate::error::{Error, Result};
use crate::generate::units::Span;
use crate::report::count;
use crate::sim::limiter::By;

/// Clients of all groups at most: each is kept in memory.
const MOST_CLIENTS: u64 = 1_000_000;

/// Scenarios in the binary: name and text.
const BUILT_IN: [(&str, &str); 5] = [
    ("polite-queue", include_str!("../../../../../../traces/scenarios/polite-queue.toml")),
    ("synchronized-retry", include_str!("../../../../../../traces/scenarios/synchronized-retry.toml")),
    ("metastable", include_str!("../../../../../../traces/scenarios/metastable.toml")),
    ("noisy-neighbour", include_str!("../../../../../../traces/scenarios/noisy-neighbour.toml")),
    ("top-of-the-hour", include_str!("../../../../../../traces/scenarios/top-of-the-hour.toml")),
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
        let clients: u64 = self.clients.iter().map(|group| u64::from(group.count)).sum();
        if clients > MOST_CLIENTS {
            return Err(format!(
                "[[clients]]: `count` makes {} clients, expected at most {}",
                count(clients),
                count(MOST_CLIENTS)
            ));
        }
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

fn ten_minutes() -> Typed<Span> {
    Typed(Span(600_000_000_000))
}
