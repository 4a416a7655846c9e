//! How servers share one limit: one strategy a file.

mod lease;
mod own;
mod race;
mod shared;
mod sync;

use std::fmt;
use std::str::FromStr;

use ratelimit_core::Decision;

use super::arrivals::Arrival;
use super::ledger::Answer;
use super::network::Network;
use crate::generate::units::Span;

pub(super) use lease::Leases;
pub(super) use own::Own;
pub(super) use race::Race;
pub(super) use shared::Shared;
pub(super) use sync::Sync;

/// A way to share one limit among servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Each server enforces the whole limit on what it sees.
    OwnLimit,
    /// Each server enforces its part of the limit.
    SplitLimit,
    /// One store decides every request, atomically.
    SharedStore,
    /// One store, but the server reads, decides, and writes back.
    ReadThenWrite,
    /// One store with the limit cut over so many keys, each in its own slot.
    SubKeys(u32),
    /// Servers take so many units at once from the store and spend them alone (zero: a hundredth of the limit a server).
    Leases(u64),
    /// Servers decide alone and tell each other every so often what they admitted (nanoseconds).
    Sync(u64),
}

/// One request at a server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    /// Its place among all.
    pub(super) index: usize,
    pub(super) client: u32,
    pub(super) cost: u64,
    pub(super) server: usize,
}

impl Request {
    pub(super) fn new(index: usize, arrival: Arrival, server: usize) -> Self {
        Request { index, client: arrival.client, cost: arrival.cost, server }
    }
}

/// A strategy at work: requests and messages in, messages and answers out.
pub(super) trait Decider {
    /// What it sends.
    type Message;

    /// Called once, before the first request, which comes at `from`.
    fn start(&mut self, _from: u64, _network: &mut Network<Self::Message>) {}

    /// A request comes to a server.
    fn arrive(&mut self, request: Request, network: &mut Network<Self::Message>);

    /// A message reaches the one it is for.
    fn receive(&mut self, message: Self::Message, network: &mut Network<Self::Message>);
}

/// Answers a request with a decision that takes effect now.
fn answer<M>(request: Request, decision: Decision, network: &mut Network<M>) {
    let answer = Answer::new(network.now(), decision);
    network.ledger.answer(request.index, answer);
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "expected own-limit, split-limit, shared-store, read-then-write, sub-keys:4, leases, leases:100 or \
                 sync:1s, found `{text}`"
            )
        };
        let (name, value) = text.split_once(':').map_or((text, None), |(name, value)| (name, Some(value)));
        match (name, value) {
            ("own-limit", None) => Ok(Strategy::OwnLimit),
            ("split-limit", None) => Ok(Strategy::SplitLimit),
            ("shared-store", None) => Ok(Strategy::SharedStore),
            ("read-then-write", None) => Ok(Strategy::ReadThenWrite),
            ("leases", None) => Ok(Strategy::Leases(0)),
            ("sub-keys", Some(keys)) => match keys.parse() {
                Ok(keys @ 1..=100_000) => Ok(Strategy::SubKeys(keys)),
                _ => Err(wrong()),
            },
            ("leases", Some(units)) => match units.parse() {
                Ok(units @ 1..) => Ok(Strategy::Leases(units)),
                _ => Err(wrong()),
            },
            ("sync", Some(interval)) => match interval.parse() {
                Ok(Span(interval @ 100_000..)) => Ok(Strategy::Sync(interval)),
                Ok(_) => Err("sync: expected an interval of at least 100us".into()),
                Err(why) => Err(why),
            },
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Strategy::OwnLimit => f.write_str("own-limit"),
            Strategy::SplitLimit => f.write_str("split-limit"),
            Strategy::SharedStore => f.write_str("shared-store"),
            Strategy::ReadThenWrite => f.write_str("read-then-write"),
            Strategy::SubKeys(keys) => write!(f, "sub-keys:{keys}"),
            Strategy::Leases(0) => f.write_str("leases"),
            Strategy::Leases(units) => write!(f, "leases:{units}"),
            Strategy::Sync(interval) => write!(f, "sync:{}", Span(interval)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips_and_mistakes_are_explained() {
        let all = [
            "own-limit",
            "split-limit",
            "shared-store",
            "read-then-write",
            "sub-keys:4",
            "leases",
            "leases:9",
            "sync:1s",
        ];
        for text in all {
            assert_eq!(text.parse::<Strategy>().unwrap().to_string(), text);
        }
        for text in ["", "own", "sub-keys", "sub-keys:0", "leases:0", "sync", "sync:1us", "own-limit:3"] {
            assert!(text.parse::<Strategy>().is_err(), "{text}");
        }
    }
}
