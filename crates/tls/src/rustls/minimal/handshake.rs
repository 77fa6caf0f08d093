//! The handshake and the messages after it (RFC 8446, section 4): the order of messages, and the
//! keys derived from them. About records, this module only knows which keys protect them: see
//! [`Keys`].

use std::mem;
use std::sync::Arc;

use rustls::crypto::ActiveKeyExchange;
use rustls::crypto::tls13::OkmBlock;

use super::authentication::AuthError;
use super::hello::{Answer, ClientHelloTemplate};
use super::protection::Keys;
use super::resumption::{MinimalTicket, Offer};
use super::secrets::{Secrets, Side, Suite};
use crate::{Alpn, EarlyData, HandshakeKind, KeyExchangeGroup, Negotiated, staple};
use tlslab_contract::spec::Resume;
use tlslab_wire::names::{CipherSuite, SignatureScheme, TlsVersion};
use tlslab_wire::outcome::Failure;
use tlslab_wire::reason::Reason;
use tlslab_wire::tls::fault::{
    DECODE_ERROR, DECRYPT_ERROR, Fault, INTERNAL_ERROR, illegal, unexpected,
};
use tlslab_wire::tls::messages::{
    CERTIFICATE, CERTIFICATE_REQUEST, CERTIFICATE_VERIFY, CHANGE_CIPHER_SPEC, ENCRYPTED_EXTENSIONS,
    FINISHED, HANDSHAKE, HEADER, KEY_UPDATE, NEW_SESSION_TICKET, NewSessionTicket, SERVER_HELLO,
    certificate_request, for_each_certificate, new_session_ticket,
};

/// A change_cipher_spec record for middleboxes (RFC 8446, appendix D.4).
pub(super) const FOR_MIDDLE_BOXES: [u8; HEADER + 1] = [CHANGE_CIPHER_SPEC, 3, 3, 0, 1, 1];

/// The length of a message header: type (1 byte) and length (3 bytes).
const MESSAGE_HEADER: usize = 4;

/// The longest accepted message; rustls has the same limit.
pub(super) const LONGEST_MESSAGE: usize = 0xffff;

/// The highest number of consecutive KeyUpdates without plaintext; rustls has the same limit.
pub(super) const KEY_UPDATES: u8 = 32;

/// A Certificate message without certificates, the answer to a CertificateRequest (section 4.4.2).
const NO_CERTIFICATE: [u8; 8] = [CERTIFICATE, 0, 0, 4, 0, 0, 0, 0];

/// The reason if the keys for the next message cannot be derived: it must not be sent unencrypted.
const NO_KEY: Fault = Fault::new(INTERNAL_ERROR, "the server's records cannot be decrypted");

/// The reason if the server's Finished does not match the transcript (section 4.4.4).
const UNFIT: Fault = Fault::new(DECRYPT_ERROR, "the server's Finished does not fit the handshake");

const NO_SERVER_HELLO: Fault = unexpected("a message without a ServerHello before it");

const NO_RANDOM: Fault = Fault::new(INTERNAL_ERROR, "there are no random bytes");

/// The state of the handshake, named by the message that the client expects next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The ClientHello was not created yet.
    Start,
    ServerHello,
    EncryptedExtensions,
    Certificate,
    CertificateVerify,
    Finished,
    /// The handshake is complete.
    Ready,
}

/// A rejected message: the failure class, the alert to send, and the reason.
#[derive(Debug)]
pub struct Refused {
    pub failure: Failure,
    pub alert: u8,
    pub reason: Reason,
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self { failure: fault.into(), alert: fault.alert, reason: fault.into() }
    }
}

impl From<staple::Refused> for Refused {
    fn from(refused: staple::Refused) -> Self {
        let alert = staple::BAD_STATUS_RESPONSE;
        let reason = Reason::alerted("bad_certificate_status_response", &refused.to_string());
        Self { failure: Failure::Certificate, alert, reason }
    }
}

impl From<AuthError> for Refused {
    fn from(AuthError { failure, alert, reason }: AuthError) -> Self {
        Self { failure, alert, reason }
    }
}

