//! Every metric against brute force: definitions evaluated as they read, instant by instant, on arbitrary histories
//! (arbitrary answers, not those of a limiter).

use super::{
    ClientTally, Closing, Identity, Layout, OfferedMetrics, PolicyMetrics, PolicyNumbers, Scope, envelope_lengths,
};
use crate::replay::{CostColumn, History, Subject, Verdict};
use proptest::prelude::*;

/// Events of one trace with arbitrary answers.
#[derive(Debug, Clone)]
struct Case {
    limit: u64,
    window: u64,
    by_client: bool,
    unit_costs: bool,
    parts: usize,
    events: Vec<Event>,
}

#[derive(Debug, Clone, Copy)]
struct Event {
    at: u64,
    client: u32,
    cost: u64,
    verdict: Verdict,
}

const CLIENTS: u32 = 4;

fn verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        3 => Just(Verdict::Allowed { delay: 0 }),
        2 => (0_u64..30).prop_map(|delay| Verdict::Allowed { delay }),
        2 => Just(Verdict::Denied { retry_after: 1 }),
        1 => Just(Verdict::Never),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let event = (0_u64..12, 0..CLIENTS, 0_u64..4, verdict());
    let events = prop::collection::vec(event, 1..40);
    (1_u64..8, 1_u64..50, any::<bool>(), any::<bool>(), 1_usize..4, 0_u64..100, events).prop_map(
        |(limit, window, by_client, unit_costs, parts, start, steps)| {
            let mut at = start;
            let events = steps.into_iter().map(|(gap, client, cost, verdict)| {
                at += gap;
                Event { at, client, cost: if unit_costs { 1 } else { cost }, verdict }
            });
            Case { limit, window, by_client, unit_costs, parts, events: events.collect() }
        },
    )
}

impl Case {
    fn scope(&self) -> Scope {
        let (start, end) = self.span();
        Scope {
            limit: Some(self.limit),
            window_ns: Some(self.window),
            burst: None,
            start_ns: start,
            end_ns: end,
            clients: u64::from(CLIENTS),
            by_client: self.by_client,
            depth: crate::metrics::Depth::Everything,
            layout: Layout::new(start, end, Some(self.window)),
            envelope: envelope_lengths(1, end - start, &[self.window]),
            raster: vec![2, 0],
        }
    }

    fn span(&self) -> (u64, u64) {
        (self.events[0].at, self.events[self.events.len() - 1].at)
    }

    /// The events of each limited subject: of each client that has any, or of all together.
    fn subjects(&self) -> Vec<Vec<Event>> {
        let of = |client: u32| self.events.iter().copied().filter(|event| event.client == client).collect();
        let clients = (0..CLIENTS).map(of).filter(|events: &Vec<_>| !events.is_empty());
        if self.by_client { clients.collect() } else { vec![self.events.clone()] }
    }

    /// The accumulator's answer, from as many merged parts as the case says.
    fn numbers(&self) -> PolicyNumbers {
        let scope = self.scope();
        let mut parts: Vec<_> = (0..self.parts).map(|_| PolicyMetrics::new(&scope)).collect();
        for (i, events) in self.subjects().iter().enumerate() {
            let at: Vec<_> = events.iter().map(|event| event.at).collect();
            let cost: Vec<_> = events.iter().map(|event| event.cost).collect();
            let client: Vec<_> = events.iter().map(|event| event.client).collect();
            let verdict: Vec<_> = events.iter().map(|event| event.verdict).collect();
            let history = History {
                at: &at,
                cost: if self.unit_costs { CostColumn::Unit } else { CostColumn::Each(&cost) },
                subject: if self.by_client { Subject::One(client[0]) } else { Subject::All(&client) },
                verdict: &verdict,
            };
            parts[i % self.parts].observe(&history);
        }
        let mut total = PolicyMetrics::new(&scope);
        for part in parts {
            total.merge(part);
        }
        let identity = Identity { name: "p".into(), policy: "p".into(), algorithm: "p".into() };
        let names: Vec<Box<[u8]>> = (0..CLIENTS).map(|client| client.to_string().into_bytes().into()).collect();
        total.finish(identity, &Closing { log_units: Some(7), state_bytes: Some(16), memory: None, names: &names })
    }
}

fn allowed(event: &Event) -> bool {
    matches!(event.verdict, Verdict::Allowed { .. })
}

fn event_release(event: &Event) -> Option<u64> {
    match event.verdict {
        Verdict::Allowed { delay } => Some(event.at + delay),
        _ => None,
    }
}

