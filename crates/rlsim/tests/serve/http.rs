//! Just enough of an HTTP client.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// A field's value, or nothing.
    pub(crate) fn field(&self, name: &str) -> &str {
        let fields = self.head.lines().filter_map(|line| line.split_once(':'));
        fields.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value.trim())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    request(address, "GET", path, &[], b"")
}

/// One request on a connection of its own.
pub(crate) fn request(address: SocketAddr, method: &str, path: &str, fields: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    for (name, value) in fields {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("Content-Length: {}\r\n\r\n", body.len());
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    stream.write_all(&[head.as_bytes(), body].concat()).expect("sent");
    read(&mut stream)
}

/// Reads as much as the head says: some servers keep the connection open whatever they were asked.
fn read(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let mut block = [0; 4096];
    loop {
        let len = stream.read(&mut block).expect("an answer");
        bytes.extend_from_slice(&block[..len]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            assert!(len > 0, "the answer ends in its head: {:?}", String::from_utf8_lossy(&bytes));
            continue;
        };
        let head = String::from_utf8(bytes[..end].to_vec()).expect("UTF-8");
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        let answer = Answer { status, head, body: bytes[end + 4..].to_vec() };
        let wanted = answer.field("content-length").parse().unwrap_or(usize::MAX);
        if answer.body.len() >= wanted || len == 0 {
            return answer;
        }
    }
}
