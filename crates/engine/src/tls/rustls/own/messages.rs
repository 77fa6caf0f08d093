//! The messages of the handshake and those behind it (RFC 8446, section 4).

use std::mem;

use rustls::crypto::tls13::OkmBlock;

use super::hello::{Answer, for_each_extension};
use super::secrets::{Secrets, Side};
use super::{CHANGE_CIPHER_SPEC, HANDSHAKE, HEADER, OwnClient, State};
use crate::names::SignatureScheme;
use crate::outcome::Failure;
use crate::tls::Alpn;
use crate::tls::rustls::client_hello::split;

/// A change_cipher_spec record, for middle boxes (RFC 8446, appendix D.4).
const FOR_MIDDLE_BOXES: [u8; HEADER + 1] = [CHANGE_CIPHER_SPEC, 3, 3, 0, 1, 1];

/// Handshake messages (RFC 8446, section 4).
pub(super) const SERVER_HELLO: u8 = 2;
pub(super) const NEW_SESSION_TICKET: u8 = 4;
pub(super) const ENCRYPTED_EXTENSIONS: u8 = 8;
pub(super) const CERTIFICATE: u8 = 11;
pub(super) const CERTIFICATE_REQUEST: u8 = 13;
pub(super) const CERTIFICATE_VERIFY: u8 = 15;
pub(super) const FINISHED: u8 = 20;
const KEY_UPDATE: u8 = 24;

/// A message's header: its type, and its length in three bytes.
const MESSAGE_HEADER: usize = 4;

/// The longest message that is let in; rustls has the same bound.
const LONGEST_MESSAGE: usize = 1 << 16;

/// The extension of an application protocol (RFC 7301).
const ALPN: u16 = 16;

/// Without a key for what comes next nothing unencrypted may take its place.
const NO_KEY: &str = "the server's records cannot be decrypted";

impl OwnClient {
    /// Takes all messages that are whole; gives their length.
    pub(super) fn messages(
        &mut self,
        bytes: &[u8],
        outgoing: &mut Vec<u8>,
    ) -> Result<usize, Failure> {
        let mut used = 0;
        while let Some(&[kind, high, middle, low]) = bytes[used..].first_chunk::<MESSAGE_HEADER>() {
            let length = u32::from_be_bytes([0, high, middle, low]) as usize;
            if length > LONGEST_MESSAGE {
                return self.fail("a message of more than 64 KiB");
            }
            let Some(message) = bytes[used..].get(..MESSAGE_HEADER + length) else { break };
            used += message.len();
            let before = self.state;
            self.take(kind, message, outgoing)?;
            // Where keys change, so does the record (RFC 8446, section 5.1).
            let changes = kind == KEY_UPDATE || before == State::ServerHello || kind == FINISHED;
            if changes && used < bytes.len() {
                return self.fail("a record that goes on behind a change of keys");
            }
        }
        Ok(used)
    }

    /// Takes one message.
    fn take(&mut self, kind: u8, message: &[u8], outgoing: &mut Vec<u8>) -> Result<(), Failure> {
        let body = &message[MESSAGE_HEADER..];
        match (self.state, kind) {
            (State::ServerHello, SERVER_HELLO) => return self.server_hello(message, body),
            (State::EncryptedExtensions, ENCRYPTED_EXTENSIONS) => {
                self.encrypted_extensions(body)?;
                self.state = State::Certificate;
            }
            // An empty context, as in every handshake, is what the answer repeats.
            (State::Certificate, CERTIFICATE_REQUEST) if !self.is_asked && !body.is_empty() => {
                if body[0] != 0 {
                    return self.fail("a CertificateRequest with a context");
                }
                self.is_asked = true;
            }
            (State::Certificate, CERTIFICATE) => match body {
                [0, 0, 0, 0] => {
                    self.error = "the server has no certificate".into();
                    return Err(Failure::Certificate);
                }
                [0, _, _, _, ..] => {
                    if self.template.judge.is_some() {
                        self.certificate = body.to_vec();
                    }
                    self.state = State::CertificateVerify;
                }
                _ => return self.fail("a Certificate that is cut short"),
            },
            (State::CertificateVerify, CERTIFICATE_VERIFY) => {
                let scheme =
                    self.or(body.first_chunk(), "a CertificateVerify that is cut short")?;
                let scheme = SignatureScheme::from_code_point(u16::from_be_bytes(*scheme));
                self.signature_scheme = Some(scheme);
                self.authenticate(body)?;
                self.state = State::Finished;
            }
            (State::Finished, FINISHED) => return self.server_finished(message, body, outgoing),
            (State::Ready, NEW_SESSION_TICKET) => return Ok(()),
            (State::Ready, KEY_UPDATE) => return self.key_update(body, outgoing),
            _ => return self.fail("a handshake message that has no place here"),
        }
        self.secrets()?.add(message);
        Ok(())
    }

