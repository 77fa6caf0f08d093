//! Connections without TLS, behind the same trait: the baseline of what TLS costs.

use std::io::{self, ErrorKind, Write};

use super::{Acceptor, Inbound, Session, TlsFailure};
use tlslab_tls::HandshakeKind;

/// Creates sessions without TLS.
#[derive(Clone)]
pub(crate) struct PlainAcceptor;

impl Acceptor for PlainAcceptor {
    type Session = PlainSession;

    fn accept(&self) -> Result<PlainSession, TlsFailure> {
        Ok(PlainSession::default())
    }
}

/// A connection whose bytes are those of its socket.
#[derive(Default)]
pub(crate) struct PlainSession {
    /// Bytes to send, of which the first `sent` have been sent.
    outgoing: Vec<u8>,
    sent: usize,
}

impl Session for PlainSession {
    const HAS_HANDSHAKE: bool = false;

    fn handshake(&self) -> Option<HandshakeKind> {
        None
    }

    fn speaks_http2(&self) -> bool {
        false
    }

    fn has_client_certificate(&self) -> bool {
        false
    }

    fn accepted_early_data(&self) -> bool {
        false
    }

    fn receive(&mut self, received: &[u8], plaintext: &mut Vec<u8>) -> Result<Inbound, TlsFailure> {
        plaintext.extend_from_slice(received);
        Ok(Inbound::Open)
    }

    fn write(&mut self, plaintext: &[u8]) -> Result<(), TlsFailure> {
        self.outgoing.extend_from_slice(plaintext);
        Ok(())
    }

    fn close(&mut self) {}

    fn send(&mut self, socket: &mut impl Write) -> io::Result<bool> {
        while self.sent < self.outgoing.len() {
            match socket.write(&self.outgoing[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(length) => self.sent += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.outgoing.clear();
        self.sent = 0;
        Ok(true)
    }
}
