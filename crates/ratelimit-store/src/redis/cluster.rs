//! One command on a cluster: sent again where a node says that it has not executed it, and never otherwise.
//!
//! A command whose connection drops may have been executed: charged again it would be charged twice, and given back twice.
//! So the client library retries nothing, and redirections are followed here.

use redis::aio::ConnectionLike;
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::SingleNodeRoutingInfo;
use redis::{Cmd, ErrorKind, Pipeline, RedisError, RedisResult, ServerErrorKind, Value};

use super::link::{CONNECT_TIMEOUT, tcp};

/// How many redirections a command follows.
const REDIRECTIONS: usize = 3;

pub(crate) fn client(addresses: &[&str]) -> RedisResult<ClusterClient> {
    let builder = ClusterClient::builder(addresses.to_vec()).retries(0).tcp_settings(tcp());
    builder.connection_timeout(CONNECT_TIMEOUT).build()
}

pub(crate) async fn call(connection: &mut ClusterConnection, cmd: &Cmd) -> RedisResult<Value> {
    let mut answer = send(connection, cmd).await;
    for _ in 0..REDIRECTIONS {
        answer = match answer {
            // The connection has begun to ask anew who serves which slot, and waits with commands until it knows.
            Err(error) if is(&error, ServerErrorKind::Moved) => send(connection, cmd).await,
            Err(error) if is(&error, ServerErrorKind::Ask) => asking(connection, cmd, error).await,
            other => return other,
        };
    }
    answer
}

async fn send(connection: &mut ClusterConnection, cmd: &Cmd) -> RedisResult<Value> {
    connection.req_packed_command(cmd).await.and_then(Value::extract_error)
}

/// Sends the command to the node that takes the slot over, which only then knows that this is meant.
async fn asking(connection: &mut ClusterConnection, cmd: &Cmd, error: RedisError) -> RedisResult<Value> {
    let address = error.redirect_node().and_then(|(address, _)| address.rsplit_once(':'));
    let Some((host, Ok(port))) = address.map(|(host, port)| (host.to_owned(), port.parse())) else {
        return Err(error);
    };
    let mut pipeline = Pipeline::with_capacity(2);
    pipeline.add_command(redis::cmd("ASKING")).add_command(cmd.clone());
    let node = SingleNodeRoutingInfo::ByAddress { host, port };
    let answers = connection.route_pipeline(pipeline, 0, 2, node).await?;
    // One for each command.
    answers.into_iter().next_back().unwrap_or(Value::Nil).extract_error()
}

fn is(error: &RedisError, kind: ServerErrorKind) -> bool {
    error.kind() == ErrorKind::Server(kind)
}
