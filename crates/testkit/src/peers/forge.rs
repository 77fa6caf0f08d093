//! TLS 1.3 records that no library would send: a correct handshake, then records sealed here.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use openssl::md::Md;
use openssl::pkey::Id;
use openssl::pkey_ctx::{HkdfMode, PkeyCtx};
use openssl::ssl::{SslContextBuilder, SslStream};
use openssl::symm::{Cipher, encrypt_aead};

use super::Fault;
use crate::tls_server::{self, Settings, Version};

/// Inner content types (RFC 8446, section 5.1).
const ALERT: u8 = 21;
pub(super) const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// The label of a server's first application traffic secret in a key log.
const SECRET: &str = "SERVER_TRAFFIC_SECRET_0 ";

/// The records that a server sends repeatedly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgery {
    /// Application data without content.
    Empty,
    /// user_canceled alerts, the only warnings in TLS 1.3.
    Alerts,
    /// KeyUpdates that request one in return.
    KeyUpdates,
    /// NewSessionTickets.
    Tickets,
    /// Application data with an invalid tag.
    Falsified,
    /// Padding only: a record of the highest length without a content type, which RFC 8446 forbids.
    Untyped,
    /// One byte more than a record may contain.
    Overlong,
    /// A handshake message after the handshake.
    Late,
    /// A KeyUpdate with an undefined request value.
    UnknownUpdate,
    /// A truncated NewSessionTicket.
    CutTicket,
}

/// Makes the handshake with TLS_AES_128_GCM_SHA256, then floods the client with such records.
pub fn flood(settings: &Settings, forgery: Forgery) -> Fault {
    let settings = Settings { version: Some(Version::Tls13), ..settings.clone() };
    Arc::new(move |mut socket: TcpStream| {
        let Some((_, mut sealer)) = handshake(&settings, &socket) else { return };
        while socket.write_all(&sealer.records(forgery)).is_ok() {}
    })
}

/// Makes the handshake with TLS_AES_128_GCM_SHA256, sends N NewSessionTickets, and answers one
/// request with these bytes.
pub fn ticketing(settings: &Settings, tickets: usize, answer: Vec<u8>) -> Fault {
    let settings = Settings { version: Some(Version::Tls13), ..settings.clone() };
    Arc::new(move |mut socket: TcpStream| {
        let Some((mut stream, mut sealer)) = handshake(&settings, &socket) else { return };
        let tickets = (0..tickets).flat_map(|_| sealer.one(Forgery::Tickets)).collect::<Vec<_>>();
        if socket.write_all(&tickets).is_ok() && stream.read(&mut [0; 4096]).is_ok() {
            let _ = socket.write_all(&sealer.seal(&answer, APPLICATION_DATA));
            let _ = stream.read(&mut [0; 4096]);
        }
    })
}

/// Makes the handshake on a separate handle. Returns the session, which reads the client's bytes,
/// and a sealer that writes in its place.
pub(super) fn handshake(
    settings: &Settings,
    socket: &TcpStream,
) -> Option<(SslStream<TcpStream>, Sealer)> {
    let mut context = tls_server::context(settings);
    context.set_ciphersuites("TLS_AES_128_GCM_SHA256").unwrap();
    context.set_num_tickets(0).unwrap();
    let secret = note_secret(&mut context, SECRET);
    let session = tls_server::accept_as_it_is(&context.build(), socket.try_clone().unwrap())?;
    let secret = secret.lock().unwrap().take()?;
    Some((session, Sealer::new(secret)))
}

/// The place where the secret with this key-log label is stored, once a session has it.
pub(super) fn note_secret(
    context: &mut SslContextBuilder,
    label: &'static str,
) -> Arc<Mutex<Option<Vec<u8>>>> {
    let secret = Arc::new(Mutex::new(None));
    let noted = Arc::clone(&secret);
    context.set_keylog_callback(move |_, line| {
        if let Some(values) = line.strip_prefix(label) {
            let hex = values.rsplit(' ').next().unwrap();
            *noted.lock().unwrap() = Some(from_hex(hex));
        }
    });
    secret
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|d| u8::from_str_radix(str::from_utf8(d).unwrap(), 16).unwrap()).collect()
}

