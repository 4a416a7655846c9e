//! One call of a script, as a whole: bounded in time, bounded in number, sent by name and, where the server does not know
//! the script (any more), by text.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use ratelimit_core::{Algorithm, Decision, Nanos, Policy, Rule};
use redis::{Cmd, ErrorKind, RedisError, RedisResult, ServerErrorKind, Value};

use super::error::{BuildError, SharedError};
use super::exact::{LARGEST_COST, exact};
use super::key::{Prefix, rule_name, slot};
use super::link::{Connection, Link};
use super::script::{Action, Call, Form, Script, Time};
use crate::lease::{Grant, Slice};

/// What is asked of one client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) client: &'a [u8],
    pub(crate) action: Action,
    /// Of a take, the most that is taken.
    pub(crate) cost: u64,
    /// For a take.
    pub(crate) slice: Option<Slice>,
    /// For a script that takes the time, in microseconds.
    pub(crate) now_micros: Option<u64>,
}

/// The policy as its script knows it, and the way to the server.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(super) link: Arc<Link>,
    pub(super) script: Script,
    rule_names: Vec<String>,
    pub(super) prefix: Prefix,
    capacity: u64,
    /// The smallest burst of a token bucket.
    burst: u64,
    pub(super) timeout: Duration,
    pub(super) most_calls: usize,
    pub(super) calls: AtomicUsize,
}

/// What bounds the calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) timeout: Duration,
    pub(crate) most_calls: usize,
}

impl Caller {
    pub(crate) fn new(
        policy: &Policy,
        prefix: Prefix,
        time: Time,
        link: Arc<Link>,
        bounds: Bounds,
    ) -> Result<Self, BuildError> {
        let rules = exact(policy).map_err(BuildError::NotExact)?;
        Ok(Caller {
            link,
            script: Script::new(&rules, time),
            rule_names: rules.iter().map(|(rule, _)| rule_name(rule)).collect(),
            prefix,
            capacity: policy.capacity(),
            burst: smallest_burst(policy),
            timeout: bounds.timeout,
            most_calls: bounds.most_calls,
            calls: AtomicUsize::new(0),
        })
    }

    /// What is known without asking: a cost that can never fit, and a policy without a limit.
    pub(crate) fn known(&self, cost: u64) -> Option<Decision> {
        if cost > self.capacity {
            Some(Decision::Never { capacity: self.capacity })
        } else if self.rule_names.is_empty() {
            Some(Decision::Allowed { remaining: u64::MAX, reset_after: Nanos::ZERO, delay: Nanos::ZERO })
        } else {
            None
        }
    }

    /// What is known without asking about a take, and otherwise the slice without what could never be there.
    pub(crate) fn possible(&self, slice: Slice) -> Result<Slice, Grant> {
        let most = slice.most.max(slice.least).min(self.capacity);
        let capacity = self.capacity.min(self.burst.saturating_sub(slice.keep));
        if slice.least > capacity {
            return Err(Grant { units: 0, decision: Decision::Never { capacity } });
        }
        if let Some(decision) = self.known(most) {
            return Err(Grant { units: most, decision });
        }
        let most = most.min(capacity);
        Ok(Slice { least: slice.least.max(1).min(most), most, keep: slice.keep })
    }

    /// Which 64th of the slots the client lies in: on a cluster neighbours mostly share a node, and nodes fail alone.
    pub(crate) fn part(&self, client: &[u8]) -> u8 {
        // Below 64, since there are 2^14 slots.
        if self.is_cluster() { (slot(&self.prefix, client) >> 8) as u8 } else { 0 }
    }

    pub(crate) fn is_cluster(&self) -> bool {
        self.link.is_cluster()
    }

