//! One limit for many servers: kept in Redis, and by each server alone while Redis is away.
//!
//! ```sh
//! cargo run -p ratelimit-tower --features axum,redis --example redis -- redis://127.0.0.1:6379
//! ```

use std::error::Error;
use std::net::SocketAddr;

use axum::Router;
use axum::routing::get;
use ratelimit_core::Policy;
use ratelimit_store::redis::SharedLimiter;
use ratelimit_store::{Change, Fallback};
use ratelimit_tower::{Limit, RateLimitLayer};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "redis://127.0.0.1:6379".to_owned());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app(&url)?.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}

/// The same on every server.
pub(crate) fn app(url: &str) -> Result<Router, Box<dyn Error>> {
    let policy: Policy = "token-bucket:100/1m,burst=20".parse()?;
    let shared = SharedLimiter::builder(policy).prefix("api").connect(url)?;
    // While Redis is away, each of three servers allows a third.
    let shared = Fallback::builder(shared, policy)
        .servers(3)
        .on_change(|change| match change {
            Change::Down(error) => eprintln!("Redis does not answer, this server decides alone: {error}"),
            Change::Up => eprintln!("Redis decides again"),
        })
        .build();
    let layer = RateLimitLayer::builder().limit(Limit::new("burst", policy).on(shared)).build()?;
    Ok(Router::new().route("/", get(|| async { "hello\n" })).layer(layer))
}
