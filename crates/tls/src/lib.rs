//! TLS back ends behind one narrow trait.
//!
//! Each worker builds a back end from [`ClientSettings`]; the back end opens one [`Session`] per
//! connection. A session does its own reads and writes on the connection's [`Socket`] and never
//! blocks: it returns [`Progress::WantRead`] or [`Progress::WantWrite`] if the socket would block.

use std::sync::Arc;

use crate::identity::Identity;
use tlslab_contract::spec::{Authenticate, ClientChoice, HelloRetry, KeyShare, Resume};
use tlslab_system::socket::Socket;
use tlslab_wire::names::{CipherSuite, Group, SignatureScheme, TlsVersion};
use tlslab_wire::outcome::Failure;
use tlslab_wire::reason::Reason;

pub mod certificates;
pub mod choice;
pub mod expectation;
pub mod identity;
pub mod keylog;
#[cfg(feature = "openssl")]
pub mod openssl;
pub mod plain;
mod pool;
pub mod rustls;
pub mod self_signed;
mod staple;
mod turns;
pub mod versions;

pub use keylog::KeyLog;
pub use tlslab_wire::tls::flood::{FLOOD, FRUITLESS_LIMIT};
pub use tlslab_wire::tls::{
    Alpn, EarlyData, Facts, HELLO_RETRY_REQUEST, HTTP_1_1, HTTP_2, HandshakeKind, KeyExchangeGroup,
    Negotiated, PROTOCOL_NAME_LIMIT, alpn, observer,
};

/// The result of a call on a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The step is done. Reads and writes: N bytes of plaintext were transferred.
    Done(usize),
    /// The session can continue when the socket is readable.
    WantRead,
    /// The session can continue when the socket is writable.
    WantWrite,
    /// The peer ended the session by close_notify.
    Closed,
    /// The peer ended the TCP stream without close_notify: the data may be truncated (RFC 8446,
    /// section 6.1).
    Cut,
}

/// The settings of a back end: the offer of each connection, and the checks of the server.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// Protocol versions; empty: the back end's default.
    pub versions: Vec<TlsVersion>,
    /// Cipher suites, preferred first; empty: the back end's default.
    pub suites: Vec<CipherSuite>,
    /// Groups, preferred first; empty: the back end's default. In TLS 1.2 the curve of the server's
    /// certificate is added after the requested groups, because servers choose the certificate by
    /// that list.
    pub groups: Vec<Group>,
    /// Signature schemes, preferred first; empty: the back end's default.
    pub signature_schemes: Vec<SignatureScheme>,
    /// The names for SNI and for the certificate check, DNS names or addresses, used in turn. At
    /// least one. Exactly one if sessions are resumed, because a pooled session may belong to any
    /// name.
    pub server_names: Vec<String>,
    /// Application protocols to offer, preferred first, each of 1 to [`PROTOCOL_NAME_LIMIT`] bytes;
    /// empty: no ALPN extension.
    pub alpn: Vec<String>,
    /// The certificate for servers that request one.
    pub client_identity: Option<Identity>,
    /// The trust anchors for the server's certificate.
    pub trust: TrustAnchors,
    /// How often the server is authenticated.
    pub authenticate: Authenticate,
    /// Whether each connection generates a fresh key share.
    pub key_share: KeyShare,
    /// The client that makes the handshakes which both the minimal client and the library support.
    pub client: ClientChoice,
    /// The key log, if secrets are to be written.
    pub key_log: Option<Arc<KeyLog>>,
    /// Whether versions before TLS 1.2, RC4, 3DES and short keys may be used.
    pub allow_obsolete: bool,
    /// How [`Backend::resume`] resumes; with `None` no session is kept.
    pub resume: Resume,
    /// Whether resumed connections may send early data.
    pub early_data: bool,
    /// The group of the only key share, which makes the server send a HelloRetryRequest.
    pub hello_retry: Option<HelloRetry>,
}

/// The groups that follow a share which provokes a HelloRetryRequest, if the specification has
/// none: the defaults of rustls, in its order.
pub const USUAL_GROUPS: [Group; 4] =
    [Group::X25519MlKem768, Group::X25519, Group::P256, Group::P384];

/// The trust anchors for a server's certificate.
#[derive(Debug, Clone)]
pub enum TrustAnchors {
    /// The authorities of these certificates, DER.
    Certificates(Vec<Vec<u8>>),
    /// Any certificate: chain, name and validity are not checked; the handshake signature is.
    Anyone,
}

impl ClientSettings {
    /// The server names, converted to the back end's type.
    ///
    /// # Errors
    /// The list is empty, or the back end refuses a name.
    pub fn names<N>(
        &self,
        backend: &'static str,
        name: impl Fn(&str) -> Result<N, String>,
    ) -> Result<Vec<N>, BackendError> {
        let refused = |message| BackendError::Refused { backend, message };
        if self.server_names.is_empty() {
            return Err(refused("an offer has at least one server name".to_owned()));
        }
        self.server_names.iter().map(|text| name(text).map_err(refused)).collect()
    }
}

/// The name of the OpenSSL back end in specifications and records.
pub const OPENSSL_NAME: &str = "openssl";

