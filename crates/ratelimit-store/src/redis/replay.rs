//! The entry that takes the time: for replays of a trace, and for the tests that compare the scripts with the core.

use ratelimit_core::{Decision, Nanos};

use super::caller::{Ask, Caller};
use super::error::SharedError;
use super::exact::LATEST;
use super::reply::{self, Waits};
use super::script::{Action, Time};
use super::several::{Part, Several};
use crate::lease::{Grant, Slice};

/// A shared limiter whose scripts are told the time instead of asking the server, and are otherwise the same. Its answers
/// are the core's, to the nanosecond.
///
/// Not for limiting servers: each would decide by its own clock. Times are cut to whole microseconds, and lie before
/// 2^52 us (the year 2112). Keys live an hour longer than they would, since a replay may be slower than what it
/// replays; give each replay a prefix of its own, or [`reset`](Self::reset) its clients before.
#[derive(Debug)]
pub struct ReplayLimiter {
    caller: Caller,
}

/// One request of a batch: when, by whom, and its cost.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// When.
    pub now: Nanos,
    /// The client.
    pub key: &'a [u8],
    /// In units.
    pub cost: u64,
}

impl ReplayLimiter {
    pub(super) fn new(caller: Caller) -> Self {
        ReplayLimiter { caller }
    }

    /// Decides one request at `now`, and charges it if it is allowed.
    ///
    /// # Errors
    /// See [`SharedError`].
    pub async fn check_n_at(&self, key: &[u8], now: Nanos, cost: u64) -> Result<Decision, SharedError> {
        self.decide(key, now, cost, Action::Decide).await
    }

    /// The decision that [`check_n_at`](Self::check_n_at) would take, with nothing charged.
    ///
    /// # Errors
    /// See [`SharedError`].
    pub async fn peek_at(&self, key: &[u8], now: Nanos, cost: u64) -> Result<Decision, SharedError> {
        self.decide(key, now, cost, Action::Peek).await
    }

    /// Charges as many units of the slice at `now` as there is room for, or none where there is room for fewer than its
    /// least: then the denial is that of the least.
    ///
    /// # Errors
    /// See [`SharedError`].
    pub async fn take_at(&self, key: &[u8], now: Nanos, slice: impl Into<Slice>) -> Result<Grant, SharedError> {
        let slice = match self.caller.possible(slice.into()) {
            Ok(slice) => slice,
            Err(known) => return Ok(known),
        };
        let now_micros = Some(micros(now)?);
        let ask = Ask { client: key, action: Action::Take, cost: slice.most, slice: Some(slice), now_micros };
        reply::decision(&self.caller.ask(ask).await?, Waits::Nanos)
    }

    /// Records `cost` units at `now`, whatever the limit.
    ///
    /// # Errors
    /// See [`SharedError`].
    pub async fn charge_at(&self, key: &[u8], now: Nanos, cost: u64) -> Result<(), SharedError> {
        self.change(key, now, cost, Action::Charge).await
    }

    /// Gives back `cost` units, the newest charge first; at `now` the key's expiry is counted from.
    ///
    /// # Errors
    /// See [`SharedError`].
    pub async fn refund_at(&self, key: &[u8], now: Nanos, cost: u64) -> Result<(), SharedError> {
        self.change(key, now, cost, Action::Refund).await
    }

    /// Forgets all that the client has used.
    ///
    /// # Errors
    /// See [`SharedError`].
    pub async fn reset(&self, key: &[u8]) -> Result<(), SharedError> {
        if self.caller.is_unlimited() { Ok(()) } else { self.caller.forget(key).await }
    }

    /// Decides many requests in their order, in one round trip.
    ///
    /// # Errors
    /// The first that failed; see [`SharedError`].
    pub async fn check_many_at(&self, requests: &[Request<'_>]) -> Result<Vec<Decision>, SharedError> {
        let mut asks = Vec::new();
        for request in requests.iter().filter(|request| self.caller.known(request.cost).is_none()) {
            asks.push(Ask {
                client: request.key,
                action: Action::Decide,
                cost: request.cost,
                slice: None,
                now_micros: Some(micros(request.now)?),
            });
        }
        let mut asked = if asks.is_empty() { Vec::new() } else { self.caller.ask_all(&asks).await }.into_iter();
        let decide = |request: &Request<'_>| match self.caller.known(request.cost) {
            Some(known) => Ok(known),
            None => match asked.next() {
                Some(answer) => Ok(reply::decision(&answer?, Waits::Nanos)?.decision),
                None => Err(SharedError::Reply { found: "fewer answers than requests".into() }),
            },
        };
        requests.iter().map(decide).collect()
    }

    /// Decides one request under several limits at `now`, in one step: all are charged, or none is. Each is a limiter, a
    /// client and a cost, and the answers are in their order; see [`Backend::check_all`](crate::Backend::check_all). `None`
    /// where one call cannot decide them.
    ///
    /// # Errors
    /// See [`SharedError`].
    pub async fn check_all_at(
        asked: &[(&ReplayLimiter, &[u8], u64)],
        now: Nanos,
    ) -> Result<Option<Vec<Decision>>, SharedError> {
        let parts: Vec<Part<'_>> = asked.iter().map(|(limiter, key, cost)| (&limiter.caller, *key, *cost)).collect();
        match (Several::of(&parts, Time::Passed), asked) {
            (Some(several), [(lead, ..), ..]) => several.ask(&lead.caller, Some(micros(now)?)).await.map(Some),
            _ => Ok(None),
        }
    }

    async fn decide(&self, client: &[u8], now: Nanos, cost: u64, action: Action) -> Result<Decision, SharedError> {
        if let Some(known) = self.caller.known(cost) {
            return Ok(known);
        }
        let ask = Ask { client, action, cost, slice: None, now_micros: Some(micros(now)?) };
        reply::decision(&self.caller.ask(ask).await?, Waits::Nanos).map(|grant| grant.decision)
    }

    async fn change(&self, client: &[u8], now: Nanos, cost: u64, action: Action) -> Result<(), SharedError> {
        if self.caller.is_unlimited() || cost == 0 {
            return Ok(());
        }
        reply::done(&self.caller.ask(Ask { client, action, cost, slice: None, now_micros: Some(micros(now)?) }).await?)
    }
}

fn micros(now: Nanos) -> Result<u64, SharedError> {
    let micros = now.get() / 1000;
    if micros > LATEST { Err(SharedError::TimeTooLate) } else { Ok(micros) }
}
