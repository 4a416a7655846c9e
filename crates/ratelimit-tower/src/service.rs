//! The service: decides, and passes on, waits or refuses.

use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use http_body::Body;
use tower_service::Service;

use crate::ask::{Answer, Outcome};
use crate::body::ResponseBody;
use crate::engine::{Begin, ChargeHandle, Engine};
use crate::future::{About, ResponseFuture};
use crate::key::Head;

/// A service whose requests are limited. Made by [`RateLimitLayer`](crate::RateLimitLayer).
///
/// It is ready when the inner service is, and a request that waits (for a shared backend, or its turn) keeps what the
/// inner service has reserved for it. Around a service with few places (a concurrency limit, a buffer), put those layers
/// outside of this one, or waiting requests take the places of those that could be served.
#[derive(Debug, Clone)]
pub struct RateLimit<S> {
    inner: S,
    engine: Arc<Engine>,
}

impl<S> RateLimit<S> {
    pub(crate) fn new(inner: S, engine: Arc<Engine>) -> Self {
        RateLimit { inner, engine }
    }

    /// The service that has been found ready, with a clone left in its place for the next request.
    fn take(&mut self) -> S
    where
        S: Clone,
    {
        let clone = self.inner.clone();
        mem::replace(&mut self.inner, clone)
    }
}

impl<S, B, R> Service<Request<B>> for RateLimit<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    B: Body,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, B>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let engine = Arc::clone(&self.engine);
        let head = Head::of(&request);
        let about = About {
            is_head: request.method() == Method::HEAD,
            has_origin: engine.settings.expose && request.headers().contains_key(http::header::ORIGIN),
        };
        // A body tells a preflight from other OPTIONS, and nothing else.
        let has_body = request.method() == Method::OPTIONS && !request.body().is_end_stream();
        match engine.begin(&head, has_body) {
            Begin::Exempt => ResponseFuture::exempt(engine, about, self.inner.call(request)),
            Begin::Unidentified(error) => ResponseFuture::unidentified(engine, about, error),
            Begin::Pending(decision) => ResponseFuture::pending(engine, about, decision, self.take(), request),
            Begin::Decided(outcome) => {
                engine.count_outcome(&outcome);
                match engine.enforced(&outcome) {
                    Answer::Pass { delay } if delay.get() == 0 => {
                        attach_handle(&engine, &outcome, &mut request);
                        ResponseFuture::running(engine, about, self.inner.call(request), outcome)
                    }
                    Answer::Pass { delay } => {
                        ResponseFuture::waiting(engine, about, outcome, delay, self.take(), request)
                    }
                    Answer::Refuse { .. } | Answer::Never { .. } => ResponseFuture::refused(engine, about, &outcome),
                }
            }
        }
    }
}

/// For costs that are known only afterwards.
#[inline]
pub(crate) fn attach_handle<B>(engine: &Arc<Engine>, outcome: &Outcome, request: &mut Request<B>) {
    if engine.settings.charge_handles {
        request.extensions_mut().insert(ChargeHandle::new(engine, outcome));
    }
}
