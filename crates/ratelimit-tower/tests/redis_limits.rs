//! Several limits of one client on a live Redis.
#![cfg(feature = "redis")]

#[path = "common/redis_server.rs"]
mod redis_server;

use std::collections::HashSet;
use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty, Full};
use ratelimit_core::Policy;
use ratelimit_store::Fallback;
use ratelimit_store::redis::SharedLimiter;
use ratelimit_tower::headers::Dialect;
use ratelimit_tower::key::{Head, PeerAddr, Secret, from_fn};
use ratelimit_tower::{ActualCost, Builder, Limit, RateLimitLayer};
use redis_server::Server;
use tower::{ServiceBuilder, ServiceExt, service_fn};

/// Nothing comes back while a test runs.
const LIMITS: [(&str, &str); 3] =
    [("burst", "token-bucket:5/20d"), ("day", "sliding-log:8/20d"), ("all", "token-bucket:11/20d")];

/// Longer than the machine can be busy with other tests.
const PATIENCE: Duration = Duration::from_secs(20);

fn policy(text: &str) -> Policy {
    text.parse().unwrap()
}

fn connect(server: &Server, text: &str) -> SharedLimiter {
    SharedLimiter::builder(policy(text)).timeout(PATIENCE).connect(&server.url()).unwrap()
}

/// The limits, each put where `on` says. A request costs what its `cost` field says; the last counts one for all clients.
fn layer(on: impl Fn(Limit, Policy) -> Limit) -> RateLimitLayer {
    let mut builder: Builder = RateLimitLayer::builder().dialects([Dialect::Draft11]);
    for (name, text) in LIMITS {
        let limit = Limit::new(name, policy(text)).cost_by(cost);
        let limit = if name == "all" { limit.key(from_fn("all", |_| Some("all".into()))).cost(1) } else { limit };
        builder = builder.limit(on(limit, policy(text)));
    }
    builder.secret(Secret::new([7; 16])).build().unwrap()
}

fn cost(head: &Head<'_>) -> u64 {
    head.headers.get("cost").map_or(1, |cost| cost.to_str().unwrap().parse().unwrap())
}

fn request(client: u8, cost: u64) -> Request<Empty<Bytes>> {
    let mut request = Request::new(Empty::new());
    request.extensions_mut().insert(PeerAddr(([192, 0, 2, client], 40_000).into()));
    request.headers_mut().insert("cost", cost.into());
    request
}

/// Status, what is left of each limit, and who refused.
async fn ask(layer: &RateLimitLayer, client: u8, cost: u64) -> (u16, Vec<String>, String) {
    let pong = service_fn(|_| async { Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"pong")))) });
    let answer = ServiceBuilder::new().layer(layer).service(pong).oneshot(request(client, cost)).await.unwrap();
    let (status, fields) = (answer.status().as_u16(), answer.headers().get("ratelimit").unwrap().to_str().unwrap());
    // The times depend on how fast the test runs.
    let left = fields.split(", ").map(|one| one.rsplit_once(";t=").unwrap().0.to_owned()).collect();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let problem: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    (status, left, problem["violated-policies"].to_string())
}

/// Requests of three clients, as client and cost.
fn story() -> impl Iterator<Item = (u8, u64)> {
    let costs = [1, 2, 1, 4, 3, 2, 1, 1, 0, 6, 1];
    (0..40_usize).map(move |i| ([1, 2, 1, 3][i % 4], costs[i % costs.len()]))
}

/// How many calls of a script the server has had.
fn script_calls(server: &Server) -> u64 {
    let mut stream = TcpStream::connect(server.url().strip_prefix("redis://").unwrap()).unwrap();
    stream.write_all(b"INFO commandstats\r\nQUIT\r\n").unwrap();
    let mut stats = String::new();
    stream.read_to_string(&mut stats).unwrap();
    let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
}

