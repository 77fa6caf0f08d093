//! A server that sends a compressed certificate (RFC 8879) without being asked: small on the wire,
//! 8 MiB when decompressed.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use openssl::ssl::{Ssl, SslStream};

use super::forge::{HANDSHAKE, Sealer, note_secret};
use super::{Fault, set_patience};
use crate::tls_server::{self, Settings, Version};

/// The label of a server's handshake traffic secret in a key log.
const SECRET: &str = "SERVER_HANDSHAKE_TRAFFIC_SECRET ";

/// Content type of encrypted records.
const APPLICATION_DATA: u8 = 23;

/// The decompressed length of the certificate in bytes. Compressed, it is shorter than any client's
/// limit for a certificate message: the client must refuse the decompression.
const UNPACKED: u32 = 8 << 20;

/// The longest run of one byte with a single code in DEFLATE (RFC 1951, section 3.2.5).
const RUN: u32 = 258;

/// Answers with ServerHello, EncryptedExtensions and a CompressedCertificate, then stays silent.
pub fn bomb(settings: &Settings) -> Fault {
    let settings = Settings { version: Some(Version::Tls13), ..settings.clone() };
    Arc::new(move |mut socket: TcpStream| {
        set_patience(&socket);
        let Some((mut flight, mut sealer)) = server_hello(&settings, &socket) else { return };
        flight.extend(sealer.seal(&[8, 0, 0, 2, 0, 0], HANDSHAKE));
        for part in compressed_certificate().chunks(16 * 1024) {
            flight.extend(sealer.seal(part, HANDSHAKE));
        }
        if socket.write_all(&flight).is_ok() {
            while socket.read(&mut [0; 4096]).is_ok_and(|length| length > 0) {}
        }
    })
}

/// The bytes of a correct server before its encrypted records, and a sealer for those records.
fn server_hello(settings: &Settings, socket: &TcpStream) -> Option<(Vec<u8>, Sealer)> {
    let mut context = tls_server::context(settings);
    context.set_ciphersuites("TLS_AES_128_GCM_SHA256").unwrap();
    let secret = note_secret(&mut context, SECRET);
    let kept = Kept { socket: socket.try_clone().unwrap(), flight: Vec::new() };
    let mut stream = SslStream::new(Ssl::new(&context.build()).unwrap(), kept).unwrap();
    // Fails in any case: the flight is never answered.
    let _ = stream.accept();
    let flight = std::mem::take(&mut stream.get_mut().flight);
    let secret = secret.lock().unwrap().take()?;
    let mut length = 0;
    while flight.get(length).is_some_and(|kind| *kind != APPLICATION_DATA) {
        let content = [*flight.get(length + 3)?, *flight.get(length + 4)?];
        length += 5 + usize::from(u16::from_be_bytes(content));
    }
    Some((flight.get(..length)?.to_vec(), Sealer::new(secret)))
}

/// A CompressedCertificate: algorithm zlib, the decompressed length, and compressed zeros (RFC
/// 8879, section 4).
fn compressed_certificate() -> Vec<u8> {
    let packed = zeros();
    let length_of = |bytes: usize| u32::try_from(bytes).unwrap().to_be_bytes()[1..].to_vec();
    let body =
        [&[0, 1][..], &UNPACKED.to_be_bytes()[1..], &length_of(packed.len()), &packed].concat();
    [&[25][..], &length_of(body.len()), &body].concat()
}

/// Zeros compressed by zlib (RFC 1950) in one block with fixed codes (RFC 1951, section 3.2.6): a
/// literal zero, then runs of zeros.
fn zeros() -> Vec<u8> {
    let mut bits = Bits::default();
    bits.push(&[1, 1, 0]);
    bits.push(&[0, 0, 1, 1, 0, 0, 0, 0]);
    for _ in 0..(UNPACKED - 1) / RUN {
        bits.push(&[1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0]);
    }
    bits.push(&[0; 7]);
    let length = 1 + (UNPACKED - 1) / RUN * RUN;
    // Adler-32 of zeros: the second sum is the number of bytes.
    let checksum = (length % 65_521) << 16 | 1;
    [&[0x78, 0x9c][..], &bits.bytes, &checksum.to_be_bytes()].concat()
}

/// Bits packed into bytes, the least significant bit first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    length: usize,
}

impl Bits {
    fn push(&mut self, bits: &[u8]) {
        for bit in bits {
            if self.length.is_multiple_of(8) {
                self.bytes.push(0);
            }
            *self.bytes.last_mut().unwrap() |= bit << (self.length % 8);
            self.length += 1;
        }
    }
}

/// A stream that stores written bytes, and returns nothing more to read after a write.
struct Kept {
    socket: TcpStream,
    flight: Vec<u8>,
}

impl Read for Kept {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.flight.is_empty() {
            self.socket.read(buffer)
        } else {
            Err(io::ErrorKind::Other.into())
        }
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.flight.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
