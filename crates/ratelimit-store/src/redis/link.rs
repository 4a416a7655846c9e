//! The connection: made when first needed, shared by all calls, and made anew with growing pauses when it breaks.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, Cmd, Pipeline, RedisError, RedisResult, Value};
use tokio::sync::watch;

use super::error::SharedError;

/// How long one attempt to connect may take. Longer than a call: it goes on when the call that began it has given up.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause after the first failed attempt; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// So many calls in a row without an answer, and the connection is taken for dead.
const SILENT_CALLS: u32 = 3;

/// Where the server or the cluster is.
#[derive(Clone)]
pub(crate) enum Target {
    Single(Client),
    #[cfg(feature = "redis-cluster")]
    Cluster(Box<redis::cluster::ClusterClient>),
}

/// An open connection, of which all calls have a handle.
#[derive(Clone)]
pub(crate) enum Connection {
    Single(MultiplexedConnection),
    #[cfg(feature = "redis-cluster")]
    Cluster(redis::cluster_async::ClusterConnection),
}

impl Connection {
    pub(crate) async fn call(&mut self, cmd: &Cmd) -> RedisResult<Value> {
        match self {
            Connection::Single(connection) => connection.req_packed_command(cmd).await?.extract_error(),
            #[cfg(feature = "redis-cluster")]
            Connection::Cluster(connection) => super::cluster::call(connection, cmd).await,
        }
    }

    /// Many calls at once, answered one by one in their order. On a cluster each has its node's answer until `deadline`, or
    /// `None`: what one node does not answer spoils no other's.
    pub(crate) async fn call_all(
        &mut self,
        cmds: &[Cmd],
        deadline: tokio::time::Instant,
    ) -> RedisResult<Vec<Option<RedisResult<Value>>>> {
        match self {
            Connection::Single(connection) => {
                let mut pipeline = Pipeline::with_capacity(cmds.len());
                for cmd in cmds {
                    pipeline.add_command(cmd.clone());
                }
                let answers = connection.req_packed_commands(&pipeline, 0, cmds.len());
                let Ok(values) = tokio::time::timeout_at(deadline, answers).await else {
                    return Ok(cmds.iter().map(|_| None).collect());
                };
                Ok(values?.into_iter().map(|value| Some(value.extract_error())).collect())
            }
            // The keys lie on several nodes: the commands go out together, each on its node's connection.
            #[cfg(feature = "redis-cluster")]
            Connection::Cluster(connection) => {
                Ok(futures_util::future::join_all(
                    cmds.iter().map(|cmd| {
                        let mut connection = connection.clone();
                        async move {
                            tokio::time::timeout_at(deadline, super::cluster::call(&mut connection, cmd)).await.ok()
                        }
                    }),
                )
                .await)
            }
        }
    }
}

/// How every connection is made. Commands go out at once, whatever is still unacknowledged: the system would hold a small
/// one back until the server's answer or its delayed acknowledgement comes, which is 40 ms away when the server stood still.
pub(super) fn tcp() -> TcpSettings {
    TcpSettings::default().set_nodelay(true)
}

impl Target {
    async fn connect(&self) -> RedisResult<Connection> {
        match self {
            Target::Single(client) => {
                // The limiter bounds each call as a whole.
                let config = AsyncConnectionConfig::new()
                    .set_connection_timeout(Some(CONNECT_TIMEOUT))
                    .set_response_timeout(None);
                client.get_multiplexed_async_connection_with_config(&config).await.map(Connection::Single)
            }
            #[cfg(feature = "redis-cluster")]
            Target::Cluster(client) => client.get_async_connection().await.map(Connection::Cluster),
        }
    }
}

/// Hands out the connection.
pub(crate) struct Link {
    target: Target,
    /// As it was given: links with the same one lead to the same server or cluster.
    address: String,
    state: Mutex<State>,
    /// Counts the changes of `state`.
    changes: watch::Sender<u64>,
}

struct State {
    phase: Phase,
    /// The number of the connection, so that a late complaint about an old one breaks no new one.
    number: u64,
    /// Calls without an answer since the last one that had one.
    silent: u32,
    /// The pause after the next failure.
    pause: Duration,
}

enum Phase {
    Idle,
    Connecting,
    Up(Connection),
    Failed { error: RedisError, until: Instant },
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = match self.state().phase {
            Phase::Idle => "idle",
            Phase::Connecting => "connecting",
            Phase::Up(_) => "up",
            Phase::Failed { .. } => "failed",
        };
        f.debug_struct("Link").field("phase", &phase).finish_non_exhaustive()
    }
}

