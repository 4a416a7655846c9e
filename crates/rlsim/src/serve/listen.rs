//! Connections: accepted up to a number, with a bound on every wait for the other side, and let finish at the end.

use std::future::Future;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ratelimit_tower::key::PeerAddr;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tower_service::Service as _;

use super::patient::Patient;
use super::places::Places;
use super::{Bounds, Config, router};
use crate::error::{Error, Result};

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
    bounds: Bounds,
}

impl Server {
    /// Listens; nothing is answered yet.
    ///
    /// # Errors
    /// [`Error::Failed`] if the address cannot be had, [`Error::Usage`] if the policy has no quota to share.
    pub async fn bind(config: &Config) -> Result<Server> {
        let router = router(config)?;
        let failed = |error: std::io::Error| Error::failed(format!("{}: {error}{}", config.address, advice(&error)));
        let listener = TcpListener::bind(config.address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Server { listener, address, router, bounds: config.bounds })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is ready, and then until all answers are out.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let places = Places::new(self.bounds.connections_an_address);
        let (end, ending) = watch::channel(());
        let mut stop = pin!(stop);
        loop {
            let accepted = async {
                let one = places.one().await?;
                Some((self.listener.accept().await, one))
            };
            let next = tokio::select! {
                next = accepted => next,
                () = &mut stop => break,
            };
            match next {
                Some((Ok((stream, peer)), one)) => {
                    // Of an address with too many, it is closed at once.
                    let Some(place) = places.take(one, peer.ip()) else { continue };
                    let served = serve(stream, peer, self.router.clone(), self.bounds, ending.clone());
                    tokio::spawn(async move {
                        served.await;
                        drop(place);
                    });
                }
                // Too many open files, say: wait for some to be closed.
                Some((Err(_), _)) => tokio::time::sleep(Duration::from_millis(50)).await,
                None => break,
            }
        }
        drop(self.listener);
        drop(end);
        let _ = tokio::time::timeout(LONGEST_END, places.all()).await;
    }
}

/// What may help where an address cannot be had.
fn advice(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::AddrInUse | ErrorKind::PermissionDenied => "; another port can be chosen with --port",
        ErrorKind::AddrNotAvailable => "; --host takes an address of this machine",
        _ => "",
    }
}

/// Serves one connection until it ends, has lived long enough, or the server ends; then the answer that is under way is
/// finished. Every request on it is told who its peer is.
async fn serve(stream: TcpStream, peer: SocketAddr, router: Router, bounds: Bounds, mut ending: watch::Receiver<()>) {
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(PeerAddr(peer));
        router.clone().call(request)
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(bounds.patience).max_buf_size(LARGEST_HEAD);
    let stream = TokioIo::new(Patient::new(stream, bounds.patience));
    let mut connection = pin!(builder.serve_connection(stream, service));
    // A connection that broke has nobody to tell.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = tokio::time::sleep(bounds.life) => {}
        _ = ending.changed() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(LONGEST_END, connection).await;
}
