//! A refusal is read by tonic as what it is: `RESOURCE_EXHAUSTED` with a retry delay.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use ratelimit_store::ManualClock;
use ratelimit_tower::key::Shared;
use ratelimit_tower::{Limit, RateLimitLayer, grpc};
use tonic::{Code, Status};
use tonic_types::StatusExt;
use tower::{Layer, ServiceExt, service_fn};

#[tokio::test]
async fn a_refused_call_is_resource_exhausted_with_a_delay() {
    let limit = Limit::parse("calls", "token-bucket:2/3s,burst=1").unwrap().key(Shared);
    let layer = RateLimitLayer::builder().limit(limit).respond(grpc::respond).clock(ManualClock::default()).build().unwrap();
    let call = |()| {
        let service = service_fn(|_| async { Ok::<_, Infallible>(axum::http::Response::new(Full::new(Bytes::new()))) });
        layer.layer(service).oneshot(axum::http::Request::new(axum::body::Body::empty()))
    };
    assert_eq!(call(()).await.unwrap().headers().get("grpc-status"), None);
    let refused = call(()).await.unwrap();
    assert_eq!(refused.status(), 200);
    let status = Status::from_header_map(refused.headers()).expect("a status");
    assert_eq!((status.code(), status.message()), (Code::ResourceExhausted, "quota exceeded"));
    let delay = status.get_error_details().retry_info().and_then(|info| info.retry_delay);
    assert_eq!(delay, Some(Duration::from_millis(1500)));
}