/// One handshake, and the state that is needed after it.
pub struct Handshake {
    template: Arc<ClientHelloTemplate>,
    state: State,
    /// The ClientHello, until the suite and with it the transcript hash is known.
    hello: Vec<u8>,
    session_id: [u8; 32],
    /// The key exchange, until the server's share arrives.
    exchange: Option<Box<dyn ActiveKeyExchange>>,
    /// The session to resume, until the ClientHello offers it.
    ticket: Option<MinimalTicket>,
    /// The offered session, until the server has answered.
    offer: Option<Offer>,
    /// Whether the server resumes the offered session.
    is_resumed: bool,
    /// The selected group, once the server has answered.
    group: u16,
    suite: Option<&'static Suite>,
    secrets: Option<Box<dyn Secrets>>,
    /// The traffic secrets of client and server, after the handshake.
    traffic: Option<[OkmBlock; 2]>,
    /// Whether the sessions that the server issues are kept.
    keeps_sessions: bool,
    /// The resumption master secret, after the handshake, if sessions are kept.
    resumption: Option<OkmBlock>,
    /// Issued sessions that were not taken yet.
    sessions: Vec<MinimalTicket>,
    /// The body of the server's Certificate, until it is verified.
    certificate: Vec<u8>,
    /// Whether the server has requested a certificate.
    is_asked: bool,
    /// The length of the OCSP response stapled to the server's own certificate; 0 without a
    /// response, `None` without a certificate.
    stapled: Option<u32>,
    /// Whether the server has been authenticated.
    authenticated: bool,
    /// KeyUpdates since the last plaintext.
    key_updates: u8,
    /// Whether the server has requested a KeyUpdate that was not sent yet.
    owes_key_update: bool,
    /// Whether a NewSessionTicket has arrived since the last question.
    has_ticket: bool,
    alpn: Option<Alpn>,
    signature_scheme: Option<SignatureScheme>,
}

impl Handshake {
    /// A handshake before its ClientHello, with a fresh key share, which offers to resume a session
    /// if there is one.
    pub fn new(
        template: Arc<ClientHelloTemplate>,
        ticket: Option<MinimalTicket>,
    ) -> Result<Self, Failure> {
        let exchange = template.group.start().map_err(|_| Failure::TlsProtocol)?;
        Ok(Self {
            template,
            state: State::Start,
            hello: Vec::new(),
            session_id: [0; 32],
            exchange: Some(exchange),
            ticket,
            offer: None,
            is_resumed: false,
            group: 0,
            suite: None,
            secrets: None,
            traffic: None,
            keeps_sessions: false,
            resumption: None,
            sessions: Vec::new(),
            certificate: Vec::new(),
            is_asked: false,
            stapled: None,
            authenticated: false,
            key_updates: 0,
            owes_key_update: false,
            has_ticket: false,
            alpn: None,
            signature_scheme: None,
        })
    }

    /// The state of the handshake.
    pub fn state(&self) -> State {
        self.state
    }

    /// True if the server has requested a KeyUpdate that was not sent yet.
    pub fn owes_key_update(&self) -> bool {
        self.owes_key_update
    }

    /// Whether a NewSessionTicket has arrived since the last call.
    pub fn took_ticket(&mut self) -> bool {
        mem::take(&mut self.has_ticket)
    }

    /// Keeps the sessions that the server issues.
    pub fn keep_sessions(&mut self) {
        self.keeps_sessions = true;
    }

    /// The sessions that the server has issued since the last call.
    pub fn take_sessions(&mut self) -> Vec<MinimalTicket> {
        mem::take(&mut self.sessions)
    }

    /// Resets the count of KeyUpdates, because plaintext has arrived.
    pub fn got_plaintext(&mut self) {
        self.key_updates = 0;
    }

