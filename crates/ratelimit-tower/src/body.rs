//! The body of an answer: the service's own, or a refusal's few bytes.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

pin_project! {
    /// The service's body, or that of a refusal.
    #[derive(Debug)]
    pub struct ResponseBody<B> {
        #[pin]
        kind: Kind<B>,
    }
}

pin_project! {
    #[project = KindProjection]
    #[derive(Debug)]
    enum Kind<B> {
        Service { #[pin] body: B },
        Refusal { bytes: Bytes },
    }
}

impl<B> ResponseBody<B> {
    pub(crate) fn service(body: B) -> Self {
        ResponseBody { kind: Kind::Service { body } }
    }

    pub(crate) fn refusal(bytes: Bytes) -> Self {
        ResponseBody { kind: Kind::Refusal { bytes } }
    }
}

impl<B> Body for ResponseBody<B>
where
    B: Body,
    B::Data: From<Bytes>,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        match self.project().kind.project() {
            KindProjection::Service { body } => Poll::Ready(ready!(body.poll_frame(cx))),
            KindProjection::Refusal { bytes } if bytes.is_empty() => Poll::Ready(None),
            KindProjection::Refusal { bytes } => {
                Poll::Ready(Some(Ok(Frame::data(B::Data::from(std::mem::take(bytes))))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Service { body } => body.is_end_stream(),
            Kind::Refusal { bytes } => bytes.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Service { body } => body.size_hint(),
            Kind::Refusal { bytes } => SizeHint::with_exact(bytes.len() as u64),
        }
    }
}
