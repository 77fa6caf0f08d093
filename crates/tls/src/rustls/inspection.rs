//! Checks the encrypted handshake messages of a rustls connection against rules that rustls does
//! not check, and notes tickets.
//!
//! rustls shows decrypted messages to nobody, but it decrypts by the provider: here each decrypter
//! looks at what it has decrypted. A decrypter knows no connection, so the finding is stored in a
//! thread-local: a thread processes the records of one connection at a time, and reads it at once.

use std::cell::Cell;

use rustls::ConnectionTrafficSecrets;
use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, MessageDecrypter, MessageEncrypter,
    Tls13AeadAlgorithm, UnsupportedOperationError,
};
use rustls::{ContentType, Error};

use crate::observer::{Extensions, broken_by_encrypted};
use tlslab_wire::rule::Rule;
use tlslab_wire::tls::messages::NEW_SESSION_TICKET;

/// What the handshake messages since the last question were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    /// The first rule that a message broke.
    pub broken: Option<Rule>,
    /// The shortest lifetime of the tickets among them, in seconds; `None` without a ticket.
    pub lifetime: Option<u32>,
}

thread_local! {
    static FOUND: Cell<Found> = const { Cell::new(Found { broken: None, lifetime: None }) };
}

/// Returns and clears what was found on this thread.
pub fn take() -> Found {
    FOUND.take()
}

/// The same algorithm with decrypters that look at handshake messages.
pub fn inspecting(inner: &'static dyn Tls13AeadAlgorithm) -> &'static dyn Tls13AeadAlgorithm {
    Box::leak(Box::new(Inspecting(inner)))
}

struct Inspecting(&'static dyn Tls13AeadAlgorithm);

impl Tls13AeadAlgorithm for Inspecting {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        self.0.encrypter(key, iv)
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        Box::new(Inspector { inner: self.0.decrypter(key, iv), begun: Vec::new() })
    }

    fn key_len(&self) -> usize {
        self.0.key_len()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.0.extract_keys(key, iv)
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }
}

struct Inspector {
    inner: Box<dyn MessageDecrypter>,
    /// The received part of an incomplete message; rustls limits its length.
    begun: Vec<u8>,
}

impl MessageDecrypter for Inspector {
    fn decrypt<'a>(
        &mut self,
        message: InboundOpaqueMessage<'a>,
        sequence: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let plain = self.inner.decrypt(message, sequence)?;
        if plain.typ == ContentType::Handshake {
            self.inspect(plain.payload);
        }
        Ok(plain)
    }
}

impl Inspector {
    fn inspect(&mut self, content: &[u8]) {
        let mut found = FOUND.get();
        if content.is_empty() {
            found.broken = found.broken.or(Some(Rule::EmptyRecord));
        }
        self.begun.extend_from_slice(content);
        let mut rest = &self.begun[..];
        while let Some(&[kind, high, middle, low]) = rest.first_chunk() {
            let length = 4 + u32::from_be_bytes([0, high, middle, low]) as usize;
            let Some((message, behind)) = rest.split_at_checked(length) else { break };
            if kind == NEW_SESSION_TICKET
                && let Some(lifetime) = message[4..].first_chunk()
            {
                let lifetime = u32::from_be_bytes(*lifetime);
                found.lifetime = Some(found.lifetime.map_or(lifetime, |other| other.min(lifetime)));
            }
            // rustls itself refuses extensions that were not offered.
            let broken = || broken_by_encrypted(message, Extensions::ALL);
            found.broken = found.broken.or_else(broken);
            rest = behind;
        }
        let used = self.begun.len() - rest.len();
        self.begun.drain(..used);
        FOUND.set(found);
    }
}
