//! The server as a library, on a free port of this machine, with a clock that stands still until it is moved.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use ratelimit_core::{Nanos, Policy};
use ratelimit_store::ManualClock;
use rlsim::serve::{Config, Server};
use tokio::sync::oneshot;

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) clock: ManualClock,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn start(policy: &str) -> Running {
        Running::start_with(policy, |_| {})
    }

    /// With another configuration.
    pub(crate) fn start_with(policy: &str, change: impl FnOnce(&mut Config)) -> Running {
        let rule = policy.parse::<Policy>().expect("a policy").rules()[0];
        let clock = ManualClock::new(Nanos::from_secs(1_790_000_000));
        let mut config = Config::new(([127, 0, 0, 1], 0).into(), rule);
        config.clock = Arc::new(clock.clone());
        change(&mut config);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("one");
        let server = runtime.block_on(Server::bind(&config)).expect("a free port");
        let address = server.address();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            runtime.block_on(server.run(async {
                // Also when the sender is dropped.
                let _ = stopped.await;
            }));
        });
        Running { address, clock, stop: Some(stop), thread: Some(thread) }
    }

    /// The tutorial's server: bursts of 5, and 1 per second.
    pub(crate) fn tutorial() -> Running {
        Running::start("token-bucket:1/1s,burst=5")
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server ends well");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.stop();
        }
    }
}
