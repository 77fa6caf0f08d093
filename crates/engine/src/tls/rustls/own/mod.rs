//! A client of TLS 1.3 of our own, that does full handshakes with one group and no more, for all
//! connections of a run but those that are sampled (`docs/adr/0043`, `0044`).
//!
//! It sends what rustls would send: its ClientHello is a copy of one that rustls made, with a random, a
//! session ID and a key share of its own. It derives all keys, verifies the server's Finished, and reads
//! of the rest what the record needs: suite, group, protocol, scheme of the signature. Certificates and
//! signature are judged by the verifier that rustls has, or, with `--lean`, not looked at. It keeps no
//! tickets. Whatever else there is to TLS (another version, a second ClientHello, resumption, a client's
//! certificate) stays with rustls.

mod authentication;
mod hello;
mod messages;
mod protection;
mod secrets;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::mem;
use std::sync::Arc;

use rustls::crypto::ActiveKeyExchange;
use rustls::crypto::tls13::OkmBlock;

pub use self::authentication::Judge;
pub use self::hello::Template;
use self::protection::{APPLICATION_DATA, Protection, RECORD};
use self::secrets::{Secrets, Suite};
use crate::names::{CipherSuite, SignatureScheme, TlsVersion};
use crate::outcome::Failure;
use crate::spec::Resume;
use crate::tls::{Alpn, EarlyData, HandshakeKind, KeyExchangeGroup, Negotiated};

/// Length of a record's header (RFC 8446, section 5.1).
pub const HEADER: usize = 5;

/// Content types (RFC 8446, section 5.1).
const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;

/// The most that encryption adds to a record's content (RFC 8446, section 5.2).
const EXPANSION: usize = 256;

/// Alerts that end nothing or end orderly (RFC 8446, section 6.1); all others are fatal.
const CLOSE_NOTIFY: u8 = 0;
const USER_CANCELED: u8 = 90;
const FATAL: u8 = 2;

/// What the client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its own ClientHello has not been made.
    Begin,
    ServerHello,
    EncryptedExtensions,
    Certificate,
    CertificateVerify,
    Finished,
    /// The handshake is done.
    Ready,
}

/// What a record was good for.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'r> {
    /// Nothing that concerns the caller.
    Nothing,
    /// Plaintext.
    Plaintext(&'r [u8]),
    /// The server ends the session.
    Closed,
}

/// One connection.
pub struct OwnClient {
    template: Arc<Template>,
    state: State,
    /// The ClientHello, until it is known with which hash the transcript begins.
    hello: Vec<u8>,
    session_id: [u8; 32],
    /// The key exchange, until the server's share is there.
    exchange: Option<Box<dyn ActiveKeyExchange>>,
    suite: Option<&'static Suite>,
    handshake: Option<Box<dyn Secrets>>,
    /// In either direction: how records are protected now.
    sending: Option<Protection>,
    receiving: Option<Protection>,
    /// The client's and the server's traffic secrets, once the handshake is done.
    traffic: Option<[OkmBlock; 2]>,
    /// What has come of a message that is not whole.
    message: Vec<u8>,
    /// The body of the server's Certificate, until it is judged.
    certificate: Vec<u8>,
    /// The server has asked for a certificate.
    is_asked: bool,
    alpn: Option<Alpn>,
    signature_scheme: Option<SignatureScheme>,
    error: Cow<'static, str>,
}

impl OwnClient {
    /// Nothing is sent before [`OwnClient::begin`].
    pub fn new(template: Arc<Template>) -> Self {
        Self {
            template,
            state: State::Begin,
            hello: Vec::new(),
            session_id: [0; 32],
            exchange: None,
            suite: None,
            handshake: None,
            sending: None,
            receiving: None,
            traffic: None,
            message: Vec::new(),
            certificate: Vec::new(),
            is_asked: false,
            alpn: None,
            signature_scheme: None,
            error: "".into(),
        }
    }

    /// Whether the handshake is done.
    pub fn is_ready(&self) -> bool {
        self.state == State::Ready
    }

    /// What went wrong, in words.
    pub fn error(&self) -> &str {
        &self.error
    }

    /// Appends the ClientHello, once.
    pub fn begin(&mut self, outgoing: &mut Vec<u8>) -> Result<(), Failure> {
        if self.state == State::Begin {
            let begin = outgoing.len() + HEADER;
            let exchange = self.template.group.start().ok();
            let exchange = self.or(exchange, "no key can be generated")?;
            let session_id = self.template.append(exchange.pub_key(), outgoing);
            self.session_id = self.or(session_id, "there are no random bytes")?;
            self.exchange = Some(exchange);
            self.hello = outgoing[begin..].to_vec();
            self.state = State::ServerHello;
        }
        Ok(())
    }