    /// Appends the ClientHello, once.
    pub fn begin(&mut self, outgoing: &mut Vec<u8>) -> Result<(), Fault> {
        if self.state == State::Start {
            let start = outgoing.len();
            let exchange = self.exchange.as_deref().ok_or(NO_RANDOM)?;
            self.session_id = self.template.append(exchange, outgoing).ok_or(NO_RANDOM)?;
            let ticket = self.ticket.take();
            self.offer = ticket.map(|ticket| self.template.offer(ticket, start, outgoing));
            self.hello = outgoing[start + HEADER..].to_vec();
            self.state = State::ServerHello;
        }
        Ok(())
    }

    /// The ClientHello and its key exchange, which another client continues. `None` before the
    /// ClientHello, after the ServerHello, and if the ClientHello offers a session.
    pub fn give_up_hello(&mut self) -> Option<(&[u8], Box<dyn ActiveKeyExchange>)> {
        let is_open = self.state == State::ServerHello && self.offer.is_none();
        let exchange = self.exchange.take_if(|_| is_open)?;
        Some((&self.hello, exchange))
    }

    /// Sets the keys for an alert in place of the client's last flight, if the server's share has
    /// arrived.
    pub fn prepare_alert(&self, keys: &mut Keys, outgoing: &mut Vec<u8>) {
        if let (None, Some(suite), Some(secrets)) = (&keys.sending, self.suite, &self.secrets) {
            outgoing.extend_from_slice(&FOR_MIDDLE_BOXES);
            keys.sending = suite.protect(secrets.traffic(Side::Client));
        }
    }

    /// Processes all complete messages; returns their total length.
    pub fn messages(
        &mut self,
        bytes: &[u8],
        keys: &mut Keys,
        outgoing: &mut Vec<u8>,
    ) -> Result<usize, Refused> {
        let mut used = 0;
        while let Some(&[kind, high, middle, low]) = bytes[used..].first_chunk::<MESSAGE_HEADER>() {
            let length = u32::from_be_bytes([0, high, middle, low]) as usize;
            if length > LONGEST_MESSAGE {
                return Err(Fault::from("a message of more than 64 KiB").into());
            }
            let Some(message) = bytes[used..].get(..MESSAGE_HEADER + length) else { break };
            used += message.len();
            let before = self.state;
            self.take(kind, message, keys, outgoing)?;
            // A message before a change of keys must end its record (RFC 8446, section 5.1).
            let changes = kind == KEY_UPDATE || before == State::ServerHello || kind == FINISHED;
            if changes && used < bytes.len() {
                return Err(unexpected("a record that goes on behind a change of keys").into());
            }
        }
        Ok(used)
    }

    /// Processes one message.
    fn take(
        &mut self,
        kind: u8,
        message: &[u8],
        keys: &mut Keys,
        outgoing: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        let body = &message[MESSAGE_HEADER..];
        match (self.state, kind) {
            (State::ServerHello, SERVER_HELLO) => {
                return Ok(self.server_hello(message, body, keys)?);
            }
            (State::EncryptedExtensions, ENCRYPTED_EXTENSIONS) => {
                self.encrypted_extensions(body)?;
                self.state = if self.is_resumed { State::Finished } else { State::Certificate };
            }
            (State::Certificate, CERTIFICATE_REQUEST) if !self.is_asked => {
                certificate_request(body)?;
                self.is_asked = true;
            }
            (State::Certificate, CERTIFICATE) => {
                let mut stapled = None;
                for_each_certificate(body, |_, response| stapled = stapled.or(Some(response)))?;
                // A message is shorter than 4 GiB.
                self.stapled = stapled.map(|response| response.len() as u32);
                match stapled {
                    _ if self.template.authenticator.is_some() => self.certificate = body.to_vec(),
                    None | Some([]) => {}
                    Some(response) => staple::check_form(response)?,
                }
                self.state = State::CertificateVerify;
            }
            (State::CertificateVerify, CERTIFICATE_VERIFY) => {
                self.signature_scheme = Some(self.template.read_scheme(body)?);
                self.authenticate(body)?;
                self.state = State::Finished;
            }
            (State::Finished, FINISHED) => {
                return Ok(self.server_finished(message, body, keys, outgoing)?);
            }
            (State::Ready, NEW_SESSION_TICKET) => {
                self.keep(&new_session_ticket(body)?);
                self.has_ticket = true;
                return Ok(());
            }
            (State::Ready, KEY_UPDATE) => return Ok(self.key_update(body, keys)?),
            _ => return Err(unexpected("a handshake message that has no place here").into()),
        }
        self.secrets()?.add(message);
        Ok(())
    }

