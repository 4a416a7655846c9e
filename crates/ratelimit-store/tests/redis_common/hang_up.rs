//! A node of a cluster that executes each script and hangs up instead of answering.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Its port, and how many scripts it has executed; it ends with the runtime.
pub(crate) async fn node() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let executed = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&executed);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(serve(client, port, Arc::clone(&counter)));
        }
    });
    (port, executed)
}

async fn serve(client: TcpStream, port: u16, executed: Arc<AtomicUsize>) {
    let mut client = BufReader::new(client);
    while let Some(command) = command(&mut client).await {
        let words: Vec<String> = command.iter().map(|word| String::from_utf8_lossy(word).to_uppercase()).collect();
        let answer = match words[0].as_str() {
            "EVALSHA" | "EVAL" => {
                executed.fetch_add(1, Ordering::Relaxed);
                return;
            }
            "CLUSTER" => format!("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n"),
            "PING" => "+PONG\r\n".into(),
            _ => "+OK\r\n".into(),
        };
        if client.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The words of the next command.
async fn command(client: &mut BufReader<TcpStream>) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    for _ in 0..number(client).await? {
        let mut word = vec![0; number(client).await? + 2];
        client.read_exact(&mut word).await.ok()?;
        word.truncate(word.len() - 2);
        words.push(word);
    }
    Some(words)
}

/// The number of a line such as `*3`.
async fn number(client: &mut BufReader<TcpStream>) -> Option<usize> {
    let mut line = String::new();
    client.read_line(&mut line).await.ok()?;
    line.get(1..)?.trim().parse().ok()
}
