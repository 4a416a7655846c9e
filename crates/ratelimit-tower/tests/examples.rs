//! The examples do what they say (that for tonic has a test of its own, `tonic.rs`).
#![allow(dead_code, reason = "the examples' `main` is for people")]

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use http::{Request, Response};
use tower::ServiceExt;

#[path = "../examples/axum.rs"]
mod axum_example;
#[path = "../examples/plans.rs"]
mod plans_example;
#[cfg(feature = "redis")]
#[path = "../examples/redis.rs"]
mod redis_example;

/// A request from an address with an API key, or without one if that is empty.
async fn send(app: &Router, path: &str, address: &str, api_key: &str) -> Response<Body> {
    let mut request = Request::get(path).body(Body::empty()).unwrap();
    if !api_key.is_empty() {
        request.headers_mut().insert("x-api-key", api_key.parse().unwrap());
    }
    let peer: SocketAddr = format!("{address}:40000").parse().unwrap();
    request.extensions_mut().insert(ConnectInfo(peer));
    app.clone().oneshot(request).await.expect("the router answers everything")
}

async fn statuses(app: &Router, path: &str, address: &str, api_key: &str, requests: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..requests {
        statuses.push(send(app, path, address, api_key).await.status().as_u16());
    }
    statuses
}

#[tokio::test]
async fn axum_limits_each_client_and_route_and_all_of_an_address() {
    let app = axum_example::app().unwrap();
    assert_eq!(statuses(&app, "/", "192.0.2.1", "", 6).await, [200, 200, 200, 200, 200, 429]);
    assert_eq!(statuses(&app, "/search", "192.0.2.1", "", 2).await, [200, 429], "a search counts as 3 of 5");
    assert_eq!(statuses(&app, "/", "192.0.2.1", "key", 1).await, [200], "a key has its own quota");
    assert_eq!(statuses(&app, "/", "192.0.2.2", "", 1).await, [200], "and so has another address");
    assert_eq!(statuses(&app, "/health", "192.0.2.1", "", 50).await, [200; 50]);

    let mut answers = Vec::new();
    for invented in 0..120 {
        answers.push(send(&app, "/", "192.0.2.3", &format!("invented-{invented}")).await.status().as_u16());
    }
    assert_eq!(answers[..100], [200; 100]);
    assert!(answers[115..].contains(&429), "invented keys do not help: {:?}", &answers[100..]);
}

#[tokio::test]
async fn plans_have_a_limit_each() {
    let lines = plans_example::three_requests_each().await.unwrap();
    // The numbers depend on the time that the requests took.
    let told: Vec<&str> = lines.iter().filter_map(|line| line.split(';').next()).collect();
    let (alice, bob) = ("alice: 200 OK \"free\"", "bob: 200 OK \"pro\"");
    assert_eq!(told, [alice, alice, "alice: 429 Too Many Requests \"free\"", bob, bob, bob]);
}

#[cfg(feature = "redis")]
mod redis {
    use super::*;
    use crate::redis_server::Server;

    #[tokio::test]
    #[ignore = "needs redis-server"]
    async fn servers_share_a_limit_and_each_goes_on_with_a_third_when_redis_is_gone() {
        let mut server = Server::start();
        let apps = [redis_example::app(&server.url()).unwrap(), redis_example::app(&server.url()).unwrap()];
        let mut allowed = 0;
        for request in 0..30 {
            allowed += usize::from(send(&apps[request % 2], "/", "192.0.2.1", "").await.status() == 200);
        }
        // 100 a minute with a burst of 20; a unit comes back every 0.6 s.
        assert!((20..30).contains(&allowed), "{allowed} of 30 were allowed");

        server.kill();
        for app in &apps {
            let statuses = statuses(app, "/", "192.0.2.2", "", 30).await;
            let allowed = statuses.iter().filter(|status| **status == 200).count();
            assert!((6..12).contains(&allowed), "alone, a server allows a third of 20: {statuses:?}");
            assert_eq!(statuses[29], 429);
        }
    }
}

#[cfg(feature = "redis")]
#[path = "common/redis_server.rs"]
mod redis_server;
