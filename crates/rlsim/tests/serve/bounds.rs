//! What one client may take up: sockets that do not read, too many of them, and those that never end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rlsim::serve::Bounds;

use crate::server::Running;

fn running(patience: Duration, life: Duration, connections_an_address: usize) -> Running {
    let bounds = Bounds { patience, life, connections_an_address };
    Running::start_with("token-bucket:1/1s,burst=5", |config| config.bounds = bounds)
}

const LONG: Duration = Duration::from_secs(60);

fn send(server: &Running, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).expect("a connection");
    stream.set_read_timeout(Some(LONG)).expect("a timeout");
    // A connection that is closed at once takes nothing.
    let _ = stream.write_all(request.as_bytes());
    stream
}

fn asked(server: &Running, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address)
}

/// Whether a new connection is answered.
fn answers(server: &Running) -> bool {
    let mut start = [0; 12];
    let mut stream = send(server, &asked(server, "/"));
    stream.read_exact(&mut start).is_ok() && start == *b"HTTP/1.1 200"
}

#[test]
fn an_address_has_only_so_many_connections() {
    let server = running(LONG, LONG, 3);
    let mut idle: Vec<_> = (0..3).map(|_| send(&server, &asked(&server, "/"))).collect();
    for stream in &mut idle {
        assert!(stream.read(&mut [0; 12]).is_ok_and(|len| len > 0));
    }
    assert!(!answers(&server));
    drop(idle.pop());
    until(|| answers(&server));
}

/// Each of these would hold its place, and the end of the server, for ever: far more is asked for than sockets hold.
#[test]
fn clients_that_do_not_read_lose_their_places() {
    let mut server = running(Duration::from_millis(300), LONG, 2);
    let pipeline = asked(&server, "/page.js").repeat(3000);
    let silent = [send(&server, &pipeline), send(&server, &pipeline)];
    until(|| answers(&server));
    server.stop();
    drop(silent);
}

#[test]
fn a_connection_does_not_live_for_ever() {
    let server = running(LONG, Duration::from_millis(300), 2);
    let mut stream = send(&server, "");
    let mut answered = 0;
    until(|| {
        let sent = stream.write_all(asked(&server, "/api/policies").as_bytes());
        let len = stream.read(&mut [0; 16384]).unwrap_or(0);
        answered += usize::from(len > 0);
        sent.is_err() || len == 0
    });
    assert!(answered > 0);
}

fn until(mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !done() {
        assert!(Instant::now() < deadline, "never");
        std::thread::yield_now();
    }
}
