//! Layers and services as rows describe them.

use std::borrow::Cow;
use std::cell::Cell;
use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::header::HeaderName;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use ratelimit_core::{Decision, Nanos, Policy};
use ratelimit_store::{Backend, ManualClock};
use ratelimit_tower::headers::{Dialect, Reset};
use ratelimit_tower::key::{
    All, ApiKey, ClientIp, ClientKey, FirstOf, Head, KeyError, KeyExtractor, MatchedRoute, PeerAddr, Secret,
};
use ratelimit_tower::{Builder, Limit, RateLimitLayer, ResponseBody, WhenUnavailable};
use serde_json::Value;
use tower_layer::Layer;
use tower_service::Service;

use crate::expect::Answer;

/// The body of requests here.
pub(crate) type NoBody = Empty<Bytes>;

/// A boundary of every window of up to a day.
pub(crate) const START: Nanos = Nanos::from_secs(20_717 * 86_400);

/// What the wrapped service answers, per request; and what rows say of a request beside its head.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asides {
    pub(crate) cost: Option<u64>,
    pub(crate) key_parts: Vec<String>,
    pub(crate) inner_status: Option<u16>,
    pub(crate) inner_headers: Vec<(String, String)>,
}

/// The innermost service: answers at once, or never.
#[derive(Clone)]
pub(crate) struct Inner {
    pub(crate) never: bool,
}

impl Service<Request<NoBody>> for Inner {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<NoBody>) -> Self::Future {
        if self.never {
            return Box::pin(std::future::pending());
        }
        let asides = request.extensions().get::<Asides>().cloned().unwrap_or_default();
        let mut response = Response::new(Full::new(Bytes::from_static(b"pong")));
        *response.status_mut() = StatusCode::from_u16(asides.inner_status.unwrap_or(200)).expect("a status");
        for (name, value) in &asides.inner_headers {
            let name = HeaderName::try_from(name).expect("a name");
            response.headers_mut().append(name, value.try_into().expect("a value"));
        }
        Box::pin(ready(Ok(response)))
    }
}

/// The wall clock of a row, apart from the clock that decides.
#[derive(Clone)]
pub(crate) struct Clocks {
    pub(crate) steady: ManualClock,
    pub(crate) wall: Arc<AtomicU64>,
}

impl Clocks {
    pub(crate) fn new() -> Self {
        let wall = Arc::new(AtomicU64::new(1_790_000_000_000_000_000));
        Clocks { steady: ManualClock::new(START), wall }
    }

    pub(crate) fn advance(&self, nanos: u64) {
        self.steady.advance(Nanos::new(nanos));
        self.wall.fetch_add(nanos, Ordering::Relaxed);
    }
}

/// The layers of a row, outermost first; or why they cannot be built.
pub(crate) fn layers(row: &Value, clocks: &Clocks, store_fails: bool) -> Result<Vec<RateLimitLayer>, String> {
    let policies = row["config"]["policies"].as_array().expect("policies");
    if row["config"]["options"]["as_nested_layers"] == true {
        // The row lists the innermost first.
        return policies.iter().rev().map(|policy| layer(row, &[policy], clocks, store_fails)).collect();
    }
    let policies: Vec<&Value> = policies.iter().collect();
    Ok(vec![layer(row, &policies, clocks, store_fails)?])
}

fn layer(row: &Value, policies: &[&Value], clocks: &Clocks, store_fails: bool) -> Result<RateLimitLayer, String> {
    let options = &row["config"]["options"];
    let wall = Arc::clone(&clocks.wall);
    let mut builder = RateLimitLayer::builder()
        .clock(clocks.steady.clone())
        .secret(Secret::new([7; 16]))
        .wall_clock(move || wall.load(Ordering::Relaxed))
        .partition_key(options["emit_pk"] == true)
        .expose_fields(options["cors"] == "outermost")
        .dialects(dialects(row["dialect"].as_str().expect("a dialect")));
    for policy in policies {
        let limit = limit(row, policy);
        builder = builder.limit(if store_fails { limit.on(Failing) } else { limit });
    }
    with_options(builder, options).build().map_err(|error| error.to_string())
}