    fn server_hello(&mut self, message: &[u8], body: &[u8], keys: &mut Keys) -> Result<(), Fault> {
        let offer = self.offer.take();
        let answer = self.template.read_answer(&self.session_id, offer.as_ref(), body)?;
        let Answer { suite, group, share, is_component, is_resumed } = answer;
        let shared = self.exchange.take().and_then(|exchange| match is_component {
            false => exchange.complete(share).ok(),
            true => exchange.complete_hybrid_component(share).ok(),
        });
        let shared = shared.ok_or(illegal("the server's key share is invalid"))?;
        let (shared, hellos) = (shared.secret_bytes(), [&self.hello[..], message]);
        let secrets = match offer.filter(|_| is_resumed) {
            Some(Offer { salt, authenticated, .. }) => {
                self.is_resumed = true;
                self.authenticated = authenticated;
                suite.resume(&salt, shared, hellos)
            }
            None => suite.begin(shared, hellos),
        };
        keys.receiving = Some(suite.protect(secrets.traffic(Side::Server)).ok_or(NO_KEY)?);
        self.hello = Vec::new();
        self.group = group;
        self.suite = Some(suite);
        self.secrets = Some(secrets);
        self.state = State::EncryptedExtensions;
        Ok(())
    }

    fn encrypted_extensions(&mut self, body: &[u8]) -> Result<(), Fault> {
        self.alpn = self.template.read_extensions(body)?.map(Alpn::of);
        Ok(())
    }

    /// Authenticates the server by its certificates and its signature, if the run requires it.
    fn authenticate(&mut self, proof: &[u8]) -> Result<(), Refused> {
        let certificate = mem::take(&mut self.certificate);
        if self.stapled.is_none() {
            let fault = Fault::new(DECODE_ERROR, "the server has no certificate");
            return Err(Refused { failure: Failure::Certificate, ..fault.into() });
        }
        let Some(authenticator) = &self.template.authenticator else { return Ok(()) };
        let secrets = self.secrets.as_ref().ok_or(NO_SERVER_HELLO)?;
        authenticator.authenticate(&certificate, proof, &secrets.so_far())?;
        self.authenticated = true;
        Ok(())
    }

    /// Verifies the server's Finished and answers with the client's.
    fn server_finished(
        &mut self,
        message: &[u8],
        body: &[u8],
        keys: &mut Keys,
        outgoing: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        if !self.secrets.as_ref().is_some_and(|own| own.is_finished(Side::Server, body)) {
            return Err(UNFIT);
        }
        let (Some(mut secrets), Some(suite)) = (self.secrets.take(), self.suite) else {
            return Err(NO_SERVER_HELLO);
        };
        secrets.add(message);
        let traffic = secrets.application();
        outgoing.extend_from_slice(&FOR_MIDDLE_BOXES);
        keys.sending = suite.protect(secrets.traffic(Side::Client));
        let none: &[u8] = if self.is_asked { &NO_CERTIFICATE } else { &[] };
        secrets.add(none);
        let content = secrets.finished(Side::Client);
        let content = content.as_ref();
        let (before, length) = (none.len() + MESSAGE_HEADER, content.len());
        let mut flight = [0; NO_CERTIFICATE.len() + MESSAGE_HEADER + OkmBlock::MAX_LEN];
        flight[..none.len()].copy_from_slice(none);
        flight[none.len()..before].copy_from_slice(&[FINISHED, 0, 0, length as u8]);
        flight[before..before + length].copy_from_slice(content);
        keys.seal(HANDSHAKE, &flight[..before + length], outgoing)?;
        if self.keeps_sessions {
            secrets.add(&flight[none.len()..before + length]);
            self.resumption = secrets.resumption();
        }
        keys.sending = suite.protect(&traffic[0]);
        keys.receiving = Some(suite.protect(&traffic[1]).ok_or(NO_KEY)?);
        self.traffic = Some(traffic);
        self.state = State::Ready;
        Ok(())
    }

