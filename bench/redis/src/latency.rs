//! How long a decision takes at a part of the highest load.
//!
//! One thread makes the requests and runs the client; the server has the other core. The thread never sleeps, since waking up
//! takes longer than a decision. Requests fall due in even steps whatever became of those before, and a request has begun
//! to wait when it is due, however late the thread gets round to it: nothing that stands still is left out.

use std::time::{Duration, Instant};

use ratelimit_store::redis::SharedLimiter;
use tokio::runtime::Runtime;

/// How the requests arrive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    OneAtATime,
    TogetherEachMillisecond,
}

/// The same in several rounds.
#[derive(Default)]
pub struct Rounds {
    medians: Vec<u128>,
    ninety_ninths: Vec<u128>,
}

impl Rounds {
    pub fn add(&mut self, mut waits: Vec<Duration>) {
        waits.sort_unstable();
        let at = |part: usize| waits[waits.len() * part / 100].as_micros();
        self.medians.push(at(50));
        self.ninety_ninths.push(at(99));
    }

    /// The medians of the rounds, and the 99th percentiles of all of them.
    pub fn row(&mut self) -> String {
        self.medians.sort_unstable();
        self.ninety_ninths.sort_unstable();
        let middle = self.medians.len() / 2;
        let all: Vec<_> = self.ninety_ninths.iter().map(u128::to_string).collect();
        format!("{} us, {} us ({})", self.medians[middle], self.ninety_ninths[middle], all.join(", "))
    }
}

/// How long each decision took, of `rate` a second during `span`.
pub fn at_rate(
    runtime: &Runtime,
    limiter: &SharedLimiter,
    (rate, arrivals): (f64, Arrivals),
    span: Duration,
    key: fn(u64) -> [u8; 8],
) -> Vec<Duration> {
    runtime.block_on(async {
        let mut tasks = Vec::new();
        let begun = Instant::now();
        while begun.elapsed() < span {
            let now = begun.elapsed();
            loop {
                // In steps of the millisecond, or of the request.
                let step = if arrivals == Arrivals::OneAtATime { 1.0 } else { rate / 1000.0 };
                let due = Duration::from_secs_f64((tasks.len() as f64 / step).floor() * step / rate);
                if due > now {
                    break;
                }
                let (limiter, key) = (limiter.clone(), key(tasks.len() as u64));
                tasks.push(tokio::spawn(async move {
                    limiter.check_n(key, 1).await.unwrap();
                    begun.elapsed().saturating_sub(due)
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

/// How long threads that do nothing but read the clock stand still at most, one on each of two cores: what the machine
/// alone does to a percentile.
pub fn longest_stop(span: Duration) -> Duration {
    let watch = || {
        let begun = Instant::now();
        let (mut last, mut longest) = (begun, Duration::ZERO);
        while last - begun < span {
            let now = Instant::now();
            longest = longest.max(now - last);
            last = now;
        }
        longest
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(watch);
        watch().max(other.join().unwrap())
    })
}