/// Seals records with the server's keys (RFC 8446, sections 5.2 and 7.3).
pub(super) struct Sealer {
    secret: Vec<u8>,
    sequence: u64,
}

impl Sealer {
    /// A sealer with the keys of this traffic secret, from the first record on.
    pub(super) fn new(secret: Vec<u8>) -> Self {
        Self { secret, sequence: 0 }
    }

    /// Several such records in sequence.
    fn records(&mut self, forgery: Forgery) -> Vec<u8> {
        (0..16).flat_map(|_| self.one(forgery)).collect()
    }

    /// One such record.
    pub(super) fn one(&mut self, forgery: Forgery) -> Vec<u8> {
        match forgery {
            Forgery::Empty => self.seal(&[], APPLICATION_DATA),
            Forgery::Alerts => self.seal(&[1, 90], ALERT),
            Forgery::KeyUpdates => {
                let record = self.seal(&[24, 0, 0, 1, 1], HANDSHAKE);
                self.secret = self.expand("traffic upd", 32);
                self.sequence = 0;
                record
            }
            Forgery::Tickets => self.seal(&ticket(), HANDSHAKE),
            Forgery::Falsified => {
                let mut record = self.seal(b"HTTP/1.1 200 OK\r\n", APPLICATION_DATA);
                *record.last_mut().unwrap() ^= 1;
                record
            }
            Forgery::Untyped => self.seal(&vec![0; 16 * 1024], 0),
            Forgery::Overlong => self.seal(&vec![b'x'; 16 * 1024 + 1], APPLICATION_DATA),
            Forgery::Late => self.seal(&[8, 0, 0, 2, 0, 0], HANDSHAKE),
            Forgery::UnknownUpdate => self.seal(&[24, 0, 0, 1, 9], HANDSHAKE),
            Forgery::CutTicket => self.seal(&[4, 0, 0, 2, 0, 0], HANDSHAKE),
        }
    }

    /// A sealed record.
    pub(super) fn seal(&mut self, content: &[u8], kind: u8) -> Vec<u8> {
        let (key, mut nonce) = (self.expand("key", 16), self.expand("iv", 12));
        for (byte, part) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= part;
        }
        self.sequence += 1;
        let inner = [content, &[kind]].concat();
        let length = u16::try_from(inner.len() + 16).unwrap().to_be_bytes();
        let header = [APPLICATION_DATA, 3, 3, length[0], length[1]];
        let mut tag = [0; 16];
        let cipher = Cipher::aes_128_gcm();
        let sealed = encrypt_aead(cipher, &key, Some(&nonce), &header, &inner, &mut tag).unwrap();
        [&header[..], &sealed, &tag].concat()
    }

    /// HKDF-Expand-Label without a context (RFC 8446, section 7.1).
    fn expand(&self, label: &str, length: u8) -> Vec<u8> {
        let label = format!("tls13 {label}");
        let label_length = u8::try_from(label.len()).unwrap();
        let info = [&[0, length, label_length], label.as_bytes(), &[0]].concat();
        let mut hkdf = PkeyCtx::new_id(Id::HKDF).unwrap();
        hkdf.derive_init().unwrap();
        hkdf.set_hkdf_mode(HkdfMode::EXPAND_ONLY).unwrap();
        hkdf.set_hkdf_md(Md::sha256()).unwrap();
        hkdf.set_hkdf_key(&self.secret).unwrap();
        hkdf.add_hkdf_info(&info).unwrap();
        let mut key = vec![0; usize::from(length)];
        hkdf.derive(Some(&mut key)).unwrap();
        key
    }
}

/// A NewSessionTicket (RFC 8446, section 4.6.1): a lifetime of one day, age_add 0, a nonce of one
/// byte, a ticket of 32 bytes, no extensions.
fn ticket() -> Vec<u8> {
    let body =
        [&86_400_u32.to_be_bytes()[..], &[0; 4], &[1, 0], &[0, 32], &[7; 32], &[0, 0]].concat();
    [&[4, 0, 0, u8::try_from(body.len()).unwrap()][..], &body].concat()
}
