//! Several limits on one server, each with a key, a quota and a cost of its own, decided in one step: all are charged, or
//! none is.

use ratelimit_core::Decision;
use redis::{Cmd, Value};

use super::caller::Caller;
use super::error::SharedError;
use super::key::slot;
use super::reply::{self, Waits};
use super::script::{Form, Source, Time, of_several};

/// One limit's part: who limits, the client, and the cost.
pub(super) type Part<'a> = (&'a Caller, &'a [u8], u64);

/// The call that decides.
pub(super) struct Several {
    source: &'static Source,
    keys: Vec<Vec<u8>>,
    arguments: Vec<String>,
}

impl Several {
    /// `None` where one call cannot decide them: they are on several servers, or in several slots of a cluster; one has
    /// several rules, or none; one can never fit; or two of them are one and the same key, which one call would charge once.
    pub(super) fn of(parts: &[Part<'_>], time: Time) -> Option<Several> {
        let &(first, client, _) = parts.first()?;
        let lies_beside = |caller: &Caller, other: &[u8]| {
            caller.link.leads_where(&first.link)
                && (!caller.is_cluster() || slot(&caller.prefix, other) == slot(&first.prefix, client))
        };
        let (mut keys, mut arguments, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
        for &(caller, client, cost) in parts {
            let [kind, a, b, c] = caller.script.rules() else { return None };
            if caller.known(cost).is_some() || !lies_beside(caller, client) {
                return None;
            }
            keys.extend(caller.keys(client));
            arguments.extend([kind.clone(), a.clone(), b.clone(), c.clone(), cost.to_string()]);
            kinds.push(kind.as_str());
        }
        let differ = (1..keys.len()).all(|i| !keys[..i].contains(&keys[i]));
        differ.then(|| Several { source: of_several(&kinds, time), keys, arguments })
    }

    /// Asks over the connection, and within the bounds, of one of them.
    pub(super) async fn ask(&self, lead: &Caller, now_micros: Option<u64>) -> Result<Vec<Decision>, SharedError> {
        let waits = if now_micros.is_some() { Waits::Nanos } else { Waits::Ticks };
        let answer = lead.run(|form| self.command(form, now_micros)).await?;
        match &answer {
            Value::Array(answers) if answers.len() == self.keys.len() => {
                let decision = |answer| reply::decision(answer, waits).map(|grant| grant.decision);
                answers.iter().map(decision).collect()
            }
            other => Err(SharedError::Reply { found: format!("{other:?}") }),
        }
    }

    fn command(&self, form: Form, now_micros: Option<u64>) -> Cmd {
        let mut cmd = self.source.call(form, &self.keys);
        for argument in &self.arguments {
            cmd.arg(argument);
        }
        if let Some(now) = now_micros {
            cmd.arg(now);
        }
        cmd
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::SharedLimiter;

    const ADDRESS: &str = "redis://127.0.0.1:6379";

    fn limiter(policy: &str, address: &str) -> SharedLimiter {
        SharedLimiter::builder(policy.parse().unwrap()).connect(address).unwrap()
    }

    fn together(parts: &[(&SharedLimiter, &str, u64)]) -> bool {
        let parts: Vec<Part<'_>> = parts.iter().map(|(one, key, cost)| (one.caller(), key.as_bytes(), *cost)).collect();
        Several::of(&parts, Time::Server).is_some()
    }

    #[tokio::test]
    async fn what_one_call_can_decide() {
        let (second, hour) = (limiter("token-bucket:5/1s", ADDRESS), limiter("fixed-window:9/1h", ADDRESS));
        assert!(together(&[(&second, "alice", 1), (&hour, "alice", 9)]));
        assert!(together(&[(&second, "alice", 1), (&hour, "bob", 0), (&second, "bob", 5)]), "one server, any keys");

        let elsewhere = limiter("fixed-window:9/1h", "redis://127.0.0.1:6380");
        assert!(!together(&[(&second, "alice", 1), (&elsewhere, "alice", 1)]), "two servers");
        assert!(!together(&[(&second, "alice", 1), (&hour, "alice", 10)]), "never fits");
        assert!(!together(&[(&second, "alice", 1), (&second.clone(), "alice", 1)]), "the same key twice");
        for rules in ["unlimited", "fixed-window:9/1h+fixed-window:1/1s"] {
            assert!(!together(&[(&second, "alice", 1), (&limiter(rules, ADDRESS), "alice", 1)]), "{rules}");
        }
        assert!(!together(&[]));
    }

    #[cfg(feature = "redis-cluster")]
    #[tokio::test]
    async fn on_a_cluster_one_call_decides_one_slot() {
        let limiter = |policy: &str| {
            SharedLimiter::builder(policy.parse().unwrap()).connect_cluster(&["redis://127.0.0.1:7000"]).unwrap()
        };
        let (second, hour) = (limiter("token-bucket:5/1s"), limiter("fixed-window:9/1h"));
        assert!(together(&[(&second, "alice", 1), (&hour, "alice", 1)]));
        assert!(!together(&[(&second, "alice", 1), (&hour, "bob", 1)]));
    }
}
