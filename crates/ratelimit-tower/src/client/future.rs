//! One request: waits its turn, is sent, and if it is refused waits again.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use http::{Method, Request, Response, StatusCode};
use pin_project_lite::pin_project;
use ratelimit_core::Nanos;
use tower_service::Service;

use super::Shared;
use super::gate::{Gate, Pass, lock};
use super::turn::Turn;
use crate::headers::{self, Hint};

pin_project! {
    /// The answer to come of a [`Polite`](super::Polite) client.
    pub struct PoliteFuture<S, B>
    where
        S: Service<Request<B>>,
    {
        shared: Arc<Shared>,
        gate: Arc<Mutex<Gate>>,
        service: S,
        request: Request<B>,
        deadline: Nanos,
        // The last refusal, to be returned if the next turn would come too late.
        refusal: Option<S::Response>,
        held: Option<Held>,
        #[pin]
        state: State<S::Future>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F> {
        Waiting { turn: Turn },
        Connecting,
        Sent { #[pin] future: F },
    }
}

/// A pass that has been given out; dropped without an answer, it is given back.
struct Held {
    gate: Arc<Mutex<Gate>>,
    pass: Option<Pass>,
}

impl Held {
    fn come_back(mut self) -> Option<Pass> {
        self.pass.take()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.pass.is_some() {
            lock(&self.gate).abandoned();
        }
    }
}

impl<S, B> PoliteFuture<S, B>
where
    S: Service<Request<B>>,
{
    pub(super) fn new(shared: Arc<Shared>, gate: Arc<Mutex<Gate>>, service: S, request: Request<B>) -> Self {
        let deadline = shared.clock.now().saturating_add(shared.deadline);
        let turn = Turn::new(&shared, &gate, deadline);
        let state = State::Waiting { turn };
        PoliteFuture { shared, gate, service, request, deadline, refusal: None, held: None, state }
    }
}

impl<S, B, R> Future for PoliteFuture<S, B>
where
    S: Service<Request<B>, Response = Response<R>>,
    B: Clone,
{
    type Output = Result<Response<R>, PoliteError<S::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProjection::Waiting { turn } => match ready!(Pin::new(turn).poll(cx)) {
                    Ok(pass) => {
                        *this.held = Some(Held { gate: Arc::clone(this.gate), pass: Some(pass) });
                        State::Connecting
                    }
                    Err(_) => return Poll::Ready(this.refusal.take().ok_or(PoliteError::Deadline)),
                },
                StateProjection::Connecting => {
                    if let Err(error) = ready!(this.service.poll_ready(cx)) {
                        return Poll::Ready(Err(failed(this.held, error)));
                    }
                    State::Sent { future: this.service.call(this.request.clone()) }
                }
                StateProjection::Sent { future } => {
                    let response = match ready!(future.poll(cx)) {
                        Ok(response) => response,
                        Err(error) => return Poll::Ready(Err(failed(this.held, error))),
                    };
                    let Some(pass) = this.held.take().and_then(Held::come_back) else { return Poll::Pending };
                    let now = this.shared.clock.now();
                    let hint = headers::read(response.headers(), (this.shared.wall)());
                    let Some(wait) = refused_for(this.request.method(), response.status(), &hint) else {
                        let longest = this.shared.longest;
                        let told = told(&hint).map(|(available, within)| (available, within.min(longest)));
                        lock(this.gate).answered(pass, now, told);
                        return Poll::Ready(Ok(response));
                    };
                    let wait = wait.min(this.shared.longest).max(SHORTEST);
                    let wait = this.shared.jittered(wait, pass.number);
                    lock(this.gate).refused(now, wait);
                    *this.refusal = Some(response);
                    State::Waiting { turn: Turn::new(this.shared, this.gate, *this.deadline) }
                }
            };
            this.state.set(next);
        }
    }
}

/// No refusal is shorter: servers that round down say 0, and whoever came back at once would only be refused again.
const SHORTEST: Nanos = Nanos::from_secs(1);

/// The pass is given back at once, not when whoever asked lets go of this future.
fn failed<E>(held: &mut Option<Held>, error: E) -> PoliteError<E> {
    drop(held.take());
    PoliteError::Service(error)
}

/// For how long a response refuses its request, if it does and the request may be sent again.
fn refused_for(method: &Method, status: StatusCode, hint: &Hint) -> Option<Nanos> {
    let told = || told(hint).filter(|(available, _)| *available == 0).map(|(_, within)| within);
    match status {
        StatusCode::TOO_MANY_REQUESTS => retry_after(hint).or_else(told),
        StatusCode::SERVICE_UNAVAILABLE if method.is_idempotent() => retry_after(hint),
        _ => None,
    }
}

fn retry_after(hint: &Hint) -> Option<Nanos> {
    hint.retry_after.map(|wait| Nanos::try_from(wait).unwrap_or(Nanos::MAX))
}

/// The policy with the least available, of those that say for how long.
fn told(hint: &Hint) -> Option<(u64, Nanos)> {
    let timed = hint.policies.iter().filter_map(|policy| Some((policy.available, policy.within?)));
    let (available, within) = timed.min_by_key(|(available, within)| (*available, std::cmp::Reverse(*within)))?;
    Some((available, Nanos::try_from(within).unwrap_or(Nanos::MAX)))
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoliteError<E> {
    /// The request's turn would have come after its deadline; it was not sent.
    Deadline,
    /// The inner service failed.
    Service(E),
}

impl<E: fmt::Display> fmt::Display for PoliteError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoliteError::Deadline => f.write_str("the server asked to wait for longer than the deadline allows"),
            PoliteError::Service(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for PoliteError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PoliteError::Deadline => None,
            PoliteError::Service(error) => Some(error),
        }
    }
}
