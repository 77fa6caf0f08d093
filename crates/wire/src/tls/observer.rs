//! Checks a server's unencrypted messages against rules that libraries do not check.
//!
//! The [`Observer`] sees each byte between the socket and the library. A back end checks encrypted
//! messages by [`broken_by_encrypted`], as it gets them from its library.

mod messages;

use std::ops::Range;

pub use self::messages::{Extensions, OF_ENCRYPTED_EXTENSIONS, Offer, broken_by_encrypted, field};
use self::messages::{broken_by_extension, broken_by_old, each};
use super::HELLO_RETRY_REQUEST;
use crate::outcome::{Failure, Step};
use crate::rule::Rule;

/// The levels of alerts, and those that are no errors (RFC 8446, section 6).
const WARNING: u8 = 1;
const FATAL: u8 = 2;
const CLOSE_NOTIFY: u8 = 0;
const USER_CANCELED: u8 = 90;

/// Content types (RFC 8446, section 5.1).
const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// Message types (RFC 8446, section 4; RFC 5246, section 7.4).
const HELLO_REQUEST: u8 = 0;
const SERVER_HELLO: u8 = 2;
const ENCRYPTED_EXTENSIONS: u8 = 8;
const CERTIFICATE: u8 = 11;
const SERVER_KEY_EXCHANGE: u8 = 12;
const CERTIFICATE_REQUEST: u8 = 13;

/// Extensions (IANA, "TLS ExtensionType Values").
const EXTENDED_MASTER_SECRET: u16 = 23;
const PRE_SHARED_KEY: u16 = 41;
const COOKIE: u16 = 44;
const SUPPORTED_VERSIONS: u16 = 43;
const KEY_SHARE: u16 = 51;
const RENEGOTIATION_INFO: u16 = 0xff01;

/// The version of TLS 1.3 in `supported_versions`.
const TLS13: [u8; 2] = [3, 4];

/// The last bytes of a random that signals a downgrade to TLS 1.2, and to an older version.
const SENTINELS: [&[u8]; 2] = [b"DOWNGRD\x01", b"DOWNGRD\x00"];

/// The highest number of HelloRequests during a TLS 1.2 handshake.
const HELLO_REQUESTS: u8 = 32;

/// The highest number of change_cipher_spec records before the ServerHello: as many as rustls and
/// the minimal client take later.
const EARLY_CHANGES: u8 = 2;

/// How many bytes of a message are read: all of a ServerHello and of a chain, unless it is so long
/// that the library refuses it, and the start of the others that have rules.
fn kept_of(kind: u8) -> usize {
    match kind {
        SERVER_HELLO => 16 * 1024,
        CERTIFICATE => 64 * 1024,
        SERVER_KEY_EXCHANGE | CERTIFICATE_REQUEST => 16,
        _ => 0,
    }
}

/// How the server's records are read at this point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing is checked: the ClientHello is unknown.
    Idle,
    /// All records are read.
    Clear,
    /// Nothing is read: the rest is encrypted.
    Over,
}

/// Checks a server's unencrypted bytes.
#[derive(Debug)]
pub struct Observer {
    phase: Phase,
    offered: Extensions,
    offers_tls13: bool,
    offers_older: bool,
    session_id: [u8; 32],
    id_length: usize,
    /// The received bytes of a record header, and the number of missing bytes of the content.
    header: [u8; 5],
    header_length: usize,
    content: usize,
    /// The received bytes of a message, as many as are read of it.
    message: Vec<u8>,
    /// The number of missing bytes of a message whose header has arrived.
    to_come: usize,
    hello_requests: u8,
    /// Whether the ServerHello chose TLS 1.3, and its suite; `None` before it.
    chosen: Option<(bool, u16)>,
    /// The received bytes of an alert.
    alert: [u8; 2],
    /// A warning before the ServerHello. In TLS 1.2 it may be one, in TLS 1.3 it is an error.
    warned: Option<u8>,
    /// The number of change_cipher_spec records before the ServerHello, and where they were in the
    /// bytes that were received last.
    early_changes: u8,
    early: Vec<Range<usize>>,
}

impl Observer {
    /// The state before the ClientHello.
    pub fn new() -> Self {
        Self {
            phase: Phase::Idle,
            offered: Extensions::default(),
            offers_tls13: false,
            offers_older: false,
            session_id: [0; 32],
            id_length: 0,
            header: [0; 5],
            header_length: 0,
            content: 0,
            message: Vec::new(),
            to_come: 0,
            hello_requests: 0,
            chosen: None,
            alert: [0; 2],
            warned: None,
            early_changes: 0,
            early: Vec::new(),
        }
    }