/// With [`Authenticate::Sampled`], the first connection of each server name and 1 in N after it are
/// authenticated in full.
pub const SAMPLING_PERIOD: u32 = 128;

/// Errors that prevent building a back end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// The library lacks a requested feature.
    #[error("{backend} has no {what}; it has: {has}")]
    Unsupported {
        /// The name of the back end.
        backend: &'static str,
        /// The missing feature: `group X448`.
        what: String,
        /// The supported features of that kind.
        has: String,
    },
    /// The library refused the configuration.
    #[error("{backend}: {message}")]
    Refused {
        /// The name of the back end.
        backend: &'static str,
        /// The library's message.
        message: String,
    },
    /// The build leaves OpenSSL out (the cargo feature `openssl`).
    #[error("{}this build has no OpenSSL", describe_lacking(.lacking))]
    NotBuilt {
        /// The feature that rustls lacks, if that is the reason to ask for OpenSSL.
        lacking: Option<String>,
    },
}

fn describe_lacking(lacking: &Option<String>) -> String {
    lacking.as_ref().map(|what| format!("rustls has no {what}, and ")).unwrap_or_default()
}

/// Creates the sessions of one worker.
pub trait Backend {
    /// The TLS state of one connection.
    type Session: Session;

    /// Creates a session for a full handshake. [`Session::handshake`] sends the first bytes.
    fn open(&mut self) -> Result<Self::Session, Failure>;

    /// Creates a session that resumes an earlier one of this back end; `None` if the pool is empty.
    /// A TLS 1.3 ticket is used once.
    fn resume(&mut self) -> Result<Option<Self::Session>, Failure>;

    /// The number of sessions in the pool.
    fn resumable(&self) -> usize;

    /// Limits the pool to N sessions; the oldest ones beyond that are dropped.
    fn keep(&mut self, sessions: usize);
}

/// Called between the records of a handshake. True if other work is due that must not wait for the
/// remaining records. `None`: never.
pub type Urgent<'u> = Option<&'u dyn Fn() -> bool>;

/// The TLS state of one connection.
pub trait Session {
    /// The number of bytes that wait to be sent.
    fn unsent(&self) -> usize;

    /// Takes plaintext as early data, before the first call of [`Session::handshake`]. Returns the
    /// number of bytes taken; 0 if the resumed session allows no early data.
    fn send_early(&mut self, plaintext: &[u8]) -> Result<usize, Failure>;

    /// Continues the handshake. `Done` means that the client has completed it. Bytes that the
    /// client still has to send (its Finished in TLS 1.3) may wait for the next [`Session::write`]
    /// or [`Session::flush`], so that both leave in one segment. If `urgent` is true, the session
    /// may stop early with `WantWrite`.
    fn handshake(&mut self, socket: &mut Socket, urgent: Urgent<'_>) -> Result<Progress, Failure>;

    /// The negotiated facts; `None` of a connection without TLS. Called once, after the handshake.
    fn facts(&self) -> Option<Negotiated>;

    /// Takes plaintext to send; `Done(n)` if the session has taken `n` bytes.
    fn write(&mut self, socket: &mut Socket, plaintext: &[u8]) -> Result<Progress, Failure>;

    /// Sends all bytes that wait to be sent; `Done` if none is left.
    fn flush(&mut self, socket: &mut Socket) -> Result<Progress, Failure>;

    /// Sends close_notify (RFC 8446, section 6.1), as far as the socket accepts it.
    fn send_close_notify(&mut self, socket: &mut Socket) -> Result<(), Failure>;

    /// Receives plaintext into the buffer; `Done(n)` with `n > 0` bytes.
    fn read(&mut self, socket: &mut Socket, plaintext: &mut [u8]) -> Result<Progress, Failure>;

    /// True if the session has received bytes, or the end of the stream, that were not read.
    fn has_received(&self) -> bool {
        false
    }

    /// The index of this session's server name in the list of the settings.
    fn asked_name(&self) -> usize {
        0
    }

    /// The number of sessions that this session has added to the back end's pool so far.
    fn gained(&self) -> u32 {
        0
    }

    /// Processes what has arrived with the server's part of the handshake, and so before the
    /// client's Finished was sent; forgets its tickets. `Closed` or `Cut` if it ends the session.
    fn pass_over(&mut self) -> Result<Progress, Failure> {
        Ok(Progress::WantRead)
    }

    /// Whether a NewSessionTicket has arrived since the last call (RFC 8446, section 4.6.1).
    fn took_ticket(&mut self) -> bool {
        false
    }

    /// Frees the buffers of an active session. The connection is idle from now on.
    fn rest(&mut self) {}

    /// The server's certificates, DER, its own first; empty if the session reads none.
    fn peer_certificates(&self) -> Vec<Vec<u8>>;

    /// The weakness of the server's own Diffie-Hellman prime, if it has one. Takes up to some
    /// tenths of a second.
    fn weak_prime(&self) -> Option<&'static str> {
        None
    }

    /// The reason of the session's failure, if more than its class is known.
    fn reason(&self) -> Option<Reason> {
        None
    }

    /// The same reason as a sentence; empty if no more is known.
    fn explain(&self) -> String {
        self.reason().map(|reason| reason.in_one_line()).unwrap_or_default()
    }
}
