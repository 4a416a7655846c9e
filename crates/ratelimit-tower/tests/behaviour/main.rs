//! What the layer does around a decision: several policies, shadow mode, refusals and their fields, gRPC; in the modules, later
//! charges, waiting, and shared backends. Time is tokio's, which stands still until a test moves it, or a manual clock.

mod charging;
mod queue;
mod shared;

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use ratelimit_core::{Decision, Nanos};
use ratelimit_store::{Backend, Clock, KeyedLimiter, ManualClock};
use ratelimit_tower::headers::{Dialect, Reset};
use ratelimit_tower::key::{
    All, ApiKey, ClientIp, FirstOf, Head, KeyExtractor, MatchedRoute, PeerAddr, Route, Secret, Shared, from_fn,
};
use ratelimit_tower::{
    ActualCost, BuildError, Builder, ChargeHandle, Decided, Limit, RateLimitLayer, ResponseBody, TokioTimer,
    WhenUnavailable, grpc,
};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

use shared::Recorder;

type Answer = Response<ResponseBody<Full<Bytes>>>;
type NoBody = Empty<Bytes>;

fn pong() -> Response<Full<Bytes>> {
    Response::new(Full::new(Bytes::from_static(b"pong")))
}

fn burst(policy: &str) -> Builder {
    RateLimitLayer::builder().limit(limit(policy)).clock(ManualClock::new(Nanos::from_secs(86_400)))
}

fn limit(policy: &str) -> Limit {
    Limit::parse("burst", policy).expect("a policy")
}

fn request() -> Request<NoBody> {
    from([192, 0, 2, 10])
}

fn from(peer: [u8; 4]) -> Request<NoBody> {
    let mut request = Request::new(NoBody::new());
    request.extensions_mut().insert(PeerAddr((peer, 40_000).into()));
    request
}

async fn ask(layer: &RateLimitLayer, request: Request<NoBody>) -> Answer {
    ask_inner(layer, request, |_| pong()).await
}

async fn ask_inner(
    layer: &RateLimitLayer,
    request: Request<NoBody>,
    inner: impl Fn(Request<NoBody>) -> Response<Full<Bytes>> + Clone,
) -> Answer {
    let service = service_fn(move |request| {
        let response = inner(request);
        async move { Ok::<_, Infallible>(response) }
    });
    ServiceBuilder::new().layer(layer).service(service).oneshot(request).await.expect("infallible")
}

fn field<'a, B>(answer: &'a Response<B>, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().expect("ASCII"))
}

async fn body(answer: Answer) -> String {
    String::from_utf8(answer.into_body().collect().await.expect("a body").to_bytes().to_vec()).expect("UTF-8")
}

/// Polls once; whether there is no answer yet.
async fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|context| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_pending()))
        .await
}

#[tokio::test]
async fn shadow_mode_counts_and_stays_silent() {
    let layer = burst("fixed-window:1/1m").shadow(true).build().unwrap();
    for _ in 0..3 {
        let answer = ask(&layer, request()).await;
        assert_eq!((answer.status(), field(&answer, "ratelimit")), (StatusCode::OK, ""));
    }
    let stats = layer.stats();
    assert_eq!((stats.allowed, stats.shadowed, stats.denied), (3, 2, 0));
}

