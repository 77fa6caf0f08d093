//! TLS back ends behind one narrow trait.
//!
//! A back end is made once per worker from an [`Offer`] and opens one [`Session`] a connection.
//! A session does its own reads and writes on the connection's [`Socket`] and never blocks: it says
//! [`Progress::WantRead`] or [`Progress::WantWrite`] when the socket has no more to give or to take.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identity::Identity;
use crate::names::{CipherSuite, Group, SignatureScheme, TlsVersion};
use crate::outcome::Failure;
use crate::socket::Socket;
use crate::spec::{Authenticate, KeyShare};

pub mod alpn;
pub mod choice;
pub mod expectation;
pub mod keylog;
pub mod openssl;
pub mod rustls;

pub use alpn::{Alpn, PROTOCOL_NAME_LIMIT};
pub use keylog::KeyLog;

/// What a call on a session has achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The step is done; for reads and writes, so many bytes of plaintext were moved.
    Done(usize),
    /// Nothing more until the socket is readable.
    WantRead,
    /// Nothing more until the socket is writable.
    WantWrite,
    /// The peer ended the session orderly (close_notify), or closed the TCP connection.
    Closed,
}

/// What a back end is built from: what each connection offers, and how the server is judged.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Protocol versions; empty: the back end's default.
    pub versions: Vec<TlsVersion>,
    /// Cipher suites, preferred first; empty: the back end's default.
    pub suites: Vec<CipherSuite>,
    /// Groups, preferred first; empty: the back end's default. In TLS 1.2 the certificate's own curve
    /// stands behind the groups that were asked for, since servers choose the certificate by it.
    pub groups: Vec<Group>,
    /// Signature schemes, preferred first; empty: the back end's default.
    pub signature_schemes: Vec<SignatureScheme>,
    /// The names for SNI and for the certificate check, DNS names or addresses: connections take
    /// them in turn. At least one.
    pub server_names: Vec<String>,
    /// Application protocols to offer, preferred first, each of 1 to [`PROTOCOL_NAME_LIMIT`] bytes;
    /// empty: the extension is left out.
    pub alpn: Vec<String>,
    /// What to show to a server that asks for a client's certificate.
    pub client_identity: Option<Identity>,
    /// Whom to trust to have issued the server's certificate.
    pub trust: TrustAnchors,
    /// How often the server is authenticated.
    pub authenticate: Authenticate,
    /// Whether each connection draws a key share of its own.
    pub key_share: KeyShare,
    /// Where to write the secrets of connections.
    pub key_log: Option<Arc<KeyLog>>,
    /// Whether versions before TLS 1.2, RC4, 3DES and short keys may be used.
    pub allow_obsolete: bool,
}

/// Whom to trust to have issued a server's certificate.
#[derive(Debug, Clone)]
pub enum TrustAnchors {
    /// Whoever holds the key of one of these certificates, DER.
    Certificates(Vec<Vec<u8>>),
    /// Anybody: chain, name and validity are not checked; the handshake signature still is.
    Anyone,
}

impl Offer {
    /// The server names, each as a back end has it.
    ///
    /// # Errors
    /// There is none, or the back end refuses one of them.
    pub(crate) fn names<N>(
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

/// With [`Authenticate::Sampled`], one connection in so many is authenticated in full.
pub const SAMPLING_PERIOD: u32 = 128;

/// The most bytes that a session receives without getting on, be it to the end of the handshake or to
/// a byte of plaintext: the largest certificate message that is let in, and what goes with it. More is
/// a flood of messages that carry nothing.
pub(crate) const FRUITLESS_LIMIT: usize = 192 * 1024;

/// What a person is told of such a flood.
pub(crate) const FLOOD: &str = "the peer floods the connection with messages that carry nothing";

/// Why a back end cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// The library lacks something that was asked for.
    #[error("{backend} has no {what}; it has: {has}")]
    Unsupported {
        /// The back end's name.
        backend: &'static str,
        /// What it lacks: `group X448`.
        what: String,
        /// What it has of that kind.
        has: String,
    },
    /// The library refused the configuration.
    #[error("{backend}: {message}")]
    Refused {
        /// The back end's name.
        backend: &'static str,
        /// The library's own words.
        message: String,
    },
}

/// Makes the sessions of one worker.
pub trait Backend {
    /// One connection's TLS state.
    type Session: Session;

    /// Begins a session as a client. Nothing is sent before [`Session::handshake`].
    fn open(&mut self) -> Result<Self::Session, Failure>;
}

/// One connection's TLS state.
pub trait Session {
    /// The bytes that the session has taken or made and not yet sent.
    fn unsent(&self) -> usize;

