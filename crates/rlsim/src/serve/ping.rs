//! The limited paths.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use ratelimit_store::Clock;
use ratelimit_tower::Decided;
use serde_json::json;

use super::limits::{Limits, with_decider};

/// When the limiter decided, in nanoseconds since the Unix epoch: what `/api/story` takes.
pub(super) const DECIDED_AT: HeaderName = HeaderName::from_static("x-decided-at");

/// Who decided this request, where limits are shared: `shared`, or `local` if this server did alone.
const DECIDED_BY: HeaderName = HeaderName::from_static("x-decided-by");

/// What the stamp of a path needs.
#[derive(Clone)]
struct Stamp {
    clock: Arc<dyn Clock>,
    shares: bool,
}

pub(super) fn routes(limits: &Limits, clock: &Arc<dyn Clock>) -> Router {
    limits.all.iter().fold(Router::new(), |router, limited| {
        let ping = get(ping).with_state(limited.rule.name()).layer(limited.layer.clone());
        let needs = Stamp { clock: Arc::clone(clock), shares: limited.source.is_some() };
        router.route(&limited.path, ping.layer(from_fn_with_state(needs, stamp)))
    })
}

async fn ping(State(algorithm): State<&'static str>) -> Response {
    let body = json!({ "pong": true, "algorithm": algorithm }).to_string();
    ([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], body).into_response()
}

/// Tells the page when the limiter decided, and who. A shared store has a clock of its own: then the time is about now.
async fn stamp(State(needs): State<Stamp>, request: Request, next: Next) -> Response {
    let (mut response, decider) = with_decider(next.run(request)).await;
    let Some(decided) = response.extensions().get::<Decided>() else { return response };
    let at = decided.at.unwrap_or_else(|| needs.clock.now());
    response.headers_mut().insert(DECIDED_AT, HeaderValue::from(at.get()));
    if needs.shares {
        response.headers_mut().insert(DECIDED_BY, HeaderValue::from_static(decider));
    }
    response
}
