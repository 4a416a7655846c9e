//! The future of an answer: asks a shared backend, waits its turn, runs the service, settles what it has cost.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderValue};
use http::{Request, Response};
use pin_project_lite::pin_project;
use ratelimit_core::Nanos;
use tower_service::Service;

use crate::ask::{Answer, Outcome};
use crate::body::ResponseBody;
use crate::engine::Engine;
use crate::few::Few;
use crate::headers::Level;
use crate::key::KeyError;
use crate::service::attach_handle;
use crate::settings::WhenUnavailable;
use crate::stats::count;
use crate::store::{Boxed, Unavailable};
use crate::timer::Sleep;

/// What the answer depends on of the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    pub(crate) is_head: bool,
    /// And the layer is to expose its fields.
    pub(crate) has_origin: bool,
}

pin_project! {
    /// The answer to come of a [`RateLimit`](crate::RateLimit) service.
    pub struct ResponseFuture<S, B>
    where
        S: Service<Request<B>>,
    {
        engine: Arc<Engine>,
        about: About,
        #[pin]
        state: State<S, S::Future, Request<B>, S::Response>,
    }
}

pin_project! {
    /// `F` is the service's future, `Q` the request, `R` the service's response. What only a wait needs is boxed: a
    /// future that does not wait should not be large.
    #[project = StateProjection]
    enum State<S, F, Q, R> {
        /// A shared backend is asked.
        Pending { decision: Boxed<Result<Outcome, Unavailable>>, held: Option<Box<(S, Q)>> },
        /// The request waits its turn in a queue.
        Waiting { turn: Sleep, place: Option<Place>, held: Option<Box<(S, Q)>> },
        /// The service works on it.
        Running { #[pin] future: F, outcome: Option<Outcome> },
        /// What it has cost is corrected.
        Settling { settled: Boxed<Result<Few<Level>, Unavailable>>, held: Option<Box<(R, Outcome)>> },
        /// It does not pass.
        Refused { response: Option<Response<Bytes>> },
    }
}

/// A place in a queue, given back when the request is dropped before its turn.
struct Place {
    engine: Arc<Engine>,
    outcome: Option<Outcome>,
}

impl Place {
    /// The turn has come: nothing is given back any more.
    fn leave(mut self) -> Option<Outcome> {
        self.outcome.take()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(outcome) = &self.outcome {
            self.engine.give_back(outcome);
        }
    }
}

impl<S, B, R> ResponseFuture<S, B>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    pub(crate) fn exempt(engine: Arc<Engine>, about: About, future: S::Future) -> Self {
        ResponseFuture { engine, about, state: State::Running { future, outcome: None } }
    }

    pub(crate) fn running(engine: Arc<Engine>, about: About, future: S::Future, outcome: Outcome) -> Self {
        ResponseFuture { engine, about, state: State::Running { future, outcome: Some(outcome) } }
    }

    pub(crate) fn pending(
        engine: Arc<Engine>,
        about: About,
        decision: Boxed<Result<Outcome, Unavailable>>,
        service: S,
        request: Request<B>,
    ) -> Self {
        ResponseFuture { engine, about, state: State::Pending { decision, held: Some(Box::new((service, request))) } }
    }

    pub(crate) fn waiting(
        engine: Arc<Engine>,
        about: About,
        outcome: Outcome,
        delay: Nanos,
        service: S,
        request: Request<B>,
    ) -> Self {
        let state = wait(&engine, outcome, delay, (service, request));
        ResponseFuture { engine, about, state }
    }

    pub(crate) fn refused(engine: Arc<Engine>, about: About, outcome: &Outcome) -> Self {
        let response = Some(engine.refuse(outcome));
        ResponseFuture { engine, about, state: State::Refused { response } }
    }

    pub(crate) fn unidentified(engine: Arc<Engine>, about: About, error: KeyError) -> Self {
        let response = Some(engine.refuse_unidentified(error));
        ResponseFuture { engine, about, state: State::Refused { response } }
    }
}

/// Waits for the turn; the builder saw to it that there is a timer where there is a queue.
fn wait<S, F, Q, R>(engine: &Arc<Engine>, outcome: Outcome, delay: Nanos, held: (S, Q)) -> State<S, F, Q, R> {
    let turn: Sleep = match &engine.settings.timer {
        Some(timer) => timer.sleep(delay.into()),
        None => Box::pin(std::future::ready(())),
    };
    let place = Place { engine: Arc::clone(engine), outcome: Some(outcome) };
    State::Waiting { turn, place: Some(place), held: Some(Box::new(held)) }
}

