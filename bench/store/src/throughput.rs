//! Checks a second, interleaved: in each round every contender runs the same calls, and the ratio to the first contender
//! is taken within the round. What is printed are medians over the rounds.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use crate::contenders::{Contender, SECOND, all};
use crate::keys::{Draw, Key, sequence};

/// One cell of the table.
#[derive(Clone, Copy)]
pub struct Cell {
    pub name: &'static str,
    pub clients: usize,
    pub draw: Draw,
    pub threads: usize,
}

pub const CELLS: [Cell; 10] = [
    Cell { name: "1 thousand, uniform", clients: 1_000, draw: Draw::Uniform, threads: 1 },
    Cell { name: "1 thousand, uniform", clients: 1_000, draw: Draw::Uniform, threads: 2 },
    Cell { name: "1 thousand, Zipf", clients: 1_000, draw: Draw::Zipf, threads: 1 },
    Cell { name: "1 thousand, Zipf", clients: 1_000, draw: Draw::Zipf, threads: 2 },
    Cell { name: "1 million, uniform", clients: 1_000_000, draw: Draw::Uniform, threads: 1 },
    Cell { name: "1 million, uniform", clients: 1_000_000, draw: Draw::Uniform, threads: 2 },
    Cell { name: "1 million, Zipf", clients: 1_000_000, draw: Draw::Zipf, threads: 1 },
    Cell { name: "1 million, Zipf", clients: 1_000_000, draw: Draw::Zipf, threads: 2 },
    Cell { name: "one hot key", clients: 1, draw: Draw::Uniform, threads: 1 },
    Cell { name: "one hot key", clients: 1, draw: Draw::Uniform, threads: 2 },
];

/// Calls of a thread in a round, and rounds.
pub struct Size {
    pub calls: usize,
    pub rounds: usize,
}

/// Runs a cell, prints its rows, and returns each contender's ratio to the first.
pub fn run<K: Key>(cell: Cell, size: &Size) -> Vec<(&'static str, f64)> {
    let keys: Vec<K> = (0..cell.clients as u64).map(K::make).collect();
    let contenders: Vec<(&'static str, Box<dyn Contender<K>>)> =
        all::<K>().into_iter().map(|(name, make)| (name, make(SECOND))).collect();
    for (_, contender) in &contenders {
        for key in &keys {
            contender.check(key);
        }
    }
    let mut rates = vec![Vec::new(); contenders.len()];
    let mut ratios = vec![Vec::new(); contenders.len()];
    let mut allowed = vec![0_usize; contenders.len()];
    for round in 0..size.rounds {
        let calls: Vec<Vec<K>> =
            (0..cell.threads).map(|thread| calls(&keys, cell.draw, size.calls, (round * 64 + thread) as u64)).collect();
        // Another order each round, so that nobody always comes after the same neighbour.
        let mut times = vec![0.0; contenders.len()];
        for i in 0..contenders.len() {
            let i = (i + round) % contenders.len();
            let (time, passed) = timed(&*contenders[i].1, &calls);
            times[i] = time;
            allowed[i] += passed;
        }
        for (i, time) in times.iter().enumerate() {
            rates[i].push((size.calls * cell.threads) as f64 / time / 1e6);
            ratios[i].push(times[0] / time);
        }
    }
    let total = (size.calls * cell.threads * size.rounds) as f64;
    let medians: Vec<f64> = ratios.into_iter().map(median).collect();
    for (i, (name, _)) in contenders.iter().enumerate() {
        println!(
            "| {} | {} | {} | {name} | {:.2} | {:.2} | {:.0} % |",
            K::NAME,
            cell.name,
            cell.threads,
            median(rates[i].clone()),
            medians[i],
            allowed[i] as f64 / total * 100.0
        );
    }
    contenders.iter().map(|(name, _)| *name).zip(medians).collect()
}

/// Seconds until all threads have made their calls, and how many were allowed.
fn timed<K: Key>(contender: &dyn Contender<K>, calls: &[Vec<K>]) -> (f64, usize) {
    let start = Barrier::new(calls.len());
    thread::scope(|scope| {
        let threads: Vec<_> = calls
            .iter()
            .map(|calls| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    let begun = Instant::now();
                    let allowed = calls.iter().filter(|key| contender.check(key)).count();
                    (begun, Instant::now(), allowed)
                })
            })
            .collect();
        let done: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let begun = done.iter().map(|(begun, ..)| *begun).min().unwrap();
        let ended = done.iter().map(|(_, ended, _)| *ended).max().unwrap();
        ((ended - begun).as_secs_f64(), done.iter().map(|(.., allowed)| allowed).sum())
    })
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The keys of calls in their order: a service has just read the key of the request, so it is at hand.
fn calls<K: Key>(keys: &[K], draw: Draw, length: usize, seed: u64) -> Vec<K> {
    sequence(draw, keys.len(), length, seed).into_iter().map(|i| keys[i as usize].clone()).collect()
}

/// One contender alone on one thread with uniform strings, nanoseconds of processor time a call: for a profiler, and where
/// other processes disturb.
pub fn alone(contender: &str, clients: usize, rounds: usize) {
    let (_, make) = all::<String>().into_iter().find(|(name, _)| *name == contender).unwrap();
    let limiter = make(SECOND);
    let keys: Vec<String> = (0..clients as u64).map(String::make).collect();
    let calls = calls(&keys, Draw::Uniform, 1_000_000, 1);
    for key in keys.iter().chain(&calls) {
        limiter.check(key);
    }
    let times = (0..rounds)
        .map(|_| {
            let begun = on_processor();
            for key in &calls {
                std::hint::black_box(limiter.check(key));
            }
            (on_processor() - begun) / 1e6
        })
        .collect();
    println!("{contender}, {clients}: {:.1} ns", median(times));
}

/// Nanoseconds that this thread has run.
fn on_processor() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}
