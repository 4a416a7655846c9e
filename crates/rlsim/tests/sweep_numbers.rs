//! Sweeps against brute force, and against the bytes of other thread counts.

use std::num::NonZeroUsize;

use proptest::prelude::*;
use ratelimit_core::{Algorithm as _, Decision, Nanos, Policy};
use rlsim::replay::By;
use rlsim::sweep::{Algorithm, Grid, Measured, Point, csv, json, measure, sweep, table};
use rlsim::trace::{Costs, Facts, Trace};

/// Events as (time, client, cost), made into a trace of `clients` clients.
fn trace(mut events: Vec<(u64, u32, u64)>, clients: u32) -> Trace {
    events.sort_by_key(|event| event.0);
    Trace {
        at: events.iter().map(|event| event.0).collect(),
        client: events.iter().map(|event| event.1).collect(),
        cost: Costs::Each(events.iter().map(|event| event.2).collect()),
        names: (0..clients).map(|client| format!("c{client}").into_bytes().into()).collect(),
        facts: Facts { events: events.len() as u64, rows: events.len() as u64, ..Facts::default() },
    }
}

/// The same numbers, the slow way: one decision after another, windows by trying every start.
fn brute(trace: &Trace, by: By, policy: &Policy, window: u64, inside: (u64, u64)) -> Measured {
    let mut found = Measured { clients: trace.names.len() as u64, ..Measured::default() };
    let mut each = vec![(false, false); trace.names.len()];
    let subjects = if by == By::Global { 1 } else { trace.names.len() };
    for subject in 0..subjects {
        let mut state = policy.fresh();
        let mut releases = Vec::new();
        for i in 0..trace.at.len() {
            let (at, client, cost) = (trace.at[i], trace.client[i] as usize, trace.cost.get(i));
            if by == By::Client && client != subject {
                continue;
            }
            found.offered += 1;
            found.units_offered += cost;
            let within = inside.0 <= at && at < inside.1;
            found.inside += u64::from(within);
            match policy.decide(&mut state, Nanos::new(at), cost) {
                Decision::Allowed { delay, .. } => {
                    found.allowed += 1;
                    found.units_allowed += cost;
                    found.longest_wait_ns = found.longest_wait_ns.max(delay.get());
                    releases.push((at + delay.get(), cost));
                    each[client].1 = true;
                    continue;
                }
                Decision::Denied { .. } => found.denied += 1,
                Decision::Never { .. } => found.never += 1,
            }
            each[client].0 = true;
            found.inside_refused += u64::from(within);
        }
        for (start, _) in &releases {
            let held = releases.iter().filter(|(at, _)| at >= start && at - start < window).map(|(_, cost)| cost).sum();
            found.peak = found.peak.max(held);
        }
    }
    found.limited = each.iter().filter(|(refused, _)| *refused).count() as u64;
    found.starved = each.iter().filter(|(refused, admitted)| *refused && !admitted).count() as u64;
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn equals_brute_force(
        events in prop::collection::vec((0_u64..200, 0_u32..4, 0_u64..4), 0..60),
        limit in 1_u64..6,
        window in 1_u64..60,
        burst in 1_u64..8,
        inside in (0_u64..200, 0_u64..200),
        threads in 1_usize..4,
    ) {
        let trace = trace(events, 4);
        let policies: Vec<(Policy, u64)> =
            Algorithm::ALL.iter().map(|a| (a.policy(limit, window, Some(burst)).unwrap(), window)).collect();
        for by in [By::Client, By::Global] {
            let found = measure(&trace, by, &policies, inside, NonZeroUsize::new(threads).unwrap());
            for ((policy, window), found) in policies.iter().zip(found) {
                prop_assert_eq!(found, brute(&trace, by, policy, *window, inside), "{} {:?}", policy, by);
            }
        }
    }
}

fn busy() -> Trace {
    // Three clients: an even one, one with bursts, one with a single request.
    let even = (0..600).map(|i| (i * 1_000_000_000, 0, 1));
    let bursts = (0..10).flat_map(|b| (0..30).map(move |i| (b * 60_000_000_000 + i * 1_000_000, 1, 1)));
    trace(even.chain(bursts).chain([(5, 2, 1)]).collect(), 3)
}

