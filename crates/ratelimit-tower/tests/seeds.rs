//! What the two tutorials that this project answers show of HTTP (`seeds.json`; its other rows are tests of the
//! conformance crate and of the store).

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderName, Request, Response};
use http_body_util::{Empty, Full};
use ratelimit_core::Nanos;
use ratelimit_store::ManualClock;
use ratelimit_tower::key::{ApiKey, ClientIp, FirstOf, Head, PeerAddr};
use ratelimit_tower::{Limit, RateLimitLayer};
use tower::{ServiceBuilder, ServiceExt, service_fn};

struct Server {
    layer: RateLimitLayer,
    clock: ManualClock,
}

impl Server {
    fn new(policy: &str) -> Server {
        let clock = ManualClock::new(Nanos::from_secs(1_790_000_000));
        let api_key = ApiKey::header(HeaderName::from_static("x-api-key"));
        let limit = Limit::parse("seed", policy).unwrap().key(FirstOf::of(api_key).or(ClientIp::peer()));
        let layer = RateLimitLayer::builder().limit(limit).clock(clock.clone()).build().unwrap();
        Server { layer, clock }
    }

    async fn get(&self, api_key: Option<&'static str>, peer: &str) -> Response<()> {
        let service = service_fn(|_| async { Ok::<_, Infallible>(Response::new(Full::new(Bytes::new()))) });
        let mut request = Request::new(Empty::<Bytes>::new());
        request.extensions_mut().insert(PeerAddr(peer.parse().unwrap()));
        if let Some(key) = api_key {
            request.headers_mut().insert("x-api-key", http::HeaderValue::from_static(key));
        }
        ServiceBuilder::new().layer(&self.layer).service(service).oneshot(request).await.unwrap().map(drop)
    }
}

#[tokio::test]
async fn middleware() {
    let server = Server::new("token-bucket:1/1s,burst=2");
    let peer = "203.0.113.7:51234";
    for _ in 0..2 {
        assert_eq!(server.get(Some("team-a"), peer).await.status(), 200);
    }
    let refused = server.get(Some("team-a"), peer).await;
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(refused.headers()["ratelimit-remaining"], "0");
    assert_eq!(server.get(Some("team-b"), peer).await.status(), 200);
    server.clock.advance(Nanos::from_secs(1));
    assert_eq!(server.get(Some("team-a"), peer).await.status(), 200);
}

#[tokio::test]
async fn ip_fallback() {
    let mut request = Request::new(Empty::<Bytes>::new());
    request.extensions_mut().insert(PeerAddr("203.0.113.7:51234".parse().unwrap()));
    let address = ClientIp::peer().address(&Head::of(&request)).unwrap();
    assert_eq!(address.to_string(), "203.0.113.7");
    // Another port is the same client.
    let server = Server::new("token-bucket:1/1s,burst=1");
    assert_eq!(server.get(None, "203.0.113.7:51234").await.status(), 200);
    assert_eq!(server.get(None, "203.0.113.7:51235").await.status(), 429);
}

#[tokio::test]
async fn curl() {
    let server = Server::new("token-bucket:1/1s,burst=5");
    let mut codes = Vec::new();
    for _ in 0..7 {
        codes.push(server.get(None, "127.0.0.1:5000").await.status().as_u16());
    }
    assert_eq!(codes, [200, 200, 200, 200, 200, 429, 429]);
}
