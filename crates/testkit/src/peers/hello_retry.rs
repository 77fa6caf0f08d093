//! Servers that answer ClientHellos with a HelloRetryRequest: one more often than the once that RFC
//! 8446 allows, and one without naming a group.

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
        while let Some(hello) = read_record(&mut socket) {
            let Some(id) = session_id(&hello) else { return };
            if socket.write_all(&request(id)).is_err() {
                return;
            }
        }
    })
}

/// Has these groups. Asks every client without a share of one of them for another ClientHello by a
/// HelloRetryRequest with a cookie and without a group, as RFC 8446 (section 4.1.4) allows; with
/// `always` every client. Ends each connection with its ServerHello, of which nothing but the group
/// is meant, behind a ChangeCipherSpec.
pub fn by_cookie(groups: Vec<u16>, always: bool) -> Fault {
    Arc::new(move |mut socket: TcpStream| {
        const CHANGE: [u8; 6] = [20, 3, 3, 0, 1, 1];
        const HANDSHAKE_FAILURE: [u8; 7] = [21, 3, 3, 0, 2, 2, 40];
        set_patience(&socket);
        for number in 0..2 {
            let Some(hello) = read_record(&mut socket) else { return };
            let Some(id) = session_id(&hello) else { return };
            let shares = shared_groups(&hello);
            let share = shares.iter().find(|group| groups.contains(group));
            let answer = match share {
                Some(group) if number == 1 || !always => {
                    let key = vec![9; 32];
                    let [a, b] = group.to_be_bytes();
                    let share = [&[0, 51, 0, 36, a, b, 0, 32][..], &key].concat();
                    [&CHANGE[..], &hello_of([7; 32], id, &share)].concat()
                }
                _ if number == 0 => hello_of(RANDOM, id, &[0, 44, 0, 3, 0, 1, 7]),
                _ => HANDSHAKE_FAILURE.to_vec(),
            };
            if socket.write_all(&answer).is_err() {
                return;
            }
        }
    })
}

/// The content of the next record of the handshake; others, such as ChangeCipherSpec, are passed over.
fn read_record(socket: &mut TcpStream) -> Option<Vec<u8>> {
    loop {
        let mut header = [0; 5];
        socket.read_exact(&mut header).ok()?;
        let mut record = vec![0; usize::from(u16::from_be_bytes([header[3], header[4]]))];
        socket.read_exact(&mut record).ok()?;
        if header[0] == HANDSHAKE {
            return Some(record);
        }
    }
}

/// The groups of a ClientHello's key shares.
fn shared_groups(hello: &[u8]) -> Vec<u16> {
    let number = |at: usize| usize::from(u16::from_be_bytes([hello[at], hello[at + 1]]));
    let suites = SESSION_ID + 1 + usize::from(hello[SESSION_ID]);
    let compression = suites + 2 + number(suites);
    let mut at = compression + 1 + usize::from(hello[compression]) + 2;
    let mut groups = Vec::new();
    while at + 4 <= hello.len() {
        let (kind, end) = (number(at), at + 4 + number(at + 2));
        let mut share = at + 6;
        while kind == 51 && share + 4 <= end {
            groups.push(number(share) as u16);
            share += 4 + number(share + 2);
        }
        at = end;
    }
    groups
}

fn session_id(hello: &[u8]) -> Option<&[u8]> {
    let length = usize::from(*hello.get(SESSION_ID)?);
    hello.get(SESSION_ID..=SESSION_ID + length)
}

/// A HelloRetryRequest for P-384 in a record. `session_id` includes its length byte.
fn request(session_id: &[u8]) -> Vec<u8> {
    hello_of(RANDOM, session_id, &[0, 51, 0, 2, 0, 24])
}

/// A ServerHello of TLS 1.3 in a record, with this extension.
fn hello_of(random: [u8; 32], session_id: &[u8], extension: &[u8]) -> Vec<u8> {
    let supported_versions = [0, 43, 0, 2, 3, 4];
    let suite_and_compression = [0x13, 0x01, 0];
    let length = u16::try_from(supported_versions.len() + extension.len()).unwrap();
    let hello = [
        &[3, 3][..],
        &random,
        session_id,
        &suite_and_compression,
        &length.to_be_bytes(),
        &supported_versions,
        extension,
    ]
    .concat();
    let length = u8::try_from(hello.len()).unwrap();
    [&[22, 3, 3, 0, length + 4, 2, 0, 0, length][..], &hello].concat()
}
