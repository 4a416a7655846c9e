//! Events a second, for each policy and core, of a replay in memory with all metrics of the table.
//!
//! `bench-replay [EVENTS] [CLIENTS]`, by default 10 million events of 100 000 clients over an hour, on one thread.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use ratelimit_core::Quota;
use rlsim::compare::Comparison;
use rlsim::metrics::Depth;
use rlsim::replay::{By, default_policies};
use rlsim::trace::{Costs, Facts, Trace};

fn trace(events: u64, clients: u32) -> Trace {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let hour = 3_600_000_000_000_u64;
    let mut at: Vec<u64> = (0..events).map(|_| random.next_u64() % hour).collect();
    at.sort_unstable();
    // The square of a uniform draw crowds the first clients, as real traffic does.
    let mut draw = || {
        let uniform = u64::from(random.next_u32());
        ((uniform * uniform >> 32) * u64::from(clients) >> 32) as u32
    };
    let client = (0..events).map(|_| draw()).collect();
    let names = (0..clients).map(|i| i.to_string().into_bytes().into_boxed_slice()).collect();
    Trace { at, client, cost: Costs::Unit, names, facts: Facts { events, rows: events, ..Facts::default() } }
}

fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u64>().expect("a whole number"));
    let events = numbers.next().unwrap_or(10_000_000);
    let clients = numbers.next().unwrap_or(100_000) as u32;
    let trace = trace(events, clients);
    let quota = Quota::per(100, Duration::from_secs(60)).unwrap();
    let all = default_policies(quota, None).unwrap();
    println!("{events} events of {clients} clients, one thread; median of 5 rounds");
    println!("| policy | million events a second |\n|---|---|");
    let mut sets: Vec<(String, Vec<_>)> = all.iter().map(|named| (named.name.clone(), vec![named.clone()])).collect();
    sets.push(("all five".into(), all));
    for (name, policies) in sets {
        let count = policies.len() as f64;
        let threads = NonZeroUsize::MIN;
        let comparison = Comparison { policies, by: By::Client, threads, depth: Depth::Table, command: vec![] };
        let mut rates: Vec<f64> = (0..5)
            .map(|_| {
                let begun = Instant::now();
                std::hint::black_box(comparison.run(&trace));
                events as f64 * count / begun.elapsed().as_secs_f64() / 1e6
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        println!("| {name} | {:.1} |", rates[2]);
    }
}
