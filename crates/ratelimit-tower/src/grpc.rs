//! Refusals for gRPC: a status in the fields of a response without a body, not an HTTP status. A client would turn an
//! HTTP 429 into `UNAVAILABLE`, which it may retry at once.
//!
//! ```
//! use ratelimit_tower::{Limit, RateLimitLayer, grpc};
//!
//! let limit = Limit::parse("calls", "token-bucket:100/1m")?;
//! // A gRPC server does not look at the method: a call dressed up as a preflight is to be charged like any other.
//! let builder = RateLimitLayer::builder().limit(limit).exempt_preflight(false);
//! let layer = builder.respond(grpc::respond).build()?;
//! // tonic: Server::builder().layer(layer)
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | refusal | status |
//! |---|---|
//! | a quota is used up | `RESOURCE_EXHAUSTED` with `RetryInfo` and `grpc-retry-pushback-ms` |
//! | the cost never fits | `RESOURCE_EXHAUSTED` with a negative pushback: do not retry |
//! | no key in the request | `UNAUTHENTICATED` |
//! | no peer address from the server | `INTERNAL` |
//! | the shared backend failed | `UNAVAILABLE` |

use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use ratelimit_core::Nanos;

use crate::headers::sf;
use crate::key::KeyError;
use crate::refusal::Refusal;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

const UNAVAILABLE: u8 = 14;
const INTERNAL: u8 = 13;
const UNAUTHENTICATED: u8 = 16;
const RESOURCE_EXHAUSTED: u8 = 8;

/// The response to a refusal, for [`Builder::respond`](crate::Builder::respond); with it goes
/// [`exempt_preflight(false)`](crate::Builder::exempt_preflight).
pub fn respond(refusal: &Refusal<'_>) -> Response<Bytes> {
    let (code, message) = match refusal {
        Refusal::QuotaExceeded { .. } => (RESOURCE_EXHAUSTED, "quota exceeded"),
        Refusal::NeverFits { .. } => (RESOURCE_EXHAUSTED, "the call costs more than the limit can ever allow"),
        Refusal::Unidentified(KeyError::NoPeer) => (INTERNAL, "the server does not know the client's address"),
        Refusal::Unidentified(_) => (UNAUTHENTICATED, "the call does not say who makes it"),
        Refusal::Unavailable => (UNAVAILABLE, "the limit cannot be asked"),
    };
    let mut response = Response::new(Bytes::new());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(STATUS, HeaderValue::from(u16::from(code)));
    headers.insert(MESSAGE, HeaderValue::from_static(message));
    match refusal {
        Refusal::QuotaExceeded { retry_after, .. } => push_back(headers, code, message, *retry_after),
        Refusal::NeverFits { .. } => {
            headers.insert(PUSHBACK, HeaderValue::from_static("-1"));
        }
        _ => {}
    }
    response
}

/// When to try again, for clients that retry by themselves and for those that read the details.
fn push_back(headers: &mut HeaderMap, code: u8, message: &str, retry_after: Nanos) {
    headers.insert(PUSHBACK, HeaderValue::from(retry_after.get().div_ceil(1_000_000)));
    let details = base64(&status_with_retry_info(code, message, retry_after));
    if let Ok(details) = HeaderValue::from_str(&details) {
        headers.insert(DETAILS, details);
    }
}

/// Base64 as gRPC has it in fields: without padding.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    sf::write_bytes(&mut text, bytes);
    text.trim_matches([':', '=']).to_owned()
}

/// `google.rpc.Status { code = 1, message = 2, details = 3: Any { type_url = 1, value = 2: RetryInfo { retry_delay = 1:
/// Duration { seconds = 1, nanos = 2 } } } }` in the wire format of protocol buffers.
fn status_with_retry_info(code: u8, message: &str, retry_after: Nanos) -> Vec<u8> {
    let mut duration = Vec::new();
    number(&mut duration, 1, retry_after.get() / 1_000_000_000);
    number(&mut duration, 2, retry_after.get() % 1_000_000_000);
    let mut retry_info = Vec::new();
    bytes(&mut retry_info, 1, &duration);
    let mut any = Vec::new();
    bytes(&mut any, 1, b"type.googleapis.com/google.rpc.RetryInfo");
    bytes(&mut any, 2, &retry_info);
    let mut status = Vec::new();
    number(&mut status, 1, u64::from(code));
    bytes(&mut status, 2, message.as_bytes());
    bytes(&mut status, 3, &any);
    status
}

fn number(out: &mut Vec<u8>, field: u8, value: u64) {
    out.push(field << 3);
    varint(out, value);
}

fn bytes(out: &mut Vec<u8>, field: u8, value: &[u8]) {
    out.push(field << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        // The low seven bits, and that more follow.
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
