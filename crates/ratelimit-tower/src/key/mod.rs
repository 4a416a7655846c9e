//! Who is limited. Everything here fails closed: what cannot be trusted is not read, and what cannot be had is an error
//! or a shared bucket, never a free pass.
//!
//! | extractor | the client is |
//! |---|---|
//! | [`ClientIp`] | the socket's peer, or what declared proxies say of it |
//! | [`ApiKey`], [`ApiKey::bearer`] | whoever sends this credential |
//! | [`MatchedRoute`] | the route that the router matched, whatever the path looked like |
//! | [`All`] | a combination, such as route and address |
//! | [`FirstOf`] | the first of several that can be had, such as the API key or else the address |
//! | [`Shared`] | everybody: one quota for all |
//! | [`from_fn`] | what your function says, such as the user that your login layer has verified |

mod api_key;
mod client_key;
mod combined;
mod forwarded;
mod ip;
mod route;
mod stored;

use std::fmt;
use std::sync::Arc;

use http::{Extensions, HeaderMap, Method, Request, Uri};

pub use api_key::ApiKey;
pub use client_key::{ClientKey, Secret};
pub use combined::{All, FirstOf, FromFn, Shared, from_fn};
pub use ip::{Cidr, CidrError, ClientIp, PeerAddr};
pub use route::{MatchedRoute, Route};
pub(crate) use stored::StoredKey;

/// The part of a request that keys, costs and rules may look at: everything but the body.
#[derive(Debug, Clone, Copy)]
pub struct Head<'r> {
    /// The method.
    pub method: &'r Method,
    /// The target.
    pub uri: &'r Uri,
    /// The fields.
    pub headers: &'r HeaderMap,
    /// What the server and outer layers have attached.
    pub extensions: &'r Extensions,
}

impl<'r> Head<'r> {
    /// The head of a request.
    pub fn of<B>(request: &'r Request<B>) -> Head<'r> {
        Head {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }

    /// The route that the router matched, as [`MatchedRoute`] finds it: for a cost or a condition by route, which no
    /// spelling of the path gets around.
    pub fn route(&self) -> Option<&'r str> {
        route::route_of(self)
    }
}

/// Finds out who is limited.
pub trait KeyExtractor: fmt::Debug + Send + Sync + 'static {
    /// Adds the parts of the client's key.
    fn extract<'r>(&'r self, head: &Head<'r>, key: &mut ClientKey<'r>) -> Result<(), KeyError>;

    /// Whether keys may be made with the layer's [`Secret`], so that servers which share limits must share it: with
    /// [`ClientKey::push_credential`], or because they may be longer than 64 bytes (with two for each part) and are
    /// hashed then. Unless told otherwise, they may.
    fn uses_secret(&self) -> bool {
        true
    }

    /// Why this extractor cannot do what it was made for, if so: the layer is not built then.
    fn mistake(&self) -> Option<&'static str> {
        None
    }
}

impl<K: KeyExtractor + ?Sized> KeyExtractor for Arc<K> {
    fn extract<'r>(&'r self, head: &Head<'r>, key: &mut ClientKey<'r>) -> Result<(), KeyError> {
        (**self).extract(head, key)
    }

    fn uses_secret(&self) -> bool {
        (**self).uses_secret()
    }

    fn mistake(&self) -> Option<&'static str> {
        (**self).mistake()
    }
}

/// Why a key cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// The server did not say where the connection comes from: a mistake in how it is set up.
    NoPeer,
    /// The request lacks what it must carry, such as the header of this name.
    Missing(&'static str),
    /// The request carries it, but not in a form that can be trusted.
    Unusable(&'static str),
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::NoPeer => f.write_str(
                "the server does not pass on the peer's address (for axum: serve with \
                 `into_make_service_with_connect_info::<SocketAddr>()`)",
            ),
            KeyError::Missing(what) => write!(f, "the request has no {what}"),
            KeyError::Unusable(what) => write!(f, "the request's {what} is not usable"),
        }
    }
}

impl std::error::Error for KeyError {}
