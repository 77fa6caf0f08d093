//! A server that sends a correct flight with a few edits. The edits are encrypted with the right
//! keys, so that they pass the checks of lengths and keys and reach the later rules. The server
//! shares no state with a client: it reads the ClientHello of either client.

use std::mem;

use rustls::crypto::tls13::OkmBlock;
use rustls::crypto::{ActiveKeyExchange, SupportedKxGroup};

use crate::rustls::minimal::protection::Protection;
use crate::rustls::minimal::secrets::{SUITES, Secrets, Side};
use crate::rustls::minimal::{CHANGE_CIPHER_SPEC, CLOSE_NOTIFY, WARNING};
use tlslab_wire::tls::client_hello_reader::extension;
use tlslab_wire::tls::messages::{
    ALERT, APPLICATION_DATA, CERTIFICATE, CERTIFICATE_REQUEST, CERTIFICATE_VERIFY,
    ENCRYPTED_EXTENSIONS, FINISHED, HANDSHAKE, HEADER, KEY_SHARE, KEY_UPDATE, NEW_SESSION_TICKET,
    RECORD, SERVER_HELLO,
};

pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let [_, high, middle, low] = (body.len() as u32).to_be_bytes();
    [&[kind, high, middle, low], body].concat()
}

/// An unencrypted record.
pub fn plain(kind: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    [&[kind, 3, 3, high, low], content].concat()
}

/// The messages of a server after its ServerHello, up to the Finished, in order.
pub const RIGHT: [(u8, &[u8]); 3] = [
    (ENCRYPTED_EXTENSIONS, &[0, 0]),
    (CERTIFICATE, &[0, 0, 0, 6, 0, 0, 1, 9, 0, 0]),
    (CERTIFICATE_VERIFY, &[4, 3, 0, 1, 9]),
];

/// The extension of a ServerHello that resumes the first offered session (RFC 8446, section 4.2.11).
pub const SELECTION: [u8; 6] = [0, 41, 0, 2, 0, 0];

/// The body of a NewSessionTicket: a lifetime of two hours, a number for its age, no nonce, a ticket
/// of one byte, no extensions.
pub const TICKET: [u8; 14] = [0, 0, 28, 32, 1, 2, 3, 4, 0, 0, 1, 7, 0, 0];

/// Offsets of the suite and of the extensions in a ServerHello that repeats a 32-byte session ID.
const SUITE: usize = 2 + 32 + 1 + 32;
const EXTENSIONS: usize = SUITE + 2 + 1;

/// Message types: of the handshake, of the messages after it, of TLS 1.2, and of no version.
pub const MESSAGES: [u8; 14] = [0, 1, 2, 4, 5, 8, 11, 13, 14, 15, 20, 22, 24, 99];

/// Extension numbers: offered ones, ones that servers send in other messages, and GREASE.
pub const NUMBERS: [u16; 16] = [0, 5, 10, 11, 13, 16, 18, 23, 27, 35, 41, 42, 43, 47, 51, 0x3a3a];

/// Extension contents, each valid for one of them.
pub const CONTENTS: [&[u8]; 11] = [
    b"",
    &[0, 0],
    &[0, 1],
    &[3, 4],
    &[0, 3, 2, b'h', b'2'],
    &[0, 9, 8, b'h', b't', b't', b'p', b'/', b'1', b'.', b'1'],
    &[0, 2, 4, 3],
    &[0, 2, 0, 29],
    &[1, 0, 0, 1, 9],
    &[0, 3, 0, 1, 9],
    &[0, 0, 64, 0],
];

/// An edit of the flight.
#[derive(Debug, Clone)]
pub enum Edit {
    /// Edits of a message body, before it enters the transcript.
    Flip(u16, u8),
    Cut(u16),
    Insert(u16, u8),
    Extension(u16, Vec<u8>),
    /// Edits of a message's position among the others.
    Remove,
    Twice,
    Swap,
    Other(u8),
    /// Edits of records: a message in two records, two messages in one record, zero padding, a byte
    /// changed in transit, the version in the header.
    Split(u16),
    Join,
    Pad(u16),
    Spoil(u16, u8),
    Version(u8, u8),
    /// Another record before this one, encrypted if there are keys, or unencrypted.
    Record(bool, u8, Vec<u8>),
}

