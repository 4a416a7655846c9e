//! The script of a policy: the clock, and `main.lua`, or `several.lua` for several limits at once, with the parts of the
//! algorithms that the policy names in their places (see `common.lua`).
//!
//! What depends on the quota is passed as ARGV, so that all policies with the same algorithms share one script, and the
//! server caches a handful of scripts at most. Tests and replays pass the time: their script has another first part, and
//! is the same from there on.

use std::sync::OnceLock;

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

/// A script's text, and the name under which the server caches it.
#[derive(Debug)]
pub(crate) struct Source {
    text: String,
    sha: String,
}

impl Source {
    fn new(text: String) -> Self {
        let sha = redis::Script::new(&text).get_hash().to_owned();
        Source { text, sha }
    }

    /// The beginning of a call.
    pub(crate) fn call(&self, form: Form, keys: &[Vec<u8>]) -> Cmd {
        let (name, script) = match form {
            Form::Name => ("EVALSHA", &self.sha),
            Form::Text => ("EVAL", &self.text),
        };
        let mut cmd = redis::cmd(name);
        cmd.arg(script).arg(keys.len());
        for key in keys {
            cmd.arg(key.as_slice());
        }
        cmd
    }
}

/// How a call names its script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// By the name, which the server answers with NOSCRIPT if it does not know the script (any more).
    Name,
    /// With the whole text, after which the server knows the script.
    Text,
}

/// A script with the arguments that never change.
#[derive(Debug)]
pub(crate) struct Script {
    source: Source,
    rules: Vec<String>,
}

impl Script {
    /// The script for these rules.
    pub(crate) fn new(rules: &[(Rule, Parameters)], time: Time) -> Self {
        let kinds: Vec<&str> = rules.iter().map(|(_, parameters)| parameters.kind).collect();
        let source = Source::new(text(&kinds, time, include_str!("lua/main.lua")));
        Script { source, rules: rules.iter().flat_map(|(_, parameters)| arguments(parameters)).collect() }
    }

    /// Of each rule its kind and three parameters.
    pub(super) fn rules(&self) -> &[String] {
        &self.rules
    }

    pub(crate) fn command(&self, form: Form, call: &Call<'_>) -> Cmd {
        let mut cmd = self.source.call(form, call.keys);
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

/// An algorithm's text: functions, then parts. Rules of these kinds follow it.
struct Algorithm {
    kinds: &'static [&'static str],
    text: &'static str,
}

const ALGORITHMS: [Algorithm; 4] = [
    Algorithm { kinds: &["fixed"], text: include_str!("lua/fixed_window.lua") },
    Algorithm { kinds: &["log"], text: include_str!("lua/sliding_log.lua") },
    Algorithm { kinds: &["counter"], text: include_str!("lua/sliding_counter.lua") },
    Algorithm { kinds: &["token", "leaky"], text: include_str!("lua/bucket.lua") },
];

/// Begins a part, and marks its place.
const PART: &str = "--@ ";

impl Algorithm {
    /// What comes before the parts.
    fn functions(&self) -> &'static str {
        self.text.split(PART).next().unwrap_or_default()
    }

    /// Nothing where the algorithm has no such part.
    fn part(&self, name: &str) -> &'static str {
        let mut parts = self.text.split(PART).skip(1).filter_map(|part| part.split_once('\n'));
        parts.find(|(found, _)| *found == name).map_or("", |(_, part)| part.trim_end())
    }

    /// The Lua condition that a rule is of this algorithm.
    fn is_meant(&self) -> String {
        let kinds: Vec<String> = self.kinds.iter().map(|kind| format!("kind == '{kind}'")).collect();
        kinds.join(" or ")
    }
}

/// The script that decides several limits at once, for rules of these kinds, of which every set has one.
pub(crate) fn of_several(kinds: &[&str], time: Time) -> &'static Source {
    const SETS: usize = 1 << ALGORITHMS.len();
    static SOURCES: [[OnceLock<Source>; SETS]; 2] = [const { [const { OnceLock::new() }; SETS] }; 2];
    let set = ALGORITHMS.iter().fold(0, |set, algorithm| set << 1 | usize::from(names(kinds, algorithm)));
    let sources = &SOURCES[usize::from(time == Time::Passed)];
    sources[set].get_or_init(|| Source::new(text(kinds, time, include_str!("lua/several.lua"))))
}

