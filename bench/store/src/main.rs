//! The in-memory store beside published limiters: throughput, memory, slowest call.
//!
//! ```text
//! cargo run --release -p bench-store -- throughput [ROUNDS]
//! cargo run --release -p bench-store -- memory
//! cargo run --release -p bench-store -- slowest
//! ```

mod contenders;
mod keys;
mod memory;
mod slowest;
mod throughput;

use keys::Key;
use throughput::{CELLS, Size};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["throughput"] => throughput(7),
        ["throughput", rounds] => throughput(rounds.parse().unwrap()),
        ["memory"] => memory(),
        ["memory-of", contender, clients] => memory::measure(contender, clients.parse().unwrap()),
        ["alone", contender, clients, rounds] => {
            throughput::alone(contender, clients.parse().unwrap(), rounds.parse().unwrap());
        }
        ["slowest"] => {
            slowest::growth();
            slowest::denied_by_allowed();
        }
        _ => eprintln!("expected: throughput [ROUNDS] | memory | slowest"),
    }
}

fn throughput(rounds: usize) {
    println!(
        "| keys | clients | threads | contender | million/s | of governor | allowed |\n|---|---|---|---|---|---|---|"
    );
    let mut ratios = Vec::new();
    for cell in CELLS {
        ratios.extend(throughput::run::<String>(cell, &Size { calls: 200_000, rounds }));
        ratios.extend(throughput::run::<[u8; 8]>(cell, &Size { calls: 200_000, rounds }));
    }
    println!("\n| contender | geometric mean of governor | worst cell |\n|---|---|---|");
    for (name, _) in contenders::all::<String>() {
        let of: Vec<f64> = ratios.iter().filter(|(who, _)| *who == name).map(|(_, ratio)| *ratio).collect();
        let mean = (of.iter().map(|ratio| ratio.ln()).sum::<f64>() / of.len() as f64).exp();
        let worst = of.iter().copied().fold(f64::INFINITY, f64::min);
        println!("| {name} | {mean:.2} | {worst:.2} |");
    }
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