/// Types and contents of such records.
pub const BETWEEN: [(u8, &[u8]); 11] = [
    (CHANGE_CIPHER_SPEC, &[1]),
    (CHANGE_CIPHER_SPEC, &[2]),
    (ALERT, &[1, 90]),
    (ALERT, &[1, 0]),
    (ALERT, &[2, 40]),
    (ALERT, &[1]),
    (HANDSHAKE, &[]),
    (HANDSHAKE, &[8, 0]),
    (APPLICATION_DATA, &[]),
    (APPLICATION_DATA, b"early"),
    (0, &[]),
];

/// A flight: its optional messages, and its edits, each with the index of a message.
#[derive(Debug, Clone)]
pub struct Script {
    /// Whether the flight resumes the session that the client offers.
    pub resumes: bool,
    pub asks: bool,
    pub tickets: usize,
    pub updates: Vec<u8>,
    pub edits: Vec<(u8, Edit)>,
}

impl Script {
    /// The message types, each with its edits.
    fn parts(&self) -> Vec<Part> {
        let asked: &[u8] = if self.asks { &[CERTIFICATE_REQUEST] } else { &[] };
        let proof: &[u8] = if self.resumes { &[] } else { &[CERTIFICATE, CERTIFICATE_VERIFY] };
        let kinds = [
            &[SERVER_HELLO, ENCRYPTED_EXTENSIONS],
            asked,
            proof,
            &[FINISHED],
            &vec![NEW_SESSION_TICKET; self.tickets][..],
            &vec![KEY_UPDATE; self.updates.len()],
        ]
        .concat();
        let mut parts: Vec<Part> =
            kinds.into_iter().map(|kind| Part { kind, edits: Vec::new() }).collect();
        for (place, edit) in &self.edits {
            if parts.is_empty() {
                break;
            }
            let place = usize::from(*place) % parts.len();
            let next = (place + 1) % parts.len();
            match edit {
                Edit::Remove => drop(parts.remove(place)),
                Edit::Twice => parts.insert(place, parts[place].clone()),
                Edit::Swap => parts.swap(place, next),
                Edit::Other(kind) => parts.insert(place, Part { kind: *kind, edits: Vec::new() }),
                other => parts[place].edits.push(other.clone()),
            }
        }
        parts
    }

    /// A full flight without edits, with one ticket.
    pub fn issuing() -> Self {
        Self { resumes: false, asks: false, tickets: 1, updates: Vec::new(), edits: Vec::new() }
    }

    /// All records of the flight in answer to this ClientHello, followed by one byte of plaintext
    /// and a close_notify; and the PSK of the tickets among them. The server's share is of this
    /// group, X25519. `psk` is that of the offered session, if the script resumes it.
    pub fn records(
        &self,
        hello: &[u8],
        group: &'static dyn SupportedKxGroup,
        psk: Option<OkmBlock>,
    ) -> (Vec<Vec<u8>>, Option<OkmBlock>) {
        let mut server = Server::new(hello, group, psk);
        let mut updates = self.updates.iter();
        for part in self.parts() {
            let asked = if part.kind == KEY_UPDATE { updates.next() } else { None };
            server.say(&part, asked.copied());
        }
        server.flush(&Dress::default());
        server.record(true, APPLICATION_DATA, b"x");
        server.record(true, ALERT, &[WARNING, CLOSE_NOTIFY]);
        (server.records, server.issued)
    }
}

#[derive(Debug, Clone)]
struct Part {
    kind: u8,
    edits: Vec<Edit>,
}

/// The deviations of a record from a plain one.
#[derive(Default)]
struct Dress {
    padding: usize,
    spoiled: Option<(u16, u8)>,
    version: Option<(u8, u8)>,
}