    /// Keeps an issued session, if sessions are kept and a later ClientHello can offer it.
    fn keep(&mut self, ticket: &NewSessionTicket<'_>) {
        let (Some(suite), Some(secret)) = (self.suite, &self.resumption) else { return };
        let session = MinimalTicket::new(suite, secret, ticket, self.authenticated);
        self.sessions.extend(session.filter(|session| self.template.can_offer(session)));
    }

    /// Changes to the server's next keys and, if the server requests it, to the client's next keys
    /// with the next plaintext (RFC 8446, section 4.6.3).
    fn key_update(&mut self, body: &[u8], keys: &mut Keys) -> Result<(), Fault> {
        self.key_updates += 1;
        if self.key_updates > KEY_UPDATES {
            return Err(unexpected("one KeyUpdate after the other"));
        }
        match body {
            [0] => {}
            [1] => self.owes_key_update = true,
            [_] => return Err(illegal("a KeyUpdate that asks for something unknown")),
            _ => return Err("a KeyUpdate of a wrong length".into()),
        }
        let (Some(suite), Some([_, server])) = (self.suite, &mut self.traffic) else {
            return Err(NO_KEY);
        };
        *server = suite.update(server);
        keys.receiving = Some(suite.protect(server).ok_or(NO_KEY)?);
        Ok(())
    }

    /// Changes to the client's next keys (RFC 8446, section 4.6.3).
    pub fn renew(&mut self, keys: &mut Keys, outgoing: &mut Vec<u8>) -> Result<(), Fault> {
        keys.seal(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0], outgoing)?;
        let (Some(suite), Some([client, _])) = (self.suite, &mut self.traffic) else {
            return Err(NO_KEY);
        };
        self.owes_key_update = false;
        *client = suite.update(client);
        keys.sending = suite.protect(client);
        Ok(())
    }

    fn secrets(&mut self) -> Result<&mut dyn Secrets, Fault> {
        match &mut self.secrets {
            Some(secrets) => Ok(&mut **secrets),
            None => Err(NO_SERVER_HELLO),
        }
    }

    /// The negotiated facts, after the handshake.
    pub fn facts(&self) -> Negotiated {
        Negotiated {
            version: TlsVersion::Tls13,
            suite: CipherSuite::from_code_point(self.suite.map_or(0, |suite| suite.code_point)),
            group: Some(KeyExchangeGroup::Named(self.group)),
            signature_scheme: self.signature_scheme,
            kind: if self.is_resumed { HandshakeKind::Resumed } else { HandshakeKind::Full },
            hello_retry_request: false,
            alpn: self.alpn,
            client_authenticated: false,
            resumed_by: if self.is_resumed { Resume::Psk } else { Resume::None },
            early_data: EarlyData::None,
            ocsp_response_bytes: self.stapled.unwrap_or_default(),
            authenticated: self.authenticated,
            minimal_client: true,
        }
    }
}

/// Access for tests.
#[cfg(test)]
impl Handshake {
    /// The traffic secrets of client and server, after the handshake.
    pub fn traffic(&self) -> Option<&[OkmBlock; 2]> {
        self.traffic.as_ref()
    }

    /// Sets whether the server counts as authenticated.
    pub fn set_authenticated(&mut self, authenticated: bool) {
        self.authenticated = authenticated;
    }

    /// The session ID of the ClientHello.
    pub fn session_id(&self) -> [u8; 32] {
        self.session_id
    }

    /// The client's key share, until the server's share arrives.
    pub fn share(&self) -> Option<&[u8]> {
        self.exchange.as_ref().map(|exchange| exchange.pub_key())
    }

    /// Checks that the body of a ServerHello answers the ClientHello.
    pub fn may_answer(&self, body: &[u8]) -> Result<(), Fault> {
        self.template.read_answer(&self.session_id, self.offer.as_ref(), body).map(|_| ())
    }
}