fn with_options(mut builder: Builder, options: &Value) -> Builder {
    for (option, value) in options.as_object().expect("options") {
        builder = match option.as_str() {
            "rejection_status" => {
                let status = value.as_u64().and_then(|status| u16::try_from(status).ok()).expect("a status");
                builder.refusal_status(StatusCode::from_u16(status).expect("a status"))
            }
            "on_store_error" if value == "deny" => builder.when_unavailable(WhenUnavailable::Refuse),
            "on_store_error" => builder.when_unavailable(WhenUnavailable::Allow),
            "skip_paths" => {
                let paths: Vec<String> = serde_json::from_value(value.clone()).expect("paths");
                builder.skip(move |head| paths.iter().any(|path| path == head.uri.path()))
            }
            "max_keys" => builder.max_clients(usize::try_from(value.as_u64().expect("a number")).expect("fits")),
            // Seen to elsewhere, or what a layer does unless told otherwise.
            "emit_pk"
            | "cors"
            | "as_nested_layers"
            | "client_ip"
            | "ipv6_prefix"
            | "key"
            | "router"
            | "missing_key"
            | "on_missing_peer"
            | "skip_on_redirect"
            | "property"
            | "expect_build_error"
            | "expect_build_error_or_clamp" => builder,
            other => panic!("an option that nobody has decided about: {other}"),
        };
    }
    builder
}

fn dialects(name: &str) -> Vec<Dialect> {
    match name {
        "draft-11" => vec![Dialect::Draft11],
        "draft-07" => vec![Dialect::Draft07],
        "draft-06" => vec![Dialect::Draft06],
        "draft-03" => vec![Dialect::Triple],
        "legacy-epoch" => vec![Dialect::XRateLimit(Reset::Epoch)],
        "legacy-delta" => vec![Dialect::XRateLimit(Reset::Delta)],
        "none" => vec![],
        other => panic!("a dialect that is not known: {other}"),
    }
}

fn limit(row: &Value, policy: &Value) -> Limit {
    let (quota, window) = (policy["q"].as_u64().expect("q"), policy["window_ms"].as_u64().expect("window_ms"));
    let text = match (policy["algo"].as_str(), policy["burst"].as_u64()) {
        (Some("gcra"), burst) => format!("token-bucket:{quota}/{window}ms,burst={}", burst.unwrap_or(quota)),
        (None, None) => format!("fixed-window:{quota}/{window}ms"),
        other => panic!("an algorithm that is not known: {other:?}"),
    };
    let cost = |head: &Head<'_>| head.extensions.get::<Asides>().and_then(|asides| asides.cost).unwrap_or(1);
    let name = policy["name"].as_str().expect("a name");
    let mut limit = Limit::new(name, text.parse::<Policy>().expect("a policy")).cost_by(cost);
    if let Some(unit) = policy["unit"].as_str() {
        limit = limit.unit(unit);
    }
    with_key(limit, row, policy)
}

fn with_key(limit: Limit, row: &Value, policy: &Value) -> Limit {
    let options = &row["config"]["options"];
    let address = client_ip(options);
    let api_key = || ApiKey::header(HeaderName::from_static("x-api-key"));
    match (policy["key"].as_str().or(options["key"].as_str()), options["missing_key"].as_str()) {
        (None, None) => limit.key(FirstOf::of(KeyParts).or(address)),
        (Some("header:x-api-key"), None) => limit.key(api_key()),
        (Some("header:x-api-key"), Some("ip")) => limit.key(FirstOf::of(api_key()).or(address)),
        (Some("bearer"), None) => limit.key(ApiKey::bearer()),
        (Some("route+ip"), None) => limit.key(All::of(MatchedRoute::new()).and(address)),
        other => panic!("a key that is not known: {other:?}"),
    }
}

fn client_ip(options: &Value) -> ClientIp {
    let proxies = &options["client_ip"];
    let header = || HeaderName::try_from(proxies["header"].as_str().expect("a header")).expect("a name");
    let mut address = ClientIp::peer();
    if let Some(networks) = proxies["trusted"].as_array() {
        let network = |network: &Value| network.as_str().expect("a network").parse().expect("a network");
        address = ClientIp::behind(networks.iter().map(network), header());
    } else if let Some(hops) = proxies["hops"].as_u64() {
        address = ClientIp::behind_hops(usize::try_from(hops).expect("fits"), header());
    }
    match options["ipv6_prefix"].as_u64() {
        Some(bits) => address.ipv6_prefix(u8::try_from(bits).expect("fits")),
        None => address,
    }
}

/// The parts that a row gives as they are.
#[derive(Debug)]
struct KeyParts;

impl KeyExtractor for KeyParts {
    fn extract<'r>(&'r self, head: &Head<'r>, key: &mut ClientKey<'r>) -> Result<(), KeyError> {
        let parts = head.extensions.get::<Asides>().map(|asides| asides.key_parts.as_slice()).unwrap_or_default();
        if parts.is_empty() {
            return Err(KeyError::Missing("key parts"));
        }
        for part in parts {
            key.push_text("part", Cow::Borrowed(part.as_str()));
        }
        Ok(())
    }
}

