//! Connections: accepted up to a number, with a bound on the time for a request's head, and let finish at the end.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown};
use ratelimit_tower::key::PeerAddr;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tower_service::Service as _;

use super::{Config, router};
use crate::error::{Error, Result};

/// Connections at the same time; further ones wait to be accepted.
const MOST_CONNECTIONS: usize = 512;

/// For the head of a request; an idle connection is closed after it, too.
const LONGEST_HEAD: Duration = Duration::from_secs(10);

/// The most bytes of a request's head.
const LARGEST_HEAD: usize = 64 * 1024;

/// How long open connections may go on after the end.
const LONGEST_END: Duration = Duration::from_secs(20);

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
}

impl Server {
    /// Listens; nothing is answered yet.
    ///
    /// # Errors
    /// [`Error::Failed`] if the address cannot be had, [`Error::Usage`] if the policy has no quota to share.
    pub async fn bind(config: &Config) -> Result<Server> {
        let router = router(config)?;
        let failed = |error: std::io::Error| {
            Error::failed(format!("{}: {error}; another port can be chosen with --port", config.address))
        };
        let listener = TcpListener::bind(config.address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Server { listener, address, router })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is ready, and then until all answers are out.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let graceful = GracefulShutdown::new();
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let mut stop = pin!(stop);
        loop {
            let accepted = async {
                // The semaphore is never closed.
                let place = Arc::clone(&places).acquire_owned().await.ok()?;
                Some((self.listener.accept().await, place))
            };
            let next = tokio::select! {
                next = accepted => next,
                () = &mut stop => break,
            };
            match next {
                Some((Ok((stream, peer)), place)) => {
                    let connection = graceful.watch(connection(stream, peer, self.router.clone()));
                    tokio::spawn(async move {
                        // A connection that broke has nobody to tell.
                        let _ = connection.await;
                        drop(place);
                    });
                }
                // Too many open files, say: wait for some to be closed.
                Some((Err(_), _)) => tokio::time::sleep(Duration::from_millis(50)).await,
                None => break,
            }
        }
        drop(self.listener);
        let _ = tokio::time::timeout(LONGEST_END, graceful.shutdown()).await;
    }
}

/// Serves one connection; every request on it is told who its peer is.
fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
) -> impl GracefulConnection<Error = hyper::Error> + Send + 'static {
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(PeerAddr(peer));
        router.clone().call(request)
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(LONGEST_HEAD).max_buf_size(LARGEST_HEAD);
    builder.serve_connection(TokioIo::new(stream), service)
}
