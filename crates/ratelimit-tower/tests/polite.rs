//! The client's layer against our own server layer: no request is refused twice, and none waits longer than it must.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{Empty, Full};
use ratelimit_core::Nanos;
use ratelimit_store::Clock;
use ratelimit_tower::client::{PoliteError, PoliteLayer};
use ratelimit_tower::headers::{Dialect, Reset};
use ratelimit_tower::key::Shared;
use ratelimit_tower::{Limit, RateLimitLayer, TokioTimer};
use tokio::time::Instant;
use tower::{Layer, Service, ServiceExt, service_fn};

/// Tokio's time, which stands still until all tasks wait.
#[derive(Clone)]
struct Paused(Instant);

impl Clock for Paused {
    fn now(&self) -> Nanos {
        Nanos::try_from(self.0.elapsed()).expect("fits").saturating_add(Nanos::from_secs(86_400))
    }
}

struct Outcome {
    allowed: usize,
    refusals: u64,
    took: Duration,
}

/// So many requests at once, through the client's layer, against this policy.
async fn storm(policy: &str, dialects: &[Dialect], requests: usize, deadline: Duration) -> Outcome {
    let clock = Paused(Instant::now());
    let limit = Limit::parse("limit", policy).unwrap().key(Shared);
    let server = RateLimitLayer::builder().limit(limit).dialects(dialects.iter().copied()).clock(clock.clone());
    let server = server.build().unwrap();
    let pong = service_fn(|_| async { Ok::<_, Infallible>(Response::new(Full::new(Bytes::new()))) });
    let limited = server.layer(pong);
    let service = service_fn(move |request: Request<Empty<Bytes>>| {
        let answer = limited.clone().call(request);
        async move {
            // The way back: whoever else was sent meanwhile could not know.
            tokio::time::sleep(Duration::from_millis(20)).await;
            answer.await
        }
    });
    let client = PoliteLayer::new(TokioTimer, deadline).jitter(100, 1).clock(clock).layer(service);
    let start = Instant::now();
    let sent: Vec<_> =
        (0..requests).map(|_| tokio::spawn(client.clone().oneshot(Request::new(Empty::<Bytes>::new())))).collect();
    let mut allowed = 0;
    for request in sent {
        allowed += usize::from(request.await.unwrap().is_ok_and(|response| response.status() == 200));
    }
    Outcome { allowed, refusals: server.stats().denied, took: start.elapsed() }
}

#[tokio::test(start_paused = true)]
async fn a_storm_becomes_a_queue_in_every_dialect() {
    let dialects = [
        &[Dialect::Draft11][..],
        &[Dialect::Draft12],
        &[Dialect::Draft07],
        &[Dialect::Triple],
        &[Dialect::XRateLimit(Reset::Delta)],
        &[],
    ];
    for dialects in dialects {
        let outcome = storm("token-bucket:1/1s,burst=5", dialects, 30, Duration::from_secs(600)).await;
        assert_eq!(outcome.allowed, 30, "{dialects:?}");
        // Nothing was known of the limit when they were sent: 25 were refused, once, and waited.
        assert_eq!(outcome.refusals, 25, "{dialects:?}");
        assert!(outcome.took >= Duration::from_secs(25), "{dialects:?}: {:?}", outcome.took);
        assert!(outcome.took <= Duration::from_secs(31), "{dialects:?}: {:?}", outcome.took);
    }
}

#[tokio::test(start_paused = true)]
async fn a_queue_uses_every_window_of_every_algorithm() {
    for policy in ["fixed-window:5/10s", "sliding-log:5/10s", "sliding-counter:5/10s", "token-bucket:5/10s"] {
        let outcome = storm(policy, &[Dialect::Draft11], 20, Duration::from_secs(600)).await;
        assert_eq!(outcome.allowed, 20, "{policy}");
        assert_eq!(outcome.refusals, 15, "{policy}");
        // Three more windows are needed; a little more for jitter and for the counter's memory.
        assert!(outcome.took <= Duration::from_secs(45), "{policy}: {:?}", outcome.took);
    }
}

