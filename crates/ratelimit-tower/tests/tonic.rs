//! The example for tonic, over HTTP/2: a call that is refused is `RESOURCE_EXHAUSTED` with a retry delay to tonic's own
//! client, not the `UNAVAILABLE` that an HTTP 429 would be.

#[allow(dead_code, reason = "the example's `main` is for people")]
#[path = "../examples/tonic.rs"]
mod example;

use http::uri::PathAndQuery;
use tonic::client::Grpc;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tower::{Service, ServiceExt};

/// A server of its own, in the background of the test's runtime.
async fn connect(policy: &'static str) -> Grpc<Channel> {
    Grpc::new(channel(policy).await)
}

async fn channel(policy: &'static str) -> Channel {
    let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).expect("a free port");
    let address = incoming.local_addr().expect("an address");
    tokio::spawn(async move { example::serve(incoming, policy).await.expect("it serves") });
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
    endpoint.connect().await.expect("a connection")
}

async fn call(client: &mut Grpc<Channel>, method: &'static str, name: &str) -> Result<String, Status> {
    client.ready().await.expect("a connection");
    let path = PathAndQuery::from_static(method);
    let answer = client.unary(Request::new(name.to_owned()), path, example::TextCodec).await?;
    Ok(answer.into_inner())
}

const HELLO: &str = "/hello.Greeter/Hello";

/// A stream of messages that never ends: whoever is refused must not wait for its end.
async fn call_with_stream(client: &mut Grpc<Channel>, endless: bool) -> Result<String, Status> {
    client.ready().await.expect("a connection");
    let messages = std::iter::repeat_n("hi".to_owned(), if endless { usize::MAX } else { 3 });
    let path = PathAndQuery::from_static(HELLO);
    let request = Request::new(futures_util::stream::iter(messages));
    let mut answers = client.streaming(request, path, example::TextCodec).await?.into_inner();
    answers.message().await.map(Option::unwrap_or_default)
}

/// A number of protocol buffers, and what follows it.
fn varint(bytes: &[u8]) -> (u64, &[u8]) {
    let end = bytes.iter().position(|byte| byte & 0x80 == 0).expect("an end") + 1;
    let value = bytes[..end].iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7F));
    (value, &bytes[end..])
}

/// The fields of a message: each its number and its content; a number's content is its bytes.
fn fields(mut message: &[u8]) -> Vec<(u64, &[u8])> {
    let mut fields = Vec::new();
    while !message.is_empty() {
        let (tag, rest) = varint(message);
        let (content, rest) = match tag & 7 {
            0 => rest.split_at(rest.len() - varint(rest).1.len()),
            2 => {
                let (length, rest) = varint(rest);
                rest.split_at(usize::try_from(length).expect("a length"))
            }
            kind => panic!("no field of kind {kind} is expected"),
        };
        fields.push((tag >> 3, content));
        message = rest;
    }
    fields
}

fn field(message: &[u8], number: u64) -> &[u8] {
    let found = fields(message).into_iter().find(|(found, _)| *found == number);
    found.map(|(_, content)| content).unwrap_or_default()
}

/// `google.rpc.RetryInfo` in `google.rpc.Status`: whole seconds, and nanoseconds.
fn retry_delay(details: &[u8]) -> (u64, u64) {
    let any = field(details, 3);
    assert_eq!(field(any, 1), b"type.googleapis.com/google.rpc.RetryInfo");
    let delay = field(field(any, 2), 1);
    let number = |bytes: &[u8]| if bytes.is_empty() { 0 } else { varint(bytes).0 };
    (number(field(delay, 1)), number(field(delay, 2)))
}

#[tokio::test]
async fn a_refused_call_is_resource_exhausted_with_a_delay() {
    let mut client = connect("token-bucket:1/1h,burst=2").await;
    for name in ["alice", "bob"] {
        assert_eq!(call(&mut client, HELLO, name).await.expect("within the limit"), format!("hello {name}"));
    }
    for _ in 0..2 {
        let status = call(&mut client, HELLO, "eve").await.expect_err("beyond the limit");
        assert_eq!((status.code(), status.message()), (Code::ResourceExhausted, "quota exceeded"));
        let (seconds, nanos) = retry_delay(status.details());
        // An hour, less what has passed since the first call.
        assert!((3_000..=3_600).contains(&seconds) && nanos < 1_000_000_000, "{seconds} s {nanos} ns");
        let pushback = status.metadata().get("grpc-retry-pushback-ms").expect("a pushback").to_str().unwrap();
        assert_eq!(pushback.parse::<u64>().unwrap(), seconds * 1_000 + nanos.div_ceil(1_000_000));
        assert_eq!(status.metadata().get("ratelimit-remaining").expect("what is left"), "0");
        assert!(status.metadata().get("retry-after").is_none(), "that is for HTTP's 429 and 503");
    }
}

/// The same for calls that stream, in the midst of what they send.
#[tokio::test]
async fn a_refused_stream_is_resource_exhausted_too() {
    let mut client = connect("token-bucket:1/1h,burst=1").await;
    assert_eq!(call(&mut client, HELLO, "alice").await.expect("within the limit"), "hello alice");
    for endless in [false, true] {
        for _ in 0..50 {
            let status = call_with_stream(&mut client, endless).await.expect_err("beyond the limit");
            assert_eq!((status.code(), status.message()), (Code::ResourceExhausted, "quota exceeded"), "{endless}");
            assert!((3_000..=3_600).contains(&retry_delay(status.details()).0));
        }
    }
}

#[tokio::test]
async fn a_call_that_fails_in_the_service_is_charged_and_keeps_its_own_status() {
    let mut client = connect("token-bucket:1/1h,burst=1").await;
    let status = call(&mut client, "/hello.Greeter/Unknown", "alice").await.expect_err("no such method");
    assert_eq!(status.code(), Code::Unimplemented);
    let status = call(&mut client, HELLO, "alice").await.expect_err("beyond the limit");
    assert_eq!(status.code(), Code::ResourceExhausted);
}

/// tonic serves any method: a call that looks like a browser's preflight is a call, with or without what marks it as one.
#[tokio::test]
async fn a_call_dressed_up_as_a_preflight_is_charged() {
    for content_type in [Some("application/grpc"), None] {
        let mut channel = channel("token-bucket:1/1h,burst=2").await;
        let mut statuses = Vec::new();
        for body in ["\0\0\0\0\x04\x0A\x02hi", "", "\0\0\0\0\x04\x0A\x02hi", ""] {
            let mut call = http::Request::options(HELLO).header("origin", "https://example.org");
            call = call.header("access-control-request-method", "POST");
            if let Some(content_type) = content_type {
                call = call.header("content-type", content_type);
            }
            let body = http_body_util::Full::new(bytes::Bytes::from_static(body.as_bytes()));
            let call = call.body(tonic::body::Body::new(body)).unwrap();
            let answer = channel.ready().await.expect("a connection").call(call).await.expect("an answer");
            statuses.push(answer.headers().get("grpc-status").is_some_and(|status| status == "8"));
        }
        assert_eq!(statuses, [false, false, true, true], "{content_type:?}");
    }
}