/// Releases as (time, units), in time order.
fn releases(events: &[Event]) -> Vec<(u64, u64)> {
    let release = |event: &Event| match event.verdict {
        Verdict::Allowed { delay } if event.cost > 0 => Some((event.at + delay, event.cost)),
        _ => None,
    };
    let mut releases: Vec<_> = events.iter().filter_map(release).collect();
    releases.sort_unstable();
    releases
}

/// Units in the trailing window at `t`, and its oldest release.
fn trailing(releases: &[(u64, u64)], window: u64, t: u64) -> (u64, Option<u64>) {
    let inside: Vec<_> = releases.iter().filter(|(at, _)| *at <= t && t - at < window).collect();
    (inside.iter().map(|(_, cost)| cost).sum(), inside.iter().map(|(at, _)| *at).min())
}

/// The most units in any window of `window`, by trying the window that ends at each release; with the rule for ties.
fn densest(case: &Case, window: u64) -> Option<(u64, u64, u64, u32)> {
    let mut found: Vec<(u64, u64, u64, u32)> = Vec::new();
    for events in case.subjects() {
        let releases = releases(&events);
        for &(end, _) in &releases {
            let (units, oldest) = trailing(&releases, window, end);
            found.push((units, oldest.expect("it holds the release itself"), end, events[0].client));
        }
    }
    found.sort_by_key(|&(units, start, end, client)| (std::cmp::Reverse(units), end - start, start, client));
    found.first().copied()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs().max(1.0)
}