/// Each answer, the units that a refusal did not take included, is memory's.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn several_limits_on_redis_answer_like_memory() {
    let server = Server::start();
    let shared = layer(|limit, policy| limit.on(connect(&server, &policy.to_string())));
    let backed = layer(|limit, policy| {
        let prefixed =
            SharedLimiter::builder(policy).timeout(PATIENCE).prefix("backed").connect(&server.url()).unwrap();
        limit.on(Fallback::builder(prefixed, policy).build())
    });
    let memory = layer(|limit, _| limit);
    let mut refused_by = HashSet::new();
    for (step, (client, cost)) in story().enumerate() {
        let expected = ask(&memory, client, cost).await;
        assert_eq!(ask(&shared, client, cost).await, expected, "client {client} asks {cost} at step {step}");
        assert_eq!(ask(&backed, client, cost).await, expected, "with a fallback, {client} asks {cost} at step {step}");
        refused_by.insert(expected.2);
    }
    assert!(refused_by.len() > 3, "a story in which limits refuse alone and together: {refused_by:?}");
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn several_limits_on_redis_are_one_round_trip() {
    let server = Server::start();
    let shared = layer(|limit, policy| limit.on(connect(&server, &policy.to_string())));
    assert_eq!(ask(&shared, 1, 1).await.0, 200);
    let before = script_calls(&server);
    for request in 0..9 {
        assert_eq!(ask(&shared, 1, 1).await.0, if request < 4 { 200 } else { 429 });
    }
    assert_eq!(script_calls(&server) - before, 9);
}

/// Before, in the middle, and afterwards.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn while_redis_is_gone_several_limits_are_all_or_nothing_on_each_server_alone() {
    let mut server = Server::start();
    let backed =
        layer(|limit, policy| limit.on(Fallback::builder(connect(&server, &policy.to_string()), policy).build()));
    assert_eq!(ask(&backed, 1, 3).await.1[..2], ["\"burst\";r=2", "\"day\";r=5"]);
    server.kill();
    // What Redis admitted counts here too.
    let (status, left, by) = ask(&backed, 1, 3).await;
    assert_eq!((status, by.as_str()), (429, "[\"burst\"]"));
    assert_eq!(left[1..], ["\"day\";r=5", "\"all\";r=10"], "nothing was taken of the others");
    for request in 0..4 {
        assert_eq!(ask(&backed, 1, 1).await.0, if request < 2 { 200 } else { 429 }, "request {request}");
    }
    assert_eq!(ask(&backed, 2, 5).await.1, ["\"burst\";r=0", "\"day\";r=3", "\"all\";r=7"]);
    server.revive();
    tokio::time::timeout(PATIENCE, async {
        // The server has forgotten what there was, so it is back when a client has all again.
        while ask(&backed, 1, 5).await.0 == 429 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .expect("Redis is asked again");
}

/// A client that goes away while its request is settled pays what it cost, or gets the rest of the estimate back.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn what_a_request_turned_out_to_cost_is_settled_though_its_client_has_gone() {
    let server = Server::start();
    let limit = Limit::parse("tokens", "token-bucket:100/20d").unwrap().cost_by(cost);
    let limit = limit.on(connect(&server, "token-bucket:100/20d"));
    let layer = RateLimitLayer::builder().dialects([Dialect::Draft11]).limit(limit).build().unwrap();
    for (actual, left) in [(70, 30), (2, 28)] {
        let served = AtomicBool::new(false);
        let service = service_fn(|_| {
            served.store(true, Ordering::Relaxed);
            let mut response = Response::new(Full::new(Bytes::new()));
            response.extensions_mut().insert(ActualCost::of("tokens", actual));
            async { Ok::<_, Infallible>(response) }
        });
        let mut answer = Box::pin(ServiceBuilder::new().layer(&layer).service(service).oneshot(request(1, 10)));
        loop {
            let polled = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(polled, Poll::Pending), "the settlement has to be waited for");
            if served.load(Ordering::Relaxed) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // The settlement has begun, and nothing of it has been sent.
        drop(answer);
        let expected = format!("\"tokens\";r={left}");
        let settled = async { while ask(&layer, 1, 0).await.1 != [expected.clone()] {} };
        tokio::time::timeout(PATIENCE, settled).await.expect("the correction is made");
    }
}