    /// Processes the record of the client's first ClientHello, once it is complete.
    pub fn sent(&mut self, records: &[u8]) {
        if self.phase != Phase::Idle {
            return;
        }
        let Some(offer) = records.get(5..).and_then(Offer::of_client_hello) else { return };
        let id = offer.session_id;
        let Some(place) = self.session_id.get_mut(..id.len()) else { return };
        place.copy_from_slice(id);
        (self.offered, self.offers_tls13) = (offer.extensions, offer.has_tls13);
        (self.offers_older, self.id_length) = (offer.has_older, id.len());
        self.phase = Phase::Clear;
    }

    /// Processes received bytes. Fails with the rule that the server breaks, with an alert that the
    /// library would take for a warning, or with the end of the session.
    ///
    /// Returns the number of bytes for the library, which are moved to the front. Records of the
    /// type change_cipher_spec before a ServerHello of TLS 1.3 are left out: a client must drop
    /// them (RFC 8446, section 5), and libraries do so only after the ServerHello.
    pub fn received(&mut self, received: &mut [u8]) -> Result<usize, Failure> {
        let mut at = 0;
        while self.phase == Phase::Clear && at < received.len() {
            let start = at;
            let bytes = &received[at..];
            if self.content == 0 {
                let used = bytes.len().min(self.header.len() - self.header_length);
                self.header[self.header_length..][..used].copy_from_slice(&bytes[..used]);
                self.header_length += used;
                at += used;
                self.note_early(start..at);
                if self.header_length == self.header.len() {
                    self.header_length = 0;
                    self.record()?;
                }
                continue;
            }
            let now = &bytes[..bytes.len().min(self.content)];
            self.content -= now.len();
            at += now.len();
            match self.header[0] {
                HANDSHAKE => self.handshake(now)?,
                ALERT => self.alert(now)?,
                CHANGE_CIPHER_SPEC if self.is_early() && now != [1] => {
                    return Err(Failure::Rule(Rule::ChangeCipherSpec));
                }
                _ => {}
            }
            self.note_early(start..at);
        }
        Ok(self.without_early(received))
    }

    /// True if the current record is a change_cipher_spec before the ServerHello of a server that
    /// may choose TLS 1.3.
    fn is_early(&self) -> bool {
        self.header[0] == CHANGE_CIPHER_SPEC && self.chosen.is_none() && self.offers_tls13
    }

    /// Notes bytes of the current record, if they are not for the library.
    fn note_early(&mut self, place: Range<usize>) {
        if self.is_early() {
            self.early.push(place);
        }
    }

    /// Moves the bytes for the library to the front; returns their number.
    fn without_early(&mut self, received: &mut [u8]) -> usize {
        let mut length = received.len();
        for place in self.early.drain(..).rev() {
            received.copy_within(place.end..length, place.start);
            length -= place.len();
        }
        length
    }

    /// The alert record for the broken rule, as long as alerts are unencrypted; `None` if the
    /// server itself has ended the session.
    pub fn alert_for(&self, failure: Failure) -> Option<[u8; 7]> {
        match failure {
            Failure::Rule(rule) if self.phase == Phase::Clear => {
                Some([ALERT, 3, 3, 0, 2, FATAL, rule.alert()])
            }
            _ => None,
        }
    }

    /// Notes the end of the handshake: from now on only the library checks.
    pub fn finished(&mut self) {
        self.phase = Phase::Over;
    }