/// Max-min fair shares: the level at which everybody's `min(asked, level)` adds up to the total, found by halving.
#[expect(clippy::cast_precision_loss, reason = "small numbers in a test")]
fn jain(tallies: &[(u64, u64)]) -> Option<f64> {
    let total: u64 = tallies.iter().map(|(_, got)| got).sum();
    let demanding: Vec<_> = tallies.iter().filter(|(asked, _)| *asked > 0).collect();
    let filled = |level: f64| demanding.iter().map(|(asked, _)| (*asked as f64).min(level)).sum::<f64>();
    let (mut level, mut high) = (0.0, 1e6);
    for _ in 0..100 {
        let middle = f64::midpoint(level, high);
        if filled(middle) < total as f64 { level = middle } else { high = middle }
    }
    let got: Vec<f64> = demanding.iter().map(|(asked, got)| *got as f64 / (*asked as f64).min(high)).collect();
    let (sum, squares): (f64, f64) = (got.iter().sum(), got.iter().map(|x| x * x).sum());
    (total > 0).then(|| sum * sum / (got.len() as f64 * squares))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn counts_are_sums(case in case()) {
        let numbers = case.numbers();
        let count = |keep: fn(&Event) -> bool| case.events.iter().filter(|event| keep(event)).count() as u64;
        prop_assert_eq!(numbers.requests.offered, case.events.len() as u64);
        prop_assert_eq!(numbers.requests.allowed, count(allowed));
        prop_assert_eq!(numbers.requests.denied, count(|event| matches!(event.verdict, Verdict::Denied { .. })));
        prop_assert_eq!(numbers.requests.never, count(|event| event.verdict == Verdict::Never));
        let units: u64 = case.events.iter().map(|event| event.cost).sum();
        let admitted: u64 = case.events.iter().filter(|event| allowed(event)).map(|event| event.cost).sum();
        prop_assert_eq!((numbers.units.offered, numbers.units.allowed), (units, admitted));
        prop_assert!(close(numbers.efficiency.expect("the log admitted 7"), f64::from(u32::try_from(admitted).unwrap()) / 7.0));
    }

    #[test]
    fn the_peak_and_the_instant_are_the_densest_windows(case in case()) {
        let numbers = case.numbers();
        let peak = numbers.peak.expect("there is a quota");
        let expected = densest(&case, case.window);
        prop_assert_eq!(peak.units, expected.map_or(0, |found| found.0));
        prop_assert_eq!(peak.start_ns.zip(peak.end_ns), expected.map(|found| (found.1, found.2)));
        let client = expected.filter(|_| case.by_client).map(|found| found.3.to_string());
        prop_assert_eq!(peak.client, client);
        let instant = numbers.instant.expect("there is a quota");
        prop_assert_eq!(instant.span_ns, (case.window / 100).max(1));
        prop_assert_eq!(instant.units, densest(&case, instant.span_ns).map_or(0, |found| found.0));
    }

    #[test]
    fn the_envelope_is_the_densest_window_of_each_length(case in case()) {
        let envelope = case.numbers().envelope.expect("lengths were asked for");
        prop_assert_eq!(envelope.iter().map(|point| point.0).collect::<Vec<_>>(), case.scope().envelope);
        for (length, units) in envelope {
            prop_assert_eq!(units, densest(&case, length).map_or(0, |found| found.0), "length {}", length);
        }
    }

    #[test]
    fn the_offered_envelope_is_that_of_everything_allowed_at_once(case in case()) {
        let lengths = case.scope().envelope;
        let mut offered = OfferedMetrics::new(&lengths, case.window);
        for events in case.subjects() {
            let at: Vec<_> = events.iter().map(|event| event.at).collect();
            let cost: Vec<_> = events.iter().map(|event| event.cost).collect();
            let verdict: Vec<_> = events.iter().map(|event| event.verdict).collect();
            let cost = CostColumn::Each(&cost);
            offered.observe(&History { at: &at, cost, subject: Subject::One(0), verdict: &verdict });
        }
        let allow = |event: &Event| Event { verdict: Verdict::Allowed { delay: 0 }, ..*event };
        let allowed = Case { events: case.events.iter().map(allow).collect(), ..case };
        prop_assert_eq!(Some(offered.finish().envelope), allowed.numbers().envelope);
    }

    #[test]
    fn over_limit_time_is_the_share_of_instants_over_the_limit(case in case()) {
        let (start, end) = case.span();
        let subjects: Vec<_> = case.subjects().iter().map(|events| releases(events)).collect();
        let over = |t: u64| subjects.iter().any(|releases| trailing(releases, case.window, t).0 > case.limit);
        let instants = u32::try_from((start..end).filter(|&t| over(t)).count()).expect("few");
        let span = u32::try_from(end - start).expect("short");
        let expected = if span == 0 { 0.0 } else { f64::from(instants) / f64::from(span) };
        prop_assert!(close(case.numbers().over_limit_time.expect("there is a quota"), expected));
    }

    #[test]
    fn decisions_are_judged_by_the_policys_own_admissions(case in case()) {
        let (mut accepts, mut denials, mut contested) = (0, 0, 0);
        for events in case.subjects() {
            for (i, now) in events.iter().enumerate() {
                let earlier = events[..i].iter().filter(|event| allowed(event) && now.at - event.at < case.window);
                let used: u64 = earlier.map(|event| event.cost).sum();
                let fits = used + now.cost <= case.limit;
                let denied = matches!(now.verdict, Verdict::Denied { .. });
                accepts += u64::from(allowed(now) && now.cost > 0 && !fits);
                denials += u64::from(denied && fits);
                contested += u64::from(denied || used * 10 >= case.limit * 9);
            }
        }
        let numbers = case.numbers();
        prop_assert_eq!(numbers.over_limit_accepts, Some(accepts));
        prop_assert_eq!(numbers.needless_denials, Some(denials));
        prop_assert_eq!(numbers.contested, Some(contested));
    }

    #[test]
    fn delays_are_percentiles_by_nearest_rank(case in case()) {
        let delay = |event: &Event| match event.verdict {
            Verdict::Allowed { delay } => Some(delay),
            _ => None,
        };
        let mut delays: Vec<_> = case.events.iter().filter_map(delay).collect();
        delays.sort_unstable();
        // The smallest value that at least so many in a hundred do not exceed.
        let percentile = |percent: usize| {
            delays.iter().copied().find(|&d| delays.iter().filter(|&&x| x <= d).count() * 100 >= percent * delays.len())
        };
        let found = case.numbers().delay_ns;
        prop_assert_eq!(found.and_then(|d| d.p50), percentile(50));
        prop_assert_eq!(found.and_then(|d| d.p95), percentile(95));
        prop_assert_eq!(found.and_then(|d| d.p99), percentile(99));
        prop_assert_eq!(found.map(|d| d.max), delays.last().copied());
        let waiting = |event: &&Event| event_release(event).is_some_and(|release| release > case.span().1);
        let queued = case.events.iter().filter(waiting).count() as u64;
        prop_assert_eq!(case.numbers().waiting.queued_at_end, queued);
    }

    #[test]
    fn clients_are_tallied_and_fairness_is_jains_index_over_fair_shares(case in case()) {
        let numbers = case.numbers();
        let of = |client: u32| case.events.iter().filter(move |event| event.client == client);
        let asked = |client| of(client).map(|event| event.cost).sum::<u64>();
        let got = |client| of(client).filter(|event| allowed(event)).map(|event| event.cost).sum::<u64>();
        let limited = (0..CLIENTS).filter(|&c| of(c).any(|e| matches!(e.verdict, Verdict::Denied { .. }))).count() as u64;
        let starved = (0..CLIENTS).filter(|&c| of(c).next().is_some() && !of(c).any(allowed)).count() as u64;
        prop_assert_eq!((numbers.clients.total, numbers.clients.limited, numbers.clients.starved),
            (u64::from(CLIENTS), limited, starved));
        let tallies: Vec<_> = (0..CLIENTS).map(|client| (asked(client), got(client))).collect();
        match (numbers.fairness, jain(&tallies)) {
            (Some(found), Some(expected)) => prop_assert!(close(found, expected), "{} {}", found, expected),
            (found, expected) => prop_assert_eq!(found.is_some(), expected.is_some()),
        }
        let rejected = |client| of(client).filter(|event| !allowed(event)).count() as u64;
        let worst = (0..CLIENTS).map(|client| (rejected(client), client)).max_by_key(|(n, client)| (*n, std::cmp::Reverse(*client)));
        let worst = worst.filter(|(n, _)| *n > 0).map(|(n, client)| (Some(client.to_string()), of(client).count() as u64, n));
        prop_assert_eq!(numbers.most_affected.map(|a| (a.client, a.offered, a.rejected)), worst);
        let largest = tallies.iter().map(|(_, got)| *got).max().unwrap_or(0);
        let total: u64 = tallies.iter().map(|(_, got)| *got).sum();
        let float = |units: u64| f64::from(u32::try_from(units).expect("few"));
        prop_assert_eq!(numbers.largest_share.is_none(), total == 0);
        prop_assert!(close(numbers.largest_share.unwrap_or(0.0) * float(total), float(largest)));
        for tally in &numbers.details.clients {
            let ClientTally { client, units_offered, units_allowed, .. } = *tally;
            prop_assert_eq!((units_offered, units_allowed), tallies[client as usize]);
        }
    }

    #[test]
    fn the_series_holds_every_unit_in_its_bin(case in case()) {
        let numbers = case.numbers();
        let series = numbers.series.as_ref().expect("everything is measured");
        for (bin, &units) in series.allowed.iter().enumerate() {
            let from = series.start_ns + bin as u64 * series.bin_ns;
            let inside = |at: u64| from <= at && at < from + series.bin_ns;
            let released: u64 = releases(&case.events).iter().filter(|(at, _)| inside(*at)).map(|(_, cost)| cost).sum();
            prop_assert_eq!(units, released);
            let denied = case.events.iter().filter(|e| matches!(e.verdict, Verdict::Denied { .. }) && inside(e.at));
            prop_assert_eq!(series.denied[bin], denied.map(|event| event.cost).sum::<u64>());
        }
        let edges = series.start_ns.is_multiple_of(series.bin_ns)
            && (case.window.is_multiple_of(series.bin_ns) || series.bin_ns.is_multiple_of(case.window));
        prop_assert!(edges);
        prop_assert_eq!(series.allowed.iter().sum::<u64>() + series.later, numbers.units.allowed);
    }

    #[test]
    fn the_line_is_the_busiest_subjects_minimum_and_maximum_in_each_column(case in case()) {
        let numbers = case.numbers();
        let line = &numbers.details.trailing;
        let subjects: Vec<_> = case.subjects().iter().map(|events| releases(events)).collect();
        for column in 0..line.hi.len() {
            let from = line.start_ns + column as u64 * line.column_ns;
            let instants = from..from + line.column_ns;
            let values = |releases: &Vec<(u64, u64)>| {
                let values: Vec<_> = instants.clone().map(|t| trailing(releases, case.window, t).0).collect();
                (values.iter().copied().min().unwrap_or(0), values.iter().copied().max().unwrap_or(0))
            };
            let extremes: Vec<_> = subjects.iter().map(values).collect();
            prop_assert_eq!(line.lo[column], extremes.iter().map(|e| e.0).max().unwrap_or(0), "lo of column {}", column);
            prop_assert_eq!(line.hi[column], extremes.iter().map(|e| e.1).max().unwrap_or(0), "hi of column {}", column);
        }
    }

    #[test]
    fn the_raster_holds_every_request_once(case in case()) {
        let numbers = case.numbers();
        let columns = case.scope().layout;
        for row in &numbers.details.raster {
            let mine = |event: &&Event| row.client.map_or(event.client % 2 == 1, |client| event.client == client);
            for column in 0..columns.columns() {
                let inside = |e: &&Event| (e.at - columns.start_ns) / columns.column_ns == column as u64;
                let here: Vec<_> = case.events.iter().filter(mine).filter(inside).collect();
                let granted = here.iter().filter(|event| allowed(event)).count();
                prop_assert_eq!(row.allowed[column] as usize, granted);
                prop_assert_eq!(row.rejected[column] as usize, here.len() - granted);
            }
        }
        let shown: u32 = numbers.details.raster.iter().flat_map(|row| row.allowed.iter().chain(&row.rejected)).sum();
        prop_assert_eq!(shown as usize, case.events.len());
    }

    #[test]
    fn the_numbers_do_not_depend_on_how_the_work_was_cut(case in case()) {
        let whole = Case { parts: 1, ..case.clone() };
        prop_assert_eq!(case.numbers(), whole.numbers());
    }
}
