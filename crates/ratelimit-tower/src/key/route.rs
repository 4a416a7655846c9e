//! The route that matched, rather than the path: `/a`, `/a/`, `//a` and `/%61` must not get a quota each, and
//! unmatched paths share one.

use super::{ClientKey, Head, KeyError, KeyExtractor};

/// The name of the matched route, attached to a request by a router that is not axum's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route(pub &'static str);

/// The method and the matched route, from [`Route`] or axum's `MatchedPath` (feature `axum`). axum sets it for layers
/// added with `route_layer`, and for `layer` on routes of the same router.
#[derive(Debug, Clone, Copy, Default)]
pub struct MatchedRoute {
    by_method: bool,
}

impl MatchedRoute {
    /// One quota a route, for all methods.
    pub const fn new() -> MatchedRoute {
        MatchedRoute { by_method: false }
    }

    /// One quota a route and method. Methods that the standard library of HTTP does not name share one.
    pub const fn by_method() -> MatchedRoute {
        MatchedRoute { by_method: true }
    }
}

impl KeyExtractor for MatchedRoute {
    fn extract<'r>(&'r self, head: &Head<'r>, key: &mut ClientKey<'r>) -> Result<(), KeyError> {
        if self.by_method {
            key.push_text("method", known_method(head.method));
        }
        key.push_text("route", route_of(head).unwrap_or_default());
        Ok(())
    }
}

pub(super) fn route_of<'r>(head: &Head<'r>) -> Option<&'r str> {
    #[cfg(feature = "axum")]
    if let Some(path) = head.extensions.get::<axum::extract::MatchedPath>() {
        return Some(path.as_str());
    }
    head.extensions.get::<Route>().map(|route| route.0)
}

/// Clients can invent methods; invented ones must not get quotas of their own.
fn known_method(method: &http::Method) -> &str {
    match method.as_str() {
        known @ ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" | "CONNECT" | "TRACE") => known,
        _ => "other",
    }
}
