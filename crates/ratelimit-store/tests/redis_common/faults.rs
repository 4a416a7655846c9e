//! The faults of `docs/reliability.md`, each a run under load.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratelimit_store::Backend;
use ratelimit_store::redis::SharedLimiter;

use super::load::{Outcome, POLICY, Tally, leased, under_load};
use super::{Server, policy, proxy};

/// A fault, and how many times it loses the state of all clients.
pub(crate) struct Fault {
    pub(crate) name: &'static str,
    pub(crate) losses: u64,
    /// Whether the shared limiter fails for long enough that local ones must answer.
    pub(crate) fails: bool,
    pub(crate) run: fn() -> Outcome,
}

/// All faults of a single server.
pub(crate) const FAULTS: [Fault; 10] = [
    Fault { name: "none", losses: 0, fails: false, run: none },
    Fault { name: "SCRIPT FLUSH, 20 times", losses: 0, fails: false, run: script_flush },
    Fault { name: "paused for 3 s (SIGSTOP)", losses: 0, fails: true, run: paused },
    Fault { name: "killed (kill -9) for 1 s, back empty", losses: 1, fails: true, run: killed },
    Fault { name: "restarted at once, empty", losses: 1, fails: false, run: restarted },
    Fault { name: "slow: 200 ms a reply", losses: 0, fails: true, run: slow },
    Fault { name: "memory full (noeviction) for 1 s", losses: 0, fails: true, run: memory_full },
    Fault { name: "leases, none", losses: 0, fails: false, run: leases },
    Fault { name: "leases, paused for 3 s (SIGSTOP)", losses: 0, fails: true, run: leases_paused },
    Fault { name: "leases, slow: 200 ms a reply", losses: 0, fails: true, run: leases_slow },
];

/// A master dies and its replica takes over.
#[cfg(feature = "redis-cluster")]
pub(crate) const FAILOVER: Fault =
    Fault { name: "master of a cluster killed, replica promoted", losses: 1, fails: true, run: failover };

#[cfg(feature = "redis-cluster")]
fn failover() -> Outcome {
    let cluster = super::cluster::Cluster::start();
    let urls = cluster.urls();
    let cluster = Arc::new(Mutex::new(cluster));
    let broken = Arc::clone(&cluster);
    let connect = || {
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        SharedLimiter::builder(policy(POLICY)).connect_cluster(&urls).unwrap()
    };
    under_load(connect, move |tally| {
        let mut cluster = broken.lock().unwrap();
        tally.until_shared(500);
        let master = cluster.master_of(b"{rl:client-0}");
        cluster.nodes[master].kill();
        tally.until_local(100);
        cluster.until_promoted(master);
        tally.until_shared(1000);
    })
}

fn connect(port: u16) -> SharedLimiter {
    SharedLimiter::builder(policy(POLICY)).connect(&format!("redis://127.0.0.1:{port}")).unwrap()
}

/// Runs `fault` on a server of its own.
fn on_a_server(fault: impl FnOnce(&mut Server, &Tally) + Send + 'static) -> Outcome {
    on_a_server_by(|shared| shared, fault)
}

/// The same with limiters that are made of the shared one.
fn on_a_server_by<B: Backend + 'static>(
    make: impl Fn(SharedLimiter) -> B,
    fault: impl FnOnce(&mut Server, &Tally) + Send + 'static,
) -> Outcome {
    let server = Arc::new(Mutex::new(Server::start(&[])));
    let port = server.lock().unwrap().port();
    let broken = Arc::clone(&server);
    under_load(|| make(connect(port)), move |tally| fault(&mut broken.lock().unwrap(), tally))
}

fn none() -> Outcome {
    on_a_server(|_, tally| tally.until_shared(3000))
}

fn script_flush() -> Outcome {
    on_a_server(|server, tally| {
        for _ in 0..20 {
            tally.until_shared(100);
            redis::cmd("SCRIPT").arg("FLUSH").exec(&mut server.admin()).unwrap();
        }
        tally.until_shared(1000);
    })
}

fn paused() -> Outcome {
    on_a_server(pause)
}

fn pause(server: &mut Server, tally: &Tally) {
    tally.until_shared(300);
    server.signal("STOP");
    std::thread::sleep(Duration::from_secs(3));
    tally.until_local(300);
    server.signal("CONT");
    tally.until_shared(1000);
}

fn leases() -> Outcome {
    on_a_server_by(leased, |_, tally| tally.until_shared(3000))
}

fn leases_paused() -> Outcome {
    on_a_server_by(leased, pause)
}

fn killed() -> Outcome {
    on_a_server(|server, tally| {
        tally.until_shared(1000);
        server.kill();
        std::thread::sleep(Duration::from_secs(1));
        tally.until_local(300);
        server.revive();
        tally.until_shared(1000);
    })
}

fn restarted() -> Outcome {
    on_a_server(|server, tally| {
        tally.until_shared(1000);
        server.kill();
        server.revive();
        tally.until_shared(1000);
    })
}

fn slow() -> Outcome {
    behind_a_slow_proxy(|shared| shared)
}

fn leases_slow() -> Outcome {
    behind_a_slow_proxy(leased)
}

fn behind_a_slow_proxy<B: Backend + 'static>(make: impl Fn(SharedLimiter) -> B) -> Outcome {
    let server = Server::start(&[]);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let port = runtime.block_on(proxy::slow(server.port(), Duration::from_millis(200)));
    under_load(|| make(connect(port)), |tally| tally.until_local(2000))
}

fn memory_full() -> Outcome {
    on_a_server(|server, tally| {
        let limit = |bytes: &str| redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg(bytes).exec(&mut server.admin());
        tally.until_shared(300);
        limit("1").unwrap();
        std::thread::sleep(Duration::from_secs(1));
        limit("0").unwrap();
        tally.until_shared(1000);
    })
}
