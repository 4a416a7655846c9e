//! Inspect, sweep and recommend on any trace at all: times and costs at the ends of their ranges, one client or many, one
//! instant or all of time. Nothing panics, and every picture is whole.

use std::num::NonZeroUsize;

use proptest::prelude::*;
use rlsim::chart;
use rlsim::inspect;
use rlsim::recommend::{self, Promise, Task};
use rlsim::replay::By;
use rlsim::sweep::{self, Algorithm, Grid};
use rlsim::trace::{Costs, Facts, Trace};

fn trace(mut events: Vec<(u64, u32, u64)>, unit: bool) -> Trace {
    events.sort_by_key(|event| event.0);
    let clients = events.iter().map(|event| event.1 + 1).max().unwrap_or(1);
    let count = events.len() as u64;
    Trace {
        at: events.iter().map(|event| event.0).collect(),
        client: events.iter().map(|event| event.1).collect(),
        cost: if unit { Costs::Unit } else { Costs::Each(events.iter().map(|event| event.2).collect()) },
        names: (0..clients).map(|c| [b'<', b'&', 0xFF, b'"', u8::try_from(c).unwrap_or(b'z')].into()).collect(),
        facts: Facts {
            format: "csv".into(),
            rows: count,
            events: count,
            resolution_ns: 1,
            paths: vec!["<a&b>\u{1}.csv".into()],
            ..Facts::default()
        },
    }
}

/// Everything that can be asked of a trace.
fn ask_everything(trace: &Trace, window: u64) {
    let picture =
        |svg: String| assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains('\u{1}'));
    let looked_at = inspect::inspect(trace, window, None, Vec::new());
    assert!(!inspect::text(&looked_at).is_empty() && !inspect::markdown(&looked_at).is_empty());
    inspect::json(&looked_at).unwrap();
    picture(chart::traffic(&inspect::traffic(trace, window)).unwrap());
    for by in [By::Client, By::Global] {
        let grid = Grid {
            algorithms: Algorithm::ALL.to_vec(),
            windows_ns: vec![window, 1],
            limits: "1, 0.5p, 1p, 18446744073709551615".parse().unwrap(),
            bursts: Some("1, 0.5x, 1000000x".parse().unwrap()),
            by,
        };
        let swept = sweep::sweep(trace, &grid, NonZeroUsize::MIN, Vec::new()).unwrap();
        assert!(sweep::table(&swept).lines().count() > 2 * (3 + 2 * 3), "a limit at least for each row");
        sweep::csv(&swept).unwrap();
        sweep::json(&swept).unwrap();
        picture(chart::sweep(&swept).unwrap());
    }
    let first = trace.at[0];
    for promise in [
        Promise::LimitedClients { millionths: 1_000 },
        Promise::KeepClientsBelow { millionths: 990_000 },
        Promise::ServiceAtMost { units: 7, window_ns: window },
        Promise::ServiceAtMost { units: u64::MAX, window_ns: window },
        Promise::Attack { from_ns: first, until_ns: first.saturating_add(1) },
    ] {
        let task = Task {
            promise,
            window_ns: window,
            algorithms: Algorithm::ALL.to_vec(),
            fit_millionths: 700_000,
            threads: NonZeroUsize::MIN,
            command: Vec::new(),
        };
        // Not every promise can be kept on every trace; then it is said.
        match recommend::recommend(trace, &task, &looked_at) {
            Ok(advised) => {
                assert!(
                    recommend::text(&advised)
                        .ends_with(&format!("\"{}\"\n", advised.answers[advised.recommended].policy))
                );
                recommend::json(&advised).unwrap();
                picture(chart::burst_curve(&advised).unwrap());
            }
            Err(error) => {
                assert!(error.to_string().contains("expected") || error.to_string().contains("promise"), "{error}");
            }
        }
    }
}

/// Numbers from all over their range, most often its ends.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0_u64..4,
        any::<u64>(),
        Just(u64::MAX),
        u64::MAX - 3..=u64::MAX,
        1_430_000_000_000_000_000_u64..1_440_000_000_000_000_000,
        (0_u64..1000).prop_map(|s| s * 1_000_000_000),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn nothing_panics(
        events in prop::collection::vec((number(), 0_u32..3, number()), 1..12),
        unit in any::<bool>(),
        window in number(),
    ) {
        ask_everything(&trace(events, unit), window.max(1));
    }
}

#[test]
fn scenes_that_pictures_must_bear() {
    const SECOND: u64 = 1_000_000_000;
    let epoch = 1_431_857_103 * SECOND;
    let one = trace(vec![(epoch, 0, 1)], true);
    let instant = trace((0..500).map(|i| (epoch, i % 7, 1)).collect(), true);
    let many = trace((0..4000).map(|i| (epoch + u64::from(i) * SECOND / 3, i % 2000, 1)).collect(), true);
    let costs = trace((0..600).map(|i| (u64::from(i) * SECOND, i % 3, u64::from(i * i))).collect(), false);
    for (name, scene) in [("one", one), ("instant", instant), ("many", many), ("costs", costs)] {
        ask_everything(&scene, 60 * SECOND);
        if let Some(folder) = std::env::var_os("RLSIM_GALLERY") {
            let write = |kind: &str, svg: String| {
                std::fs::write(std::path::Path::new(&folder).join(format!("advice-{kind}-{name}.svg")), svg).unwrap();
            };
            write("traffic", chart::traffic(&inspect::traffic(&scene, 60 * SECOND)).unwrap());
            let grid = Grid {
                algorithms: Algorithm::ALL.to_vec(),
                windows_ns: vec![60 * SECOND],
                limits: sweep::Amounts::auto(),
                bursts: None,
                by: By::Client,
            };
            write("sweep", chart::sweep(&sweep::sweep(&scene, &grid, NonZeroUsize::MIN, Vec::new()).unwrap()).unwrap());
            let task = Task {
                promise: Promise::LimitedClients { millionths: 1_000 },
                window_ns: 60 * SECOND,
                algorithms: Algorithm::ALL.to_vec(),
                fit_millionths: 700_000,
                threads: NonZeroUsize::MIN,
                command: Vec::new(),
            };
            let looked_at = inspect::inspect(&scene, 60 * SECOND, None, Vec::new());
            write("curve", chart::burst_curve(&recommend::recommend(&scene, &task, &looked_at).unwrap()).unwrap());
        }
    }
}