#[tokio::test(start_paused = true)]
async fn each_request_is_refused_once_at_most() {
    let clock = Paused(Instant::now());
    let limit = Limit::parse("limit", "fixed-window:3/10s").unwrap().key(Shared);
    let server = RateLimitLayer::builder().limit(limit).clock(clock.clone()).build().unwrap();
    let refusals: Arc<[AtomicU64; 20]> = Arc::new(std::array::from_fn(|_| AtomicU64::new(0)));
    let counts = Arc::clone(&refusals);
    let service = service_fn(move |request: Request<Empty<Bytes>>| {
        let index = *request.extensions().get::<usize>().expect("a number");
        let inner = service_fn(|_| async { Ok::<_, Infallible>(Response::new(Full::new(Bytes::new()))) });
        let answer = server.layer(inner).call(request);
        let counts = Arc::clone(&counts);
        async move {
            let response = answer.await?;
            tokio::time::sleep(Duration::from_millis(20)).await;
            counts[index].fetch_add(u64::from(response.status() == 429), Ordering::Relaxed);
            Ok::<_, Infallible>(response)
        }
    });
    let client = PoliteLayer::new(TokioTimer, Duration::from_secs(600)).jitter(50, 7).clock(clock).layer(service);
    let sent: Vec<_> = (0..20usize)
        .map(|index| {
            let mut request = Request::new(Empty::<Bytes>::new());
            request.extensions_mut().insert(index);
            tokio::spawn(client.clone().oneshot(request))
        })
        .collect();
    for request in sent {
        assert_eq!(request.await.unwrap().unwrap().status(), 200);
    }
    let most = refusals.iter().map(|count| count.load(Ordering::Relaxed)).max();
    assert_eq!(most, Some(1));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_bounds_the_wait() {
    let start = Instant::now();
    let outcome = storm("token-bucket:1/1s,burst=5", &[Dialect::Draft11], 30, Duration::from_secs(10)).await;
    assert!((10..=15).contains(&outcome.allowed), "{}", outcome.allowed);
    assert!(start.elapsed() <= Duration::from_secs(11), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_refusal_without_a_wait_is_the_answer() {
    let service = service_fn(|_: Request<Empty<Bytes>>| async {
        let mut response = Response::new(());
        *response.status_mut() = http::StatusCode::TOO_MANY_REQUESTS;
        Ok::<_, Infallible>(response)
    });
    let client = PoliteLayer::new(TokioTimer, Duration::from_secs(10)).layer(service);
    assert_eq!(client.oneshot(Request::new(Empty::<Bytes>::new())).await.unwrap().status(), 429);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_request_and_a_failing_service_hold_nobody_up() {
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    let service = service_fn(move |_: Request<Empty<Bytes>>| {
        let call = counted.fetch_add(1, Ordering::Relaxed);
        async move {
            match call {
                0 => Ok(Response::builder().header("ratelimit", "\"a\";r=0;t=5").body(()).expect("a response")),
                1 => std::future::pending().await,
                2 => Err("broken"),
                _ => Ok(Response::new(())),
            }
        }
    });
    let client = PoliteLayer::new(TokioTimer, Duration::from_secs(60)).clock(Paused(Instant::now())).layer(service);
    let send = || client.clone().oneshot(Request::new(Empty::<Bytes>::new()));
    assert!(send().await.is_ok());
    let hanging = tokio::spawn(send());
    tokio::time::sleep(Duration::from_secs(6)).await;
    let (failing, last) = (tokio::spawn(send()), tokio::spawn(send()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(calls.load(Ordering::Relaxed), 2, "one asks for all");
    hanging.abort();
    assert_eq!(failing.await.unwrap().unwrap_err(), PoliteError::Service("broken"));
    assert!(last.await.unwrap().is_ok());
}

/// One answer that asks for thousands of years does not shut the server out: after an hour, or what was chosen, one
/// request is sent to see.
#[tokio::test(start_paused = true)]
async fn no_answer_shuts_a_server_out_for_ever() {
    let absurd = [
        (200, "ratelimit", "\"a\";r=0;t=999999999999999"),
        (200, "ratelimit", "\"a\";a=0;w=999999999999999"),
        (200, "x-ratelimit-reset", "18446744073709551615"),
        (429, "retry-after", "99999999999"),
        (429, "retry-after", "18446744073709551615"),
        (429, "retry-after", "Fri, 31 Dec 9999 23:59:59 GMT"),
    ];
    for (status, name, value) in absurd {
        for longest in [None, Some(Duration::from_secs(60))] {
            let calls = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&calls);
            let service = service_fn(move |_: Request<Empty<Bytes>>| {
                let first = counted.fetch_add(1, Ordering::Relaxed) == 0;
                async move {
                    let response = Response::builder();
                    let told = response.status(status).header(name, value).header("x-ratelimit-remaining", "0");
                    Ok::<_, Infallible>(if first { told.body(()).expect("a response") } else { Response::new(()) })
                }
            });
            let client =
                PoliteLayer::new(TokioTimer, Duration::from_secs(10)).clock(Paused(Instant::now())).jitter(0, 1);
            let client = longest.into_iter().fold(client, PoliteLayer::believe).layer(service);
            let send = || client.clone().oneshot(Request::new(Empty::<Bytes>::new()));
            assert_eq!(send().await.expect("the answer").status(), status);
            let longest = longest.unwrap_or(Duration::from_secs(3_600));
            tokio::time::sleep(longest.saturating_sub(Duration::from_secs(20))).await;
            assert_eq!(send().await.unwrap_err(), PoliteError::Deadline, "{name}: {value}");
            tokio::time::sleep(Duration::from_secs(30)).await;
            assert_eq!(send().await.expect("it is asked again").status(), 200, "{name}: {value}");
            assert_eq!(calls.load(Ordering::Relaxed), 2);
        }
    }
}

/// A server that refuses for no time at all, for ever: it is asked once a second, and no longer than the deadline.
#[tokio::test(start_paused = true)]
async fn a_wait_of_nothing_is_no_leave_to_hammer() {
    let fields = [
        ("retry-after", "0"),
        ("retry-after", "Mon, 21 Sep 2020 14:13:50 GMT"),
        ("ratelimit", "\"a\";r=0;t=0"),
        ("x-ratelimit-reset", "0"),
    ];
    for (name, value) in fields {
        for believed in [Duration::ZERO, Duration::from_secs(3_600)] {
            let calls = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&calls);
            let service = service_fn(move |_: Request<Empty<Bytes>>| {
                counted.fetch_add(1, Ordering::Relaxed);
                let refused = Response::builder().status(429).header(name, value).header("x-ratelimit-remaining", "0");
                async move { Ok::<_, Infallible>(refused.body(()).expect("a response")) }
            });
            let client = PoliteLayer::new(TokioTimer, Duration::from_secs(10)).clock(Paused(Instant::now()));
            let client = client.believe(believed).jitter(0, 1).layer(service);
            let start = Instant::now();
            let answer = client.oneshot(Request::new(Empty::<Bytes>::new())).await.expect("the refusal");
            assert_eq!(answer.status(), 429, "{name}: {value}");
            assert!(start.elapsed() <= Duration::from_secs(10), "{name}: {value}");
            assert_eq!(calls.load(Ordering::Relaxed), 11, "{name}: {value}");
        }
    }
}

/// Whoever keeps the future of a request that has failed, or came too late, keeps nothing of the server's.
#[tokio::test(start_paused = true)]
async fn a_finished_request_holds_nobody_up_though_it_is_not_dropped() {
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    let service = service_fn(move |_: Request<Empty<Bytes>>| {
        let call = counted.fetch_add(1, Ordering::Relaxed);
        async move {
            match call {
                0 => Ok(Response::builder().header("ratelimit", "\"a\";r=0;t=5").body(()).expect("a response")),
                1 => Err("broken"),
                _ => Ok(Response::new(())),
            }
        }
    });
    let client = PoliteLayer::new(TokioTimer, Duration::from_secs(4)).clock(Paused(Instant::now())).layer(service);
    let send = || Box::pin(client.clone().call(Request::new(Empty::<Bytes>::new())));
    assert!(send().await.is_ok());
    let mut late = send();
    assert_eq!((&mut late).await.unwrap_err(), PoliteError::Deadline);
    tokio::time::sleep(Duration::from_secs(6)).await;
    let mut broken = send();
    assert_eq!((&mut broken).await.unwrap_err(), PoliteError::Service("broken"));
    assert!(send().await.is_ok());
    drop((late, broken));
}
