//! Every pattern has the rate it promises: exactly where it is regular, within five standard deviations where it is
//! random (the seeds are fixed, so a test that passes once passes for ever).

mod generate_common;

use generate_common::{generate, typed};
use rlsim::generate::{Row, Stop};

const SECOND: u64 = 1_000_000_000;

fn rows(command: &str) -> Vec<Row> {
    let rows: Vec<_> = typed(command).events().unwrap_or_else(|error| panic!("{command}: {error}")).collect();
    assert!(rows.is_sorted_by_key(|row| row.at), "{command}: rows are in time order");
    rows
}

fn between(rows: &[Row], from: u64, to: u64) -> usize {
    rows.iter().filter(|row| (from * SECOND..to * SECOND).contains(&row.at)).count()
}

/// A Poisson count with this mean, within five standard deviations.
fn assert_near(found: usize, mean: u64, what: &str) {
    assert!(
        found.abs_diff(usize::try_from(mean).unwrap()) <= 5 * usize::try_from(mean.isqrt() + 1).unwrap(),
        "{what}: {found} for {mean}"
    );
}

#[test]
fn constant_is_exact_over_any_length() {
    let rows = rows("constant --rate 7/s --duration 100s");
    assert_eq!(rows.len(), 700);
    assert!((0..100).all(|second| between(&rows, second, second + 1) == 7));
}

#[test]
fn poisson_has_its_rate_and_a_variance_equal_to_its_mean() {
    for seed in 1..=5 {
        let rows = rows(&format!("poisson --rate 50/s --duration 200s --seed {seed}"));
        assert_near(rows.len(), 10_000, "count");
        let counts: Vec<usize> = (0..200).map(|second| between(&rows, second, second + 1)).collect();
        let squares: usize = counts.iter().map(|n| n.abs_diff(50).pow(2)).sum();
        // The sum of 200 squared deviations is 200 * 50, give or take five times sqrt(2 * 200) * 50.
        assert!(squares.abs_diff(10_000) < 5 * 1000, "seed {seed}: {squares}");
    }
}

#[test]
fn on_off_is_silent_when_off() {
    let rows = rows("on-off --rate 100/s --on 2s --off 8s --duration 200s");
    assert_near(rows.len(), 4000, "count");
    assert!(rows.iter().all(|row| row.at % (10 * SECOND) < 2 * SECOND));
}

#[test]
fn diurnal_swings_around_its_mean() {
    let rows = rows("diurnal --rate 50/s --day 480s --swing 80 --duration 960s");
    assert_near(rows.len(), 48_000, "two days");
    // One 24th of the day at the quietest and at the busiest time: 20 s at about a fifth, and 1.8 times, the mean.
    assert_near(between(&rows, 470, 490), 203, "night");
    assert_near(between(&rows, 230, 250), 1_797, "noon");
}

#[test]
fn ramp_goes_from_one_rate_to_the_other() {
    for (command, first, last) in [
        ("ramp --rate 10/s --to 90/s --duration 100s", 140, 860),
        ("ramp --rate 90/s --to 10/s --duration 100s", 860, 140),
        ("ramp --rate 600/m --to 5400/m --duration 100s", 140, 860),
    ] {
        let rows = rows(command);
        assert_near(rows.len(), 5000, command);
        assert_near(between(&rows, 0, 10), first, command);
        assert_near(between(&rows, 90, 100), last, command);
    }
}

#[test]
fn spike_multiplies_the_rate_for_its_time_only() {
    let rows = rows("spike --rate 20/s --times 30 --at 20s --for 10s --duration 60s");
    assert_near(between(&rows, 0, 20), 400, "before");
    assert_near(between(&rows, 20, 30), 6000, "during");
    assert_near(between(&rows, 30, 60), 600, "after");
}

#[test]
fn cron_fires_at_the_top_of_the_hour() {
    let rows = rows("cron --burst 60 --every 1h --spread 6s --clients 20 --start 5399s --duration 3h");
    assert_eq!(rows.len(), 180);
    assert!(rows.iter().all(|row| row.at % (3600 * SECOND) < 6 * SECOND));
    assert!((0..20).all(|client| rows.iter().filter(|row| row.client == client).count() == 9));
    let at_once = typed("cron --burst 5 --every 1m --spread 0s --duration 1m").events().unwrap();
    assert!(at_once.map(|row| row.at).eq([0; 5]));
}

#[test]
fn an_abuser_stands_out_and_patterns_add_up() {
    let text =
        generate("poisson --rate 20/s --clients 100 --abuser 30/s --add \"cron --burst 50 --every 10s --prefix job\"");
    let from = |prefix: &str| text.lines().skip(2).filter(|line| line.contains(&format!(",{prefix}"))).count();
    assert_near(from("c"), 1200, "the many");
    assert_near(from("abuser1"), 1800, "the one");
    assert_eq!(from("job"), 300);
    // The first pattern is not changed by what is added to it.
    let alone: Vec<_> = rows("poisson --rate 20/s --clients 100");
    let mixed: Vec<_> = rows("poisson --rate 20/s --clients 100 --add \"constant --rate 5/s\"");
    assert!(mixed.into_iter().filter(|row| row.component == 0).eq(alone));
}

#[test]
fn start_moves_a_trace_and_rows_cut_it() {
    let base = rows("poisson --rate 20/s --seed 4");
    let moved = rows("poisson --rate 20/s --seed 4 --start 2026-01-01T00:00:00Z --rows 100");
    assert_eq!(moved.len(), 100);
    assert!(moved.iter().zip(&base).all(|(moved, base)| moved.at == base.at + 1_767_225_600 * SECOND));
}

#[test]
fn the_end_of_time_ends_a_trace() {
    for pattern in ["constant", "poisson", "on-off", "diurnal", "ramp", "spike --at 0s", "cron", "edge-burst"] {
        let command = format!("{pattern} --start 18446744073000000000ns --duration 100d --rows 1000000");
        assert!(rows(&command).len() < 1_000_000, "{command}");
    }
}

/// Walking from the tick before the start to the start would take centuries.
#[test]
fn a_late_start_costs_nothing() {
    for (pattern, start) in [
        ("cron --burst 18446744073709551615 --every 1h --spread 1h --start 30m", 1800 * SECOND),
        ("cron --burst 18446744073709551615 --start 30m --duration 1h", 3600 * SECOND),
        ("cron --burst 18446744073709551615 --spread 0s --start 30m --duration 1h", 3600 * SECOND),
        ("edge-burst --rate 1000000000000000/m --start 60050ms", 60_050 * SECOND / 1000),
        ("edge-burst --rate 1000000000000000/m --start 121s --duration 60s", 179_900 * SECOND / 1000),
    ] {
        assert_eq!(rows(&format!("{pattern} --rows 3"))[0].at, start, "{pattern}");
    }
}

/// Patterns whose next instant is centuries of searching away end when they are told to.
#[test]
fn a_search_can_be_stopped() {
    for pattern in [
        "ramp --rate 1/366d --to 1000000000000000/s --duration 200000d",
        "diurnal --rate 1000000000000000/s --swing 100 --day 200000d",
        "on-off --rate 1/366d --on 1ns --off 1ms --duration 200000d",
    ] {
        let stop = Stop::default();
        let (args, flag) = (typed(pattern), stop.clone());
        let making = std::thread::spawn(move || args.run_until(&flag, &mut std::io::sink()));
        stop.set();
        making.join().expect("it ends").expect(pattern);
    }
}
