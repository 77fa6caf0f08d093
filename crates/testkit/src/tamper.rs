//! A proxy that falsifies a server's signature in TLS 1.2, where the signature is not encrypted.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;

/// The content type of handshake records, and the type of a ServerKeyExchange (RFC 5246, appendix
/// A).
const HANDSHAKE: u8 = 22;
const SERVER_KEY_EXCHANGE: u8 = 12;

/// Starts a proxy for one connection; returns the proxy's address. The proxy changes the last byte
/// of the server's ServerKeyExchange, which is part of the signature.
pub fn falsify_signature(server: SocketAddr) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let server = TcpStream::connect(server).unwrap();
        let (mut from_client, mut to_server) =
            (client.try_clone().unwrap(), server.try_clone().unwrap());
        let upstream = std::thread::spawn(move || {
            let _ = std::io::copy(&mut from_client, &mut to_server);
            let _ = to_server.shutdown(std::net::Shutdown::Both);
        });
        relay_records(server, client);
        upstream.join().unwrap();
    });
    (address, thread)
}

fn relay_records(mut server: TcpStream, mut client: TcpStream) {
    let mut header = [0; 5];
    while server.read_exact(&mut header).is_ok() {
        let mut record = vec![0; usize::from(u16::from_be_bytes([header[3], header[4]]))];
        if server.read_exact(&mut record).is_err() {
            break;
        }
        if header[0] == HANDSHAKE {
            falsify(&mut record);
        }
        if client.write_all(&[&header[..], &record].concat()).is_err() {
            break;
        }
    }
    let _ = client.shutdown(std::net::Shutdown::Both);
}

/// Changes the ServerKeyExchange among the messages of a record, if there is one.
fn falsify(messages: &mut [u8]) {
    let mut at = 0;
    while let Some(&[kind, a, b, c]) = messages.get(at..at + 4) {
        let end = at + 4 + usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap();
        if kind == SERVER_KEY_EXCHANGE && end <= messages.len() {
            messages[end - 1] ^= 1;
        }
        at = end;
    }
}
