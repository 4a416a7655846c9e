//! What can be typed after `rlsim serve`.

use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use clap::Args;
use ratelimit_core::{Policy, Rule};
use tokio::sync::oneshot;

use super::stops::Stops;
use super::{Config, Server};
use crate::error::{Error, Result};

/// How long threads may go on after the server has stopped.
const LONGEST_END: Duration = Duration::from_secs(1);

/// Serve an API behind a rate limit, and a page that shows what the limit does
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// The port; 0 is any free one
    #[arg(long, env = "PORT", default_value_t = 8080, value_parser = port)]
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
            // Before anybody can know of the server: until then a signal ends the process on the spot.
            let stops = Stops::listen();
            let server = Server::bind(&config).await?;
            let address = server.address();
            eprintln!("serving {} on http://{address}/ (Ctrl-C stops it)", self.policy);
            if !address.ip().is_loopback() {
                eprintln!("others can reach it: clients are told apart by the address of their connection");
            }
            run(server, stops).await;
            eprintln!("stopped");
            Ok(())
        });
        // A run of the simulator that is still on its thread holds nobody up.
        runtime.shutdown_timeout(LONGEST_END);
        served
    }
}

/// Runs until it is told to stop, and then until all answers are out, or it is told so again.
async fn run(server: Server, mut stops: Stops) {
    let (stop, asked) = oneshot::channel();
    let mut running = pin!(server.run(async {
        // Nobody drops the sender before.
        let _ = asked.await;
    }));
    tokio::select! {
        () = &mut running => return,
        () = stops.next() => {}
    }
    eprintln!("open requests are let finish; the next signal ends them");
    let _ = stop.send(());
    tokio::select! {
        () = running => {}
        () = stops.next() => {}
    }
}

fn port(text: &str) -> std::result::Result<u16, String> {
    text.parse()
        .map_err(|_| "expected a port from 0 to 65535 (after --port, or else in PORT in the environment)".into())
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
