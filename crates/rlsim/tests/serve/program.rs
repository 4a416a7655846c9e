//! The program: where it listens, what it does not start with, and how it stops.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

struct Program {
    child: Child,
    said: BufReader<ChildStderr>,
    address: SocketAddr,
}

impl Program {
    fn start(port: &str, words: &[&str]) -> Program {
        let mut child = serve(port, words).stderr(Stdio::piped()).spawn().expect("rlsim runs");
        let mut said = BufReader::new(child.stderr.take().expect("its errors"));
        let line = read_line(&mut said);
        let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address");
        Program { address: address.parse().expect("an address"), child, said }
    }

    fn signal(&self, name: &str) {
        let killed = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(killed.expect("kill runs").success());
    }

    fn line(&mut self) -> String {
        read_line(&mut self.said)
    }

    fn end(&mut self, within: Duration) -> ExitStatus {
        let deadline = Instant::now() + within;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status;
            }
            assert!(Instant::now() < deadline, "it goes on");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It has ended already, or the test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command, with this port in the environment.
fn serve(port: &str, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rlsim"));
    command.arg("serve").args(words).env("PORT", port);
    command
}

fn read_line(said: &mut BufReader<ChildStderr>) -> String {
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    line
}

#[test]
fn it_listens_on_this_machine_alone_and_where_it_is_told() {
    let free = || TcpListener::bind("127.0.0.1:0").and_then(|bound| bound.local_addr()).expect("a port").port();
    assert!(Program::start("0", &[]).address.ip().is_loopback());
    let (port, other) = (free(), free());
    let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    assert_eq!(Program::start(&port.to_string(), &[]).address, address(port));
    assert_eq!(Program::start(&port.to_string(), &["--port", &other.to_string()]).address, address(other));
    let mut open = Program::start("0", &["--host", "0.0.0.0"]);
    assert!(open.address.ip().is_unspecified());
    assert!(open.line().starts_with("others can reach it"));
}

#[test]
fn nonsense_is_told_what_was_expected() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("an address").port().to_string();
    let cases: [(&str, &[&str], i32, &str); 11] = [
        ("http", &[], 2, "expected a port from 0 to 65535"),
        ("", &[], 2, "PORT in the environment"),
        ("65536", &[], 2, "expected a port from 0 to 65535"),
        ("-1", &[], 2, "expected a port from 0 to 65535"),
        (&taken, &[], 1, "another port can be chosen with --port"),
        ("0", &["--host", "203.0.113.1"], 1, "--host takes an address of this machine"),
        ("0", &["--host", "localhost"], 2, "--host"),
        ("0", &["--policy", "nonsense"], 2, "expected the name of an algorithm"),
        ("0", &["--policy", "unlimited"], 2, "expected a policy with a quota"),
        ("0", &["--policy", "fixed-window:1/1s+token-bucket:1/1s"], 2, "expected one policy"),
        ("0", &["--policy", "fixed-window:18446744073709551615/1ns"], 2, "exceeds 999999999999999"),
    ];
    for (port, words, code, expected) in cases {
        let output = serve(port, words).output().expect("rlsim runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(expected), "PORT={port} {words:?}: {said}");
        assert_eq!(output.status.code(), Some(code), "PORT={port} {words:?}: {said}");
    }
    let redis = serve("0", &["--redis", "nonsense"]).output().expect("rlsim runs");
    assert_eq!(redis.status.code(), Some(2), "{}", String::from_utf8_lossy(&redis.stderr));
}

#[test]
fn open_requests_finish_unless_it_is_told_twice() {
    for (first, second) in [("-INT", None), ("-TERM", None), ("-INT", Some("-INT")), ("-TERM", Some("-INT"))] {
        let mut program = Program::start("0", &[]);
        let mut stream = TcpStream::connect(program.address).expect("a connection");
        let head = "POST /api/compare HTTP/1.1\r\nHost: x\r\nContent-Length: 16\r\nExpect: 100-continue\r\n\r\n";
        stream.write_all(head.as_bytes()).expect("sent");
        // It is being answered when its body is asked for.
        let mut asked = [0; 25];
        stream.read_exact(&mut asked).expect("an answer");
        assert_eq!(asked, *b"HTTP/1.1 100 Continue\r\n\r\n");
        program.signal(first);
        assert!(program.line().starts_with("open requests are let finish"));
        match second {
            None => {
                stream.write_all(b"time,client\n1,a\n").expect("sent");
                let mut answer = String::new();
                stream.read_to_string(&mut answer).expect("an answer");
                assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            }
            Some(second) => program.signal(second),
        }
        // Far less than the 20 s that an answer may take.
        assert!(program.end(Duration::from_secs(8)).success());
        assert_eq!(program.line(), "stopped\n");
    }
}
