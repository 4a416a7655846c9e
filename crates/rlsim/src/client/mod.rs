//! One client: what each policy keeps for it over time, and what became of its requests.
//!
//! A pipeline of its own beside the replay, because a picture of a state needs what a decision does not say: how full the
//! state is between two requests. The states and the decisions are those of the core.

mod level;
mod line;
mod name;

pub use level::FULL;
pub use line::{Columns, Point};
pub use name::find;

use ratelimit_core::{Algorithm, Decision, Nanos, Policy, PolicyState, Rule, RuleState};

use crate::replay::{By, NamedPolicy};
use crate::trace::Trace;
use line::Line;

/// One client under several policies, as plain numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientView {
    /// The client's name as reports show it.
    pub name: String,
    /// Its requests.
    pub requests: u64,
    /// The time shown: from its first request until its last one, and some more.
    pub columns: Columns,
    /// Whether all clients share each state, so that others drain it too.
    pub shared: bool,
    /// One entry a rule of a policy.
    pub states: Vec<StateView>,
}

/// What one rule keeps for the client, and what its policy answered.
#[derive(Debug, Clone, PartialEq)]
pub struct StateView {
    /// The policy's name.
    pub policy: String,
    /// The policy's algorithm, several joined by `+`.
    pub algorithm: String,
    /// The rule: the policy itself, unless it consists of several.
    pub rule: Rule,
    /// Whether the policy has other rules too, each of which may refuse.
    pub several: bool,
    /// How full the state is, of [`FULL`]: the units in use of [`capacity`](Algorithm::capacity).
    pub line: Vec<Point>,
    /// The most that was in use, in units: at a request.
    pub most_used: u64,
    /// Requests of the client by answer.
    pub answers: Answers,
    /// Its requests that passed, in each column, by the time they came.
    pub allowed: Vec<u32>,
    /// Its requests that were refused, in each column.
    pub refused: Vec<u32>,
    /// The first refusal in each column that has one, and how full the state was then, of [`FULL`].
    pub refusals: Vec<Point>,
    /// Its requests that were released after a wait, in each column; empty where nothing waits.
    pub released: Vec<u32>,
}

/// Requests by answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answers {
    /// Admitted.
    pub allowed: u64,
    /// Denied for now.
    pub denied: u64,
    /// Refused for good.
    pub never: u64,
}

impl Answers {
    /// Denied, or refused for good.
    pub fn refused(&self) -> u64 {
        self.denied + self.never
    }
}

/// Follows `client` (an index into the trace's names) under each policy. Linear in the trace for each policy, and for a
/// sliding log in the entries that expire; the result takes a few thousand points for each of its rules, whatever the trace.
pub fn follow(trace: &Trace, policies: &[NamedPolicy], by: By, client: u32) -> ClientView {
    let columns = columns(trace, policies, client);
    let mut requests = 0;
    let mut states = Vec::new();
    for named in policies {
        let mut followed = Followed::new(&named.policy, columns);
        for (i, (&at, &who)) in trace.at.iter().zip(&trace.client).enumerate() {
            if who == client || by == By::Global {
                followed.decide(at, trace.cost.get(i), who == client);
            }
        }
        let (answers, views) = followed.finish(named);
        requests = answers.allowed + answers.refused();
        states.extend(views);
    }
    let name = trace.names.get(client as usize).map(|name| String::from_utf8_lossy(name).into_owned());
    ClientView { name: name.unwrap_or_default(), requests, columns, shared: by == By::Global, states }
}

/// The time to show: all of the client's requests, and after them a window, or an eighth more where that is shorter, to see
/// the state recover. Where they all fall into one window, an eighth of one stands before them too.
fn columns(trace: &Trace, policies: &[NamedPolicy], client: u32) -> Columns {
    let mut times = trace.at.iter().zip(&trace.client).filter(|(_, who)| **who == client).map(|(at, _)| *at);
    let first = times.next().unwrap_or(0);
    let last = times.next_back().unwrap_or(first);
    let quotas = policies.iter().flat_map(|named| named.policy.rules()).filter_map(Rule::quota);
    let window = quotas.map(|quota| quota.window().get()).max().unwrap_or(0);
    let (span, eighth) = (last - first, window / 8);
    let (before, after) =
        if span < window { (eighth, window.saturating_add(eighth)) } else { (0, window.min(span / 8)) };
    let end_ns = last.saturating_add(after.max(1));
    Columns { start_ns: first.saturating_sub(before).min(end_ns - 1), end_ns }
}

