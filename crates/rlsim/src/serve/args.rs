//! What can be typed after `rlsim serve`.

use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use clap::Args;
use ratelimit_core::{Policy, Rule};
use tokio::sync::oneshot;

use super::{Config, Server};
use crate::error::{Error, Result};

/// How long threads may go on after the server has stopped.
const LONGEST_END: Duration = Duration::from_secs(1);

/// Serve an API behind a rate limit, and a page that shows what the limit does
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// The port; 0 is any free one
    #[arg(long, env = "PORT", default_value_t = 8080)]
    pub port: u16,
    /// The address to listen on; others than this machine reach it only if it is not a loopback address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub host: IpAddr,
    /// The policy of /api/ping, as NAME:LIMIT/WINDOW[,burst=B]; the other algorithms have the same quota
    #[arg(long, value_name = "POLICY", default_value = "token-bucket:1/1s,burst=5", value_parser = one_rule)]
    pub policy: Rule,
    /// Share the limits with other servers over Redis, such as `redis://127.0.0.1:6379`; while it is away, each decides alone
    #[arg(long, value_name = "URL")]
    pub redis: Option<String>,
}

impl ServeArgs {
    /// Serves until it is told to stop (interrupt or terminate), and then until all answers are out.
    ///
    /// # Errors
    /// [`Error::Failed`] if the address cannot be had.
    pub fn run(&self) -> Result<()> {
        let mut config = Config::new(SocketAddr::new(self.host, self.port), self.policy);
        config.redis.clone_from(&self.redis);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::failed(format!("the server cannot start: {error}")))?;
        let served = runtime.block_on(async {
            let server = Server::bind(&config).await?;
            let address = server.address();
            eprintln!("serving {} on http://{address}/ (Ctrl-C stops it)", self.policy);
            if !address.ip().is_loopback() {
                eprintln!("others can reach it: clients are told apart by the address of their connection");
            }
            run(server).await;
            eprintln!("stopped");
            Ok(())
        });
        // A run of the simulator that is still on its thread holds nobody up.
        runtime.shutdown_timeout(LONGEST_END);
        served
    }
}

/// Runs until it is told to stop, and then until all answers are out, or it is told so again.
async fn run(server: Server) {
    let (stop, asked) = oneshot::channel();
    let mut running = pin!(server.run(async {
        // Nobody drops the sender before.
        let _ = asked.await;
    }));
    tokio::select! {
        () = &mut running => return,
        () = stopped() => {}
    }
    eprintln!("open requests are let finish; the next signal ends them");
    let _ = stop.send(());
    tokio::select! {
        () = running => {}
        () = stopped() => {}
    }
}

/// The policy of the demo has one rule, with a quota.
fn one_rule(text: &str) -> std::result::Result<Rule, String> {
    let policy: Policy = text.parse().map_err(|error: ratelimit_core::PolicyError| error.to_string())?;
    match policy.rules() {
        [Rule::Unlimited] => Err("expected a policy with a quota, such as token-bucket:1/1s,burst=5".into()),
        [rule] => Ok(*rule),
        _ => Err("expected one policy without `+`, such as token-bucket:1/1s,burst=5".into()),
    }
}

/// Ready when the process is asked to stop.
async fn stopped() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        let terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
        if let Ok(mut terminate) = terminate {
            let mut interrupt = std::pin::pin!(interrupt);
            return std::future::poll_fn(|cx| {
                if interrupt.as_mut().poll(cx).is_ready() || terminate.poll_recv(cx).is_ready() {
                    std::task::Poll::Ready(())
                } else {
                    std::task::Poll::Pending
                }
            })
            .await;
        }
    }
    // Where signals cannot be had, the server runs until it is killed.
    if interrupt.await.is_err() {
        std::future::pending::<()>().await;
    }
}
