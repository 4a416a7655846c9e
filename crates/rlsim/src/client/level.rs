//! How full the state of a rule is over time, asked of the core: no limiter is computed here a second time.
//!
//! Between two requests a state changes in the way that its algorithm states: the count of a fixed window stays and falls
//! to 0 at the edge, a log loses an entry when it expires, a bucket drains evenly until it is fresh, and the estimate of a
//! sliding counter goes straight from window edge to window edge. So it is enough to ask the core at the instants where
//! that changes: `reset_after` says when a state is fresh, `retry_after` when it next has more room, and `used` how much
//! is in use.

use ratelimit_core::{Algorithm, Decision, Nanos, Rule, RuleState};

use super::line::Line;

/// A full state: the height of a line.
pub const FULL: u32 = 1 << 16;

/// Draws how full a state is that nothing is asked of from `from` until `until`.
pub(super) fn between(rule: &Rule, state: &RuleState, from: u64, until: u64, line: &mut Line) {
    let mut push = |at: u64, height: u32| line.push((at, height));
    let mut at = from;
    push(at, height(rule, state, at));
    match rule {
        Rule::Unlimited => {}
        Rule::FixedWindow(_) | Rule::SlidingLog(_) => {
            while let Some(next) = more_room(rule, state, at).filter(|next| *next <= until) {
                push(next, height(rule, state, at));
                push(next, height(rule, state, next));
                at = next;
            }
        }
        Rule::TokenBucket(_) | Rule::LeakyBucket(_) => {
            if let Some(fresh) = fresh_from(rule, state, at).filter(|fresh| *fresh <= until) {
                push(fresh, 0);
            }
        }
        Rule::SlidingCounter(counter) => {
            let window = counter.quota().window().get();
            // The line bends at the next two edges, after which nothing counts any more.
            while let Some(edge) = (at - at % window).checked_add(window).filter(|edge| *edge <= until) {
                at = edge;
                push(at, height(rule, state, at));
                if used(rule, state, at) == 0 {
                    break;
                }
            }
        }
    }
    push(until, height(rule, state, until));
}

/// How full the state is at `at`, of [`FULL`]. For a bucket and a sliding counter this is before the rounding to whole units.
pub(super) fn height(rule: &Rule, state: &RuleState, at: u64) -> u32 {
    match rule {
        Rule::Unlimited => 0,
        Rule::FixedWindow(_) | Rule::SlidingLog(_) => share(used(rule, state, at).into(), rule.capacity().into()),
        Rule::TokenBucket(_) | Rule::LeakyBucket(_) => bucket(rule, state, at),
        Rule::SlidingCounter(counter) => {
            let window = counter.quota().window().get();
            let elapsed = at % window;
            // What counts at the start of the window fades evenly to what counts at its end: the units of this window.
            let start = used(rule, state, at - elapsed);
            let end = used(rule, state, (at - elapsed).saturating_add(window));
            let left = share(u128::from(window - elapsed), window.into());
            let fading = u128::from(start.saturating_sub(end)) * u128::from(left);
            share(u128::from(end) * u128::from(FULL) + fading, u128::from(rule.capacity()) * u128::from(FULL))
        }
    }
}

/// A bucket drains L units in each W until it is fresh, so the time until then says how full it is.
fn bucket(rule: &Rule, state: &RuleState, at: u64) -> u32 {
    let (Some(quota), Some(fresh)) = (rule.quota(), fresh_from(rule, state, at)) else { return 0 };
    let drained = u128::from(fresh - at) * u128::from(quota.limit());
    share(drained, u128::from(quota.window().get()) * u128::from(rule.capacity()))
}

/// Units in use.
fn used(rule: &Rule, state: &RuleState, at: u64) -> u64 {
    rule.used(state, Nanos::new(at))
}

/// When the state is fresh, if nothing is asked of it.
fn fresh_from(rule: &Rule, state: &RuleState, at: u64) -> Option<u64> {
    match rule.peek(state, Nanos::new(at), 0) {
        Decision::Allowed { reset_after, .. } => Some(at.saturating_add(reset_after.get())),
        Decision::Denied { .. } | Decision::Never { .. } => None,
    }
}

/// The next instant at which more units are allowed than at `at`; `None` when all of them are.
fn more_room(rule: &Rule, state: &RuleState, at: u64) -> Option<u64> {
    let now = Nanos::new(at);
    let Decision::Allowed { remaining, .. } = rule.peek(state, now, 0) else { return None };
    let more = remaining.checked_add(1).filter(|more| *more <= rule.capacity())?;
    at.checked_add(rule.peek(state, now, more).retry_after()?.get())
}

/// `part / whole` of [`FULL`], rounded down; no more than full.
fn share(part: u128, whole: u128) -> u32 {
    let bits = FULL.ilog2();
    let share =
        if part.leading_zeros() >= bits { (part << bits) / whole.max(1) } else { part / (whole >> bits).max(1) };
    u32::try_from(share).unwrap_or(FULL).min(FULL)
}

#[cfg(test)]
mod tests {
    use super::super::line::{Columns, Point};
    use super::*;
    use proptest::prelude::*;

    const MINUTE: u64 = 60_000_000_000;