fn grid(limits: &str) -> Grid {
    Grid {
        algorithms: Algorithm::ALL.to_vec(),
        windows_ns: vec![10_000_000_000, 60_000_000_000],
        limits: limits.parse().unwrap(),
        bursts: Some("0.5x, 1x".parse().unwrap()),
        by: By::Client,
    }
}

#[test]
fn the_same_bytes_for_any_number_of_threads() {
    let trace = busy();
    let on = |threads: usize| {
        let sweep = sweep(&trace, &grid("auto"), NonZeroUsize::new(threads).unwrap(), Vec::new()).unwrap();
        (table(&sweep), csv(&sweep).unwrap(), json(&sweep).unwrap(), rlsim::chart::sweep(&sweep).unwrap())
    };
    let one = on(1);
    for threads in [2, 3, 8, 64] {
        assert!(on(threads) == one, "{threads} threads");
    }
}

#[test]
fn the_chart_has_a_plot_for_each_window() {
    let mut grid = grid("10..30 step 10");
    for windows in [vec![10], vec![60, 10], vec![1, 2, 5, 10, 60, 600]] {
        grid.windows_ns = windows.iter().map(|seconds| seconds * 1_000_000_000).collect();
        let sweep = sweep(&busy(), &grid, NonZeroUsize::MIN, Vec::new()).unwrap();
        let chart = rlsim::chart::sweep(&sweep).unwrap();
        let plots = chart.matches(">the trade-off at ").count();
        assert_eq!(plots, windows.len(), "{chart}");
    }
}

#[test]
fn every_cell_of_the_grid_is_there_in_order() {
    let sweep = sweep(&busy(), &grid("10..30 step 10, 1p, 2x"), NonZeroUsize::MIN, Vec::new()).unwrap();
    // Three algorithms without and two with two bursts, two windows, five limits.
    assert_eq!(sweep.points.len(), (3 + 2 * 2) * 2 * 5);
    let limits = |points: &[Point]| points.iter().map(|point| point.limit).collect::<Vec<_>>();
    // In 10 s the bursty client asks for 30 at most; the even one, the largest, for 600 in 599 s.
    assert_eq!(limits(&sweep.points[..5]), [10, 20, 30, 30, 21]);
    assert_eq!(limits(&sweep.points[5..10]), [10, 20, 30, 60, 121]);
    assert!(sweep.points.iter().filter(|point| point.algorithm == "sliding-log").all(|point| point.overshoot <= 1.0));
    let at_peak: Vec<&Point> =
        sweep.points.iter().filter(|p| p.limit_as == "1p" && p.algorithm == "sliding-log").collect();
    assert!(at_peak.iter().all(|point| point.measured.refused() == 0), "the peak refuses nothing");
    for curve in &sweep.curves {
        let refused: Vec<u64> = curve.points.iter().map(|index| sweep.points[*index].measured.refused()).collect();
        assert!(refused.is_sorted_by(|a, b| a > b), "more limit on a curve refuses less: {curve:?}");
        assert!(curve.knee.is_none_or(|knee| curve.points.contains(&knee)));
    }
}

#[test]
fn a_rate_needs_a_span() {
    let instant = trace(vec![(7, 0, 1); 5], 1);
    let error = sweep(&instant, &grid("0.5x"), NonZeroUsize::MIN, Vec::new()).unwrap_err();
    assert!(error.to_string().contains("has no rate"), "{error}");
    assert!(sweep(&instant, &grid("auto"), NonZeroUsize::MIN, Vec::new()).is_ok());
    let same = sweep(&instant, &grid("0.1p, 0.2p, 1, 1p, 5"), NonZeroUsize::MIN, Vec::new()).unwrap();
    assert_eq!(same.points.len(), 14 * 2, "what rounds to the same limit is tried once");
    let huge = grid("1..900 step 1");
    assert!(sweep(&instant, &huge, NonZeroUsize::MIN, Vec::new()).unwrap_err().to_string().contains("larger steps"));
}