struct Server {
    hello: Vec<u8>,
    exchange: Option<Box<dyn ActiveKeyExchange>>,
    /// The PSK of the session that is resumed.
    psk: Option<OkmBlock>,
    /// The PSK of the tickets.
    issued: Option<OkmBlock>,
    suite: usize,
    secrets: Option<Box<dyn Secrets>>,
    keys: Option<Protection>,
    traffic: Option<OkmBlock>,
    /// Messages that share a record with the next one, and the keys that apply after it.
    waiting: Vec<u8>,
    next: Option<Protection>,
    records: Vec<Vec<u8>>,
}

impl Server {
    /// Answers the ClientHello in this record with a share of this group, which is X25519.
    fn new(hello: &[u8], group: &'static dyn SupportedKxGroup, psk: Option<OkmBlock>) -> Self {
        let exchange = group.start().expect("a key exchange begins");
        Self {
            hello: hello.to_vec(),
            exchange: Some(exchange),
            psk,
            issued: None,
            suite: 0,
            secrets: None,
            keys: None,
            traffic: None,
            waiting: Vec::new(),
            next: None,
            records: Vec::new(),
        }
    }

    /// Sends a message, or a record before it, with the edits.
    fn say(&mut self, part: &Part, asked: Option<u8>) {
        let mut body = self.right_body(part.kind, asked);
        let (mut split, mut joined, mut dress) = (None, false, Dress::default());
        for edit in &part.edits {
            match edit {
                Edit::Flip(at, mask) => {
                    let at = usize::from(*at) % body.len().max(1);
                    body.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= mask);
                }
                Edit::Cut(at) => body.truncate(usize::from(*at) % (body.len() + 1)),
                Edit::Insert(at, byte) => body.insert(usize::from(*at) % (body.len() + 1), *byte),
                Edit::Extension(number, content) => {
                    add_extension(part.kind, &mut body, *number, content);
                }
                Edit::Split(at) => split = Some(usize::from(*at)),
                Edit::Join => joined = true,
                Edit::Pad(length) => dress.padding = usize::from(*length),
                Edit::Spoil(at, mask) => dress.spoiled = Some((*at, *mask)),
                Edit::Version(major, minor) => dress.version = Some((*major, *minor)),
                Edit::Record(sealed, kind, content) => {
                    self.flush(&Dress::default());
                    self.record(*sealed, *kind, content);
                }
                _ => {}
            }
        }
        let message = message(part.kind, &body);
        self.waiting.extend(&message);
        self.keep_up(part.kind, &message);
        if let Some(at) = split {
            let rest = self.waiting.split_off(at % self.waiting.len());
            // Keys change after the complete message.
            let next = self.next.take();
            self.flush(&Dress::default());
            (self.waiting, self.next) = (rest, next);
        }
        if !joined {
            self.flush(&dress);
        }
    }

    /// A valid body for a message of this type at this position.
    fn right_body(&self, kind: u8, asked: Option<u8>) -> Vec<u8> {
        match kind {
            SERVER_HELLO => {
                let share = self.exchange.as_ref().map_or(&[9; 32][..], |own| own.pub_key());
                let psk: &[u8] = if self.psk.is_some() { &SELECTION } else { &[] };
                [
                    &[3, 3][..],
                    &[7; 32],
                    &[32],
                    &self.hello[44..76],
                    &[0x13, 0x01, 0, 0, 46 + psk.len() as u8],
                    psk,
                    &[0, 43, 0, 2, 3, 4, 0, 51, 0, 36, 0, 29, 0, 32],
                    share,
                ]
                .concat()
            }
            FINISHED => self.secrets.as_ref().map_or_else(
                || vec![0; 32],
                |secrets| secrets.finished(Side::Server).as_ref().to_vec(),
            ),
            CERTIFICATE_REQUEST => vec![0, 0, 8, 0, 13, 0, 4, 0, 2, 4, 3],
            NEW_SESSION_TICKET => TICKET.to_vec(),
            KEY_UPDATE => vec![asked.unwrap_or(0)],
            _ => RIGHT.iter().find(|(right, _)| *right == kind).map_or(vec![], |(_, b)| b.to_vec()),
        }
    }

    /// Adds a message to the transcript, and derives the keys that apply after it.
    fn keep_up(&mut self, kind: u8, message: &[u8]) {
        let suite = &SUITES[self.suite];
        match (kind, &mut self.secrets, &mut self.traffic) {
            (SERVER_HELLO, None, _) => {
                let chosen = message.get(4 + SUITE..).and_then(|rest| rest.first_chunk());
                let chosen = chosen.map_or(0, |number| u16::from_be_bytes(*number));
                let place = SUITES.iter().position(|suite| suite.code_point == chosen);
                self.suite = place.unwrap_or(0);
                let shares = extension(&self.hello, KEY_SHARE).unwrap();
                let shared = self.exchange.take().unwrap().complete(&shares[6..38]).unwrap();
                let suite = &SUITES[self.suite];
                let hellos = [&self.hello[HEADER..], message];
                let shared = shared.secret_bytes();
                let secrets = match &self.psk {
                    Some(psk) => suite.resume(&suite.bind(psk, &[]).salt, shared, hellos),
                    None => suite.begin(shared, hellos),
                };
                self.next = suite.protect(secrets.traffic(Side::Server));
                self.secrets = Some(secrets);
            }
            (FINISHED, Some(secrets), traffic @ None) => {
                secrets.add(message);
                let [_, server] = secrets.application();
                self.next = suite.protect(&server);
                *traffic = Some(server);
                // The transcript of a client that sends no certificate.
                let finished = secrets.finished(Side::Client);
                secrets.add(&self::message(FINISHED, finished.as_ref()));
                self.issued = secrets.resumption().map(|secret| suite.psk(&secret, &[]));
            }
            (KEY_UPDATE, _, Some(traffic)) => {
                *traffic = suite.update(traffic);
                self.next = suite.protect(traffic);
            }
            (_, Some(secrets), None) => secrets.add(message),
            _ => {}
        }
    }

    /// Sends the waiting messages in one record.
    fn flush(&mut self, dress: &Dress) {
        let content = mem::take(&mut self.waiting);
        if !content.is_empty() {
            let place = self.records.len();
            let padding = dress.padding.min(RECORD - content.len());
            if padding > 0 && self.keys.is_some() {
                let padded = [&content[..], &[HANDSHAKE], &vec![0; padding - 1]].concat();
                self.record(true, 0, &padded);
            } else {
                self.record(true, HANDSHAKE, &content);
            }
            let record = &mut self.records[place];
            if let Some((at, mask)) = dress.spoiled {
                let at = HEADER + usize::from(at) % (record.len() - HEADER);
                record[at] ^= mask;
            }
            if let Some((major, minor)) = dress.version {
                (record[1], record[2]) = (major, minor);
            }
        }
        if let Some(next) = self.next.take() {
            self.keys = Some(next);
        }
    }

    fn record(&mut self, sealed: bool, kind: u8, content: &[u8]) {
        let record = match &mut self.keys {
            Some(keys) if sealed => {
                let mut record = Vec::new();
                keys.seal(kind, content, &mut record).unwrap();
                record
            }
            _ => plain(kind, content),
        };
        self.records.push(record);
    }
}

/// Appends an extension to a body and corrects the lengths before it. Does nothing if an earlier
/// edit has removed that place.
fn add_extension(kind: u8, body: &mut Vec<u8>, number: u16, content: &[u8]) {
    let at = match kind {
        SERVER_HELLO => EXTENSIONS,
        ENCRYPTED_EXTENSIONS => 0,
        CERTIFICATE_REQUEST => 1,
        CERTIFICATE => 8,
        NEW_SESSION_TICKET => 12,
        _ => return,
    };
    if body.len() < at + 2 {
        return;
    }
    let [high, low] = number.to_be_bytes();
    let length = content.len() as u8;
    body.extend([&[high, low, 0, length], content].concat());
    let all = (body.len() - at - 2) as u16;
    body[at..at + 2].copy_from_slice(&all.to_be_bytes());
    if kind == CERTIFICATE {
        let [_, list @ ..] = (body.len() as u32 - 4).to_be_bytes();
        body[1..4].copy_from_slice(&list);
    }
}
