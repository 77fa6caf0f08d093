//! The minimal TLS 1.3 client. It makes full handshakes and resumptions by PSK, for all connections
//! of a run except the sampled ones (`docs/adr/0043`).
//!
//! The minimal client sends what rustls would send: its ClientHello is a copy of one that rustls
//! made, with its own random, session ID and key share. It derives all keys, verifies the server's
//! Finished, and reads the facts for the record: suite, group, protocol, signature scheme. The
//! verifier of rustls checks certificates and signature; with `--lean`, they are not checked. All
//! other features of TLS (other versions, a second ClientHello, early data, client certificates) are
//! left to rustls, which can continue a connection after its ClientHello (`rustls/handover.rs`).

mod authentication;
mod handshake;
mod hello;
#[cfg(any(test, fuzzing))]
pub mod invariants;
mod protection;
mod resumption;
mod secrets;
#[cfg(test)]
mod tests;

use std::mem;
use std::sync::Arc;

use rustls::crypto::ActiveKeyExchange;

pub use self::authentication::ServerAuthenticator;
pub use self::handshake::State;
use self::handshake::{Handshake, Refused};
pub use self::hello::ClientHelloTemplate;
use self::protection::Keys;
pub use self::resumption::MinimalTicket;
use crate::Negotiated;
use tlslab_wire::outcome::{Failure, Step};
use tlslab_wire::reason::Reason;
pub use tlslab_wire::tls::fault::INTERNAL_ERROR;
use tlslab_wire::tls::fault::{Fault, ILLEGAL_PARAMETER, illegal, unexpected};
use tlslab_wire::tls::messages::{
    ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE, HEADER, RECORD, record_length,
};

/// Alerts that end no session with an error (RFC 8446, section 6.1), and the levels of alerts.
const CLOSE_NOTIFY: u8 = 0;
const USER_CANCELED: u8 = 90;
const WARNING: u8 = 1;
const FATAL: u8 = 2;

/// The highest number of warning alerts and middlebox records; rustls has the same limit.
const WARNINGS: u8 = 4;
const CHANGE_CIPHER_SPECS: u8 = 2;

/// The effect of a record on the caller.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'r> {
    /// No effect on the caller.
    Nothing,
    /// Plaintext, in the record.
    Plaintext(&'r [u8]),
    /// Plaintext of this length, at the start of the room.
    Read(usize),
    /// The server has ended the session.
    Closed,
}

/// One connection: its records, and the handshake that they carry.
pub struct MinimalClient {
    handshake: Handshake,
    keys: Keys,
    /// The received part of an incomplete message.
    message: Vec<u8>,
    /// Whether a record was decrypted: from then on no record may be unencrypted.
    has_decrypted: bool,
    /// The number of warning alerts and middlebox records.
    warnings: u8,
    change_cipher_specs: u8,
    /// The server's fault: the alert to send, and the reason.
    fault: Option<(u8, Reason)>,
    /// Whether an alert was sent: nothing may follow it.
    has_ended: bool,
}