    /// Carries the handshake on. `Done` means that the client considers it complete; what the client
    /// still has to send (its Finished in TLS 1.3) may wait for the next [`Session::write`] or
    /// [`Session::flush`], so that both leave in one segment.
    fn handshake(&mut self, socket: &mut Socket) -> Result<Progress, Failure>;

    /// What was negotiated. Called once, after the handshake is done.
    fn facts(&self) -> Negotiated;

    /// Takes plaintext to send; `Done(n)` when the session has taken `n` bytes of it.
    fn write(&mut self, socket: &mut Socket, plaintext: &[u8]) -> Result<Progress, Failure>;

    /// Sends what the session has taken and not sent; `Done` when nothing is left.
    fn flush(&mut self, socket: &mut Socket) -> Result<Progress, Failure>;

    /// Receives plaintext into the buffer; `Done(n)` with `n > 0` bytes.
    fn read(&mut self, socket: &mut Socket, plaintext: &mut [u8]) -> Result<Progress, Failure>;

    /// Which of the offer's server names this session asks for, by its place in the list.
    fn asked_name(&self) -> usize {
        0
    }

    /// The certificates that the server sent, DER, its own first.
    fn peer_certificates(&self) -> Vec<Vec<u8>>;

    /// The library's own words on the last failure, for a person; empty when it has none.
    fn explain(&self) -> String {
        String::new()
    }
}

/// What was negotiated, in numbers: cheap to compare and to count on the hot path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Negotiated {
    /// The protocol version.
    pub version: TlsVersion,
    /// The cipher suite.
    pub suite: CipherSuite,
    /// The key-exchange group; `None` for static RSA.
    pub group: Option<KeyExchangeGroup>,
    /// The scheme of the server's handshake signature; `None` when it made none.
    pub signature_scheme: Option<SignatureScheme>,
    /// Full, or resumed.
    pub kind: HandshakeKind,
    /// Whether the server asked for another key share first.
    pub hello_retry_request: bool,
    /// The application protocol.
    pub alpn: Option<Alpn>,
    /// Whether the server asked for a certificate, and the client showed one and signed with its
    /// key.
    pub client_authenticated: bool,
    /// Whether the server was authenticated in full on this connection.
    pub authenticated: bool,
}

/// The group that a handshake really used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyExchangeGroup {
    /// A named group's IANA code point, known here or not.
    Named(u16),
    /// Diffie-Hellman parameters of the server's own, with the size of the prime in bits.
    FiniteField(u32),
}

/// Whether a handshake was full or resumed, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HandshakeKind {
    /// With certificate and key exchange.
    Full,
    /// By session ID or ticket (TLS 1.2), by PSK (TLS 1.3).
    Resumed,
}

/// What was negotiated, in the names that records use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Facts {
    /// The protocol version: `1.3`.
    pub tls: String,
    /// The cipher suite's IANA name.
    pub suite: String,
    /// The key-exchange group; `none` for static RSA, `DH-2048` for a server's own parameters.
    pub group: String,
    /// The scheme of the server's handshake signature; `none` when it made none.
    pub signature_scheme: String,
    /// `full` or `resumed`.
    pub kind: String,
    /// Whether the server asked for another key share first.
    pub hello_retry_request: bool,
    /// The application protocol; `none` when none was agreed on.
    pub alpn: String,
    /// Whether the server asked for a certificate, and the client showed one and signed with its
    /// key.
    #[serde(default)]
    pub client_authenticated: bool,
}

impl From<Negotiated> for Facts {
    fn from(negotiated: Negotiated) -> Self {
        let or_none = |name: Option<String>| name.unwrap_or_else(|| "none".to_owned());
        Self {
            tls: negotiated.version.to_string(),
            suite: negotiated.suite.to_string(),
            group: or_none(negotiated.group.map(|group| group.to_string())),
            signature_scheme: or_none(negotiated.signature_scheme.map(|s| s.to_string())),
            kind: match negotiated.kind {
                HandshakeKind::Full => "full".to_owned(),
                HandshakeKind::Resumed => "resumed".to_owned(),
            },
            hello_retry_request: negotiated.hello_retry_request,
            alpn: or_none(negotiated.alpn.map(|protocol| protocol.to_string())),
            client_authenticated: negotiated.client_authenticated,
        }
    }
}

impl std::fmt::Display for KeyExchangeGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Named(code_point) => match Group::from_code_point(code_point) {
                Some(group) => f.write_str(group.name()),
                None => write!(f, "0x{code_point:04x}"),
            },
            Self::FiniteField(bits) => write!(f, "DH-{bits}"),
        }
    }
}
