//! The server's side of TLS, behind one narrow trait.
//!
//! A session is given the received bytes, and sends its own bytes to a writer; it does no other input or
//! output. So both back ends make the same number of system calls.

pub(super) mod openssl;
pub(super) mod rustls;

use std::io::{self, Write};

use tlslab_tls::HandshakeKind;

/// The most plaintext that one TLS record holds (RFC 8446, section 5.1).
pub(super) const RECORD: usize = 16 * 1024;

/// The name of HTTP/2 in ALPN; with a client that offers both, it goes before HTTP/1.1.
pub(super) const HTTP2: &[u8] = b"h2";

/// Makes the sessions of a worker; each worker has a clone.
pub(super) trait Acceptor: Clone + Send + 'static {
    /// One connection's TLS state.
    type Session: Session + Send;

    /// Begins a session as a server.
    fn accept(&self) -> Result<Self::Session, TlsFailure>;
}

/// One connection's TLS state.
pub(super) trait Session {
    /// How the handshake was completed; `None` while it is not.
    fn handshake(&self) -> Option<HandshakeKind>;

    /// Whether HTTP/2 was agreed on, once the handshake is complete.
    fn speaks_http2(&self) -> bool;

    /// Whether the client has shown a certificate that passed, in this handshake or in the one that
    /// began its session; once the handshake is completed.
    fn has_client_certificate(&self) -> bool;

    /// Whether early data was accepted; its bytes come first of all that was received.
    fn accepted_early_data(&self) -> bool;

    /// Takes all of the received bytes and appends what they decrypt to.
    ///
    /// After a failure the session may still have an alert to send.
    fn receive(&mut self, received: &[u8], plaintext: &mut Vec<u8>) -> Result<Inbound, TlsFailure>;

    /// Encrypts plaintext, to be sent by [`Session::send`].
    fn write(&mut self, plaintext: &[u8]) -> Result<(), TlsFailure>;

    /// Makes the alert that ends the session orderly, to be sent by [`Session::send`].
    fn close(&mut self);

    /// Sends what the session has made, in as few writes as it takes; `Ok(true)` when all of it is
    /// sent, `Ok(false)` when the writer takes no more now.
    fn send(&mut self, socket: &mut impl Write) -> io::Result<bool>;
}

/// Whether more can come from the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inbound {
    /// More may come.
    Open,
    /// The peer has ended its side (close_notify).
    Ended,
}

/// The session cannot go on: the peer broke the protocol, or nothing could be agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TlsFailure;

impl From<TlsFailure> for io::Error {
    fn from(_: TlsFailure) -> Self {
        io::ErrorKind::InvalidData.into()
    }
}
