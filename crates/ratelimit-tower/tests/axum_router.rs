//! The layer on an axum router: the peer from `ConnectInfo`, and the matched route.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::routing::get;
use ratelimit_core::Nanos;
use ratelimit_store::ManualClock;
use ratelimit_tower::key::{All, ClientIp, Head, MatchedRoute};
use ratelimit_tower::{Limit, RateLimitLayer};
use tower::ServiceExt;

fn app() -> Router {
    let limit =
        Limit::parse("burst", "fixed-window:2/1m").unwrap().key(All::of(MatchedRoute::new()).and(ClientIp::peer()));
    let clock = ManualClock::new(Nanos::from_secs(86_400));
    let layer = RateLimitLayer::builder().limit(limit).clock(clock).build().unwrap();
    routes().layer(layer)
}

fn routes() -> Router {
    Router::new().route("/items/{id}", get(|| async { "item" })).route("/other", get(|| async { "other" }))
}

async fn status(app: &Router, path: &str, peer: [u8; 4]) -> u16 {
    let mut request = Request::builder().uri(path).body(Body::empty()).unwrap();
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from((peer, 40_000))));
    app.clone().oneshot(request).await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_route_has_one_quota_whatever_its_path_looks_like() {
    let app = app();
    let peer = [192, 0, 2, 10];
    let statuses = [status(&app, "/items/1", peer).await, status(&app, "/items/2?x=1", peer).await];
    assert_eq!(statuses, [200, 200]);
    assert_eq!(status(&app, "/items/3", peer).await, 429);
    assert_eq!(status(&app, "/other", peer).await, 200);
    assert_eq!(status(&app, "/items/3", [192, 0, 2, 11]).await, 200);
}

/// A cost and a condition by route hold for every path of it, and for no other.
#[tokio::test]
async fn costs_and_conditions_go_by_the_route() {
    let item = |head: &Head<'_>| head.route() == Some("/items/{id}");
    let limit = Limit::parse("burst", "fixed-window:6/1m").unwrap();
    let limit = limit.cost_by(move |head| if item(head) { 3 } else { 1 }).when(|head| head.route().is_some());
    let layer = RateLimitLayer::builder().limit(limit).clock(ManualClock::new(Nanos::from_secs(86_400)));
    let app = routes().layer(layer.build().unwrap());
    let peer = [192, 0, 2, 10];
    for (path, expected) in [
        ("/items/1", 200),
        ("/other", 200),
        ("/items/%31", 429),
        ("/other", 200),
        ("/other", 200),
        ("/other", 429),
        ("/x", 404),
    ] {
        assert_eq!(status(&app, path, peer).await, expected, "{path}");
    }
}

#[tokio::test]
async fn what_no_route_matches_shares_one_quota() {
    let app = app();
    let peer = [192, 0, 2, 10];
    assert_eq!([status(&app, "/x1", peer).await, status(&app, "/x2", peer).await], [404, 404]);
    assert_eq!(status(&app, "/x3", peer).await, 429);
}
