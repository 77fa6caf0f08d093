//! A client of TLS 1.3 of our own, that does full handshakes with one group and no more, for all
//! connections of a run but those that are sampled (`docs/adr/0043`, `0044`).
//!
//! It sends what rustls would send: its ClientHello is a copy of one that rustls made, with a random, a
//! session ID and a key share of its own. It derives all keys, verifies the server's Finished, and reads
//! of the rest what the record needs: suite, group, protocol, scheme of the signature. Certificates and
//! signature are verified by the verifier that rustls has, or, with `--lean`, not looked at. It keeps no
//! tickets. Whatever else there is to TLS (another version, a second ClientHello, resumption, a client's
//! certificate) stays with rustls.

mod authentication;
mod hello;
#[cfg(any(test, fuzzing))]
pub mod invariants;
mod messages;
mod protection;
mod secrets;
#[cfg(test)]
mod tests;

use std::mem;
use std::sync::Arc;

use rustls::crypto::ActiveKeyExchange;
use rustls::crypto::tls13::OkmBlock;

pub use self::authentication::ServerAuthenticator;
pub use self::hello::ClientHelloTemplate;
use self::messages::FOR_MIDDLE_BOXES;
use self::protection::Protection;
use self::secrets::{Secrets, Side, Suite};
use crate::{Alpn, EarlyData, HandshakeKind, KeyExchangeGroup, Negotiated};
use tlslab_contract::spec::Resume;
use tlslab_wire::names::{CipherSuite, SignatureScheme, TlsVersion};
use tlslab_wire::outcome::Failure;
use tlslab_wire::reason::Reason;
pub use tlslab_wire::tls::fault::INTERNAL_ERROR;
use tlslab_wire::tls::fault::{Fault, ILLEGAL_PARAMETER, illegal, unexpected};
use tlslab_wire::tls::messages::{
    ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE, HEADER, RECORD, record_length,
};

/// Alerts that end nothing or end orderly (RFC 8446, section 6.1), and the levels of alerts.
const CLOSE_NOTIFY: u8 = 0;
const USER_CANCELED: u8 = 90;
const WARNING: u8 = 1;
const FATAL: u8 = 2;

/// How many alerts may only warn, and how many records be there for middle boxes; rustls lets as many in.
const WARNINGS: u8 = 4;
const CHANGE_CIPHER_SPECS: u8 = 2;

const NO_RANDOM: Fault = Fault::new(INTERNAL_ERROR, "there are no random bytes");

/// What the client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Its own ClientHello has not been made.
    Start,
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
pub struct MinimalClient {
    template: Arc<ClientHelloTemplate>,
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
    /// The body of the server's Certificate, until it is verified.
    certificate: Vec<u8>,
    /// The server has asked for a certificate.
    is_asked: bool,
    /// The length of the OCSP response with the server's own certificate, 0 without a response;
    /// `None` without a certificate.
    stapled: Option<u32>,
    /// The server has been authenticated.
    authenticated: bool,
    /// A record has been decrypted: from here on nothing comes unencrypted.
    has_decrypted: bool,
    /// Alerts that only warn, records for middle boxes, and KeyUpdates since the last plaintext.
    warnings: u8,
    change_cipher_specs: u8,
    key_updates: u8,
    /// The server has asked for a KeyUpdate and has not got it.
    owes_key_update: bool,
    alpn: Option<Alpn>,
    signature_scheme: Option<SignatureScheme>,
    /// What the server has done wrong: the alert that it gets, and why.
    fault: Option<(u8, Reason)>,
    /// An alert has been sent: nothing comes behind it.
    has_ended: bool,
}

impl MinimalClient {
    /// Draws its key share, and sends nothing before [`MinimalClient::begin`].
    pub fn new(template: Arc<ClientHelloTemplate>) -> Result<Self, Failure> {
        let exchange = template.group.start().map_err(|_| Failure::TlsProtocol)?;
        Ok(Self {
            template,
            state: State::Start,
            hello: Vec::new(),
            session_id: [0; 32],
            exchange: Some(exchange),
            suite: None,
            handshake: None,
            sending: None,
            receiving: None,
            traffic: None,
            message: Vec::new(),
            certificate: Vec::new(),
            is_asked: false,
            stapled: None,
            authenticated: false,
            has_decrypted: false,
            warnings: 0,
            change_cipher_specs: 0,
            key_updates: 0,
            owes_key_update: false,
            alpn: None,
            signature_scheme: None,
            fault: None,
            has_ended: false,
        })
    }

