//! The slowest single calls while a limiter grows to a million clients, and a denied call beside an allowed one.

use std::time::{Duration, Instant};

use ratelimit_core::{Nanos, TokenBucket};
use ratelimit_store::KeyedLimiter;

use crate::contenders::{HOUR, all};
use crate::keys::Key;
use crate::throughput::median;

const CLIENTS: u64 = 1_000_000;

/// Microseconds: 50 %, 99 %, 99.99 %, and the slowest.
pub fn growth() {
    println!("\n| contender | median us | 99 % us | 99.99 % us | slowest us |\n|---|---|---|---|---|");
    let keys: Vec<String> = (0..CLIENTS).map(String::make).collect();
    for (name, make) in all::<String>() {
        // The best of three: what is not the limiter's doing (another process) does not hit each.
        let best = (0..3)
            .map(|_| {
                let limiter = make(HOUR);
                let mut times: Vec<u64> = keys
                    .iter()
                    .map(|key| {
                        let begun = Instant::now();
                        limiter.check(key);
                        begun.elapsed().as_nanos() as u64
                    })
                    .collect();
                times.sort_unstable();
                times
            })
            .min_by_key(|times| times[share(0.9999)])
            .unwrap();
        let us = |nanos: u64| nanos as f64 / 1000.0;
        println!(
            "| {name} | {:.2} | {:.2} | {:.1} | {:.0} |",
            us(best[share(0.5)]),
            us(best[share(0.99)]),
            us(best[share(0.9999)]),
            us(best[best.len() - 1])
        );
    }
}

fn share(of: f64) -> usize {
    (CLIENTS as f64 * of) as usize
}

/// The time of a denied check by that of an allowed one, known client, time passed in: the medians of 51 rounds.
pub fn denied_by_allowed() {
    let limiter = |limit| KeyedLimiter::new(TokenBucket::per(limit, Duration::from_secs(3600)).unwrap());
    let (open, shut) = (limiter(1 << 40), limiter(1));
    let time = |limiter: &KeyedLimiter<TokenBucket>| {
        let begun = Instant::now();
        for i in 0..100_000 {
            std::hint::black_box(limiter.check_at("client:000000000001", Nanos::new(1 + i)));
        }
        begun.elapsed().as_secs_f64() * 1e4
    };
    let rounds: Vec<(f64, f64)> = (0..51).map(|_| (time(&open), time(&shut))).collect();
    println!(
        "\nallowed {:.1} ns, denied {:.1} ns, ratio {:.2}",
        median(rounds.iter().map(|round| round.0).collect()),
        median(rounds.iter().map(|round| round.1).collect()),
        median(rounds.iter().map(|round| round.1 / round.0).collect())
    );
}