/// A backend that is down.
struct Failing;

impl Backend for Failing {
    type Error = std::io::Error;
    type Decide = Ready<Result<Decision, std::io::Error>>;
    type Change = Ready<Result<(), std::io::Error>>;

    fn check_n(&self, _: &[u8], _: u64) -> Self::Decide {
        ready(Err(std::io::Error::other("down")))
    }

    fn peek(&self, _: &[u8], _: u64) -> Self::Decide {
        ready(Err(std::io::Error::other("down")))
    }

    fn charge(&self, _: &[u8], _: u64) -> Self::Change {
        ready(Err(std::io::Error::other("down")))
    }

    fn refund(&self, _: &[u8], _: u64) -> Self::Change {
        ready(Err(std::io::Error::other("down")))
    }

    fn reset(&self, _: &[u8]) -> Self::Change {
        ready(Err(std::io::Error::other("down")))
    }
}

/// Sends a request through the layers; `None` if no answer comes.
pub(crate) fn send(layers: &[RateLimitLayer], inner: Inner, request: Request<NoBody>) -> Option<Answer> {
    match layers {
        [one] => drive(one.layer(inner).call(request)),
        [outer, middle] => drive(outer.layer(middle.layer(inner)).call(request)),
        _ => panic!("one layer or two"),
    }
}

fn drive<B>(future: impl Future<Output = Result<Response<B>, Infallible>>) -> Option<Answer>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: std::fmt::Debug,
{
    let (parts, body) = now(future)?.expect("infallible").into_parts();
    let collected = now(body.collect()).expect("a body that is there").expect("a body");
    assert!(collected.trailers().is_none(), "no field may be in trailers");
    Some(Answer { status: parts.status.as_u16(), headers: parts.headers, body: collected.to_bytes().to_vec() })
}

/// The value of a future that waits for nothing.
fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

pub(crate) fn from_peer(peer: SocketAddr) -> Request<NoBody> {
    let mut request = Request::new(NoBody::new());
    request.extensions_mut().insert(PeerAddr(peer));
    request
}

/// A store that is too small for all who come.
pub(crate) struct Flood {
    layer: RateLimitLayer,
}

impl Flood {
    pub(crate) fn new(max_clients: usize) -> Self {
        let limit = Limit::parse("burst", "fixed-window:5/1m").expect("a policy");
        let builder = RateLimitLayer::builder().limit(limit).max_clients(max_clients);
        Flood { layer: builder.clock(ManualClock::new(START)).build().expect("a layer") }
    }

    pub(crate) fn request(&self, peer: [u8; 4]) -> u16 {
        let request = from_peer((peer, 40_000).into());
        send(std::slice::from_ref(&self.layer), Inner { never: false }, request).expect("an answer").status
    }
}

/// A client that does as it is told.
pub(crate) struct Polite {
    layer: RateLimitLayer,
    clock: ManualClock,
    retry_after: Cell<u64>,
}

impl Polite {
    pub(crate) fn new(policy: &str, offset_ms: u64) -> Self {
        let clock = ManualClock::new(START.saturating_add(Nanos::from_millis(offset_ms)));
        let limit = Limit::parse("burst", policy).expect("a policy");
        let layer =
            RateLimitLayer::builder().limit(limit).max_clients(9).clock(clock.clone()).build().expect("a layer");
        Polite { layer, clock, retry_after: Cell::new(0) }
    }

    fn request(&self) -> Answer {
        let request = from_peer(([192, 0, 2, 10], 40_000).into());
        send(std::slice::from_ref(&self.layer), Inner { never: false }, request).expect("an answer")
    }

    /// Sends until refused.
    pub(crate) fn exhaust(&self) {
        let refused = std::iter::repeat_with(|| self.request()).take(1_000).find(|answer| answer.status == 429);
        let seconds = refused.expect("a refusal").field("retry-after").expect("a wait");
        self.retry_after.set(seconds.parse().expect("seconds"));
    }

    /// Waits as long as it was told, and exhausts the limit again: whether the first request passed.
    pub(crate) fn obey(&self) -> bool {
        self.clock.advance(Nanos::from_secs(self.retry_after.get()));
        let passed = self.request().status == 200;
        self.exhaust();
        passed
    }
}

/// Never named, but part of what the layer promises: its body type can be written down.
pub(crate) type _Body = ResponseBody<Full<Bytes>>;