    /// Processes a record header.
    fn record(&mut self) -> Result<(), Rule> {
        let [kind, _, _, high, low] = self.header;
        self.content = usize::from(u16::from_be_bytes([high, low]));
        match kind {
            HANDSHAKE if self.content == 0 => Err(Rule::EmptyRecord),
            HANDSHAKE => Ok(()),
            _ if !self.message.is_empty() => Err(Rule::InterleavedRecord),
            // Before a ServerHello, the library rejects the record, and also a record too short to
            // be encrypted.
            APPLICATION_DATA => {
                (self.phase, self.message) = (Phase::Over, Vec::new());
                Ok(())
            }
            CHANGE_CIPHER_SPEC if self.content != 1 => Err(Rule::ChangeCipherSpec),
            CHANGE_CIPHER_SPEC if self.is_early() => {
                self.early_changes += 1;
                let is_last = self.early_changes > EARLY_CHANGES;
                if is_last { Err(Rule::ChangeCipherSpec) } else { Ok(()) }
            }
            // After this record TLS 1.2 encrypts. In TLS 1.3 it is for middleboxes, and may also
            // follow a HelloRetryRequest.
            CHANGE_CIPHER_SPEC if self.chosen.is_some_and(|(is_tls13, _)| !is_tls13) => {
                (self.phase, self.message) = (Phase::Over, Vec::new());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Processes bytes of an alert. All alerts except two are errors, whatever their level (RFC
    /// 8446, section 6.2), and a close_notify ends the session (section 6.1). In TLS 1.2 a warning
    /// may be one: servers send unrecognized_name in this way (RFC 6066, section 3).
    fn alert(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        for byte in bytes {
            self.alert = [self.alert[1], *byte];
        }
        let [level, alert] = self.alert;
        // The library rejects an alert of another length.
        let is_whole = self.content == 0 && self.header[3..] == [0, 2];
        let is_tls13 = self.chosen.map(|(is_tls13, _)| is_tls13);
        match (is_whole, alert) {
            (true, CLOSE_NOTIFY) if is_tls13.is_none() => Err(Failure::Closed(Step::Handshake)),
            (false, _) | (_, CLOSE_NOTIFY | USER_CANCELED) => Ok(()),
            _ if level != WARNING || is_tls13 == Some(false) => Ok(()),
            _ if is_tls13 == Some(true) || !self.offers_older => Err(Failure::Alert(alert)),
            _ => {
                self.warned = Some(alert);
                Ok(())
            }
        }
    }

    fn handshake(&mut self, mut bytes: &[u8]) -> Result<(), Failure> {
        while !bytes.is_empty() {
            if self.to_come == 0 {
                let used = bytes.len().min(4 - self.message.len());
                self.message.extend_from_slice(&bytes[..used]);
                bytes = &bytes[used..];
                let &[_, high, middle, low] = &self.message[..] else { continue };
                self.to_come = u32::from_be_bytes([0, high, middle, low]) as usize;
                if self.to_come == 0 {
                    self.whole()?;
                }
                continue;
            }
            let (now, rest) = bytes.split_at(bytes.len().min(self.to_come));
            let room = kept_of(self.message[0]).saturating_sub(self.message.len());
            self.message.extend_from_slice(&now[..now.len().min(room)]);
            self.to_come -= now.len();
            bytes = rest;
            if self.to_come == 0 {
                self.whole()?;
            }
        }
        Ok(())
    }

    /// Checks a complete message.
    fn whole(&mut self) -> Result<(), Failure> {
        let message = std::mem::take(&mut self.message);
        let broken = match (message[0], self.chosen) {
            (HELLO_REQUEST, _) => {
                self.hello_requests += 1;
                (self.hello_requests > HELLO_REQUESTS).then_some(Rule::HelloRequest)
            }
            (SERVER_HELLO, _) => self.server_hello(&message)?,
            (_, Some((false, suite))) => broken_by_old(&message, suite),
            _ => None,
        };
        // The next message reuses the memory.
        self.message = message;
        self.message.clear();
        broken.map_or(Ok(()), |rule| Err(rule.into()))
    }

    /// The rule that a ServerHello breaks, if any. The library rejects one that cannot be decoded.
    fn server_hello(&mut self, message: &[u8]) -> Result<Option<Rule>, Failure> {
        let (Some(version), Some(random)) = (message.get(4..6), message.get(6..38)) else {
            return Ok(None);
        };
        let Some((echo, rest)) = field(&message[38..], 1) else { return Ok(None) };
        // Suite and compression method precede the extensions, which TLS 1.2 may omit.
        let list = rest.get(3..).filter(|list| !list.is_empty()).unwrap_or(&[0, 0]);
        let suite = rest.first_chunk().map_or(0, |suite| u16::from_be_bytes(*suite));
        let mut broken = None;
        let mut is_tls13 = false;
        let _ = each(list, |number, _| {
            is_tls13 |= number == SUPPORTED_VERSIONS;
            true
        });
        self.chosen = Some((is_tls13, suite));
        if let Some(alert) = self.warned.filter(|_| is_tls13) {
            return Err(Failure::Alert(alert));
        }
        let is_retry = random == HELLO_RETRY_REQUEST;
        let _ = each(list, |number, content| {
            let extension = (number, content);
            let rule = broken_by_extension(extension, self.offered, is_tls13, is_retry);
            broken = broken.or(rule);
            true
        });
        Ok(if version == TLS13 || (is_tls13 && version != [3, 3]) {
            Some(Rule::LegacyVersion)
        } else if is_tls13 && echo != &self.session_id[..self.id_length] {
            Some(Rule::SessionId)
        } else if !is_tls13 && self.offers_tls13 && SENTINELS.contains(&&random[24..]) {
            Some(Rule::Downgrade)
        } else if !is_tls13 && self.early_changes > 0 {
            Some(Rule::ChangeCipherSpec)
        } else {
            broken
        })
    }
}

impl Default for Observer {
    fn default() -> Self {
        Self::new()
    }
}
