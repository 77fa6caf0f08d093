//! The messages of the handshake and those behind it (RFC 8446, section 4).

use std::mem;

use rustls::crypto::tls13::OkmBlock;

use super::hello::Answer;
use super::secrets::{Secrets, Side};
use super::{MinimalClient, State};
use crate::Alpn;
use tlslab_wire::outcome::Failure;
use tlslab_wire::tls::fault::{DECRYPT_ERROR, Fault, INTERNAL_ERROR, illegal, unexpected};
use tlslab_wire::tls::messages::{
    CERTIFICATE, CERTIFICATE_REQUEST, CERTIFICATE_VERIFY, CHANGE_CIPHER_SPEC, ENCRYPTED_EXTENSIONS,
    FINISHED, HANDSHAKE, HEADER, KEY_UPDATE, NEW_SESSION_TICKET, SERVER_HELLO, certificate_request,
    for_each_certificate, new_session_ticket,
};

/// A change_cipher_spec record, for middle boxes (RFC 8446, appendix D.4).
pub(super) const FOR_MIDDLE_BOXES: [u8; HEADER + 1] = [CHANGE_CIPHER_SPEC, 3, 3, 0, 1, 1];

/// A message's header: its type, and its length in three bytes.
const MESSAGE_HEADER: usize = 4;

/// The longest message that is let in; rustls has the same bound.
pub(super) const LONGEST_MESSAGE: usize = 0xffff;

/// How many KeyUpdates may come in a row, without a byte of plaintext; rustls lets as many in.
pub(super) const KEY_UPDATES: u8 = 32;

/// A Certificate with none, the answer to a CertificateRequest (section 4.4.2).
const NO_CERTIFICATE: [u8; 8] = [CERTIFICATE, 0, 0, 4, 0, 0, 0, 0];

/// Without a key for what comes next nothing unencrypted may take its place.
const NO_KEY: Fault = Fault::new(INTERNAL_ERROR, "the server's records cannot be decrypted");

/// The handshake was another one for the server (section 4.4.4).
const UNFIT: Fault = Fault::new(DECRYPT_ERROR, "the server's Finished does not fit the handshake");

