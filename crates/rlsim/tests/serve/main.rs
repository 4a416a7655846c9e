//! `rlsim serve` as a client sees it: over a socket, and (with Chromium) in a browser.

mod api;
mod bounds;
mod browser;
mod http;
mod page;
mod playground;
#[cfg(unix)]
mod program;
mod server;
#[cfg(feature = "redis")]
mod shared;
