//! A server that answers every ClientHello with a HelloRetryRequest, which RFC 8446 allows once.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use super::{Fault, set_patience};

/// The magic `random` value that marks a HelloRetryRequest (RFC 8446, section 4.1.3).
const RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// Content type of handshake records.
const HANDSHAKE: u8 = 22;

/// The offset of a ClientHello's session ID length: message header, version and random precede it.
const SESSION_ID: usize = 4 + 2 + 32;

/// Asks for P-384 every time.
pub fn forever() -> Fault {
    Arc::new(|mut socket: TcpStream| {
        set_patience(&socket);
        let mut header = [0; 5];
        while socket.read_exact(&mut header).is_ok() {
            let mut record = vec![0; usize::from(u16::from_be_bytes([header[3], header[4]]))];
            if socket.read_exact(&mut record).is_err() {
                return;
            }
            let id = session_id(&record).filter(|_| header[0] == HANDSHAKE);
            if id.is_some_and(|id| socket.write_all(&request(id)).is_err()) {
                return;
            }
        }
    })
}

fn session_id(hello: &[u8]) -> Option<&[u8]> {
    let length = usize::from(*hello.get(SESSION_ID)?);
    hello.get(SESSION_ID..=SESSION_ID + length)
}

/// A HelloRetryRequest in a record. `session_id` includes its length byte.
fn request(session_id: &[u8]) -> Vec<u8> {
    let supported_versions = [0, 43, 0, 2, 3, 4];
    let key_share = [0, 51, 0, 2, 0, 24];
    let suite_and_compression = [0x13, 0x01, 0];
    let hello = [
        &[3, 3][..],
        &RANDOM,
        session_id,
        &suite_and_compression,
        &[0, 12],
        &supported_versions,
        &key_share,
    ]
    .concat();
    let length = u8::try_from(hello.len()).unwrap();
    [&[22, 3, 3, 0, length + 4, 2, 0, 0, length][..], &hello].concat()
}
