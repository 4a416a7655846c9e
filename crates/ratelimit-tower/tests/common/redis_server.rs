//! A Redis server of the test's own: on a free loopback port, without persistence.
#![allow(dead_code, reason = "each test that includes it uses a part")]

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running `redis-server`; dropped, it is killed.
pub(crate) struct Server {
    child: Child,
    port: u16,
}

impl Server {
    pub(crate) fn start() -> Server {
        // The port is free when it is looked for and may be taken when the server asks for it.
        for _ in 0..20 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let mut server = Server { child: spawn(port), port };
            if server.came_up() {
                return server;
            }
        }
        panic!("no redis-server came up on a free port");
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Ends the server at once, as a crash does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("the server is ours");
        self.child.wait().expect("the server is ours");
    }

    /// Starts it again on the same port, empty.
    pub(crate) fn revive(&mut self) {
        self.child = spawn(self.port);
        assert!(self.came_up(), "the server came back");
    }

    fn came_up(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline && self.child.try_wait().unwrap().is_none() {
            if self.is_ours().unwrap_or(false) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// Whether the server that answers on the port is this one: until ours has found the port taken, another may answer.
    fn is_ours(&self) -> io::Result<bool> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"INFO server\r\nQUIT\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer.lines().any(|line| line.strip_prefix("process_id:") == Some(&self.child.id().to_string())))
    }
}

fn spawn(port: u16) -> Child {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir"])
        .arg(std::env::temp_dir())
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server is installed")
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
