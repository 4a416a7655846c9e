//! The shared limiter on a Redis of its own, on loopback: all figures of one run.
//!
//! ```text
//! cargo run --release -p bench-redis
//! ```

mod latency;
mod server;

use std::time::{Duration, Instant};

use latency::{Arrivals, Rounds, at_rate, longest_stop};
use ratelimit_core::Policy;
use ratelimit_store::Leased;
use ratelimit_store::redis::SharedLimiter;
use server::Server;
use tokio::runtime::Runtime;

/// Plenty, so that the script takes the path of an admission, which writes; and no client is fresh again during a run.
const POLICY: &str = "token-bucket:1000/1h,burst=1000000";
/// Of which nothing is left after a millisecond: every key is new, and the server has one to remove for each.
const FLEETING: &str = "token-bucket:1000000/1s,burst=1000000000";
const CLIENTS: u64 = 10_000;
/// By `redis-benchmark`.
const CLIENTS_ASKED: u32 = 1000;
const SPAN: Duration = Duration::from_secs(1);
/// Of one latency.
const SHORT: Duration = Duration::from_millis(500);
const ROUNDS: usize = 3;
/// Of the server's time, each of a fifth of a second.
const SERVER_ROUNDS: usize = 15;
/// Of the latencies, which need more to show what is the machine's.
const LATENCY_ROUNDS: usize = 9;

fn main() {
    let server = Server::start();
    // One thread, so that with two cores the server has one to itself: in all rows the same.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let limiter = limiter(&server, POLICY);
    runtime.block_on(limiter.check("warm")).unwrap();
    let call = call_of(&runtime, &server, &limiter);
    println!("| what | figure |\n|---|---|");

    let alone = median((0..ROUNDS).map(|_| server.benchmark(128, CLIENTS_ASKED, 100_000, &call)));
    let most = median((0..ROUNDS).map(|_| throughput(&runtime, &limiter)));
    println!("| redis-benchmark, one connection, the same script, pipelines of 128 | {alone:.0}/s |");
    println!("| decisions on one multiplexed connection, 256 tasks | {most:.0}/s, {:.2} of that |", most / alone);

    let batches = median((0..ROUNDS).map(|_| batched(&runtime, &limiter)));
    println!("| decisions by `check_many`, 128 a call | {batches:.0}/s, {:.2} of that |", batches / alone);

    latencies(&runtime, &server, &limiter, most);

    server_times(&runtime, &server);

    let (decisions, trips) = leased(&runtime, &server);
    println!("| decisions with a lease, one hot key, one task | {decisions:.0}/s, {trips:.0} round trips/s |");
    for (name, bytes) in memory(&runtime, &server) {
        println!("| memory of a client, key of 20 bytes included, {name} | {bytes} bytes |");
    }
}

/// What the server spends on a decision, beside what it spends on the tutorial's.
fn server_times(runtime: &Runtime, server: &Server) {
    let ours = call_of(runtime, server, &limiter(server, "token-bucket:100/1m"));
    let tutorial = load(server, include_str!("tutorial.lua"));
    let theirs = ["evalsha", &tutorial, "1", "tutorial:__rand_int__", "100", "1.6667", "1764526800000", "1"];
    let theirs = theirs.map(str::to_owned).to_vec();
    // The burst is 100: with 80 requests a client nearly all are admitted, and of 80 more half. The rest is refused.
    let (clients, requests) = (250, 20_000);
    let mut rounds: [Vec<[f64; 2]>; 3] = Default::default();
    for _ in 0..SERVER_ROUNDS {
        redis::cmd("FLUSHALL").exec(&mut server.admin()).unwrap();
        for phase in &mut rounds {
            phase.push([&ours, &theirs].map(|call| {
                server.reset_stats();
                server.benchmark(16, clients, requests, call);
                server.cost_of_evalsha()
            }));
        }
    }
    let [admitted, _, refused] = rounds;
    for (what, rounds) in [("admitted", admitted), ("refused", refused)] {
        let [ours, theirs] = [0, 1].map(|side| median(rounds.iter().map(|times| times[side])));
        let ratio = median(rounds.iter().map(|[ours, theirs]| ours / theirs));
        println!(
            "| server time of our token bucket, of the tutorial's, {what} | {ours:.2} us, {theirs:.2} us: {ratio:.2} of it |"
        );
    }
}

