//! The script of a policy: the clock, the algorithms that the policy names, and `main.lua`.
//!
//! What depends on the quota is passed as ARGV, so that all policies with the same algorithms share one script, and the
//! server caches a handful of scripts at most. Tests and replays pass the time: their script has another first part, and
//! is the same from there on.

use ratelimit_core::Rule;
use redis::Cmd;

use super::exact::Parameters;
use crate::lease::Slice;

/// Where a script's time comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Time {
    /// The server's TIME.
    Server,
    /// The last argument, in microseconds.
    Passed,
}

/// What a script is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Decide,
    Peek,
    Take,
    Charge,
    Refund,
}

impl Action {
    fn name(self) -> &'static str {
        match self {
            Action::Decide => "decide",
            Action::Peek => "peek",
            Action::Take => "take",
            Action::Charge => "charge",
            Action::Refund => "refund",
        }
    }
}

/// A script's text and the name under which the server caches it, with the arguments that never change.
#[derive(Debug)]
pub(crate) struct Script {
    text: String,
    sha: String,
    rules: Vec<String>,
}

impl Script {
    /// The script for these rules.
    pub(crate) fn new(rules: &[(Rule, Parameters)], time: Time) -> Self {
        let text = text(rules, time);
        let sha = redis::Script::new(&text).get_hash().to_owned();
        Script { text, sha, rules: rules.iter().flat_map(|(_, parameters)| arguments(parameters)).collect() }
    }

    /// The call by name, which the server answers with NOSCRIPT if it does not know the script (any more).
    pub(crate) fn by_name(&self, call: &Call<'_>) -> Cmd {
        self.command("EVALSHA", &self.sha, call)
    }

    /// The call with the whole text, after which the server knows the script.
    pub(crate) fn by_text(&self, call: &Call<'_>) -> Cmd {
        self.command("EVAL", &self.text, call)
    }

    fn command(&self, name: &str, script: &str, call: &Call<'_>) -> Cmd {
        let mut cmd = redis::cmd(name);
        cmd.arg(script).arg(call.keys.len());
        for key in call.keys {
            cmd.arg(key.as_slice());
        }
        cmd.arg(call.action.name()).arg(call.cost);
        for argument in &self.rules {
            cmd.arg(argument);
        }
        if let Some(slice) = call.slice {
            cmd.arg(slice.least).arg(slice.keep);
        }
        if let Some(now) = call.now_micros {
            cmd.arg(now);
        }
        cmd
    }
}

/// One call of a script.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// A key of each rule, in the rules' order.
    pub(crate) keys: &'a [Vec<u8>],
    pub(crate) action: Action,
    /// In units; exact in Lua.
    pub(crate) cost: u64,
    /// With [`Action::Take`] only.
    pub(crate) slice: Option<Slice>,
    /// With [`Time::Passed`] only.
    pub(crate) now_micros: Option<u64>,
}

fn arguments(parameters: &Parameters) -> [String; 4] {
    let [a, b, c] = parameters.numbers;
    [parameters.kind.to_owned(), a.to_string(), b.to_string(), c.to_string()]
}

/// The algorithms: kind, name of the Lua table, text.
const ALGORITHMS: [(&str, &str, &str); 5] = [
    ("fixed", "fixed_window", include_str!("lua/fixed_window.lua")),
    ("log", "sliding_log", include_str!("lua/sliding_log.lua")),
    ("counter", "sliding_counter", include_str!("lua/sliding_counter.lua")),
    ("token", "bucket", include_str!("lua/bucket.lua")),
    ("leaky", "bucket", include_str!("lua/bucket.lua")),
];

fn text(rules: &[(Rule, Parameters)], time: Time) -> String {
    let mut text = String::new();
    text.push_str(match time {
        Time::Server => include_str!("lua/time_server.lua"),
        Time::Passed => include_str!("lua/time_passed.lua"),
    });
    text.push_str(include_str!("lua/common.lua"));
    let mut kinds = String::from("local kinds = { ");
    let mut present: Vec<&str> = Vec::new();
    for (kind, table, source) in ALGORITHMS {
        if rules.iter().any(|(_, parameters)| parameters.kind == kind) {
            if !present.contains(&table) {
                present.push(table);
                text.push_str(source);
            }
            kinds += &[kind, " = ", table, ", "].concat();
        }
    }
    text.push_str(&kinds);
    text.push_str("}\n");
    text.push_str(include_str!("lua/main.lua"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::exact::exact;

    fn script(policy: &str, time: Time) -> Script {
        Script::new(&exact(&policy.parse().unwrap()).unwrap(), time)
    }

    #[test]
    fn policies_with_the_same_algorithms_share_a_script() {
        let one = script("token-bucket:5/1m", Time::Server);
        assert_eq!(one.sha, script("token-bucket:9/1h,burst=2", Time::Server).sha);
        assert_ne!(one.sha, script("fixed-window:5/1m", Time::Server).sha);
    }

    #[test]
    fn the_passed_time_changes_the_first_part_alone() {
        let shared = script("sliding-log:5/1m+leaky-bucket:5/1m", Time::Server).text;
        let passed = script("sliding-log:5/1m+leaky-bucket:5/1m", Time::Passed).text;
        let body = |text: &str| text[text.find("-- What all the algorithms share").unwrap()..].to_owned();
        assert_eq!(body(&shared), body(&passed));
        assert!(shared.contains("'TIME'") && !passed.contains("'TIME'"));
    }
}