fn names(kinds: &[&str], algorithm: &Algorithm) -> bool {
    algorithm.kinds.iter().any(|kind| kinds.contains(kind))
}

fn text(kinds: &[&str], time: Time, frame: &str) -> String {
    let algorithms: Vec<&Algorithm> = ALGORITHMS.iter().filter(|algorithm| names(kinds, algorithm)).collect();
    let mut text = String::from(match time {
        Time::Server => include_str!("lua/time_server.lua"),
        Time::Passed => include_str!("lua/time_passed.lua"),
    });
    text.push_str(include_str!("lua/common.lua"));
    for algorithm in &algorithms {
        text.push_str(algorithm.functions());
    }
    for line in frame.lines() {
        match line.trim_start().strip_prefix(PART) {
            Some(name) => text.push_str(&placed(&algorithms, name)),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

/// The part of each algorithm, under the condition that it is the rule's.
fn placed(algorithms: &[&Algorithm], name: &str) -> String {
    match algorithms {
        [] => String::new(),
        [only] => format!("do\n{}\nend", only.part(name)),
        _ => {
            let branches: Vec<String> = algorithms
                .iter()
                .map(|algorithm| format!("if {} then\n{}\n", algorithm.is_meant(), algorithm.part(name)))
                .collect();
            branches.join("else") + "end"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::exact::exact;

    fn script(policy: &str, time: Time) -> Script {
        Script::new(&exact(&policy.parse().unwrap()).unwrap(), time)
    }

    #[test]
    fn each_part_of_an_algorithm_has_its_place() {
        let places = |frame: &'static str| -> Vec<&str> {
            frame.lines().filter_map(|line| line.trim_start().strip_prefix(PART)).collect()
        };
        let main = places(include_str!("lua/main.lua"));
        for name in main.iter().copied().chain(places(include_str!("lua/several.lua"))) {
            for algorithm in &ALGORITHMS {
                // Only the buckets have a queue.
                assert!(name == "delay" || !algorithm.part(name).is_empty(), "{} has no {name}", algorithm.kinds[0]);
            }
        }
        for algorithm in &ALGORITHMS {
            for (name, _) in algorithm.text.split(PART).skip(1).filter_map(|part| part.split_once('\n')) {
                assert!(main.contains(&name), "{name} of {} stands nowhere", algorithm.kinds[0]);
            }
        }
    }

    #[test]
    fn policies_with_the_same_algorithms_share_a_script() {
        let one = script("token-bucket:5/1m", Time::Server);
        assert_eq!(one.source.sha, script("token-bucket:9/1h,burst=2", Time::Server).source.sha);
        assert_ne!(one.source.sha, script("fixed-window:5/1m", Time::Server).source.sha);
    }

    #[test]
    fn the_passed_time_changes_the_first_part_alone() {
        let shared = script("sliding-log:5/1m+leaky-bucket:5/1m", Time::Server).source.text;
        let passed = script("sliding-log:5/1m+leaky-bucket:5/1m", Time::Passed).source.text;
        let body = |text: &str| text[text.find("-- What all the algorithms share").unwrap()..].to_owned();
        assert_eq!(body(&shared), body(&passed));
        assert!(shared.contains("'TIME'") && !passed.contains("'TIME'"));
    }

    #[test]
    fn several_limits_share_a_script_by_what_kinds_there_are() {
        let one = of_several(&["token", "fixed", "token"], Time::Server);
        assert!(std::ptr::eq(one, of_several(&["fixed", "token"], Time::Server)));
        for other in [of_several(&["fixed", "log"], Time::Server), of_several(&["fixed", "token"], Time::Passed)] {
            assert_ne!(one.sha, other.sha);
        }
    }
}