    /// Whether there is nothing to record.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.rule_names.is_empty()
    }

    pub(super) fn keys(&self, client: &[u8]) -> Vec<Vec<u8>> {
        self.rule_names.iter().map(|rule| self.prefix.key(client, rule)).collect()
    }

    pub(super) fn command(&self, ask: &Ask<'_>, form: Form) -> Cmd {
        let call = Call {
            keys: &self.keys(ask.client),
            action: ask.action,
            cost: ask.cost.min(LARGEST_COST),
            slice: ask.slice,
            now_micros: ask.now_micros,
        };
        self.script.command(form, &call)
    }

    /// The script's answer.
    pub(crate) async fn ask(&self, ask: Ask<'_>) -> Result<Value, SharedError> {
        self.run(|form| self.command(&ask, form)).await
    }

    /// The answer to one call of a script.
    pub(super) async fn run(&self, command: impl Fn(Form) -> Cmd) -> Result<Value, SharedError> {
        self.bounded(1, async |mut connection| match connection.call(&command(Form::Name)).await {
            Err(error) if is_unknown_script(&error) => connection.call(&command(Form::Text)).await,
            other => other,
        })
        .await
    }

    /// Removes all keys of the client.
    pub(crate) async fn forget(&self, client: &[u8]) -> Result<(), SharedError> {
        let mut cmd = redis::cmd("DEL");
        for key in self.keys(client) {
            cmd.arg(key);
        }
        self.bounded(1, async |mut connection| connection.call(&cmd).await).await.map(|_| ())
    }

    /// Runs `calls` calls within the bounds, and tells the link how its connection fared.
    async fn bounded<T>(
        &self,
        calls: usize,
        work: impl AsyncFnOnce(Connection) -> RedisResult<T>,
    ) -> Result<T, SharedError> {
        let _place = Place::take(&self.calls, calls, self.most_calls)?;
        // 0 until there is a connection.
        let number = AtomicU64::new(0);
        let whole = async {
            let (connection, its_number) = self.link.connection().await?;
            number.store(its_number, Ordering::Relaxed);
            work(connection).await.map_err(SharedError::from_redis)
        };
        let result = tokio::time::timeout(self.timeout, whole).await;
        let number = number.load(Ordering::Relaxed);
        match &result {
            Err(_) => self.link.silent(number),
            Ok(Err(SharedError::Unreachable(_))) => self.link.broken(number),
            // A replica that was the master when we connected: the address may lead to another by now.
            Ok(Err(SharedError::Server(error))) if error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly) => {
                self.link.broken(number);
            }
            Ok(_) => self.link.answered(number),
        }
        result.unwrap_or(Err(SharedError::Timeout { after: self.timeout }))
    }
}

fn smallest_burst(policy: &Policy) -> u64 {
    let bursts = policy.rules().iter().filter(|rule| matches!(rule, Rule::TokenBucket(_))).filter_map(Rule::burst);
    bursts.min().unwrap_or(u64::MAX)
}

pub(super) fn is_unknown_script(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}

/// Room for calls that wait; given back when dropped.
pub(super) struct Place<'a> {
    calls: &'a AtomicUsize,
    taken: usize,
}

impl<'a> Place<'a> {
    pub(super) fn take(calls: &'a AtomicUsize, wanted: usize, most: usize) -> Result<Self, SharedError> {
        let place = Place { calls, taken: wanted };
        // At most `most` others wait, so the sum stays far from overflow; a batch larger than `most` is let in alone.
        let before = calls.fetch_add(wanted, Ordering::Relaxed);
        if before > 0 && before.saturating_add(wanted) > most {
            Err(SharedError::Busy { calls: most })
        } else {
            Ok(place)
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.calls.fetch_sub(self.taken, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_given_back() {
        let calls = AtomicUsize::new(0);
        let first = Place::take(&calls, 3, 4).unwrap();
        assert!(Place::take(&calls, 2, 4).is_err());
        let second = Place::take(&calls, 1, 4).unwrap();
        assert!(Place::take(&calls, 1, 4).is_err());
        drop((first, second));
        assert_eq!(calls.load(Ordering::Relaxed), 0);
        assert!(Place::take(&calls, 9, 4).is_ok(), "a large batch goes alone");
    }
}
