//! The shared limiter on a Redis of its own, on loopback: all figures of one run.
//!
//! ```text
//! cargo run --release -p bench-redis
//! ```

mod server;

use std::time::{Duration, Instant};

use ratelimit_core::Policy;
use ratelimit_store::Leased;
use ratelimit_store::redis::SharedLimiter;
use server::Server;
use tokio::runtime::Runtime;

/// Plenty, so that the script takes the path of an admission, which writes.
const POLICY: &str = "token-bucket:1000000/1s,burst=1000000000";
const SPAN: Duration = Duration::from_secs(2);
const ROUNDS: usize = 3;

fn main() {
    let server = Server::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let limiter =
        SharedLimiter::builder(policy(POLICY)).timeout(Duration::from_secs(5)).connect(&server.url()).unwrap();
    runtime.block_on(limiter.check("warm")).unwrap();
    let ours = our_script(&server);
    println!("| what | figure |\n|---|---|");

    let alone = median((0..ROUNDS).map(|_| {
        server.benchmark(
            128,
            100_000,
            &["evalsha", &ours, "1", "{rl:__rand_int__}x", "decide", "1", "token", "1", "1", "1000000000"],
        )
    }));
    let most = median((0..ROUNDS).map(|_| throughput(&runtime, &limiter)));
    println!("| redis-benchmark, one connection, the same script, pipelines of 128 | {alone:.0}/s |");
    println!("| decisions on one multiplexed connection, 256 tasks | {most:.0}/s, {:.2} of that |", most / alone);

    let batches = median((0..ROUNDS).map(|_| batched(&runtime, &limiter)));
    println!("| decisions by `check_many`, 128 a call | {batches:.0}/s, {:.2} of that |", batches / alone);

    for (name, bunched) in [("one at a time", false), ("together each millisecond", true)] {
        let mut waits = at_rate(&server, most / 2.0, bunched);
        waits.sort_unstable();
        let at = |part: usize| waits[waits.len() * part / 100 - usize::from(part == 100)].as_micros();
        println!(
            "| a decision at half of the highest load, arriving {name}: p50, p99, max | {} us, {} us, {} us |",
            at(50),
            at(99),
            at(100)
        );
    }

    let tutorial = load(&server, include_str!("tutorial.lua"));
    let (mut our_costs, mut their_costs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        server.cost_of_evalsha();
        server.benchmark(
            16,
            100_000,
            &["evalsha", &ours, "1", "{rl:__rand_int__}token", "decide", "1", "token", "1", "600000", "100"],
        );
        our_costs.push(server.cost_of_evalsha());
        server.benchmark(
            16,
            100_000,
            &["evalsha", &tutorial, "1", "tutorial:__rand_int__", "100", "1.6667", "1764526800000", "1"],
        );
        their_costs.push(server.cost_of_evalsha());
    }
    let (our_cost, their_cost) = (median(our_costs), median(their_costs));
    println!(
        "| server time of our token bucket, of the tutorial's | {our_cost:.2} us, {their_cost:.2} us: {:.2} of it |",
        our_cost / their_cost
    );

    let (decisions, trips) = leased(&runtime, &server);
    println!("| decisions with a lease, one hot key, one task | {decisions:.0}/s, {trips:.0} round trips/s |");
    for (name, bytes) in memory(&runtime, &server) {
        println!("| memory of a client, key of 20 bytes included, {name} | {bytes} bytes |");
    }
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

/// The name of the token bucket's script, which the limiter has made the server know.
fn our_script(server: &Server) -> String {
    let text = concat!(
        include_str!("../../../crates/ratelimit-store/src/redis/lua/time_server.lua"),
        include_str!("../../../crates/ratelimit-store/src/redis/lua/common.lua"),
        include_str!("../../../crates/ratelimit-store/src/redis/lua/bucket.lua"),
        "local kinds = { token = bucket, }\n",
        include_str!("../../../crates/ratelimit-store/src/redis/lua/main.lua"),
    );
    let name = redis::Script::new(text).get_hash().to_owned();
    let known: Vec<bool> = redis::cmd("SCRIPT").arg("EXISTS").arg(&name).query(&mut server.admin()).unwrap();
    assert!(known[0], "the limiter sends another script than this benchmark measures");
    name
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
                        let key = (task * 1000 + decisions % 1000).to_be_bytes();
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

/// How long each decision took, of so many a second, which arrive whatever became of those before: one at a time in even
/// steps, or those of a millisecond together. The tasks share one thread, so that with two cores the server has one to itself;
/// whoever waits for the next arrival yields and does not sleep, since waking up takes longer than a decision.
fn at_rate(server: &Server, rate: f64, bunched: bool) -> Vec<Duration> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _context = runtime.enter();
    let limiter =
        SharedLimiter::builder(policy(POLICY)).timeout(Duration::from_secs(5)).connect(&server.url()).unwrap();
    runtime.block_on(async {
        limiter.check("warm").await.unwrap();
        let (mut sent, mut tasks) = (0.0, Vec::new());
        let begun = Instant::now();
        while begun.elapsed() < SPAN {
            let now = begun.elapsed().as_secs_f64();
            let due = rate * if bunched { (now * 1000.0).floor() / 1000.0 } else { now };
            while sent < due {
                sent += 1.0;
                let limiter = limiter.clone();
                let key = (tasks.len() as u64).to_be_bytes();
                // Due then, however late this loop is: what waits for its turn to be sent has begun to wait.
                let arrived = begun + Duration::from_secs_f64(if bunched { due / rate } else { sent / rate });
                tasks.push(tokio::spawn(async move {
                    limiter.check_n(key, 1).await.unwrap();
                    arrived.elapsed()
                }));
            }
            tokio::task::yield_now().await;
        }
        let mut waits = Vec::with_capacity(tasks.len());
        for task in tasks {
            waits.push(task.await.unwrap());
        }
        waits
    })
}

/// Decisions and round trips a second.
fn leased(runtime: &Runtime, server: &Server) -> (f64, f64) {
    let text = "token-bucket:2000000/1s";
    let shared = SharedLimiter::builder(policy(text)).timeout(Duration::from_secs(5)).connect(&server.url()).unwrap();
    let limiter = Leased::builder(shared, policy(text)).build();
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
        let limiter =
            SharedLimiter::builder(policy(text)).timeout(Duration::from_secs(5)).connect(&server.url()).unwrap();
        runtime.block_on(limiter.check("a-key-of-twenty-byte")).unwrap();
        let key = format!("{{rl:a-key-of-twenty-byte}}{text}");
        figures.push((text, redis::cmd("MEMORY").arg("USAGE").arg(key).query(&mut server.admin()).unwrap()));
    }
    figures
}