impl<S, B, R> Future for ResponseFuture<S, B>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Output = Result<Response<ResponseBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProjection::Pending { decision, held } => {
                    let decision = ready!(decision.as_mut().poll(cx));
                    let Some(held) = held.take() else { return Poll::Pending };
                    after_decision(this.engine, decision, *held)
                }
                StateProjection::Waiting { turn, place, held } => {
                    ready!(turn.as_mut().poll(cx));
                    let Some((mut service, mut request)) = held.take().map(|held| *held) else { return Poll::Pending };
                    let outcome = place.take().and_then(Place::leave);
                    if let Some(outcome) = &outcome {
                        attach_handle(this.engine, outcome, &mut request);
                    }
                    State::Running { future: service.call(request), outcome }
                }
                StateProjection::Running { future, outcome } => {
                    let mut response = ready!(future.poll(cx))?;
                    // Read where it is: it is moved only if there is something to settle.
                    let Some(decided) = outcome.as_ref() else {
                        return Poll::Ready(Ok(finish(this.engine, *this.about, response)));
                    };
                    let Some(settlement) = this.engine.settlement(decided, &mut response) else {
                        this.engine.describe(&mut response, decided, decided.levels.as_slice());
                        return Poll::Ready(Ok(finish(this.engine, *this.about, response)));
                    };
                    State::Settling {
                        settled: Box::pin(settlement.settle()),
                        held: outcome.take().map(|outcome| Box::new((response, outcome))),
                    }
                }
                StateProjection::Settling { settled, held } => {
                    let levels = ready!(settled.as_mut().poll(cx));
                    let Some((mut response, outcome)) = held.take().map(|held| *held) else { return Poll::Pending };
                    // A backend that failed meanwhile has nothing to claim.
                    if let Ok(levels) = levels {
                        this.engine.describe(&mut response, &outcome, levels.as_slice());
                    }
                    return Poll::Ready(Ok(finish(this.engine, *this.about, response)));
                }
                StateProjection::Refused { response } => {
                    let Some(response) = response.take() else { return Poll::Pending };
                    return Poll::Ready(Ok(refused(this.engine, *this.about, response)));
                }
            };
            this.state.set(next);
        }
    }
}

/// The shared backend has answered, or failed.
fn after_decision<S, B, R>(
    engine: &Arc<Engine>,
    decision: Result<Outcome, Unavailable>,
    (mut service, mut request): (S, Request<B>),
) -> State<S, S::Future, Request<B>, S::Response>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    let Ok(outcome) = decision else {
        count(&engine.counters.unavailable);
        return match engine.settings.unavailable {
            WhenUnavailable::Refuse if !engine.settings.shadow => {
                State::Refused { response: Some(engine.refuse_unavailable()) }
            }
            WhenUnavailable::Allow | WhenUnavailable::Refuse => {
                State::Running { future: service.call(request), outcome: None }
            }
        };
    };
    engine.count_outcome(&outcome);
    match engine.enforced(&outcome) {
        Answer::Pass { delay } if delay.get() == 0 => {
            attach_handle(engine, &outcome, &mut request);
            State::Running { future: service.call(request), outcome: Some(outcome) }
        }
        Answer::Pass { delay } => wait(engine, outcome, delay, (service, request)),
        Answer::Refuse { .. } | Answer::Never { .. } => State::Refused { response: Some(engine.refuse(&outcome)) },
    }
}

fn finish<R>(engine: &Engine, about: About, mut response: Response<R>) -> Response<ResponseBody<R>> {
    engine.expose(about.has_origin, response.headers_mut());
    response.map(ResponseBody::service)
}

/// A response to HEAD has no body, and keeps everything else, the length of the body that it would have had too.
fn refused<R>(engine: &Engine, about: About, mut response: Response<Bytes>) -> Response<ResponseBody<R>> {
    engine.expose(about.has_origin, response.headers_mut());
    if about.is_head {
        let length = mem::take(response.body_mut()).len();
        response.headers_mut().entry(CONTENT_LENGTH).or_insert_with(|| HeaderValue::from(length));
    }
    response.map(ResponseBody::refusal)
}
