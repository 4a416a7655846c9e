//! Constructed traces that reach the bounds, so that no bound is larger than it has to be.

use ratelimit_core::Decision;

use super::{longest_wait, most_admitted, most_released};
use crate::spec::{Kind, PolicySpec, RuleSpec};
use crate::subject::{Subject, Ticked};

/// A constructed trace reaches the bound of the algorithm, for each of several quotas and every span that the design
/// states.
///
/// # Panics
/// Where it does not.
pub fn law_9_reached<S: Subject>(subject: &S, kind: Kind) {
    if !subject.domain().kinds.contains(&kind) {
        return;
    }
    for (limit, window) in [(1, 1), (1, 7), (5, 10), (3, 7), (7, 20), (10, 3), (12, 12), (100, 60)] {
        let rule = RuleSpec::new(kind, limit, window);
        match kind {
            Kind::Unlimited => {}
            Kind::FixedWindow => two_windows_at_an_edge(subject, &rule),
            Kind::SlidingLog => all_at_once(subject, &rule),
            Kind::SlidingCounter => late_then_as_they_fit(subject, &rule),
            Kind::TokenBucket => burst_then_as_they_come(subject, &rule),
            Kind::LeakyBucket => {
                burst_then_as_they_come(subject, &rule);
                a_full_queue(subject, &rule);
            }
        }
    }
}

/// A client and what it was admitted, by tick.
struct Greedy<C> {
    client: Ticked<C>,
    admitted: Vec<(u64, u64)>,
}

impl<C: crate::subject::Client> Greedy<C> {
    fn new<S: Subject<Client = C>>(subject: &S, rule: &RuleSpec) -> Option<Self> {
        Some(Greedy { client: Ticked::new(subject, &PolicySpec::from(*rule))?, admitted: Vec::new() })
    }

    /// Takes everything that is to be had at `at`.
    fn take_all(&mut self, at: u64) {
        if let Decision::Allowed { remaining, .. } = self.client.decide(at, 0)
            && remaining > 0
            && self.client.decide(at, remaining).is_allowed()
        {
            self.admitted.push((at, remaining));
        }
    }

    /// Units admitted in the first `span` ticks and the tick on which they end.
    fn within(&self, span: u64) -> u128 {
        let start = self.admitted[0].0;
        self.admitted.iter().filter(|(at, _)| at - start <= span).map(|(_, units)| u128::from(*units)).sum()
    }
}

/// L units one tick before an edge, and L on it.
fn two_windows_at_an_edge<S: Subject>(subject: &S, rule: &RuleSpec) {
    let Some(mut greedy) = Greedy::new(subject, rule) else { return };
    for at in [rule.window * 3 - 1, rule.window * 3] {
        greedy.take_all(at);
    }
    assert_eq!(greedy.within(0), u128::from(rule.limit), "{rule:?}");
    for span in 1..=rule.window {
        assert_eq!(greedy.within(span), most_admitted(rule, span), "T = {span} of {rule:?}");
    }
}

fn all_at_once<S: Subject>(subject: &S, rule: &RuleSpec) {
    let Some(mut greedy) = Greedy::new(subject, rule) else { return };
    for at in 0..3 * rule.window {
        greedy.take_all(rule.window + at);
    }
    for span in 0..3 * rule.window {
        assert_eq!(greedy.within(span), most_admitted(rule, span), "T = {span} of {rule:?}");
    }
}

/// L units one tick before an edge, and then each unit at the first tick at which it fits.
fn late_then_as_they_fit<S: Subject>(subject: &S, rule: &RuleSpec) {
    let Some(mut greedy) = Greedy::new(subject, rule) else { return };
    for at in 0..=rule.window {
        greedy.take_all(rule.window * 3 - 1 + at);
    }
    for span in 0..=rule.window {
        assert_eq!(greedy.within(span), most_admitted(rule, span), "T = {span} of {rule:?}");
    }
}

/// B units at once, and then each unit at the first tick at which it fits.
///
/// Every span reaches the bound if and only if no refill is ever lost at the brim: the greatest rest below a unit,
/// 1 - 1/W', and the refill of a tick, L'/W', fit together into B.
fn burst_then_as_they_come<S: Subject>(subject: &S, rule: &RuleSpec) {
    let divisor = crate::model::gcd(rule.limit, rule.window);
    let (gain, unit) = (rule.limit / divisor, rule.window / divisor);
    for burst in [1, 2, 3, 10, 50] {
        let rule = rule.with_burst(burst);
        let nothing_is_lost = gain + unit - 1 <= burst * unit;
        let Some(mut greedy) = Greedy::new(subject, &rule) else { return };
        for at in 0..3 * rule.window {
            greedy.take_all(5 + at);
        }
        let falls_short = |span: &u64| greedy.within(*span) != most_admitted(&rule, *span);
        let shortfall = (0..3 * rule.window).find(falls_short);
        assert_eq!(shortfall.is_none(), nothing_is_lost, "first span not reached {shortfall:?}, of {rule:?}");
    }
}

/// A long queue of unit requests: the fullest of all spans of each length holds as many releases as the bound says, and
/// the last of the queue waits as long as it says.
fn a_full_queue<S: Subject>(subject: &S, rule: &RuleSpec) {
    let rule = rule.with_burst(5 * rule.limit + 1);
    let Some(mut client) = Ticked::new(subject, &PolicySpec::from(rule)) else { return };
    let mut releases = Vec::new();
    for i in 0..rule.burst {
        let Decision::Allowed { delay, .. } = client.decide(0, 1) else { panic!("{rule:?} has room for {i}") };
        releases.push(delay.get());
    }
    assert_eq!(releases.last().copied().map(u128::from), Some(longest_wait(&rule, 1)), "{rule:?}");
    for span in 1..=rule.window {
        let released_from = |start: u64| releases.iter().filter(|at| (start..start + span).contains(at)).count();
        let fullest = (0..2 * rule.window).map(released_from).max().unwrap_or(0);
        assert_eq!(fullest as u128, most_released(&rule, span), "half-open T = {span} of {rule:?}");
    }
    for cost in 1..=rule.limit {
        let Some(mut client) = Ticked::new(subject, &PolicySpec::from(rule)) else { return };
        client.decide(0, rule.burst - cost);
        let Decision::Allowed { delay, .. } = client.decide(0, cost) else { panic!("{cost} fit into {rule:?}") };
        assert_eq!(u128::from(delay.get()), longest_wait(&rule, cost), "cost {cost} of {rule:?}");
    }
}