    /// Appends plaintext, encrypted.
    pub fn write(&mut self, plaintext: &[u8], outgoing: &mut Vec<u8>) -> Result<(), Failure> {
        plaintext.chunks(RECORD).try_for_each(|part| self.seal(APPLICATION_DATA, part, outgoing))
    }

    /// Takes a whole record, with its header; appends what there is to answer.
    pub fn record<'r>(
        &mut self,
        record: &'r mut [u8],
        outgoing: &mut Vec<u8>,
    ) -> Result<Event<'r>, Failure> {
        let Some((header, body)) = record.split_first_chunk_mut::<HEADER>() else {
            return self.fail("a record without a header");
        };
        let header = *header;
        match (header[0], &mut self.receiving) {
            (APPLICATION_DATA, Some(receiving)) => match receiving.open(header, body) {
                Some((kind, content)) => self.content(kind, content, outgoing),
                None => self.fail("a record that is not authentic"),
            },
            (kind @ (ALERT | HANDSHAKE), None) => self.content(kind, body, outgoing),
            (CHANGE_CIPHER_SPEC, _) if *body == [1] && self.state != State::Ready => {
                Ok(Event::Nothing)
            }
            _ => self.fail("a record of a type that has no place here"),
        }
    }

    fn content<'r>(
        &mut self,
        kind: u8,
        content: &'r [u8],
        outgoing: &mut Vec<u8>,
    ) -> Result<Event<'r>, Failure> {
        match kind {
            // RFC 8446, section 5.1.
            ALERT | APPLICATION_DATA if !self.message.is_empty() => {
                self.fail("a record between the parts of a message")
            }
            APPLICATION_DATA if self.is_ready() => Ok(Event::Plaintext(content)),
            ALERT => match *content {
                // Anybody on the way can have sent what is not encrypted; rustls does likewise.
                [_, CLOSE_NOTIFY] if self.receiving.is_some() => Ok(Event::Closed),
                [_, CLOSE_NOTIFY | USER_CANCELED] => Ok(Event::Nothing),
                [FATAL, alert] => {
                    self.error = "the server sent an alert".into();
                    Err(Failure::Alert(alert))
                }
                _ => self.fail("an alert that only warns, or is none"),
            },
            HANDSHAKE if !content.is_empty() => {
                if self.message.is_empty() {
                    let used = self.messages(content, outgoing)?;
                    self.message.extend_from_slice(&content[used..]);
                } else {
                    let mut begun = mem::take(&mut self.message);
                    begun.extend_from_slice(content);
                    let used = self.messages(&begun, outgoing)?;
                    begun.drain(..used);
                    self.message = begun;
                }
                Ok(Event::Nothing)
            }
            _ => self.fail("a record with a content that has no place here"),
        }
    }

    fn seal(&mut self, kind: u8, content: &[u8], outgoing: &mut Vec<u8>) -> Result<(), Failure> {
        let sealed = self.sending.as_mut().and_then(|keys| keys.seal(kind, content, outgoing));
        self.or(sealed, "a record cannot be encrypted")
    }

    fn or<T>(&mut self, value: Option<T>, error: &'static str) -> Result<T, Failure> {
        if value.is_none() {
            self.error = error.into();
        }
        value.ok_or(Failure::TlsProtocol)
    }

    fn fail<T>(&mut self, error: &'static str) -> Result<T, Failure> {
        self.or(None, error)
    }

    /// What was negotiated, once the handshake is done.
    pub fn facts(&self) -> Negotiated {
        Negotiated {
            version: TlsVersion::Tls13,
            suite: CipherSuite::from_code_point(self.suite.map_or(0, |suite| suite.code_point)),
            group: Some(KeyExchangeGroup::Named(self.template.group.name().into())),
            signature_scheme: self.signature_scheme,
            kind: HandshakeKind::Full,
            hello_retry_request: false,
            alpn: self.alpn,
            client_authenticated: false,
            resumed_by: Resume::None,
            early_data: EarlyData::None,
            authenticated: self.template.judge.is_some(),
            own_client: true,
        }
    }
}

/// The length of the record that these bytes begin with, its header included; `None` while that is
/// unknown, an error when they begin with no record, or with one that is longer than any may be.
pub fn record_length(bytes: &[u8]) -> Result<Option<usize>, Failure> {
    let Some(&[kind, major, _, high, low]) = bytes.first_chunk::<HEADER>() else {
        return Ok(None);
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    let is_record = (CHANGE_CIPHER_SPEC..=APPLICATION_DATA).contains(&kind)
        && major == 3
        && length <= RECORD + EXPANSION;
    is_record.then_some(Some(HEADER + length)).ok_or(Failure::TlsProtocol)
}