#[tokio::test]
async fn a_refusal_by_one_policy_charges_none_whatever_their_keys() {
    let api_key = || ApiKey::header(http::HeaderName::from_static("x-api-key"));
    let by_key = Limit::parse("key", "fixed-window:2/1m").unwrap().key(FirstOf::of(api_key()).or(ClientIp::peer()));
    let by_address = Limit::parse("address", "fixed-window:3/1m").unwrap();
    let builder = RateLimitLayer::builder().limit(by_key).limit(by_address);
    let layer = builder.clock(ManualClock::default()).dialects([Dialect::Draft11]).build().unwrap();
    let with_key = |key: &'static str| {
        let mut request = request();
        request.headers_mut().insert("x-api-key", http::HeaderValue::from_static(key));
        request
    };
    assert_eq!(field(&ask(&layer, with_key("a")).await, "ratelimit"), "\"key\";r=1;t=60, \"address\";r=2;t=60");
    assert_eq!(ask(&layer, with_key("a")).await.status(), StatusCode::OK);
    let refused = ask(&layer, with_key("a")).await;
    assert_eq!(field(&refused, "ratelimit"), "\"key\";r=0;t=60, \"address\";r=1;t=60");
    assert!(body(refused).await.contains(r#""violated-policies":["key"]"#));
    // An invented key has a quota of its own, and the address's is the end of it.
    assert_eq!(ask(&layer, with_key("b")).await.status(), StatusCode::OK);
    let refused = ask(&layer, with_key("c")).await;
    assert_eq!(field(&refused, "ratelimit"), "\"key\";r=2;t=60, \"address\";r=0;t=60");
}

/// Whoever has something to say is no browser that asks first: tonic, a proxy and `any` serve OPTIONS like a POST.
#[tokio::test]
async fn only_a_preflight_with_nothing_to_say_is_exempt() {
    let grpc = ("content-type", "application/grpc");
    for (body, content_type, charged) in [
        ("", None, false),
        ("", Some(grpc), true),
        ("", Some(("content-type", "application/grpc-web+proto")), true),
        ("", Some(("content-type", "text/plain")), true),
        ("call", None, true),
        ("call", Some(grpc), true),
    ] {
        let layer = burst("fixed-window:1/1m").build().unwrap();
        let service = service_fn(|_: Request<Full<Bytes>>| async { Ok::<_, Infallible>(pong()) });
        let service = ServiceBuilder::new().layer(&layer).service(service);
        let mut statuses = Vec::new();
        for _ in 0..2 {
            let mut request = Request::new(Full::new(Bytes::from_static(body.as_bytes())));
            *request.method_mut() = http::Method::OPTIONS;
            request.extensions_mut().insert(PeerAddr(([192, 0, 2, 10], 40_000).into()));
            let preflight = [("origin", "https://example.org"), ("access-control-request-method", "POST")];
            for (name, value) in preflight.into_iter().chain(content_type) {
                request.headers_mut().insert(name, http::HeaderValue::from_static(value));
            }
            statuses.push(service.clone().oneshot(request).await.unwrap().status().as_u16());
        }
        assert_eq!(statuses, [200, if charged { 429 } else { 200 }], "{body:?} {content_type:?}");
        assert_eq!(layer.stats().exempt, if charged { 0 } else { 2 }, "{body:?} {content_type:?}");
    }
}

/// Many threads at the edge of two policies: exactly the smaller one passes, and nothing of the other is lost.
#[test]
fn all_or_nothing_under_threads() {
    let one = Limit::parse("one", "fixed-window:500/1m").unwrap().key(Shared);
    let two = Limit::parse("two", "fixed-window:300/1m").unwrap().key(Shared);
    let layer = RateLimitLayer::builder().limit(one).limit(two).clock(ManualClock::default()).build().unwrap();
    let passed = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let answer = block_on(ask(&layer, request()));
                    passed.fetch_add(u64::from(answer.status() == 200), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(passed.into_inner(), 300);
    let refused = block_on(ask(&layer, request()));
    assert_eq!(field(&refused, "ratelimit"), "\"one\";r=200;t=60, \"two\";r=0;t=60");
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

#[tokio::test]
async fn a_cost_that_never_fits_is_told_so() {
    let layer = RateLimitLayer::builder().limit(limit("token-bucket:5/1m").cost(6)).build().unwrap();
    let refused = ask(&layer, request()).await;
    assert_eq!((refused.status().as_u16(), field(&refused, "retry-after")), (429, ""));
    assert_eq!(field(&refused, "ratelimit"), "\"burst\";r=5;t=60");
    let problem: serde_json::Value = serde_json::from_str(&body(refused).await).unwrap();
    assert_eq!(problem["type"], "urn:ratelimit:cost-exceeds-capacity");
    assert_eq!(problem["capacity"], 5);
    assert_eq!(layer.stats().never, 1);
}

#[tokio::test]
async fn without_a_peer_nobody_passes_and_the_problem_says_why() {
    let layer = burst("fixed-window:1/1m").build().unwrap();
    let refused = ask(&layer, Request::new(NoBody::new())).await;
    assert_eq!(refused.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert!(body(refused).await.contains("urn:ratelimit:peer-unknown"));
    let by_key = limit("fixed-window:1/1m").key(ApiKey::bearer());
    let layer = RateLimitLayer::builder().limit(by_key).build().unwrap();
    let refused = ask(&layer, request()).await;
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    assert!(body(refused).await.contains("urn:ratelimit:client-unidentified"));
}

#[tokio::test]
async fn a_limit_applies_where_it_says() {
    let get = Limit::parse("get", "fixed-window:9/1m").unwrap().when(|head| head.method == http::Method::GET);
    let post = Limit::parse("post", "fixed-window:1/1m").unwrap().when(|head| head.method == http::Method::POST);
    let layer = RateLimitLayer::builder().limit(get).limit(post).clock(ManualClock::default()).build().unwrap();
    let answer = ask(&layer, request()).await;
    assert_eq!(field(&answer, "ratelimit-policy"), "\"get\";q=9;w=60");
    assert_eq!(field(&answer, "ratelimit-limit"), "9");
    let mut delete = request();
    *delete.method_mut() = http::Method::DELETE;
    assert_eq!(field(&ask(&layer, delete).await, "ratelimit-policy"), "");
    assert_eq!(layer.stats().exempt, 1);
}

/// What an answer tells: its status, its fields in their order, and its decision.
fn told(answer: &Answer) -> String {
    format!("{} {:?} {:?}", answer.status(), answer.headers(), answer.extensions().get::<Decided>())
}

/// A policy alone has a way of its own through the layer. One that has a condition has not, nor have those beside others.
#[tokio::test]
async fn a_policy_alone_answers_like_one_with_a_condition() {
    let policies =
        ["fixed-window:5/1m", "sliding-log:5/1m", "sliding-counter:5/1m", "token-bucket:5/1m", "leaky-bucket:5/1m"];
    let cost = |head: &Head<'_>| head.uri.path().len() as u64 - 1;
    for (policy, dialect) in policies.into_iter().flat_map(|policy| {
        [Dialect::Draft11, Dialect::Draft12, Dialect::Draft07, Dialect::Draft06].map(|dialect| (policy, dialect))
    }) {
        let clock = ManualClock::new(Nanos::from_secs(86_400));
        let layer = |limit: Limit| {
            let layer = RateLimitLayer::builder().limit(limit).clock(clock.clone()).dialects([dialect]);
            layer.wait(TokioTimer, Duration::ZERO).report_decisions(true).build().unwrap()
        };
        let by_peer = limit(policy).cost_by(cost);
        let by_long_key = by_peer.clone().key(from_fn("tenant", |_| Some("x".repeat(300).into())));
        for limit in [by_peer, by_long_key] {
            let (alone, other) = (layer(limit.clone()), layer(limit.when(|_| true)));
            for (step, units) in [0, 1, 2, 1, 3, 0, 6, 1, 1, 5].into_iter().cycle().take(40).enumerate() {
                let request = || {
                    let mut request = if step % 7 == 6 { Request::new(NoBody::new()) } else { request() };
                    *request.uri_mut() = format!("/{}", "x".repeat(units)).parse().unwrap();
                    request
                };
                let (one, two) = (ask(&alone, request()).await, ask(&other, request()).await);
                assert_eq!(told(&one), told(&two), "{policy} at step {step}");
                assert_eq!(body(one).await, body(two).await, "{policy} at step {step}");
                clock.advance(Nanos::from_secs(5));
            }
            assert_eq!(alone.stats(), other.stats(), "{policy}");
        }
    }
}

/// What a backend on the network would be asked for, by a server that knows no secret.
fn keys_seen(key: impl KeyExtractor, secret: Option<Secret>) -> Result<Vec<Vec<u8>>, BuildError> {
    let backend = Recorder::default();
    let seen = Arc::clone(&backend.keys);
    let shared = RateLimitLayer::builder().limit(limit("fixed-window:9/1m").key(key).on(backend));
    let layer = secret.into_iter().fold(shared, Builder::secret).build()?;
    let mut request = request();
    request.extensions_mut().insert(PeerAddr("[2001:db8::1]:80".parse().unwrap()));
    request.extensions_mut().insert(Route("/a/route/of/more/than/sixty-four/bytes/with/the/address/beside/it/{id}"));
    request.headers_mut().insert("authorization", http::HeaderValue::from_static("Bearer abc"));
    assert_eq!(block_on(ask(&layer, request)).status(), 200);
    let seen = seen.lock().unwrap().clone();
    Ok(seen)
}

/// Servers that share a backend must ask for a client by the same bytes, or be told that they do not.
#[test]
fn two_servers_have_one_key_for_a_client_or_are_not_built() {
    let long_text = || from_fn("user", |_| Some("u".repeat(100).into()));
    let ip = ClientIp::peer;
    let extractors: [fn() -> Arc<dyn KeyExtractor>; 4] = [
        || Arc::new(ClientIp::peer()),
        || Arc::new(Shared),
        || Arc::new(FirstOf::of(ClientIp::peer()).or(Shared)),
        || Arc::new(All::of(ClientIp::peer())),
    ];
    for extractor in extractors {
        let keys = keys_seen(extractor(), None);
        assert!(keys.as_ref().is_ok_and(|keys| keys.len() == 1), "{:?}", extractor());
        assert_eq!(keys, keys_seen(extractor(), None), "{:?}", extractor());
    }
    let hashed: [&dyn Fn() -> Arc<dyn KeyExtractor>; 6] = [
        &|| Arc::new(MatchedRoute::new()),
        &|| Arc::new(All::of(MatchedRoute::new()).and(ip())),
        &|| Arc::new(All::of(ip()).and(ip()).and(ip()).and(ip())),
        &|| Arc::new(long_text()),
        &|| Arc::new(FirstOf::of(ip()).or(long_text())),
        &|| Arc::new(ApiKey::bearer()),
    ];
    for extractor in hashed {
        assert_eq!(keys_seen(extractor(), None), Err(BuildError::NoSecret), "{:?}", extractor());
        let secret = || Some(Secret::new([7; 16]));
        assert_eq!(keys_seen(extractor(), secret()), keys_seen(extractor(), secret()), "{:?}", extractor());
    }
}

#[tokio::test]
async fn grpc_is_told_in_its_own_words() {
    let layer = burst("fixed-window:1/1m").respond(grpc::respond).build().unwrap();
    assert_eq!(ask(&layer, request()).await.status(), 200);
    let refused = ask(&layer, request()).await;
    assert_eq!((refused.status().as_u16(), field(&refused, "grpc-status")), (200, "8"));
    assert_eq!(field(&refused, "grpc-retry-pushback-ms"), "60000");
    assert_eq!(field(&refused, "content-type"), "application/grpc");
    assert_eq!(field(&refused, "retry-after"), "", "with 200 it means nothing");
    assert_eq!(body(refused).await, "");
}

#[tokio::test]
async fn retry_after_goes_with_the_statuses_that_mean_it() {
    for (status, retry_after) in [(429, "60"), (503, "60"), (403, ""), (200, ""), (302, "")] {
        let layer = burst("fixed-window:1/1m").refusal_status(StatusCode::from_u16(status).unwrap()).build().unwrap();
        ask(&layer, request()).await;
        let refused = ask(&layer, request()).await;
        assert_eq!((refused.status().as_u16(), field(&refused, "retry-after")), (status, retry_after));
        assert_eq!(field(&refused, "ratelimit-reset"), "60");
    }
}

/// Limit, remaining and reset, in the dialects that describe one policy.
fn single_values<B>(answer: &Response<B>) -> [&str; 3] {
    ["limit", "remaining", "reset"].map(|name| {
        let mut alone = ["", "x-"].into_iter().map(|prefix| field(answer, &format!("{prefix}ratelimit-{name}")));
        let of_dictionary = || {
            let members = field(answer, "ratelimit").split(", ");
            members.into_iter().find_map(|member| member.strip_prefix(name)?.strip_prefix('=')).unwrap_or_default()
        };
        alone.find(|value| !value.is_empty()).unwrap_or_else(of_dictionary)
    })
}

/// The single values describe the policy that refused, whichever layer has it and whatever the other has left.
#[tokio::test]
async fn of_nested_layers_the_one_that_refused_is_described() {
    let of = |policy: &str, cost: u64, dialect: Dialect| {
        let layer = RateLimitLayer::builder().limit(limit(policy).cost(cost)).dialects([dialect]);
        layer.clock(ManualClock::new(Nanos::from_secs(86_400))).build().unwrap()
    };
    for dialect in [Dialect::Triple, Dialect::Draft06, Dialect::Draft07, Dialect::XRateLimit(Reset::Delta)] {
        // Refused by the inner one with 2 left, while the outer has 1 left after it has allowed; and the other way.
        for (outer, inner, limit) in [(("3/1m", 1), ("5/1h", 3), "5"), (("5/1h", 3), ("3/1m", 1), "5")] {
            let of = |(policy, cost): (&str, u64)| of(&format!("fixed-window:{policy}"), cost, dialect);
            let service = service_fn(|_: Request<NoBody>| async { Ok::<_, Infallible>(pong()) });
            let service = ServiceBuilder::new().layer(of(outer)).layer(of(inner)).service(service);
            assert_eq!(service.clone().oneshot(request()).await.unwrap().status(), 200);
            let refused = service.oneshot(request()).await.unwrap();
            assert_eq!(refused.status(), 429);
            assert_eq!(single_values(&refused), [limit, "2", "3600"], "{dialect:?} {outer:?}");
        }
    }
}

/// Whoever asks for the head alone is told what the whole answer would be like, the length of its body too.
#[tokio::test]
async fn the_head_of_a_refusal_is_that_of_the_whole() {
    let never = || burst("fixed-window:1/1m");
    let unidentified = || RateLimitLayer::builder().limit(limit("fixed-window:1/1m").key(ApiKey::bearer()));
    let short = || never().respond(|_| Response::new(Bytes::from_static(b"no")));
    let empty = || never().respond(|_| Response::new(Bytes::new()));
    for build in [&never as &dyn Fn() -> Builder, &unidentified, &short, &empty] {
        let layer = build().build().unwrap();
        ask(&layer, request()).await;
        let whole = ask(&layer, request()).await;
        let mut head = request();
        *head.method_mut() = http::Method::HEAD;
        let mut head = ask(&layer, head).await;
        let length = head.headers_mut().remove("content-length").expect("a length");
        assert_eq!((head.status(), head.headers()), (whole.status(), whole.headers()));
        assert_eq!(body(head).await, "");
        assert_eq!(length.to_str().unwrap(), body(whole).await.len().to_string());
    }
}

#[tokio::test]
async fn answers_that_expose_fields_vary_by_origin() {
    for (own, expected) in [(None, 1), (Some("accept"), 2), (Some("accept, ORIGIN"), 1), (Some("*"), 1)] {
        for origin in [None, Some("https://example.org")] {
            let layer = burst("fixed-window:9/1m").expose_fields(true).build().unwrap();
            let mut request = request();
            request.headers_mut().extend(origin.map(|origin| (http::header::ORIGIN, origin.parse().unwrap())));
            let answer = ask_inner(&layer, request, move |_| {
                let mut response = pong();
                response.headers_mut().extend(own.map(|own| (http::header::VARY, own.parse().unwrap())));
                response
            });
            let answer = answer.await;
            assert_eq!(answer.headers().get_all("vary").iter().count(), expected, "{own:?} {origin:?}");
            assert_eq!(answer.headers().contains_key("access-control-expose-headers"), origin.is_some());
        }
    }
}

#[tokio::test]
async fn clones_share_their_clients_and_readiness_is_the_inner_services() {
    let layer = burst("fixed-window:2/1m").build().unwrap();
    let service = service_fn(|_: Request<NoBody>| async { Ok::<_, Infallible>(pong()) });
    let mut one = ServiceBuilder::new().layer(&layer).service(service);
    let mut other = one.clone();
    for service in [&mut one, &mut other] {
        assert_eq!(service.ready().await.unwrap().call(request()).await.unwrap().status(), 200);
    }
    assert_eq!(one.ready().await.unwrap().call(request()).await.unwrap().status(), 429);
    assert_eq!(layer.clients(), [("burst", 1)]);
}

#[test]
fn mistakes_are_found_when_the_layer_is_built() {
    let build = |builder: Builder| builder.build().err();
    assert_eq!(build(RateLimitLayer::builder()), Some(BuildError::NoLimit));
    assert_eq!(build(burst("unlimited")), Some(BuildError::Unlimited("burst".into())));
    assert_eq!(build(burst("fixed-window:1/1s+fixed-window:2/1m")), Some(BuildError::SeveralRules("burst".into())));
    assert_eq!(build(burst("leaky-bucket:1/1s")), Some(BuildError::NoTimer));
    let both = burst("fixed-window:1/1s").dialects([Dialect::Draft11, Dialect::Draft12]);
    assert!(matches!(build(both), Some(BuildError::SameField(_))));
    // Fifteen digits, and no more.
    assert_eq!(build(burst("fixed-window:999999999999999/1s")), None);
    assert_eq!(build(burst("fixed-window:1000000000000000/1s")), Some(BuildError::TooLarge("burst".into())));
    let rule: ratelimit_core::Policy = "fixed-window:1/1s".parse().unwrap();
    let shared = limit("fixed-window:1/1s").on(KeyedLimiter::new(rule)).key(ApiKey::bearer());
    assert_eq!(build(RateLimitLayer::builder().limit(shared)), Some(BuildError::NoSecret));
    for key in [ClientIp::behind_hops(0, http::header::FORWARDED), ClientIp::behind([], http::header::FORWARDED)] {
        for limit in
            [limit("fixed-window:1/1s").key(key.clone()), limit("fixed-window:1/1s").key(All::of(Shared).and(key))]
        {
            let mistake = build(RateLimitLayer::builder().limit(limit));
            assert!(matches!(&mistake, Some(BuildError::Key(name, _)) if name == "burst"), "{mistake:?}");
            assert!(mistake.unwrap().to_string().contains("`ClientIp::peer()`"));
        }
    }
    let message = BuildError::NoTimer.to_string();
    assert!(message.contains(".wait(TokioTimer"), "{message}");
}
