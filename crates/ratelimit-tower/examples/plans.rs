//! A limit for each plan: the login layer says who it is and what they pay for, and one of the limits applies.
//!
//! ```sh
//! cargo run -p ratelimit-tower --example plans
//! ```

use std::borrow::Cow;
use std::convert::Infallible;
use std::error::Error;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{Empty, Full};
use ratelimit_tower::key::{Head, from_fn};
use ratelimit_tower::{Limit, RateLimitLayer};
use tower::{ServiceBuilder, ServiceExt, service_fn};

/// What a login layer attaches to a request.
#[derive(Debug, Clone)]
struct Account {
    name: &'static str,
    plan: &'static str,
}

fn limit_of(plan: &'static str, policy: &str) -> Result<Limit, ratelimit_core::PolicyError> {
    let account = |head: &Head<'_>| head.extensions.get::<Account>().map(|account| account.plan);
    let by_account =
        from_fn("account", |head| head.extensions.get::<Account>().map(|account| Cow::Borrowed(account.name)));
    Ok(Limit::parse(plan, policy)?.key(by_account).when(move |head| account(head) == Some(plan)))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    for line in three_requests_each().await? {
        println!("{line}");
    }
    Ok(())
}

pub(crate) async fn three_requests_each() -> Result<Vec<String>, Box<dyn Error>> {
    let layer = RateLimitLayer::builder()
        .limit(limit_of("free", "token-bucket:2/1m")?)
        .limit(limit_of("pro", "token-bucket:100/1m")?)
        .build()?;
    let service =
        service_fn(|_: Request<Empty<Bytes>>| async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())) });
    let service = ServiceBuilder::new().layer(layer).service(service);
    let mut lines = Vec::new();
    for account in [Account { name: "alice", plan: "free" }, Account { name: "bob", plan: "pro" }] {
        for _ in 0..3 {
            let mut request = Request::new(Empty::new());
            request.extensions_mut().insert(account.clone());
            let answer = service.clone().oneshot(request).await?;
            lines.push(format!("{}: {} {}", account.name, answer.status(), answer.headers()["ratelimit"].to_str()?));
        }
    }
    Ok(lines)
}
