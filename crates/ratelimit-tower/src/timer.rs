//! Waiting, without a tie to one runtime.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// A wait that ends by itself.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Starts waits.
pub trait Timer: Send + Sync + 'static {
    /// A future that is ready after so long.
    fn sleep(&self, duration: Duration) -> Sleep;
}

/// The timer of tokio.
#[cfg(feature = "tokio")]
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioTimer;

#[cfg(feature = "tokio")]
impl Timer for TokioTimer {
    fn sleep(&self, duration: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(duration))
    }
}
