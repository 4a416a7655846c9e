//! A Redis server of the test's own: on a free loopback port, without persistence, in a directory that goes with it.
#![allow(dead_code, reason = "each test file uses a part")]

#[cfg(feature = "redis-cluster")]
pub(crate) mod cluster;
pub(crate) mod faults;
#[cfg(feature = "redis-cluster")]
pub(crate) mod hang_up;
pub(crate) mod load;
pub(crate) mod proxy;

use std::future::Future;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ratelimit_core::Policy;
use ratelimit_store::redis::{Builder, ReplayLimiter, SharedLimiter};
use tempfile::TempDir;

/// What a state may take to come about before the test gives up on it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A running `redis-server`; dropped, it is killed.
pub(crate) struct Server {
    child: Child,
    port: u16,
    dir: TempDir,
    options: Vec<String>,
}

impl Server {
    /// Starts a server with further options.
    pub(crate) fn start(options: &[&str]) -> Server {
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        Server::start_with(|| options.clone())
    }

    /// Starts a server with options that are chosen anew for each attempt.
    pub(crate) fn start_with(options: impl Fn() -> Vec<String>) -> Server {
        let dir = tempfile::tempdir().expect("a temporary directory");
        // The port is free when it is looked for and may be taken when the server asks for it: then it ends, and the next
        // attempt gets another.
        for _ in 0..20 {
            let (port, options) = (free_port(), options());
            let mut child = spawn(port, &dir, &options);
            if answers(port, &mut child) {
                return Server { child, port, dir, options };
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        panic!("no redis-server came up on a free port");
    }

    /// `redis://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Sends a signal by name, such as `STOP`.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(status.expect("kill runs").success());
    }

    /// Ends the server at once, as a crash does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("the server is ours");
        self.child.wait().expect("the server is ours");
    }

    /// Starts it again on the same port, empty.
    pub(crate) fn revive(&mut self) {
        self.child = spawn(self.port, &self.dir, &self.options);
        assert!(answers(self.port, &mut self.child), "the server came back");
    }

    /// A plain connection, for looking at the keys and for breaking things.
    pub(crate) fn admin(&self) -> redis::Connection {
        redis::Client::open(self.url()).unwrap().get_connection().unwrap()
    }

    pub(crate) fn replay(&self, policy: &str, prefix: &str) -> ReplayLimiter {
        patient(policy).prefix(prefix).connect_replay(&self.url()).unwrap()
    }

    pub(crate) fn shared(&self, policy: &str) -> SharedLimiter {
        patient(policy).connect(&self.url()).unwrap()
    }
}

/// A limiter that waits longer than the machine can be busy with other tests.
pub(crate) fn patient(text: &str) -> Builder {
    SharedLimiter::builder(policy(text)).timeout(PATIENCE)
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn spawn(port: u16, dir: &TempDir, options: &[String]) -> Child {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir"])
        .arg(dir.path())
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-server is installed")
}

fn answers(port: u16, child: &mut Child) -> bool {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if child.try_wait().expect("the server is ours").is_some() {
            return false;
        }
        let info = client
            .get_connection_with_timeout(Duration::from_secs(1))
            .and_then(|mut connection| redis::cmd("INFO").arg("server").query::<String>(&mut connection));
        // Until ours has found the port taken, another server may answer on it.
        let ours = format!("process_id:{}", child.id());
        if info.is_ok_and(|info| info.lines().any(|line| line == ours)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// Polls until `state` holds; fails after [`PATIENCE`].
pub(crate) fn until(what: &str, mut state: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !state() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs a future on a runtime of its own.
pub(crate) fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(future)
}

pub(crate) fn policy(text: &str) -> Policy {
    text.parse().unwrap()
}
