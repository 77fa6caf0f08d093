//! The server's side of TLS, behind one narrow trait.
//!
//! A session receives bytes as arguments and writes its own bytes to a writer; it does no other
//! I/O. So both back ends make the same number of system calls.

#[cfg(feature = "openssl")]
pub(super) mod openssl;
pub(super) mod plain;
pub(super) mod rustls;

use std::io::{self, Write};

use tlslab_tls::HandshakeKind;

/// The highest plaintext length of a TLS record in bytes (RFC 8446, section 5.1).
pub(super) const RECORD: usize = 16 * 1024;

/// The name of HTTP/2 in ALPN. If a client offers both, HTTP/2 is preferred to HTTP/1.1.
pub(super) const HTTP2: &[u8] = b"h2";

/// Creates the sessions of a worker. Each worker has a clone.
pub(super) trait Acceptor: Clone + Send + 'static {
    /// The TLS state of one connection.
    type Session: Session + Send;

    /// Creates a server session.
    fn accept(&self) -> Result<Self::Session, TlsFailure>;
}

/// The TLS state of one connection.
pub(super) trait Session {
    /// Whether a connection begins with a handshake.
    const HAS_HANDSHAKE: bool = true;

    /// The kind of the completed handshake; `None` until completed.
    fn handshake(&self) -> Option<HandshakeKind>;

    /// True if HTTP/2 was selected. Valid after the handshake.
    fn speaks_http2(&self) -> bool;

    /// True if the client has sent a valid certificate, in this handshake or in its session's full
    /// handshake. Valid after the handshake.
    fn has_client_certificate(&self) -> bool;

    /// True if early data was accepted. Its bytes precede all other received bytes.
    fn accepted_early_data(&self) -> bool;

    /// Processes all received bytes and appends the decrypted plaintext.
    ///
    /// After a failure the session may still have an alert to send.
    fn receive(&mut self, received: &[u8], plaintext: &mut Vec<u8>) -> Result<Inbound, TlsFailure>;

    /// Encrypts plaintext, to be sent by [`Session::send`].
    fn write(&mut self, plaintext: &[u8]) -> Result<(), TlsFailure>;

    /// Prepares close_notify, to be sent by [`Session::send`].
    fn close(&mut self);

    /// Sends the session's bytes in as few writes as possible; `Ok(true)` if all are sent,
    /// `Ok(false)` if the writer accepts no more now.
    fn send(&mut self, socket: &mut impl Write) -> io::Result<bool>;
}

/// Whether the peer can send more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inbound {
    /// The peer can send more.
    Open,
    /// The peer has ended its side (close_notify).
    Ended,
}

/// The session cannot continue: the peer violated the protocol, or the negotiation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TlsFailure;

impl From<TlsFailure> for io::Error {
    fn from(_: TlsFailure) -> Self {
        io::ErrorKind::InvalidData.into()
    }
}
