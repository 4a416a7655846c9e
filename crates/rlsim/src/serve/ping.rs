//! The limited paths.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use ratelimit_tower::Decided;
use serde_json::json;

use super::limits::Limits;

/// When the limiter decided, in nanoseconds since the Unix epoch: what `/api/story` takes.
pub(super) const DECIDED_AT: HeaderName = HeaderName::from_static("x-decided-at");

pub(super) fn routes(limits: &Limits) -> Router {
    limits.all.iter().fold(Router::new(), |router, limited| {
        let ping = get(ping).with_state(limited.rule.name()).layer(limited.layer.clone());
        router.route(&limited.path, ping.layer(from_fn(stamp)))
    })
}

async fn ping(State(algorithm): State<&'static str>) -> Response {
    let body = json!({ "pong": true, "algorithm": algorithm }).to_string();
    ([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], body).into_response()
}

/// Tells the page when the limiter decided.
async fn stamp(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let at = response.extensions().get::<Decided>().and_then(|decided| decided.at);
    if let Some(at) = at {
        response.headers_mut().insert(DECIDED_AT, HeaderValue::from(at.get()));
    }
    response
}