    /// Whether the handshake is done.
    pub fn is_ready(&self) -> bool {
        self.state == State::Ready
    }

    /// What went wrong.
    pub fn reason(&self) -> Option<Reason> {
        self.fault.as_ref().map(|(_, reason)| reason.clone())
    }

    /// Appends a fatal alert, once (RFC 8446, section 6.2): encrypted, as soon as there are keys.
    pub fn end_with(&mut self, alert: u8, outgoing: &mut Vec<u8>) {
        if mem::replace(&mut self.has_ended, true) || self.state == State::Start {
            return;
        }
        if let (None, Some(suite), Some(secrets)) = (&self.sending, self.suite, &self.handshake) {
            // As in front of the flight whose place the alert takes.
            outgoing.extend_from_slice(&FOR_MIDDLE_BOXES);
            self.sending = suite.protect(secrets.traffic(Side::Client));
        }
        let content = [FATAL, alert];
        match &mut self.sending {
            // Without the key of its direction nothing can be said.
            Some(sending) => drop(sending.seal(ALERT, &content, outgoing)),
            None => outgoing.extend([&[ALERT, 3, 3, 0, 2], &content[..]].concat()),
        }
    }

    /// The length of the record that these bytes begin with, if it is known.
    pub fn record_length(
        &mut self,
        bytes: &[u8],
        outgoing: &mut Vec<u8>,
    ) -> Result<Option<usize>, Failure> {
        let length = self.read(record_length(bytes));
        if length.is_err() {
            self.say_why(outgoing);
        }
        length
    }

    /// Sends the server an alert with what it has done wrong.
    fn say_why(&mut self, outgoing: &mut Vec<u8>) {
        if let Some((alert, _)) = self.fault {
            self.end_with(alert, outgoing);
        }
    }

    /// Appends the ClientHello, once.
    pub fn begin(&mut self, outgoing: &mut Vec<u8>) -> Result<(), Failure> {
        if self.state == State::Start {
            let start = outgoing.len() + HEADER;
            let share = self.exchange.as_ref().map_or(&[][..], |exchange| exchange.pub_key());
            let session_id = self.template.append(share, outgoing);
            self.session_id = self.or(session_id, NO_RANDOM)?;
            self.hello = outgoing[start..].to_vec();
            self.state = State::ServerHello;
        }
        Ok(())
    }

    /// Appends plaintext, encrypted; in front of it the KeyUpdate that the server waits for, one
    /// however often it has asked (RFC 8446, section 4.6.3).
    pub fn write(&mut self, plaintext: &[u8], outgoing: &mut Vec<u8>) -> Result<(), Failure> {
        if self.owes_key_update || self.sending.as_ref().is_some_and(Protection::is_worn) {
            self.renew(outgoing)?;
        }
        plaintext.chunks(RECORD).try_for_each(|part| self.seal(APPLICATION_DATA, part, outgoing))
    }

    /// Appends a close_notify.
    pub fn close(&mut self, outgoing: &mut Vec<u8>) -> Result<(), Failure> {
        self.seal(ALERT, &[WARNING, CLOSE_NOTIFY], outgoing)
    }