    fn rule(text: &str) -> Rule {
        text.parse::<ratelimit_core::Policy>().expect("a policy").rules()[0]
    }

    fn line(text: &str, events: &[(u64, u64)], until: u64) -> Vec<Point> {
        let rule = rule(text);
        let (mut state, mut since) = (rule.fresh(), 0);
        let mut line = Line::new(Columns { start_ns: 0, end_ns: until });
        for &(at, cost) in events {
            between(&rule, &state, since, at, &mut line);
            rule.decide(&mut state, Nanos::new(at), cost);
            since = at;
        }
        between(&rule, &state, since, until, &mut line);
        line.finish()
    }

    /// Four units at 30 s of 4 per minute.
    fn four(name: &str) -> Vec<Point> {
        let events: Vec<_> = std::iter::repeat_n((MINUTE / 2, 1), 4).collect();
        let mut points = line(&format!("{name}:4/1m"), &events, 2 * MINUTE);
        // Points on the way of a straight line are of no interest here.
        points.dedup();
        points
    }

    #[test]
    fn each_algorithm_draws_its_own_line() {
        let half = MINUTE / 2;
        let full = FULL;
        assert_eq!(
            four("fixed-window"),
            [(0, 0), (half, 0), (half, full), (MINUTE, full), (MINUTE, 0), (2 * MINUTE, 0)]
        );
        assert_eq!(
            four("sliding-log"),
            [(0, 0), (half, 0), (half, full), (3 * half, full), (3 * half, 0), (2 * MINUTE, 0)]
        );
        assert_eq!(four("sliding-counter"), [(0, 0), (half, 0), (half, full), (MINUTE, full), (2 * MINUTE, 0)]);
        assert_eq!(four("token-bucket"), [(0, 0), (half, 0), (half, full), (3 * half, 0), (2 * MINUTE, 0)]);
        assert_eq!(four("leaky-bucket"), four("token-bucket"));
    }

    #[test]
    fn entries_of_a_log_leave_one_by_one() {
        let points = line("sliding-log:4/10ns", &[(0, 1), (2, 3)], 20);
        let quarter = FULL / 4;
        let steps =
            [(0, 0), (0, quarter), (2, quarter), (2, FULL), (10, FULL), (10, 3 * quarter), (12, 3 * quarter), (12, 0)];
        assert!(steps.iter().all(|step| points.contains(step)), "{points:?}");
    }

    #[test]
    fn the_extremes_of_time_and_units_are_drawn() {
        for name in ["fixed-window", "sliding-log", "sliding-counter", "token-bucket", "leaky-bucket"] {
            for quota in ["1/1ns", "18446744073709551615/1ns", "1/18446744073709551615ns", "3/7ns"] {
                let points = line(&format!("{name}:{quota}"), &[(0, u64::MAX), (1, 1), (u64::MAX - 1, 1)], u64::MAX);
                assert!(points.iter().all(|(_, height)| *height <= FULL), "{name}:{quota}");
            }
        }
    }

    proptest! {
        /// At every instant the line is within a unit of what the core says is in use.
        #[test]
        fn the_line_is_what_the_core_says(
            name in prop::sample::select(vec!["fixed-window", "sliding-log", "sliding-counter", "token-bucket", "leaky-bucket"]),
            limit in 1_u64..9,
            window in 1_u64..60,
            gaps in prop::collection::vec((0_u64..40, 1_u64..4), 1..20),
        ) {
            let rule = rule(&format!("{name}:{limit}/{window}ns"));
            let events: Vec<(u64, u64)> = gaps.iter().scan(0, |at, (gap, cost)| { *at += gap; Some((*at, *cost)) }).collect();
            let end = events[events.len() - 1].0 + 2 * window;
            let points = line(&format!("{name}:{limit}/{window}ns"), &events, end);
            let mut state = rule.fresh();
            let mut next = 0;
            for at in 0..end {
                while let Some((_, cost)) = events.get(next).filter(|event| event.0 <= at) {
                    rule.decide(&mut state, Nanos::new(at), *cost);
                    next += 1;
                }
                let drawn = height_at(&points, at);
                let expected = rule.used(&state, Nanos::new(at));
                // A bucket counts a started unit in full, the counter leaves it out, and a height is rounded.
                let unit = f64::from(FULL) / float(limit);
                let units = drawn / unit;
                let slack = 0.01 + float(limit) / float(window);
                prop_assert!((units - float(expected)).abs() < 1.0 + slack, "at {at}: drawn {units}, in use {expected}");
                if matches!(name, "fixed-window" | "sliding-log") {
                    prop_assert!((units - float(expected)).abs() < 0.01, "at {at}: drawn {units}, in use {expected}");
                }
            }
        }
    }

    fn float(small: u64) -> f64 {
        f64::from(u32::try_from(small).expect("a small number"))
    }

    /// The height of a line at an instant, the last one there.
    fn height_at(points: &[Point], at: u64) -> f64 {
        let after = points.partition_point(|point| point.0 <= at);
        let (from, to) = (points[after - 1], points.get(after).copied().unwrap_or(points[after - 1]));
        let span = float((to.0 - from.0).max(1));
        f64::from(from.1) + (f64::from(to.1) - f64::from(from.1)) * float(at - from.0) / span
    }
}
