//! What the simulator's answers say of what was sent: fixed words and the place, never the text itself.

use std::path::Path;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::error::Error;

/// What was expected instead of the words of a pattern.
pub(super) const PATTERN: &str = "expected a pattern of `rlsim generate`, such as \
                                  generate=poisson --rate 50/s --duration 60s --clients 20 --seed 7";

/// The words are options of a pattern, and cannot be what they are together.
pub(super) const OPTIONS: &str = "the options of this pattern contradict each other or are out of range; the same words \
                                  after `rlsim generate` are told what was expected";

/// The pattern is one, and yields nothing.
pub(super) const NO_REQUEST: &str =
    "no request of this pattern falls into its time; a longer one or a higher rate may do";

/// Why a run was not answered. Made of fixed words and numbers.
#[derive(Debug)]
pub(super) struct Refused {
    status: StatusCode,
    message: String,
}

impl Refused {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Refused {
        Refused { status, message: message.into() }
    }

    /// What was asked for is not what it should be.
    pub(super) fn asked(message: impl Into<String>) -> Refused {
        Refused::new(StatusCode::BAD_REQUEST, message)
    }

    /// The server itself failed.
    pub(super) fn failed() -> Refused {
        Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "the simulator failed")
    }

    /// The place is busy now, and soon free again.
    pub(super) fn busy(message: &str) -> Refused {
        Refused::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// The trace in this file cannot be read: where, if the error names a place in it, and what is expected.
    pub(super) fn unreadable(error: &Error, file: &Path) -> Refused {
        let place = place(&error.to_string(), file);
        let place = place.map_or(String::new(), |(line, column)| format!(" at line {line}, column {column}"));
        Refused::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!(
                "the trace cannot be read{place}: expected a log or a table with a time in each line, such as the CSV of \
                 `rlsim generate`; `rlsim inspect` says what is wrong with it"
            ),
        )
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "error": self.message }).to_string();
        let mut response = (self.status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        response
    }
}

/// The first `FILE:LINE:COLUMN` of a message.
fn place(message: &str, file: &Path) -> Option<(u64, u64)> {
    let file = format!("{}:", file.display());
    message.match_indices(&file).find_map(|(at, _)| {
        let mut numbers = message[at + file.len()..].split(':');
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    })
}

/// A client's name as it may be shown: itself if it needs no quotes anywhere, else its number.
pub(super) fn plain(name: &[u8], number: usize) -> Box<[u8]> {
    let harmless = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/@+".contains(byte);
    if name.iter().all(harmless) { name.into() } else { format!("client {number}").into_bytes().into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_that_of_the_file() {
        let file = Path::new("/tmp/x");
        assert_eq!(place("/tmp/x: no record\n  /tmp/x:2:7: found \"/tmp/x:9:9:\"", file), Some((2, 7)));
        for message in ["", "/tmp/x", "/tmp/x:", "/tmp/x:1", "/tmp/x:a:1:", "/tmp/x:1:b:"] {
            assert_eq!(place(message, file), None, "{message}");
        }
    }

    #[test]
    fn only_harmless_names_are_shown() {
        assert_eq!(*plain(b"2001:db8::1", 3), *b"2001:db8::1");
        for name in [&b"<b>"[..], b"a b", b"\"", b"\xff", b"a\nb"] {
            assert_eq!(*plain(name, 3), *b"client 3");
        }
    }
}