    /// Takes a whole record, with its header; appends what there is to answer, be it an alert.
    pub fn record<'r>(
        &mut self,
        record: &'r mut [u8],
        outgoing: &mut Vec<u8>,
    ) -> Result<Event<'r>, Failure> {
        let taken = self.take_record(record, outgoing);
        if taken.is_err() {
            self.say_why(outgoing);
        }
        taken
    }

    fn take_record<'r>(
        &mut self,
        record: &'r mut [u8],
        outgoing: &mut Vec<u8>,
    ) -> Result<Event<'r>, Failure> {
        let Some((header, body)) = record.split_first_chunk_mut::<HEADER>() else {
            return self.fail("a record without a header".into());
        };
        let header = *header;
        match (header[0], &mut self.receiving) {
            (APPLICATION_DATA, Some(receiving)) => match receiving.open(header, body) {
                Ok((kind, content)) => {
                    self.has_decrypted = true;
                    self.content(kind, content, outgoing)
                }
                Err(fault) => self.fail(fault),
            },
            (kind @ (ALERT | HANDSHAKE), None) => self.content(kind, body, outgoing),
            // A server that refuses the handshake may have no keys yet.
            (ALERT, Some(_)) if !self.has_decrypted => self.content(ALERT, body, outgoing),
            (CHANGE_CIPHER_SPEC, _)
                if *body == [1]
                    && self.state != State::Ready
                    && self.message.is_empty()
                    && self.change_cipher_specs < CHANGE_CIPHER_SPECS =>
            {
                self.change_cipher_specs += 1;
                Ok(Event::Nothing)
            }
            _ => self.fail(unexpected("a record of a type that has no place here")),
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
                self.fail(unexpected("a record between the parts of a message"))
            }
            APPLICATION_DATA if self.is_ready() => {
                self.key_updates = 0;
                Ok(Event::Plaintext(content))
            }
            ALERT => self.alert(content),
            HANDSHAKE if !content.is_empty() => {
                if self.message.is_empty() {
                    let used = self.messages(content, outgoing)?;
                    self.message.extend_from_slice(&content[used..]);
                } else {
                    let mut begun = mem::take(&mut self.message);
                    begun.extend_from_slice(content);
                    let used = self.messages(&begun, outgoing)?;
                    // What is whole gives its room back.
                    if used < begun.len() {
                        begun.drain(..used);
                        self.message = begun;
                    }
                }
                Ok(Event::Nothing)
            }
            _ => self.fail(unexpected("a record with a content that has no place here")),
        }
    }

    /// What an alert means (RFC 8446, section 6). What is not encrypted anybody on the way can have
    /// sent: so nothing but the handshake's end makes a close_notify the end of the session. All of
    /// this as rustls has it.
    fn alert(&mut self, content: &[u8]) -> Result<Event<'static>, Failure> {
        let [level, alert] = *content else { return self.fail("an alert that is none".into()) };
        if alert == CLOSE_NOTIFY && self.is_ready() && [WARNING, FATAL].contains(&level) {
            return Ok(Event::Closed);
        }
        // Before it is known which version of TLS it is, there are alerts that only warn.
        if level == WARNING && (alert == USER_CANCELED || self.receiving.is_none()) {
            self.warnings += 1;
            if self.warnings <= WARNINGS {
                return Ok(Event::Nothing);
            }
            return self.fail(unexpected("one alert that only warns after the other"));
        }
        match level {
            // It has ended the session: nobody is left to send to.
            WARNING | FATAL => self.has_ended = true,
            _ => {
                let fault = illegal("an alert of an unknown level");
                self.fault = Some((ILLEGAL_PARAMETER, fault.into()));
            }
        }
        Err(Failure::Alert(alert))
    }

    fn seal(&mut self, kind: u8, content: &[u8], outgoing: &mut Vec<u8>) -> Result<(), Failure> {
        let sealed = self.sending.as_mut().and_then(|keys| keys.seal(kind, content, outgoing));
        self.or(sealed, Fault::new(INTERNAL_ERROR, "a record cannot be encrypted"))
    }

    fn or<T>(&mut self, value: Option<T>, fault: Fault) -> Result<T, Failure> {
        self.read(value.ok_or(fault))
    }

    /// What was read of a message; where that is a fault, the failure that it is.
    fn read<T>(&mut self, read: Result<T, Fault>) -> Result<T, Failure> {
        read.or_else(|fault| self.fail(fault))
    }

    fn fail<T>(&mut self, fault: Fault) -> Result<T, Failure> {
        self.fault = Some((fault.alert, fault.into()));
        Err(fault.into())
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
            ocsp_response_bytes: self.stapled.unwrap_or_default(),
            authenticated: self.authenticated,
            minimal_client: true,
        }
    }
}
