//! `rlsim generate` from the outside: options in, bytes out.

mod generate_common;

use std::io::{self, Write};

use clap::Parser;
use generate_common::{Typed, generate, shell_words, typed};
use rlsim::error::Error;

/// FNV-1a: enough to notice one changed byte.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn a_trace_begins_with_its_command_and_a_header() {
    let text = generate("constant --rate 2/s --duration 1s --seed 7");
    let expected = "# rlsim generate constant --rate 2/s --clients 1 --duration 1s --start 0s --seed 7\n\
                    time_ns,client\n0,c1\n500000000,c1\n";
    assert_eq!(text, expected);
}

#[test]
fn the_recorded_command_makes_the_same_bytes_again() {
    for command in [
        "poisson --rate 50/s --duration 60s --clients 20 --seed 7",
        "poisson --clients 50 --zipf 1.1 --cost exp:20 --start 2026-01-01T00:00:00Z --rows 500",
        "edge-burst --rate 100/m --duration 5m --clients 3 --prefix user-",
        "constant --rate 3/s --add \"poisson --rate 7/s --clients 4 --prefix x\" --seed 3",
    ] {
        let text = generate(command);
        let recorded = text.lines().next().unwrap().strip_prefix("# rlsim generate ").unwrap();
        assert_eq!(generate(recorded), text, "{command}");
    }
}

#[test]
fn a_seed_gives_the_same_bytes_on_every_machine() {
    for (command, expected) in [
        ("poisson --rate 50/s --duration 60s --clients 20 --seed 7", "59bec9826204a0c2"),
        ("poisson --rate 50/s --duration 60s --clients 20 --seed 8", "6fb2007aff5a5520"),
        ("poisson --rate 50/s --clients 1000 --zipf 1.2 --cost exp:200 --seed 7", "4a45741489092380"),
        ("on-off --duration 10m --seed 3", "a9e827f5f00653d5"),
        ("diurnal --duration 1h --day 1h --clients 5 --seed 3", "ff4867044ac1a7f2"),
        ("ramp --seed 3", "d654ef86228c92f0"),
        ("spike --clients 9 --cost 1*9,50*1 --abuser 3/s --seed 3", "7f6028d1be3c6e3f"),
        ("cron --duration 1d --clients 30", "d5f0a1f5a78d3ae3"),
    ] {
        assert_eq!(format!("{:016x}", hash(&generate(command))), expected, "{command}");
    }
}

#[test]
fn another_choice_of_clients_or_costs_leaves_the_times_alone() {
    let times = |command: &str| -> Vec<String> {
        generate(command).lines().skip(2).map(|line| line.split(',').next().unwrap().to_owned()).collect()
    };
    let plain = times("poisson --rate 20/s --seed 5");
    assert_eq!(plain, times("poisson --rate 20/s --seed 5 --clients 30"));
    assert_eq!(plain, times("poisson --rate 20/s --seed 5 --clients 30 --zipf 1 --cost 1..9"));
}

#[test]
fn edge_bursts_put_a_full_window_on_both_sides_of_an_edge() {
    let rows: Vec<_> = typed("edge-burst --rate 100/1m --duration 10m").events().unwrap().collect();
    assert_eq!(rows.len(), 1000, "one burst a window");
    for (window, rows) in rows.chunks(100).enumerate() {
        let start = window as u64 * 60_000_000_000;
        assert!(rows.iter().all(|row| (start..start + 60_000_000_000).contains(&row.at)));
    }
    let near = |at: u64| rows.iter().filter(|row| row.at.abs_diff(at) <= 100_000_000).count();
    assert_eq!(near(60_000_000_000), 200);
    assert_eq!(near(120_000_000_000), 0);
    assert_eq!(near(180_000_000_000), 200);
}

#[test]
fn every_client_gets_its_own_edge_burst() {
    let args = typed("edge-burst --rate 60/1s --duration 4s --clients 20 --start 1000s");
    let rows: Vec<_> = args.events().unwrap().collect();
    for client in 0..20 {
        assert_eq!(rows.iter().filter(|row| row.client == client).count(), 12);
    }
}

#[test]
fn a_billion_rows_start_at_once() {
    let rows = typed("poisson --rate 1000000/s --duration 1000s --clients 1000").events().unwrap();
    assert_eq!(rows.take(1000).count(), 1000);
}

#[test]
fn a_closed_pipe_is_no_error_but_a_full_disk_is() {
    struct Broken(io::ErrorKind);
    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let args = typed("constant --rate 1000/s --duration 100s");
    assert_eq!(args.run(&mut Broken(io::ErrorKind::BrokenPipe)), Ok(()));
    let error = args.run(&mut Broken(io::ErrorKind::StorageFull)).unwrap_err();
    assert_eq!(error.exit_code(), 1);
}

#[test]
fn mistakes_name_the_option_and_what_was_expected() {
    for (command, part) in [
        ("edge-burst --rate 1/1h --window 1s", "raise --rate or --window"),
        ("edge-burst --rate 9/1m --spread 31s", "expected 1ns to 30s"),
        ("poisson --add \"poison --rate 1/s\"", "in --add \"poison --rate 1/s\""),
        ("poisson --add \"\"", "in --add \"\""),
    ] {
        let error = typed(command).run(&mut Vec::new()).unwrap_err();
        assert!(matches!(error, Error::Usage(_)), "{command}");
        assert!(error.to_string().contains(part), "{command}: {error}");
    }
    for command in ["", "poisson --rate 50", "poisson --clients 0", "poisson --zipf x", "poisson --start yesterday"] {
        assert!(Typed::try_parse_from(shell_words(command)).is_err(), "{command}");
    }
}
