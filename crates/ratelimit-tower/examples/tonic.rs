//! A gRPC server with a limit for each address. A call that is refused ends with `RESOURCE_EXHAUSTED` and says when to
//! try again; an HTTP 429 would become `UNAVAILABLE`, which clients retry at once.
//!
//! ```sh
//! cargo run -p ratelimit-tower --example tonic
//! grpcurl -plaintext -proto hello.proto -d '{"name": "world"}' 127.0.0.1:50051 hello.Greeter/Hello
//! ```
//!
//! The service is written by hand, so that no compiler of protocol buffers is needed. What concerns the limit is in
//! [`serve`], and is the same for generated services.

use std::convert::Infallible;
use std::error::Error;
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, BufMut};
use http::Request;
use ratelimit_tower::key::PeerAddr;
use ratelimit_tower::{Limit, RateLimitLayer, grpc};
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::Server;
use tonic::transport::server::{TcpConnectInfo, TcpIncoming};
use tonic::{Response, Status};
use tower::Service;
use tower::util::MapRequestLayer;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let incoming = TcpIncoming::bind("127.0.0.1:50051".parse()?)?;
    println!("listening on {}", incoming.local_addr()?);
    serve(incoming, "token-bucket:1/1s,burst=5").await
}

/// Limits each address, whatever it calls; also a call that looks like a preflight, as tonic serves any method.
pub(crate) async fn serve(incoming: TcpIncoming, policy: &str) -> Result<(), Box<dyn Error>> {
    let builder = RateLimitLayer::builder().limit(Limit::parse("calls", policy)?).exempt_preflight(false);
    let limit = builder.respond(grpc::respond).build()?;
    Server::builder()
        .layer(MapRequestLayer::new(say_peer))
        .layer(limit)
        .add_service(Greeter)
        .serve_with_incoming(incoming)
        .await?;
    Ok(())
}

/// Tells the limit what tonic knows of the connection.
fn say_peer(mut request: Request<Body>) -> Request<Body> {
    let peer = request.extensions().get::<TcpConnectInfo>().and_then(TcpConnectInfo::remote_addr);
    if let Some(peer) = peer {
        request.extensions_mut().insert(PeerAddr(peer));
    }
    request
}

/// `service Greeter { rpc Hello (Text) returns (Text); }`
#[derive(Debug, Clone)]
struct Greeter;

impl NamedService for Greeter {
    const NAME: &'static str = "hello.Greeter";
}

impl Service<Request<Body>> for Greeter {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(async move {
            Ok(match request.uri().path() {
                "/hello.Greeter/Hello" => Grpc::new(TextCodec).unary(Hello, request).await,
                _ => Status::unimplemented("no such method").into_http(),
            })
        })
    }
}

struct Hello;

impl UnaryService<String> for Hello {
    type Response = String;
    type Future = Ready<Result<Response<String>, Status>>;

    fn call(&mut self, request: tonic::Request<String>) -> Self::Future {
        ready(Ok(Response::new(format!("hello {}", request.into_inner()))))
    }
}

/// `message Text { string text = 1; }` with a text of less than 128 bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TextCodec;

/// Field 1, a length and bytes.
const FIELD: u8 = 1 << 3 | 2;

impl Codec for TextCodec {
    type Encode = String;
    type Decode = String;
    type Encoder = TextCodec;
    type Decoder = TextCodec;

    fn encoder(&mut self) -> TextCodec {
        TextCodec
    }

    fn decoder(&mut self) -> TextCodec {
        TextCodec
    }
}

impl Encoder for TextCodec {
    type Item = String;
    type Error = Status;

    fn encode(&mut self, text: String, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        let length = u8::try_from(text.len()).ok().filter(|length| *length < 128);
        out.put_slice(&[FIELD, length.ok_or_else(|| Status::internal("a text of 128 bytes or more"))?]);
        out.put_slice(text.as_bytes());
        Ok(())
    }
}

impl Decoder for TextCodec {
    type Item = String;
    type Error = Status;

    fn decode(&mut self, message: &mut DecodeBuf<'_>) -> Result<Option<String>, Status> {
        let bytes = message.copy_to_bytes(message.remaining());
        match bytes.split_at_checked(2) {
            Some(([FIELD, length], text)) if usize::from(*length) == text.len() && *length < 128 => {
                let text = String::from_utf8(text.to_vec());
                text.map(Some).map_err(|_| Status::invalid_argument("a text that is not UTF-8"))
            }
            None if bytes.is_empty() => Ok(Some(String::new())),
            _ => Err(Status::invalid_argument("expected one text of less than 128 bytes")),
        }
    }
}