impl MinimalClient {
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
                return self.fail("a message of more than 64 KiB".into());
            }
            let Some(message) = bytes[used..].get(..MESSAGE_HEADER + length) else { break };
            used += message.len();
            let before = self.state;
            self.take(kind, message, outgoing)?;
            // Where keys change, so does the record (RFC 8446, section 5.1).
            let changes = kind == KEY_UPDATE || before == State::ServerHello || kind == FINISHED;
            if changes && used < bytes.len() {
                return self.fail(unexpected("a record that goes on behind a change of keys"));
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
            (State::Certificate, CERTIFICATE_REQUEST) if !self.is_asked => {
                self.read(certificate_request(body))?;
                self.is_asked = true;
            }
            (State::Certificate, CERTIFICATE) => {
                let mut stapled = None;
                // A message is shorter than 4 GiB.
                let own_first = |_: &[u8], response: &[u8]| {
                    stapled = stapled.or(Some(response.len() as u32));
                };
                self.read(for_each_certificate(body, own_first))?;
                self.stapled = stapled;
                if self.template.authenticator.is_some() {
                    self.certificate = body.to_vec();
                }
                self.state = State::CertificateVerify;
            }
            (State::CertificateVerify, CERTIFICATE_VERIFY) => {
                self.signature_scheme = Some(self.read(self.template.read_scheme(body))?);
                self.authenticate(body)?;
                self.state = State::Finished;
            }
            (State::Finished, FINISHED) => return self.server_finished(message, body, outgoing),
            (State::Ready, NEW_SESSION_TICKET) => return self.read(new_session_ticket(body)),
            (State::Ready, KEY_UPDATE) => return self.key_update(body),
            _ => return self.fail(unexpected("a handshake message that has no place here")),
        }
        self.secrets()?.add(message);
        Ok(())
    }

    fn server_hello(&mut self, message: &[u8], body: &[u8]) -> Result<(), Failure> {
        let answer = self.template.read_answer(&self.session_id, body);
        let Answer { suite, share } = self.read(answer)?;
        let shared = self.exchange.take().and_then(|exchange| exchange.complete(share).ok());
        let shared = self.or(shared, illegal("the server's key share is invalid"))?;
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
        let chosen = self.template.read_extensions(body);
        self.alpn = self.read(chosen)?.map(Alpn::of);
        Ok(())
    }

    /// Authenticates the server by its certificates and its signature, where that is wanted.
    fn authenticate(&mut self, proof: &[u8]) -> Result<(), Failure> {
        let certificate = mem::take(&mut self.certificate);
        if self.stapled.is_none() {
            let _ = self.fail::<()>("the server has no certificate".into());
            return Err(Failure::Certificate);
        }
        let Some(authenticator) = &self.template.authenticator else { return Ok(()) };
        let Some(secrets) = &self.handshake else {
            return self.fail(unexpected("a CertificateVerify without a ServerHello"));
        };
        authenticator.authenticate(&certificate, proof, &secrets.so_far()).map_err(|error| {
            self.fault = Some((error.alert, error.reason));
            error.failure
        })?;
        self.authenticated = true;
        Ok(())
    }

    /// Verifies the server's Finished and answers with the client's.
    fn server_finished(
        &mut self,
        message: &[u8],
        body: &[u8],
        outgoing: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        if !self.handshake.as_ref().is_some_and(|own| own.is_finished(Side::Server, body)) {
            return self.fail(UNFIT);
        }
        let (Some(mut secrets), Some(suite)) = (self.handshake.take(), self.suite) else {
            return self.fail(unexpected("a Finished without a ServerHello"));
        };
        secrets.add(message);
        let traffic = secrets.application();
        outgoing.extend_from_slice(&FOR_MIDDLE_BOXES);
        self.sending = suite.protect(secrets.traffic(Side::Client));
        let none: &[u8] = if self.is_asked { &NO_CERTIFICATE } else { &[] };
        secrets.add(none);
        let content = secrets.finished(Side::Client);
        let content = content.as_ref();
        let (before, length) = (none.len() + MESSAGE_HEADER, content.len());
        let mut flight = [0; NO_CERTIFICATE.len() + MESSAGE_HEADER + OkmBlock::MAX_LEN];
        flight[..none.len()].copy_from_slice(none);
        flight[none.len()..before].copy_from_slice(&[FINISHED, 0, 0, length as u8]);
        flight[before..before + length].copy_from_slice(content);
        self.seal(HANDSHAKE, &flight[..before + length], outgoing)?;
        self.sending = suite.protect(&traffic[0]);
        let receiving = suite.protect(&traffic[1]);
        self.receiving = Some(self.or(receiving, NO_KEY)?);
        self.traffic = Some(traffic);
        self.state = State::Ready;
        Ok(())
    }

    /// Goes on to the server's next keys, and to the client's with the next plaintext if it is asked
    /// to (RFC 8446, section 4.6.3).
    fn key_update(&mut self, body: &[u8]) -> Result<(), Failure> {
        self.key_updates += 1;
        if self.key_updates > KEY_UPDATES {
            return self.fail(unexpected("one KeyUpdate after the other"));
        }
        match body {
            [0] => {}
            [1] => self.owes_key_update = true,
            [_] => return self.fail(illegal("a KeyUpdate that asks for something unknown")),
            _ => return self.fail("a KeyUpdate of a wrong length".into()),
        }
        let (Some(suite), Some([_, server])) = (self.suite, &mut self.traffic) else {
            return self.fail(NO_KEY);
        };
        *server = suite.update(server);
        let receiving = suite.protect(server);
        self.receiving = Some(self.or(receiving, NO_KEY)?);
        Ok(())
    }

    /// Goes on to the client's next keys (RFC 8446, section 4.6.3).
    pub(super) fn renew(&mut self, outgoing: &mut Vec<u8>) -> Result<(), Failure> {
        self.seal(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0], outgoing)?;
        let (Some(suite), Some([client, _])) = (self.suite, &mut self.traffic) else {
            return self.fail(NO_KEY);
        };
        self.owes_key_update = false;
        *client = suite.update(client);
        self.sending = suite.protect(client);
        Ok(())
    }

    fn secrets(&mut self) -> Result<&mut dyn Secrets, Failure> {
        match &mut self.handshake {
            Some(secrets) => Ok(&mut **secrets),
            None => Err(Failure::TlsProtocol),
        }
    }
}
