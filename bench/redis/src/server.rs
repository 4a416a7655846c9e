//! A Redis of the benchmark's own, and `redis-benchmark` against it.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Dropped, it is killed.
pub struct Server {
    child: Child,
    pub port: u16,
    _dir: tempfile::TempDir,
}

impl Server {
    pub fn start() -> Server {
        // The port may be taken by another before the server asks for it.
        for _ in 0..20 {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let child = Command::new("redis-server")
                .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir"])
                .arg(dir.path())
                .stdout(Stdio::null())
                .spawn()
                .expect("redis-server is installed");
            let mut server = Server { child, port, _dir: dir };
            if server.came_up() {
                return server;
            }
        }
        panic!("no redis-server came up on a free port")
    }

    fn came_up(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline && self.child.try_wait().unwrap().is_none() {
            if self.is_ours() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// Whether the server that answers on the port is this one: until ours has found the port taken, another may answer.
    fn is_ours(&self) -> bool {
        let connection = redis::Client::open(self.url()).unwrap().get_connection();
        let info = connection.and_then(|mut admin| redis::cmd("INFO").arg("server").query::<String>(&mut admin));
        let ours = format!("process_id:{}", self.child.id());
        info.is_ok_and(|info| info.lines().any(|line| line == ours))
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn admin(&self) -> redis::Connection {
        redis::Client::open(self.url()).unwrap().get_connection().unwrap()
    }

    /// Requests a second of `redis-benchmark` on one connection, for clients at random.
    pub fn benchmark(&self, pipeline: u32, clients: u32, requests: u32, command: &[String]) -> f64 {
        let output = Command::new("redis-benchmark")
            .args(["-p", &self.port.to_string(), "-c", "1", "-P", &pipeline.to_string(), "-n", &requests.to_string()])
            .args(["-r", &clients.to_string(), "--csv"])
            .args(command)
            .output()
            .expect("redis-benchmark is installed");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let row = text.lines().last().expect("a row of figures");
        // The command itself may hold commas: the figure is the first of the last seven fields.
        let fields: Vec<&str> = row.rsplitn(8, ',').collect();
        fields[6]
            .trim_matches('"')
            .parse()
            .unwrap_or_else(|_| panic!("expected a figure, got {text} {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// The calls that the server logged as slow, the newest first.
    pub fn slowest(&self) -> Vec<Vec<String>> {
        type Entry = (u64, u64, u64, Vec<Vec<u8>>, redis::Value, redis::Value);
        let entries: Vec<Entry> = redis::cmd("SLOWLOG").arg("GET").query(&mut self.admin()).unwrap();
        let text = |words: Vec<Vec<u8>>| words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        entries.into_iter().map(|(_, _, _, call, ..)| text(call)).collect()
    }

    pub fn reset_stats(&self) {
        redis::cmd("CONFIG").arg("RESETSTAT").exec(&mut self.admin()).unwrap();
    }

    /// Microseconds that the server spent on one EVALSHA, on average since the statistics were reset.
    pub fn cost_of_evalsha(&self) -> f64 {
        let stats: String = redis::cmd("INFO").arg("commandstats").query(&mut self.admin()).unwrap();
        let line = stats.lines().find(|line| line.starts_with("cmdstat_evalsha:")).expect("a call was made");
        let (_, rest) = line.split_once("usec_per_call=").unwrap();
        rest.split(',').next().unwrap().parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
