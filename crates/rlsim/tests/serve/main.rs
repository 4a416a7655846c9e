//! `rlsim serve` as a client sees it: over a socket, and (with Chromium) in a browser.

mod api;
mod bounds;
mod browser;
mod http;
mod page;
mod playground;
mod server;
#[cfg(feature = "redis")]
mod shared;
#[cfg(unix)]
mod stop;
