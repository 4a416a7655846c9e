//! Nanoseconds a decision with all its fields, or of which only yes or no is told, the time passed in, beside governor's
//! direct check with its fake clock, which says yes or no.
//!
//! Method: every contender runs the same stream of instants once a round, interleaved; a round's figure is its time
//! divided by the number of decisions; what is printed is the median over the rounds, and the median of the ratios to
//! governor in the same round. governor reads its time from a fake clock, whose advance is measured alone and taken off.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use governor::clock::FakeRelativeClock;
use governor::{Quota as GovernorQuota, RateLimiter};
use ratelimit_core::{
    Algorithm, FixedWindow, LeakyBucket, Nanos, Policy, Quota, SlidingCounter, SlidingLog, TokenBucket,
};

const DECISIONS: u64 = 50_000;
const ROUNDS: usize = 301;

/// A stream: the step between requests decides whether most are allowed or most denied under 100 per minute.
#[derive(Clone, Copy)]
struct Stream {
    name: &'static str,
    step: u64,
}

/// 100 per minute is one each 600 ms.
const STREAMS: [Stream; 2] =
    [Stream { name: "mostly allowed", step: 600_000_000 }, Stream { name: "mostly denied", step: 6_000_000 }];

fn ours<A: Algorithm>(algorithm: &A, stream: Stream) -> (f64, f64) {
    timed(algorithm, stream, |algorithm, state, now, cost| black_box(algorithm.decide(state, now, cost)).is_allowed())
}

fn yes_or_no<A: Algorithm>(algorithm: &A, stream: Stream) -> (f64, f64) {
    timed(algorithm, stream, |algorithm, state, now, cost| black_box(algorithm.admit(state, now, cost)))
}

fn timed<A: Algorithm>(
    algorithm: &A,
    stream: Stream,
    decide: impl Fn(&A, &mut A::State, Nanos, u64) -> bool,
) -> (f64, f64) {
    // The quota is not known to the compiler, as it is not in a service.
    let algorithm = black_box(algorithm);
    let mut state = algorithm.fresh();
    let mut allowed = 0_u64;
    let begun = Instant::now();
    for i in 0..DECISIONS {
        let now = Nanos::new(black_box(1_790_000_000_000_000_000 + i * stream.step));
        allowed += u64::from(decide(algorithm, &mut state, now, black_box(1)));
    }
    (begun.elapsed().as_nanos() as f64 / DECISIONS as f64, allowed as f64 / DECISIONS as f64)
}

fn governor(stream: Stream) -> (f64, f64) {
    let clock = FakeRelativeClock::default();
    let quota = GovernorQuota::per_minute(NonZeroU32::new(100).unwrap());
    let limiter = RateLimiter::direct_with_clock(quota, clock.clone());
    let step = Duration::from_nanos(stream.step);
    let mut allowed = 0_u64;
    let begun = Instant::now();
    for _ in 0..DECISIONS {
        clock.advance(black_box(step));
        allowed += u64::from(black_box(limiter.check()).is_ok());
    }
    let with_advance = begun.elapsed().as_nanos() as f64;
    let begun = Instant::now();
    for _ in 0..DECISIONS {
        black_box(&clock).advance(black_box(step));
    }
    let advance = begun.elapsed().as_nanos() as f64;
    ((with_advance - advance) / DECISIONS as f64, allowed as f64 / DECISIONS as f64)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let minute = Duration::from_secs(60);
    let quota = Quota::per(100, minute).unwrap();
    let wide = TokenBucket::per(1, Duration::from_secs(30 * 86_400)).unwrap().burst(100_000).unwrap();
    let text: Policy = "token-bucket:100/1m".parse().unwrap();
    type Contender = (&'static str, Box<dyn Fn(Stream) -> (f64, f64)>);
    let contenders: Vec<Contender> = vec![
        ("governor direct", Box::new(governor)),
        ("fixed window", Box::new(move |s| ours(&FixedWindow::new(quota), s))),
        ("sliding counter", Box::new(move |s| ours(&SlidingCounter::new(quota), s))),
        ("token bucket", Box::new(move |s| ours(&TokenBucket::new(quota), s))),
        ("leaky bucket", Box::new(move |s| ours(&LeakyBucket::new(quota), s))),
        ("fixed window, yes or no", Box::new(move |s| yes_or_no(&FixedWindow::new(quota), s))),
        ("sliding counter, yes or no", Box::new(move |s| yes_or_no(&SlidingCounter::new(quota), s))),
        ("token bucket, yes or no", Box::new(move |s| yes_or_no(&TokenBucket::new(quota), s))),
        ("leaky bucket, yes or no", Box::new(move |s| yes_or_no(&LeakyBucket::new(quota), s))),
        ("sliding log", Box::new(move |s| ours(&SlidingLog::new(quota), s))),
        (
            "token bucket 7/1m (drain above 1)",
            Box::new(move |s| ours(&TokenBucket::per(7000, Duration::from_nanos(60_000_000_001)).unwrap(), s)),
        ),
        ("token bucket, 128 bits", Box::new(move |s| ours(&wide, s))),
        ("token bucket as run-time policy", Box::new(move |s| ours(&text, s))),
    ];
    // `bench-core token` runs only what has `token` in its name, beside governor: for a profiler.
    let wanted = std::env::args().nth(1);
    let is_wanted =
        |name: &str| wanted.as_deref().is_none_or(|part| name.contains(part) || name.starts_with("governor"));
    let contenders: Vec<Contender> = contenders.into_iter().filter(|(name, _)| is_wanted(name)).collect();
    for stream in STREAMS {
        let mut times = vec![Vec::new(); contenders.len()];
        let mut ratios = vec![Vec::new(); contenders.len()];
        let mut shares = vec![0.0; contenders.len()];
        for _ in 0..ROUNDS {
            let round: Vec<(f64, f64)> = contenders.iter().map(|(_, run)| run(stream)).collect();
            for (i, (time, share)) in round.iter().enumerate() {
                times[i].push(*time);
                ratios[i].push(*time / round[0].0);
                shares[i] = *share;
            }
        }
        println!("\n{} ({} decisions, {ROUNDS} rounds)", stream.name, DECISIONS);
        println!("| algorithm | ns a decision | of governor | allowed |");
        println!("|---|---|---|---|");
        for (i, (name, _)) in contenders.iter().enumerate() {
            println!(
                "| {name} | {:.1} | {:.2} | {:.0} % |",
                median(times[i].clone()),
                median(ratios[i].clone()),
                shares[i] * 100.0
            );
        }
    }
}