/// A policy that is being asked, and the lines of its rules.
struct Followed<'a> {
    policy: &'a Policy,
    state: PolicyState,
    /// The last request that was decided, or the start of the picture.
    since: u64,
    columns: Columns,
    lines: Vec<Line>,
    most_used: Vec<u64>,
    answers: Answers,
    allowed: Vec<u32>,
    refused: Vec<u32>,
    refusals: Vec<Vec<Point>>,
    released: Vec<u32>,
}

impl<'a> Followed<'a> {
    fn new(policy: &'a Policy, columns: Columns) -> Self {
        let waits = policy.rules().iter().any(|rule| matches!(rule, Rule::LeakyBucket(_)));
        let none = || vec![0; columns.count()];
        Followed {
            policy,
            state: policy.fresh(),
            since: columns.start_ns,
            columns,
            lines: policy.rules().iter().map(|_| Line::new(columns)).collect(),
            most_used: vec![0; policy.rules().len()],
            answers: Answers::default(),
            allowed: none(),
            refused: none(),
            refusals: policy.rules().iter().map(|_| Vec::new()).collect(),
            released: if waits { none() } else { Vec::new() },
        }
    }

    /// Decides one request, of the client (`own`) or of another one under the same limit.
    fn decide(&mut self, at: u64, cost: u64, own: bool) {
        self.draw_until(at);
        let decision = self.policy.decide(&mut self.state, Nanos::new(at), cost);
        self.since = at.max(self.columns.start_ns);
        for ((rule, part), most) in self.policy.rules().iter().zip(parts(&self.state)).zip(&mut self.most_used) {
            *most = (*most).max(rule.used(part, Nanos::new(at)));
        }
        if own {
            self.count(at, decision);
        }
    }

    fn count(&mut self, at: u64, decision: Decision) {
        let columns = self.columns;
        let mark = |marks: &mut [u32], at: u64| {
            let mark = marks.get_mut(columns.of(at));
            mark.map(|mark| std::mem::replace(mark, mark.saturating_add(1)))
        };
        match decision {
            Decision::Allowed { delay, .. } => {
                self.answers.allowed += 1;
                mark(&mut self.allowed, at);
                let release = at.saturating_add(delay.get());
                if release <= columns.end_ns {
                    mark(&mut self.released, release);
                }
            }
            Decision::Denied { .. } => self.answers.denied += 1,
            Decision::Never { .. } => self.answers.never += 1,
        }
        if !decision.is_allowed() && mark(&mut self.refused, at) == Some(0) {
            for ((rule, part), refusals) in self.policy.rules().iter().zip(parts(&self.state)).zip(&mut self.refusals) {
                refusals.push((at, level::height(rule, part, at)));
            }
        }
    }

    /// Draws what happens while nothing is asked. What lies outside the picture is left out.
    fn draw_until(&mut self, until: u64) {
        let until = until.min(self.columns.end_ns);
        if until < self.since {
            return;
        }
        for ((rule, part), line) in self.policy.rules().iter().zip(parts(&self.state)).zip(&mut self.lines) {
            level::between(rule, part, self.since, until, line);
        }
    }

    fn finish(mut self, named: &NamedPolicy) -> (Answers, Vec<StateView>) {
        self.draw_until(self.columns.end_ns);
        let several = self.policy.rules().len() > 1;
        let lines = self.policy.rules().iter().zip(self.lines).zip(self.most_used).zip(self.refusals);
        let view = |(((rule, line), most_used), refusals): (((&Rule, Line), u64), Vec<Point>)| StateView {
            policy: named.name.clone(),
            algorithm: named.algorithm(),
            rule: *rule,
            several,
            line: if *rule == Rule::Unlimited { Vec::new() } else { line.finish() },
            most_used,
            answers: self.answers,
            allowed: self.allowed.clone(),
            refused: self.refused.clone(),
            refusals,
            released: if matches!(rule, Rule::LeakyBucket(_)) { self.released.clone() } else { Vec::new() },
        };
        (self.answers, lines.map(view).collect())
    }
}

