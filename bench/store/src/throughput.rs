//! Checks a second, interleaved: in each round every contender runs the same calls, and the ratio to the first contender
//! is taken within the round. What is printed are medians over the rounds. Ratios are taken twice: of wall time, which
//! counts waiting for locks, and of the threads' processor time, which other processes of the machine disturb less.

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

/// A contender's ratios to the first.
pub struct Row {
    pub name: &'static str,
    pub wall: f64,
    pub processor: f64,
}

/// Runs a cell, and prints and returns its rows.
pub fn run<K: Key>(cell: Cell, size: &Size) -> Vec<Row> {
    let keys: Vec<K> = (0..cell.clients as u64).map(K::make).collect();
    let contenders: Vec<(&'static str, Box<dyn Contender<K>>)> =
        all::<K>().into_iter().map(|(name, make)| (name, make(SECOND))).collect();
    for (_, contender) in &contenders {
        for key in &keys {
            contender.check(key);
        }
    }
    let mut rates = vec![Vec::new(); contenders.len()];
    let mut ratios = vec![(Vec::new(), Vec::new()); contenders.len()];
    let mut allowed = vec![0_usize; contenders.len()];
    for round in 0..size.rounds {
        let calls: Vec<Vec<K>> =
            (0..cell.threads).map(|thread| calls(&keys, cell.draw, size.calls, (round * 64 + thread) as u64)).collect();
        let mut times = vec![Time::default(); contenders.len()];
        for i in 0..contenders.len() {
            // Another order each round, so that nobody always comes after the same neighbour.
            let i = (i + round) % contenders.len();
            let (time, passed) = timed(&*contenders[i].1, &calls);
            times[i] = time;
            allowed[i] += passed;
        }
        for (i, time) in times.iter().enumerate() {
            rates[i].push((size.calls * cell.threads) as f64 / time.wall / 1e6);
            ratios[i].0.push(times[0].wall / time.wall);
            ratios[i].1.push(times[0].processor / time.processor);
        }
    }
    let total = (size.calls * cell.threads * size.rounds) as f64;
    let rows = contenders.iter().zip(ratios).zip(rates.into_iter().zip(allowed));
    rows.map(|(((name, _), (wall, processor)), (rates, allowed))| {
        let (wall, processor, rate) = (median(wall), median(processor), median(rates));
        let (keys, clients, threads, passed) = (K::NAME, cell.name, cell.threads, allowed as f64 / total * 100.0);
        println!(
            "| {keys} | {clients} | {threads} | {name} | {rate:.2} | {wall:.2} | {processor:.2} | {passed:.0} % |"
        );
        Row { name, wall, processor }
    })
    .collect()
}

/// Seconds.
#[derive(Clone, Copy, Default)]
struct Time {
    /// Until all threads have made their calls.
    wall: f64,
    /// That the threads have run.
    processor: f64,
}

/// Runs the calls of each thread; how many were allowed.
fn timed<K: Key>(contender: &dyn Contender<K>, calls: &[Vec<K>]) -> (Time, usize) {
    let start = Barrier::new(calls.len());
    thread::scope(|scope| {
        let threads: Vec<_> = calls
            .iter()
            .map(|calls| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    let (begun, ran) = (Instant::now(), on_processor());
                    let allowed = calls.iter().filter(|key| contender.check(key)).count();
                    (begun, Instant::now(), on_processor() - ran, allowed)
                })
            })
            .collect();
        let done: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let begun = done.iter().map(|(begun, ..)| *begun).min().unwrap();
        let ended = done.iter().map(|(_, ended, ..)| *ended).max().unwrap();
        let processor = done.iter().map(|(.., ran, _)| ran / 1e9).sum();
        (Time { wall: (ended - begun).as_secs_f64(), processor }, done.iter().map(|(.., allowed)| allowed).sum())
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

/// One contender alone on one thread with uniform strings, nanoseconds a call: for a profiler, and where other processes
/// disturb.
pub fn alone(contender: &str, clients: usize, rounds: usize) {
    let (_, make) = all::<String>().into_iter().find(|(name, _)| *name == contender).unwrap();
    let limiter = make(SECOND);
    let keys: Vec<String> = (0..clients as u64).map(String::make).collect();
    let calls = calls(&keys, Draw::Uniform, 1_000_000, 1);
    for key in keys.iter().chain(&calls) {
        limiter.check(key);
    }
    let times: Vec<f64> = (0..rounds)
        .map(|_| {
            let begun = Instant::now();
            for key in &calls {
                std::hint::black_box(limiter.check(key));
            }
            begun.elapsed().as_secs_f64() * 1e9 / calls.len() as f64
        })
        .collect();
    let fastest = times.iter().copied().fold(f64::INFINITY, f64::min);
    println!("{contender}, {clients}: median {:.1} ns, fastest round {fastest:.1} ns", median(times));
}

/// Nanoseconds that this thread has run.
fn on_processor() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}