impl Link {
    pub(crate) fn new((target, address): (Target, String)) -> Arc<Self> {
        let state = State { phase: Phase::Idle, number: 0, silent: 0, pause: FIRST_PAUSE };
        Arc::new(Link { target, address, state: Mutex::new(state), changes: watch::Sender::new(0) })
    }

    pub(crate) fn is_cluster(&self) -> bool {
        !matches!(self.target, Target::Single(_))
    }

    /// Whether a command may as well be sent over the other.
    pub(super) fn leads_where(&self, other: &Link) -> bool {
        self.is_cluster() == other.is_cluster() && self.address == other.address
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection and its number. Waits while one is being made; fails at once during a pause.
    pub(crate) async fn connection(self: &Arc<Self>) -> Result<(Connection, u64), SharedError> {
        loop {
            let mut changed = {
                let mut state = self.state();
                match &state.phase {
                    Phase::Up(connection) => return Ok((connection.clone(), state.number)),
                    Phase::Failed { error, until } if Instant::now() < *until => {
                        return Err(SharedError::Unreachable(error.clone()));
                    }
                    Phase::Connecting => {}
                    Phase::Idle | Phase::Failed { .. } => {
                        state.phase = Phase::Connecting;
                        drop(tokio::spawn(Arc::clone(self).connect()));
                    }
                }
                self.changes.subscribe()
            };
            // The sender lives as long as `self`.
            let _ = changed.changed().await;
            if let Phase::Failed { error, .. } = &self.state().phase {
                return Err(SharedError::Unreachable(error.clone()));
            }
        }
    }

    /// A task of its own: a call that gives up waiting does not end the attempt.
    async fn connect(self: Arc<Self>) {
        let attempt = Attempt(self);
        let result = match tokio::time::timeout(CONNECT_TIMEOUT, attempt.0.target.connect()).await {
            Ok(result) => result,
            Err(_) => Err((redis::ErrorKind::Io, "connecting took too long").into()),
        };
        attempt.0.finish(result);
    }

    fn finish(&self, result: RedisResult<Connection>) {
        let mut state = self.state();
        match result {
            Ok(connection) => {
                state.number += 1;
                state.silent = 0;
                state.pause = FIRST_PAUSE;
                state.phase = Phase::Up(connection);
            }
            Err(error) => {
                let until = Instant::now() + jittered(state.pause);
                state.pause = (state.pause * 2).min(LONGEST_PAUSE);
                state.phase = Phase::Failed { error, until };
            }
        }
        drop(state);
        self.changes.send_modify(|count| *count += 1);
    }

    /// Call `number`'s connection answered.
    pub(crate) fn answered(&self, number: u64) {
        let mut state = self.state();
        if state.number == number {
            state.silent = 0;
        }
    }

    /// A call on connection `number` got no answer in time.
    pub(crate) fn silent(&self, number: u64) {
        let mut state = self.state();
        if state.number == number {
            state.silent += 1;
            if state.silent >= SILENT_CALLS && matches!(state.phase, Phase::Up(_)) {
                state.phase = Phase::Idle;
            }
        }
    }

    /// Connection `number` is broken: the next call makes a new one. That of a cluster mends itself when one node is lost, and
    /// is given up only when nobody answers.
    pub(crate) fn broken(&self, number: u64) {
        if self.is_cluster() {
            return self.silent(number);
        }
        let mut state = self.state();
        if state.number == number && matches!(state.phase, Phase::Up(_)) {
            state.phase = Phase::Idle;
        }
    }
}

/// An attempt to connect. If its runtime ends before it does, the next call begins another.
struct Attempt(Arc<Link>);

impl Drop for Attempt {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if matches!(state.phase, Phase::Connecting) {
            state.phase = Phase::Idle;
            drop(state);
            self.0.changes.send_modify(|count| *count += 1);
        }
    }
}

/// Between a half and the whole of `pause`, so that many servers do not come back at the same instant.
fn jittered(pause: Duration) -> Duration {
    let random = RandomState::new().hash_one(0_u8);
    let half = pause / 2;
    // The modulus keeps it within `u32`.
    half + half * (random % 1001) as u32 / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_vary_by_at_most_a_half() {
        for _ in 0..100 {
            let pause = jittered(Duration::from_millis(100));
            assert!((50..=100).contains(&pause.as_millis()), "{pause:?}");
        }
    }
}
