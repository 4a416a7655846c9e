//! A proxy that is slow to answer.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Passes everything on to `port`, and each reply back `delay` later. Returns its own port; it ends with the runtime.
pub(crate) async fn slow(port: u16, delay: Duration) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { continue };
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
            tokio::spawn(async move {
                let mut buffer = vec![0; 65536];
                while let Ok(length @ 1..) = from_server.read(&mut buffer).await {
                    tokio::time::sleep(delay).await;
                    if to_client.write_all(&buffer[..length]).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    own
}
