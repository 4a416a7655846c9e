//! The in-memory store beside published limiters: throughput, memory, slowest call.
//!
//! ```text
//! cargo run --release -p bench-store -- throughput [ROUNDS [CELL]]
//! cargo run --release -p bench-store -- memory
//! cargo run --release -p bench-store -- slowest
//! ```

mod contenders;
mod keys;
mod memory;
mod slowest;
mod throughput;

use contenders::{GOVERNOR_COARSE, OURS_COARSE};
use keys::Key;
use throughput::{CELLS, Row, Size};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["throughput"] => throughput(7, ""),
        ["throughput", rounds] => throughput(rounds.parse().unwrap(), ""),
        ["throughput", rounds, cell] => throughput(rounds.parse().unwrap(), cell),
        ["memory"] => memory(),
        ["memory-of", contender, clients] => memory::measure(contender, clients.parse().unwrap()),
        ["alone", contender, clients, rounds] => {
            throughput::alone(contender, clients.parse().unwrap(), rounds.parse().unwrap());
        }
        ["slowest"] => {
            slowest::growth();
            slowest::denied_by_allowed();
        }
        _ => eprintln!("expected: throughput [ROUNDS [CELL]] | memory | slowest"),
    }
}

/// All cells, or those whose name begins so.
fn throughput(rounds: usize, name: &str) {
    println!("| keys | clients | threads | contender | million/s | wall | processor | allowed |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut rows = Vec::new();
    for cell in CELLS.into_iter().filter(|cell| cell.name.starts_with(name)) {
        rows.extend(throughput::run::<String>(cell, &Size { calls: 200_000, rounds }));
        rows.extend(throughput::run::<[u8; 8]>(cell, &Size { calls: 200_000, rounds }));
    }
    println!(
        "\nmillion/s: checks a second. wall, processor: throughput as a multiple of governor's in the same round."
    );
    println!("\n| contender | mean, wall | worst, wall | mean, processor | worst, processor |\n|---|---|---|---|---|");
    for (name, _) in contenders::all::<String>() {
        let of = |ratio: fn(&Row) -> f64| rows.iter().filter(|row| row.name == name).map(ratio).collect::<Vec<f64>>();
        let (wall, processor) = (of(|row| row.wall), of(|row| row.processor));
        let worst = |ratios: &[f64]| ratios.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "| {name} | {:.2} | {:.2} | {:.2} | {:.2} |",
            geometric_mean(&wall),
            worst(&wall),
            geometric_mean(&processor),
            worst(&processor)
        );
    }
    beside_on_coarse_clocks(&rows);
}

/// What two contenders come to when both read a coarse clock.
fn beside_on_coarse_clocks(rows: &[Row]) {
    let of = |name: &'static str| rows.iter().filter(move |row| row.name == name).map(|row| (row.wall, row.processor));
    let ratios = || of(OURS_COARSE).zip(of(GOVERNOR_COARSE));
    let wall: Vec<f64> = ratios().map(|(ours, theirs)| ours.0 / theirs.0).collect();
    let processor: Vec<f64> = ratios().map(|(ours, theirs)| ours.1 / theirs.1).collect();
    let worst = |ratios: &[f64]| ratios.iter().copied().fold(f64::INFINITY, f64::min);
    println!(
        "| {OURS_COARSE}, of {GOVERNOR_COARSE} | {:.2} | {:.2} | {:.2} | {:.2} |",
        geometric_mean(&wall),
        worst(&wall),
        geometric_mean(&processor),
        worst(&processor)
    );
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

fn memory() {
    println!("| contender | 0.6 million | 1 million | 1.6 million | mean | highest peak |\n|---|---|---|---|---|---|");
    for (name, _) in contenders::all::<String>() {
        let figures = [600_000, 1_000_000, 1_600_000].map(|clients| memory::of(name, clients));
        let after = figures.map(|(after, _)| after);
        let peak = figures.iter().map(|(_, peak)| *peak).fold(0.0, f64::max);
        let mean = after.iter().sum::<f64>() / 3.0;
        println!("| {name} | {:.0} | {:.0} | {:.0} | {mean:.1} | {peak:.0} |", after[0], after[1], after[2]);
    }
    println!("\nBytes of resident memory a client, {} and a token bucket.", String::NAME);
}
