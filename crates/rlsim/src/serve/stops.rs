//! Being told to stop: by interrupt (Ctrl-C) or terminate.

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Takes these signals over from when it is made on. Where they cannot be had, the server runs until it is killed.
pub(super) struct Stops {
    #[cfg(unix)]
    signals: Vec<Signal>,
}

impl Stops {
    #[cfg(unix)]
    pub(super) fn listen() -> Stops {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
        Stops { signals: kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect() }
    }

    #[cfg(not(unix))]
    pub(super) fn listen() -> Stops {
        Stops {}
    }

    /// Waits for the next of them.
    #[cfg(unix)]
    pub(super) async fn next(&mut self) {
        std::future::poll_fn(|cx| {
            let told = self.signals.iter_mut().any(|signal| signal.poll_recv(cx).is_ready());
            if told { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }

    #[cfg(not(unix))]
    pub(super) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