    fn server_hello(&mut self, message: &[u8], body: &[u8]) -> Result<(), Failure> {
        let Answer { suite, share } = match self.template.read_answer(&self.session_id, body) {
            Ok(answer) => answer,
            Err(error) => return self.fail(error),
        };
        let shared = self.exchange.take().and_then(|exchange| exchange.complete(share).ok());
        let shared = self.or(shared, "the server's key share is invalid")?;
        let secrets = suite.begin(shared.secret_bytes(), [&self.hello, message]);
        let receiving = suite.protect(secrets.traffic(Side::Server));
        self.receiving = Some(self.or(receiving, NO_KEY)?);
        self.hello = Vec::new();
        self.suite = Some(suite);
        self.handshake = Some(secrets);
        self.state = State::EncryptedExtensions;
        Ok(())
    }

    fn encrypted_extensions(&mut self, body: &[u8]) -> Result<(), Failure> {
        let mut protocols = None;
        let read = split(body, 2).filter(|(_, rest)| rest.is_empty()).ok_or("a length is wrong");
        let read = read.and_then(|(extensions, _)| {
            for_each_extension(extensions, |number, content| {
                number != ALPN || protocols.replace(content).is_none()
            })
        });
        if let Err(error) = read {
            return self.fail(error);
        }
        let Some(protocols) = protocols else { return Ok(()) };
        // A list of one (RFC 7301, section 3.1).
        let chosen = split(protocols, 2)
            .and_then(|(list, rest)| rest.is_empty().then_some(split(list, 1)?))
            .filter(|(name, rest)| {
                rest.is_empty() && self.template.alpn.iter().any(|offered| offered == name)
            });
        let (name, _) = self.or(chosen, "the server chooses a protocol that is not offered")?;
        self.alpn = Some(Alpn::of(name));
        Ok(())
    }

    /// Judges the server by its certificates and its signature, where that is wanted.
    fn authenticate(&mut self, proof: &[u8]) -> Result<(), Failure> {
        let certificate = mem::take(&mut self.certificate);
        let Some(judge) = &self.template.judge else { return Ok(()) };
        let Some(secrets) = &self.handshake else {
            return self.fail("a CertificateVerify without a ServerHello");
        };
        judge.judge(&certificate, proof, &secrets.so_far()).map_err(|refusal| {
            self.error = refusal.words;
            refusal.failure
        })
    }

    /// Verifies the server's Finished and answers with the client's.
    fn server_finished(
        &mut self,
        message: &[u8],
        body: &[u8],
        outgoing: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let (Some(mut secrets), Some(suite)) = (self.handshake.take(), self.suite) else {
            return self.fail("a Finished without a ServerHello");
        };
        if !secrets.is_finished(Side::Server, body) {
            return self.fail("the server's Finished does not fit the handshake");
        }
        secrets.add(message);
        let traffic = secrets.application();
        outgoing.extend_from_slice(&FOR_MIDDLE_BOXES);
        self.sending = suite.protect(secrets.traffic(Side::Client));
        if self.is_asked {
            let none = [CERTIFICATE, 0, 0, 4, 0, 0, 0, 0];
            self.seal(HANDSHAKE, &none, outgoing)?;
            secrets.add(&none);
        }
        let content = secrets.finished(Side::Client);
        let content = content.as_ref();
        let mut finished = [0; MESSAGE_HEADER + OkmBlock::MAX_LEN];
        let finished = &mut finished[..MESSAGE_HEADER + content.len()];
        finished[..MESSAGE_HEADER].copy_from_slice(&[FINISHED, 0, 0, content.len() as u8]);
        finished[MESSAGE_HEADER..].copy_from_slice(content);
        self.seal(HANDSHAKE, finished, outgoing)?;
        self.sending = suite.protect(&traffic[0]);
        let receiving = suite.protect(&traffic[1]);
        self.receiving = Some(self.or(receiving, NO_KEY)?);
        self.traffic = Some(traffic);
        self.state = State::Ready;
        Ok(())
    }

    /// Goes on to the server's next keys, and to the client's if it is asked to (RFC 8446, section
    /// 4.6.3).
    fn key_update(&mut self, body: &[u8], outgoing: &mut Vec<u8>) -> Result<(), Failure> {
        let (Some(suite), Some([client, server])) = (self.suite, self.traffic.take()) else {
            return self.fail("a KeyUpdate before the handshake is done");
        };
        let server = suite.update(&server);
        let receiving = suite.protect(&server);
        self.receiving = Some(self.or(receiving, NO_KEY)?);
        let client = match body {
            [0] => client,
            [1] => {
                self.seal(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0], outgoing)?;
                let client = suite.update(&client);
                self.sending = suite.protect(&client);
                client
            }
            _ => return self.fail("a KeyUpdate that asks for something unknown"),
        };
        self.traffic = Some([client, server]);
        Ok(())
    }

    fn secrets(&mut self) -> Result<&mut dyn Secrets, Failure> {
        match &mut self.handshake {
            Some(secrets) => Ok(&mut **secrets),
            None => Err(Failure::TlsProtocol),
        }
    }
}
