//! What holds for every answer: a bound on its time, and headers that keep a browser from doing more than the page needs.

use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};

/// Longer than a request may wait in the leaky bucket.
const LONGEST_ANSWER: Duration = Duration::from_secs(20);

/// Scripts, styles, pictures and connections of this server only; nothing inline; no frames, no forms that send.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

pub(super) fn guarded(router: Router) -> Router {
    router.layer(from_fn(guard))
}

async fn guard(request: Request, next: Next) -> Response {
    let answer = tokio::time::timeout(LONGEST_ANSWER, next.run(request)).await;
    let mut response = answer.unwrap_or_else(|_| StatusCode::SERVICE_UNAVAILABLE.into_response());
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

pub(super) async fn not_found() -> impl IntoResponse {
    (StatusCode::NOT_FOUND, "not found\n")
}

pub(super) async fn wrong_method() -> impl IntoResponse {
    (StatusCode::METHOD_NOT_ALLOWED, "not with this method; Allow says with which\n")
}