/// The states of a policy's rules, in their order.
fn parts(state: &PolicyState) -> &[RuleState] {
    match state {
        PolicyState::One(part) => std::slice::from_ref(part),
        PolicyState::Several(parts) => &parts[..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::{parse_named, unique_names};
    use crate::trace::{Costs, Facts};

    const SECOND: u64 = 1_000_000_000;

    fn trace(events: &[(u64, u32)]) -> Trace {
        Trace {
            at: events.iter().map(|event| event.0).collect(),
            client: events.iter().map(|event| event.1).collect(),
            cost: Costs::Unit,
            names: ["a", "b"].map(|name| name.as_bytes().into()).to_vec(),
            facts: Facts::default(),
        }
    }

    fn followed(events: &[(u64, u32)], policies: &[&str], by: By) -> ClientView {
        let parsed = policies.iter().map(|text| parse_named(text)).collect::<Result<_, _>>().expect("policies");
        follow(&trace(events), &unique_names(parsed).expect("names"), by, 0)
    }

    fn marks(marks: &[u32]) -> u64 {
        marks.iter().copied().map(u64::from).sum()
    }

    #[test]
    fn every_request_is_marked_once() {
        let events: Vec<_> = (0..300).map(|i| (59 * SECOND + i * SECOND / 100, u32::from(i % 3 == 0))).collect();
        let view = followed(&events, &["fixed-window:50/1m", "leaky-bucket:50/1m,burst=9", "unlimited"], By::Client);
        assert_eq!((view.requests, view.states.len()), (200, 3));
        for state in &view.states {
            assert_eq!(marks(&state.allowed), state.answers.allowed);
            assert_eq!(marks(&state.refused), state.answers.refused());
        }
        assert_eq!(view.states[0].answers.allowed, 100);
        assert_eq!(view.states[0].most_used, 50);
        assert_eq!(marks(&view.states[1].released), view.states[1].answers.allowed);
        assert_eq!((view.states[2].most_used, &view.states[2].line[..]), (0, &[][..]));
    }

    #[test]
    fn rules_of_one_policy_have_a_line_each_and_the_same_answers() {
        let events: Vec<_> = (0..20).map(|i| (i * SECOND / 10, 0)).collect();
        let view = followed(&events, &["both=token-bucket:2/1s+sliding-log:5/10s"], By::Client);
        let [bucket, log] = &view.states[..] else { panic!("two rules") };
        assert_eq!((bucket.answers, bucket.several), (log.answers, true));
        assert_eq!((bucket.most_used, log.most_used), (2, 5));
        assert_eq!(log.answers.allowed, 5);
    }

    #[test]
    fn under_a_shared_limit_others_use_it_too() {
        let events = [(0, 1), (SECOND, 1), (2 * SECOND, 0), (3 * SECOND, 1)];
        let view = followed(&events, &["sliding-log:2/10s"], By::Global);
        let state = &view.states[0];
        assert_eq!((view.requests, state.answers.denied, state.most_used), (1, 1, 2));
        assert_eq!(state.line.iter().map(|point| point.1).max(), Some(FULL));
    }

    #[test]
    fn many_requests_take_no_more_room_than_the_picture() {
        let events: Vec<_> = (0..100_000).map(|i| (i * 50_000_000 + i * i % 977 * 1000, 0)).collect();
        let view = followed(&events, &["token-bucket:100/10s", "sliding-log:100/10s"], By::Client);
        for state in &view.states {
            assert!(state.line.len() <= 4 * view.columns.count(), "{}", state.line.len());
            assert!(state.line.is_sorted_by_key(|point| point.0));
            assert_eq!(state.answers.allowed + state.answers.denied, 100_000);
        }
    }

    #[test]
    fn any_stretch_of_time_is_shown() {
        for (first, last) in [(0, 0), (5, 5), (u64::MAX, u64::MAX), (0, u64::MAX), (u64::MAX - 5, u64::MAX)] {
            for policy in ["fixed-window:1/1m", "sliding-counter:3/7ns", "token-bucket:1/1ns", "unlimited"] {
                let view = followed(&[(first, 0), (last, 0)], &[policy], By::Client);
                assert!(view.columns.start_ns < view.columns.end_ns);
                assert_eq!(marks(&view.states[0].allowed) + marks(&view.states[0].refused), 2, "{policy}");
            }
        }
    }
}
