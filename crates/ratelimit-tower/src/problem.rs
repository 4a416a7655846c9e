//! Refusals as problem details (RFC 9457): a JSON body that says why, in words and by type.
//!
//! | refusal | status | type |
//! |---|---|---|
//! | a quota is used up | 429, or as chosen | `https://iana.org/assignments/http-problem-types#quota-exceeded`, with `violated-policies` |
//! | the cost never fits | the same | `urn:ratelimit:cost-exceeds-capacity`, with `capacity` |
//! | no key in the request | 400 | `urn:ratelimit:client-unidentified` |
//! | no peer address from the server | 500 | `urn:ratelimit:peer-unknown` |
//! | the shared backend failed | 503 | `https://iana.org/assignments/http-problem-types#temporary-reduced-capacity` |
//!
//! The first and the last type are those of the draft.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};

use crate::headers::{retry_seconds, sf::is_string};
use crate::key::KeyError;
use crate::refusal::Refusal;

const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";
const REDUCED_CAPACITY: &str = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";

/// The response to a refusal; `limited` is the status of one for want of quota.
pub fn respond(refusal: &Refusal<'_>, limited: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status(refusal, limited);
    *response.body_mut() = Bytes::from(body(refusal, response.status()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response
}

fn status(refusal: &Refusal<'_>, limited: StatusCode) -> StatusCode {
    match refusal {
        Refusal::QuotaExceeded { .. } | Refusal::NeverFits { .. } => limited,
        Refusal::Unidentified(KeyError::NoPeer) => StatusCode::INTERNAL_SERVER_ERROR,
        Refusal::Unidentified(_) => StatusCode::BAD_REQUEST,
        Refusal::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn body(refusal: &Refusal<'_>, status: StatusCode) -> String {
    let (kind, title) = match refusal {
        Refusal::QuotaExceeded { .. } => {
            (QUOTA_EXCEEDED, "Request cannot be satisfied as assigned quota has been exceeded")
        }
        Refusal::NeverFits { .. } => {
            ("urn:ratelimit:cost-exceeds-capacity", "The request costs more than the limit can ever allow")
        }
        Refusal::Unidentified(KeyError::NoPeer) => {
            ("urn:ratelimit:peer-unknown", "The server does not know the client's address")
        }
        Refusal::Unidentified(_) => ("urn:ratelimit:client-unidentified", "The request does not say who sends it"),
        Refusal::Unavailable => {
            (REDUCED_CAPACITY, "Request cannot be satisfied due to temporary server capacity constraints")
        }
    };
    let mut json = String::from("{");
    member(&mut json, "type", &quoted(kind));
    member(&mut json, "title", &quoted(title));
    member(&mut json, "status", status.as_str());
    match refusal {
        Refusal::QuotaExceeded { violated, retry_after } => {
            let detail = format!("Try again in {} s.", retry_seconds(*retry_after));
            member(&mut json, "detail", &quoted(&detail));
            member(&mut json, "violated-policies", &names(violated));
        }
        Refusal::NeverFits { violated, capacity } => {
            member(&mut json, "detail", &quoted("Waiting does not help: ask for less."));
            member(&mut json, "violated-policies", &names(violated));
            member(&mut json, "capacity", &capacity.to_string());
        }
        Refusal::Unidentified(KeyError::NoPeer) => {
            member(&mut json, "detail", &quoted("An error in the server's configuration."));
        }
        Refusal::Unidentified(error) => member(&mut json, "detail", &quoted(&error.to_string())),
        Refusal::Unavailable => {}
    }
    json.push('}');
    json
}

fn member(json: &mut String, name: &str, value: &str) {
    if json.len() > 1 {
        json.push(',');
    }
    json.push_str(&quoted(name));
    json.push(':');
    json.push_str(value);
}

fn names(violated: &[&str]) -> String {
    let names: Vec<String> = violated.iter().map(|name| quoted(name)).collect();
    format!("[{}]", names.join(","))
}

/// A JSON string. All that goes into one here is printable ASCII, names of policies too: the builder saw to that.
fn quoted(text: &str) -> String {
    debug_assert!(is_string(text), "{text:?}");
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
