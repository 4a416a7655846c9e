//! Nanoseconds that a rate-limiting layer adds to a service that answers at once, with its headers on and its clients in
//! memory, beside tower_governor and axum-governor.
//!
//! Method: requests from 1 and from 100 000 addresses, in a fixed shuffled order, all within their limit (a burst of 10^9, and 10^9
//! per hour), called in process
//! and polled once. All contenders run the same requests once a round, interleaved; a round's figure is its time divided by
//! the number of requests; the bare service's figure is taken off. Printed is the median over the rounds, and the median of
//! the ratios within a round. The 99.9th percentile is of single calls, timed one by one (the bare service's is printed too,
//! and the clock's own time is in all of them). Processor time is what Linux says this thread has run, summed over the rounds:
//! it leaves out what other programs took.

use std::convert::Infallible;
use std::hint::black_box;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, Response};
use axum_governor::extractor::PeerIp;
use axum_governor::{GovernorConfigBuilder as AxumConfig, GovernorLayer as AxumGovernor, Quota as AxumQuota, nz};
use ratelimit_store::{Clock, CoarseClock, FastClock, SystemClock};
use ratelimit_tower::headers::{Dialect, Reset};
use ratelimit_tower::{Limit, RateLimitLayer};
use tower::{Layer, Service, service_fn};
use tower_governor::GovernorLayer;
use tower_governor::governor::GovernorConfigBuilder;

const REQUESTS: usize = 20_000;
const ROUNDS: usize = 61;
const SINGLE_CALLS: usize = 200_000;

type Call = Box<dyn FnMut(SocketAddr) -> u16>;

/// One contender: calls a service for a request from an address, and says the status.
fn contender<S>(mut service: S) -> Call
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + 'static,
{
    Box::new(move |peer| status(service.call(request(peer))))
}

fn request(peer: SocketAddr) -> Request<Body> {
    let mut request = Request::new(Body::empty());
    request.extensions_mut().insert(ConnectInfo(peer));
    request
}

fn status<B>(future: impl Future<Output = Result<Response<B>, Infallible>>) -> u16 {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(response)) => black_box(response).status().as_u16(),
        Poll::Pending => panic!("nothing here waits"),
    }
}

fn bare()
-> impl Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send> + Clone + Send + 'static {
    service_fn(|request: Request<Body>| {
        drop(black_box(request));
        std::future::ready(Ok(Response::new(Body::empty())))
    })
}

fn ours(dialects: &[Dialect]) -> Call {
    ours_on(SystemClock::new(), dialects)
}

fn ours_on(clock: impl Clock + 'static, dialects: &[Dialect]) -> Call {
    let limit = Limit::parse("default", "token-bucket:1000000000/1h").expect("a policy");
    let layer = RateLimitLayer::builder()
        .limit(limit)
        .clock(clock)
        .dialects(dialects.iter().copied())
        .build()
        .expect("a layer");
    let mut service = layer.layer(bare());
    Box::new(move |peer| status(service.call(request(peer))))
}

fn coarse() -> CoarseClock {
    CoarseClock::new(Duration::from_millis(1)).expect("a thread for the clock")
}

fn tower_governor() -> Call {
    let mut builder = GovernorConfigBuilder::default();
    let config =
        builder.per_nanosecond(3_600).burst_size(1_000_000_000).use_headers().finish().expect("a configuration");
    contender(GovernorLayer::new(Arc::new(config)).layer(bare()))
}

fn axum_governor() -> Call {
    let quota = AxumQuota::requests_per_hour(nz!(1_000_000_000u32)).burst(nz!(1_000_000_000u32));
    let config = AxumConfig::default().with_extractor(PeerIp::default()).expect_connect_info().quota_default(quota);
    contender(AxumGovernor::new(config.finish().expect("a configuration")).layer(bare()))
}

/// The order in which so many addresses send: the same each time, and without a pattern that a cache could use.
fn peers(clients: u32) -> Vec<SocketAddr> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let draw = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let client = ((u128::from(state >> 32) * u128::from(clients)) >> 32) as u32;
        SocketAddr::from(((0x0A00_0000 + client).to_be_bytes(), 40_000))
    };
    (0..SINGLE_CALLS).map(draw).collect()
}

fn per_call(call: &mut Call, peers: &[SocketAddr]) -> f64 {
    let begun = Instant::now();
    for peer in peers {
        assert_eq!(call(*peer), 200);
    }
    begun.elapsed().as_nanos() as f64 / peers.len() as f64
}

