//! The program is told to stop: once, and what is open is let finish; twice, and it is not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

struct Program {
    child: Child,
    said: BufReader<ChildStderr>,
    address: SocketAddr,
}

impl Program {
    fn start() -> Program {
        let mut child = Command::new(env!("CARGO_BIN_EXE_rlsim"))
            .args(["serve", "--port", "0"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("rlsim runs");
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

fn read_line(said: &mut BufReader<ChildStderr>) -> String {
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    line
}

#[test]
fn open_requests_finish_unless_it_is_told_twice() {
    for (first, second) in [("-INT", None), ("-TERM", None), ("-INT", Some("-INT")), ("-TERM", Some("-INT"))] {
        let mut program = Program::start();
        let mut stream = TcpStream::connect(program.address).expect("a connection");
        // Its end is on the way, for as long as patience lasts.
        stream.write_all(b"GET /api/policies HTTP/1.1\r\nHost: x\r\n").expect("sent");
        let mut other = TcpStream::connect(program.address).expect("a connection");
        other.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").expect("sent");
        other.read_exact(&mut [0; 12]).expect("both are accepted");
        program.signal(first);
        assert!(program.line().starts_with("open requests are let finish"));
        match second {
            None => {
                stream.write_all(b"\r\n").expect("sent");
                let mut answer = String::new();
                stream.read_to_string(&mut answer).expect("an answer");
                assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            }
            Some(second) => program.signal(second),
        }
        // Far less than the patience, which is 10 s.
        assert!(program.end(Duration::from_secs(6)).success());
        assert_eq!(program.line(), "stopped\n");
    }
}