/// A decision at parts of the highest load. The rounds of all rows are interleaved, so that a bad second hits each of them.
fn latencies(runtime: &Runtime, server: &Server, shared: &SharedLimiter, most: f64) {
    let fleeting = limiter(server, FLEETING);
    runtime.block_on(fleeting.check("warm")).unwrap();
    let rows = [
        ("0.25 of the highest load, arriving one at a time", shared, 0.25, Arrivals::OneAtATime),
        ("0.5", shared, 0.5, Arrivals::OneAtATime),
        ("0.75", shared, 0.75, Arrivals::OneAtATime),
        ("0.5, those of a millisecond arriving together", shared, 0.5, Arrivals::TogetherEachMillisecond),
        ("0.5, one at a time, each client new and gone in 1 ms", &fleeting, 0.5, Arrivals::OneAtATime),
    ];
    let mut rounds: Vec<Rounds> = rows.iter().map(|_| Rounds::default()).collect();
    let mut stops = Vec::new();
    for _ in 0..LATENCY_ROUNDS {
        for ((_, limiter, part, arrivals), rounds) in rows.iter().zip(&mut rounds) {
            let new = std::ptr::eq(*limiter, &raw const fleeting);
            let key = if new { u64::to_be_bytes } else { a_client };
            rounds.add(at_rate(runtime, limiter, (most * part, *arrivals), SHORT, key));
        }
        stops.push(longest_stop(SHORT));
    }
    for ((name, ..), rounds) in rows.iter().zip(&mut rounds) {
        println!("| a decision at {name}: p50, p99 (of each round) | {} |", rounds.row());
    }
    stops.sort_unstable();
    let stops: Vec<_> = stops.iter().map(|stop| stop.as_micros().to_string()).collect();
    println!("| the longest stop of threads that only read the clock, in each round | {} us |", stops.join(", "));
}

/// A client of many, in an order that is the same in every run.
fn a_client(number: u64) -> [u8; 8] {
    // Multiplied by the golden ratio of 2^64, the upper bits of which are spread evenly.
    ((number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) % CLIENTS).to_be_bytes()
}

fn limiter(server: &Server, text: &str) -> SharedLimiter {
    let builder = SharedLimiter::builder(policy(text)).timeout(Duration::from_secs(5)).max_calls(1_000_000);
    builder.connect(&server.url()).unwrap()
}

fn policy(text: &str) -> Policy {
    text.parse().unwrap()
}

fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn load(server: &Server, script: &str) -> String {
    redis::cmd("SCRIPT").arg("LOAD").arg(script).query(&mut server.admin()).unwrap()
}

/// The call of the server by which the limiter decides, for any of the clients that `redis-benchmark` makes up.
fn call_of(runtime: &Runtime, server: &Server, limiter: &SharedLimiter) -> Vec<String> {
    let mut admin = server.admin();
    let mut log_from = |micros: i32| {
        redis::cmd("CONFIG").arg("SET").arg("slowlog-log-slower-than").arg(micros).exec(&mut admin).unwrap();
    };
    log_from(0);
    // The first call of a script brings its text, the second its name.
    for _ in 0..2 {
        runtime.block_on(limiter.check("__rand_int__")).unwrap();
    }
    log_from(-1);
    server.slowest().into_iter().find(|call| call[0] == "EVALSHA").expect("the limiter calls its script by name")
}

/// Decisions a second by 256 tasks that ask one after another.
fn throughput(runtime: &Runtime, limiter: &SharedLimiter) -> f64 {
    runtime.block_on(async {
        let begun = Instant::now();
        let tasks: Vec<_> = (0..256_u32)
            .map(|task| {
                let limiter = limiter.clone();
                tokio::spawn(async move {
                    let mut decisions = 0_u32;
                    while begun.elapsed() < SPAN {
                        let key = a_client(u64::from(task) << 32 | u64::from(decisions));
                        limiter.check_n(key, 1).await.unwrap();
                        decisions += 1;
                    }
                    decisions
                })
            })
            .collect();
        let mut sum = 0.0;
        for task in tasks {
            sum += f64::from(task.await.unwrap());
        }
        sum / begun.elapsed().as_secs_f64()
    })
}

fn batched(runtime: &Runtime, limiter: &SharedLimiter) -> f64 {
    runtime.block_on(async {
        let requests: Vec<([u8; 4], u64)> = (0..128_u32).map(|i| (i.to_be_bytes(), 1)).collect();
        let begun = Instant::now();
        let mut decisions = 0.0;
        while begun.elapsed() < SPAN {
            for answer in limiter.check_many(&requests).await {
                answer.unwrap();
            }
            decisions += 128.0;
        }
        decisions / begun.elapsed().as_secs_f64()
    })
}

/// Decisions and round trips a second.
fn leased(runtime: &Runtime, server: &Server) -> (f64, f64) {
    let text = "token-bucket:2000000/1s";
    let limiter = Leased::builder(limiter(server, text), policy(text)).build();
    runtime.block_on(async {
        let begun = Instant::now();
        while begun.elapsed() < SPAN {
            for _ in 0..1000 {
                limiter.check_n(b"hot", 1).await.unwrap();
            }
        }
        let counts = limiter.counts();
        let seconds = begun.elapsed().as_secs_f64();
        (counts.decisions as f64 / seconds, counts.round_trips as f64 / seconds)
    })
}

fn memory(runtime: &Runtime, server: &Server) -> Vec<(&'static str, u64)> {
    let rules = ["fixed-window:100/1m", "sliding-counter:100/1m", "token-bucket:100/1m", "leaky-bucket:100/1m"];
    let mut figures = Vec::new();
    for text in rules {
        let limiter = limiter(server, text);
        runtime.block_on(limiter.check("a-key-of-twenty-byte")).unwrap();
        let key = format!("{{rl:a-key-of-twenty-byte}}{text}");
        figures.push((text, redis::cmd("MEMORY").arg("USAGE").arg(key).query(&mut server.admin()).unwrap()));
    }
    figures
}
