//! A server with a limit for each API key, or else address, and a wider one for each address:
//!
//! ```sh
//! cargo run -p ratelimit-tower --features axum --example axum
//! curl -i http://127.0.0.1:3000/
//! ```

use std::error::Error;
use std::net::SocketAddr;

use axum::Router;
use axum::http::HeaderName;
use axum::routing::get;
use ratelimit_tower::key::{All, ApiKey, ClientIp, FirstOf, MatchedRoute};
use ratelimit_tower::{Limit, RateLimitLayer};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    println!("listening on http://{}", listener.local_addr()?);
    // The address of the peer reaches the layer through the connection's info.
    axum::serve(listener, app()?.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}

pub(crate) fn app() -> Result<Router, Box<dyn Error>> {
    // Behind a proxy: ClientIp::behind(["10.0.0.0/8".parse()?], HeaderName::from_static("x-forwarded-for")).
    let address = ClientIp::peer();
    let client = FirstOf::of(ApiKey::header(HeaderName::from_static("x-api-key"))).or(address.clone());

    // 5 at once and 1 per second for each client on each route. A search counts as 3.
    let burst = Limit::parse("burst", "token-bucket:1/1s,burst=5")?
        .key(All::of(client).and(MatchedRoute::new()))
        .cost_by(|head| if head.route() == Some("/search") { 3 } else { 1 });
    // Anybody can invent API keys: this is what ends it.
    let address = Limit::parse("address", "token-bucket:100/1m")?.key(address);

    let limits =
        RateLimitLayer::builder().limit(burst).limit(address).skip(|head| head.uri.path() == "/health").build()?;

    Ok(Router::new()
        .route("/", get(|| async { "hello\n" }))
        .route("/search", get(|| async { "found\n" }))
        .route("/health", get(|| async { "ok\n" }))
        .layer(limits))
}