impl MinimalClient {
    /// A client with a fresh key share, which sends nothing before [`MinimalClient::begin`]. With a
    /// session, it offers to resume that session.
    pub fn new(
        template: Arc<ClientHelloTemplate>,
        ticket: Option<MinimalTicket>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            handshake: Handshake::new(template, ticket)?,
            keys: Keys::default(),
            message: Vec::new(),
            has_decrypted: false,
            warnings: 0,
            change_cipher_specs: 0,
            fault: None,
            has_ended: false,
        })
    }

    /// True if the handshake is complete.
    pub fn is_ready(&self) -> bool {
        self.handshake.state() == State::Ready
    }

    /// Whether a NewSessionTicket has arrived since the last call.
    pub fn took_ticket(&mut self) -> bool {
        self.handshake.took_ticket()
    }

    /// See [`Handshake::give_up_hello`]. `None` as well if a record was processed.
    pub fn give_up_hello(&mut self) -> Option<(&[u8], Box<dyn ActiveKeyExchange>)> {
        let is_first = self.message.is_empty() && self.warnings + self.change_cipher_specs == 0;
        if is_first { self.handshake.give_up_hello() } else { None }
    }

    /// Keeps the sessions that the server issues.
    pub fn keep_sessions(&mut self) {
        self.handshake.keep_sessions();
    }

    /// The sessions that the server has issued since the last call.
    pub fn take_sessions(&mut self) -> Vec<MinimalTicket> {
        self.handshake.take_sessions()
    }

    /// The reason of the failure, if any.
    pub fn reason(&self) -> Option<Reason> {
        self.fault.as_ref().map(|(_, reason)| reason.clone())
    }

    /// Appends a fatal alert, once (RFC 8446, section 6.2), encrypted as soon as there are keys.
    pub fn end_with(&mut self, alert: u8, outgoing: &mut Vec<u8>) {
        if mem::replace(&mut self.has_ended, true) || self.handshake.state() == State::Start {
            return;
        }
        self.handshake.prepare_alert(&mut self.keys, outgoing);
        let content = [FATAL, alert];
        match &mut self.keys.sending {
            // Without a sending key no alert can be sent.
            Some(sending) => drop(sending.seal(ALERT, &content, outgoing)),
            None => outgoing.extend([&[ALERT, 3, 3, 0, 2], &content[..]].concat()),
        }
    }

    /// The length of the record at the start of these bytes, if known.
    pub fn record_length(
        &mut self,
        bytes: &[u8],
        outgoing: &mut Vec<u8>,
    ) -> Result<Option<usize>, Failure> {
        let length = record_length(bytes).or_else(|fault| self.fail(fault));
        if length.is_err() {
            self.say_why(outgoing);
        }
        length
    }

    /// Sends the alert for the server's fault.
    fn say_why(&mut self, outgoing: &mut Vec<u8>) {
        if let Some((alert, _)) = self.fault {
            self.end_with(alert, outgoing);
        }
    }

    /// Appends the ClientHello, once.
    pub fn begin(&mut self, outgoing: &mut Vec<u8>) -> Result<(), Failure> {
        self.handshake.begin(outgoing).or_else(|fault| self.fail(fault))
    }

    /// Appends encrypted plaintext, preceded by a requested KeyUpdate: a single one, even if the
    /// server has requested several (RFC 8446, section 4.6.3).
    pub fn write(&mut self, plaintext: &[u8], outgoing: &mut Vec<u8>) -> Result<(), Failure> {
        if self.handshake.owes_key_update() || self.keys.is_worn() {
            self.renew(outgoing)?;
        }
        plaintext.chunks(RECORD).try_for_each(|part| self.seal(APPLICATION_DATA, part, outgoing))
    }

    /// Appends a close_notify.
    pub fn close(&mut self, outgoing: &mut Vec<u8>) -> Result<(), Failure> {
        self.seal(ALERT, &[WARNING, CLOSE_NOTIFY], outgoing)
    }

    /// Processes a complete record, including its header. Appends the answer, which may be an
    /// alert.
    #[cfg(any(test, fuzzing))]
    pub fn record<'r>(
        &mut self,
        record: &'r mut [u8],
        outgoing: &mut Vec<u8>,
    ) -> Result<Event<'r>, Failure> {
        self.record_into(record, &mut [], outgoing)
    }

    /// As [`Self::record`]. A record for which there is room is decrypted into the room, which saves
    /// a copy of the plaintext.
    pub fn record_into<'r>(
        &mut self,
        record: &'r mut [u8],
        room: &mut [u8],
        outgoing: &mut Vec<u8>,
    ) -> Result<Event<'r>, Failure> {
        let taken = self.take_record(record, room, outgoing);
        if taken.is_err() {
            self.say_why(outgoing);
        }
        taken
    }

    fn take_record<'r>(
        &mut self,
        record: &'r mut [u8],
        room: &mut [u8],
        outgoing: &mut Vec<u8>,
    ) -> Result<Event<'r>, Failure> {
        let Some((header, body)) = record.split_first_chunk_mut::<HEADER>() else {
            return self.fail(Fault::from("a record without a header"));
        };
        let header = *header;
        match (header[0], &mut self.keys.receiving) {
            (APPLICATION_DATA, Some(receiving)) if room.len() >= body.len() => {
                match receiving.open_into(header, body, room) {
                    Ok((kind, length)) => {
                        self.has_decrypted = true;
                        Ok(match self.content(kind, &room[..length], outgoing)? {
                            Event::Plaintext(content) => Event::Read(content.len()),
                            Event::Closed => Event::Closed,
                            Event::Nothing | Event::Read(_) => Event::Nothing,
                        })
                    }
                    Err(fault) => self.fail(fault),
                }
            }
            (APPLICATION_DATA, Some(receiving)) => match receiving.open(header, body) {
                Ok((kind, content)) => {
                    self.has_decrypted = true;
                    self.content(kind, content, outgoing)
                }
                Err(fault) => self.fail(fault),
            },
            (kind @ (ALERT | HANDSHAKE), None) => self.content(kind, body, outgoing),
            // A server that rejects the handshake may have no keys yet.
            (ALERT, Some(_)) if !self.has_decrypted => self.content(ALERT, body, outgoing),
            (CHANGE_CIPHER_SPEC, _)
                if *body == [1]
                    && self.handshake.state() != State::Ready
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
                self.handshake.got_plaintext();
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
                    // A complete message frees its buffer.
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

    /// The effect of an alert (RFC 8446, section 6). A close_notify ends the session; all others
    /// except user_canceled are errors, whatever their level (section 6.2).
    fn alert(&mut self, content: &[u8]) -> Result<Event<'static>, Failure> {
        let [level, alert] = *content else {
            return self.fail(Fault::from("an alert that is none"));
        };
        if alert == CLOSE_NOTIFY && self.is_ready() && [WARNING, FATAL].contains(&level) {
            return Ok(Event::Closed);
        }
        if alert == CLOSE_NOTIFY && self.keys.receiving.is_none() {
            self.has_ended = true;
            return Err(Failure::Closed(Step::Handshake));
        }
        if level == WARNING && alert == USER_CANCELED {
            self.warnings += 1;
            if self.warnings <= WARNINGS {
                return Ok(Event::Nothing);
            }
            return self.fail(unexpected("one alert that only warns after the other"));
        }
        match level {
            // The server has ended the session: no alert must be sent.
            WARNING | FATAL => self.has_ended = true,
            _ => {
                let fault = illegal("an alert of an unknown level");
                self.fault = Some((ILLEGAL_PARAMETER, fault.into()));
            }
        }
        Err(Failure::Alert(alert))
    }

    fn seal(&mut self, kind: u8, content: &[u8], outgoing: &mut Vec<u8>) -> Result<(), Failure> {
        self.keys.seal(kind, content, outgoing).or_else(|fault| self.fail(fault))
    }

    /// Processes all complete messages; returns their total length.
    fn messages(&mut self, bytes: &[u8], outgoing: &mut Vec<u8>) -> Result<usize, Failure> {
        let taken = self.handshake.messages(bytes, &mut self.keys, outgoing);
        taken.or_else(|refused| self.fail(refused))
    }

    /// Changes to the client's next sending keys.
    fn renew(&mut self, outgoing: &mut Vec<u8>) -> Result<(), Failure> {
        let renewed = self.handshake.renew(&mut self.keys, outgoing);
        renewed.or_else(|fault| self.fail(fault))
    }

    /// Stores the reason why the connection ends; returns the failure.
    fn fail<T>(&mut self, refused: impl Into<Refused>) -> Result<T, Failure> {
        let Refused { failure, alert, reason } = refused.into();
        self.fault = Some((alert, reason));
        Err(failure)
    }

    /// The negotiated facts, after the handshake.
    pub fn facts(&self) -> Negotiated {
        self.handshake.facts()
    }
}