/// Nanoseconds that this thread has been on a processor; zero where the system does not say.
fn on_processor() -> u64 {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    said.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0)
}

fn worst_of_thousand(call: &mut Call, peers: &[SocketAddr]) -> u128 {
    let mut times: Vec<u128> = peers
        .iter()
        .map(|peer| {
            let begun = Instant::now();
            black_box(call(*peer));
            begun.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    times[times.len() * 999 / 1000]
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// One contender alone, for a profiler: `bench-tower NAME [ROUNDS]`.
fn only(name: &str, rounds: usize) {
    let peers = peers(1);
    let mut all = contenders();
    let (_, mut call) = all.swap_remove(place_of(&all, name));
    println!("{:.0} ns", median((0..rounds).map(|_| per_call(&mut call, &peers)).collect()));
}

fn place_of(contenders: &[(&str, Call)], name: &str) -> usize {
    contenders.iter().position(|(known, _)| known.starts_with(name)).expect("the beginning of a contender's name")
}

fn contenders() -> Vec<(&'static str, Call)> {
    vec![
        ("bare service", contender(bare())),
        ("ours, draft -11 and triple (5 fields)", ours(&[Dialect::Draft11, Dialect::Triple])),
        ("ours, draft -11 (2 fields)", ours(&[Dialect::Draft11])),
        ("ours, X-RateLimit (3 fields)", ours(&[Dialect::XRateLimit(Reset::Delta)])),
        ("tower_governor (2 fields)", tower_governor()),
        ("axum-governor (5 fields)", axum_governor()),
        ("no fields", ours(&[])),
        ("fast clock, draft -11 (2 fields)", ours_on(FastClock::new(), &[Dialect::Draft11])),
        ("fast clock, X-RateLimit (3 fields)", ours_on(FastClock::new(), &[Dialect::XRateLimit(Reset::Delta)])),
        ("fast clock, no fields", ours_on(FastClock::new(), &[])),
        ("coarse clock, draft -11 (2 fields)", ours_on(coarse(), &[Dialect::Draft11])),
        ("coarse clock, X-RateLimit (3 fields)", ours_on(coarse(), &[Dialect::XRateLimit(Reset::Delta)])),
        ("coarse clock, no fields", ours_on(coarse(), &[])),
    ]
}

fn main() {
    if let Some(name) = std::env::args().nth(1) {
        return only(&name, std::env::args().nth(2).map_or(1, |rounds| rounds.parse().expect("a number of rounds")));
    }
    for clients in [1, 100_000] {
        let peers = peers(clients);
        let mut contenders = contenders();
        // Everybody is known before anything is measured.
        contenders.iter_mut().for_each(|(_, call)| {
            let _ = per_call(call, &peers);
        });
        let [tower_governor, axum_governor] =
            ["tower_governor", "axum-governor"].map(|name| place_of(&contenders, name));
        let mut rounds: Vec<Vec<f64>> = Vec::new();
        let mut processor = vec![0; contenders.len()];
        for round in 0..ROUNDS {
            let start = round * REQUESTS % (peers.len() - REQUESTS);
            let part = &peers[start..start + REQUESTS];
            let timed = contenders.iter_mut().zip(&mut processor).map(|((_, call), processor)| {
                let before = on_processor();
                let wall = per_call(call, part);
                *processor += on_processor() - before;
                wall
            });
            rounds.push(timed.collect());
        }
        println!("{clients} client(s)");
        for (i, (name, call)) in contenders.iter_mut().enumerate() {
            let added = median(rounds.iter().map(|round| round[i] - round[0]).collect());
            let to = |peer: usize| {
                median(rounds.iter().map(|round| (round[i] - round[0]) / (round[peer] - round[0])).collect())
            };
            let worst = worst_of_thousand(call, &peers);
            let processor =
                (processor[i] as f64 - if i == 0 { 0.0 } else { processor[0] as f64 }) / (ROUNDS * REQUESTS) as f64;
            if i == 0 {
                let bare = median(rounds.iter().map(|round| round[0]).collect());
                println!(
                    "  {name:40} {bare:7.0} ns ({processor:4.0} ns of processor)                           p99.9 {worst:6} ns"
                );
            } else {
                println!(
                    "  {name:40} adds {added:5.0} ns ({processor:4.0} ns of processor)  {:.2} of tower_governor, {:.2} of axum-governor  p99.9 {worst:6} ns",
                    to(tower_governor),
                    to(axum_governor)
                );
            }
        }
    }
}
