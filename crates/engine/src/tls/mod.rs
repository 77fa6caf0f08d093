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
use crate::reason::Reason;
use crate::socket::Socket;
use crate::spec::{Authenticate, ClientChoice, HelloRetry, KeyShare, Resume};

pub mod alpn;
pub mod choice;
pub mod expectation;
mod hello_retry_request;
pub mod keylog;
pub mod openssl;
mod pool;
pub mod rules;
pub mod rustls;
mod turns;

pub use alpn::{Alpn, HTTP_1_1, HTTP_2, PROTOCOL_NAME_LIMIT};
pub(crate) use hello_retry_request::HELLO_RETRY_REQUEST;
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
    /// The peer ended the session orderly, by close_notify.
    Closed,
    /// The peer ended the TCP stream and not the session: what came last may be cut off (RFC 8446,
    /// section 6.1).
    Cut,
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
    /// them in turn. At least one, and one alone where sessions are resumed: those that are kept may
    /// have been begun under any of them.
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
    /// Who makes the handshakes that there is a client of our own for.
    pub client: ClientChoice,
    /// Where to write the secrets of connections.
    pub key_log: Option<Arc<KeyLog>>,
    /// Whether versions before TLS 1.2, RC4, 3DES and short keys may be used.
    pub allow_obsolete: bool,
    /// How [`Backend::resume`] resumes; with `None` no session is kept at all.
    pub resume: Resume,
    /// Whether resumed connections may send early data.
    pub early_data: bool,
    /// The share that goes first, and is the only one sent, so that the server asks for another.
    pub hello_retry: Option<HelloRetry>,
}

/// The groups that are offered behind a share that makes the server ask for another, when none are
/// asked for: those of rustls, in its order.
pub(crate) const USUAL_GROUPS: [Group; 4] =
    [Group::X25519MlKem768, Group::X25519, Group::P256, Group::P384];

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

/// With [`Authenticate::Sampled`], one connection in so many of each server name is authenticated in
/// full, the first one included.
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

    /// Begins a session with a full handshake. Nothing is sent before [`Session::handshake`].
    fn open(&mut self) -> Result<Self::Session, Failure>;

    /// Begins a session that resumes an earlier one of this back end; `None` when none is left that
    /// could be resumed. A ticket of TLS 1.3 is used once.
    fn resume(&mut self) -> Result<Option<Self::Session>, Failure>;

    /// How many sessions could be resumed now.
    fn resumable(&self) -> usize;

    /// Keeps so many sessions to resume; of more the oldest are dropped.
    fn keep(&mut self, sessions: usize);
}

/// Asked between the records of a handshake: whether something is due that is not to wait for the
/// others. `None` where nothing ever is.
pub type Urgent<'u> = Option<&'u dyn Fn() -> bool>;

/// One connection's TLS state.
pub trait Session {
    /// The bytes that the session has taken or made and not yet sent.
    fn unsent(&self) -> usize;

    /// Takes plaintext to send as early data, ahead of the first call of [`Session::handshake`];
    /// gives how many bytes of it were taken, none where the resumed session allows none.
    fn send_early(&mut self, plaintext: &[u8]) -> Result<usize, Failure>;

    /// Carries the handshake on. `Done` means that the client considers it complete; what the client
    /// still has to send (its Finished in TLS 1.3) may wait for the next [`Session::write`] or
    /// [`Session::flush`], so that both leave in one segment. With something urgent it may stop where
    /// it could go on, and says `WantWrite`.
    fn handshake(&mut self, socket: &mut Socket, urgent: Urgent<'_>) -> Result<Progress, Failure>;

    /// What was negotiated. Called once, after the handshake is done.
    fn facts(&self) -> Negotiated;

    /// Takes plaintext to send; `Done(n)` when the session has taken `n` bytes of it.
    fn write(&mut self, socket: &mut Socket, plaintext: &[u8]) -> Result<Progress, Failure>;

    /// Sends what the session has taken and not sent; `Done` when nothing is left.
    fn flush(&mut self, socket: &mut Socket) -> Result<Progress, Failure>;

    /// Says that nothing more will be sent (RFC 8446, section 6.1), as far as the socket takes it.
    fn send_close_notify(&mut self, socket: &mut Socket) -> Result<(), Failure>;

    /// Receives plaintext into the buffer; `Done(n)` with `n > 0` bytes.
    fn read(&mut self, socket: &mut Socket, plaintext: &mut [u8]) -> Result<Progress, Failure>;

    /// Which of the offer's server names this session asks for, by its place in the list.
    fn asked_name(&self) -> usize {
        0
    }

    /// How many sessions to resume later it has put into the back end's pool so far.
    fn gained(&self) -> u32 {
        0
    }

    /// Gives up the room that only a session at work needs. The connection rests from here on.
    fn rest(&mut self) {}

    /// The certificates that the server sent, DER, its own first; none where the session looks at none.
    fn peer_certificates(&self) -> Vec<Vec<u8>>;

    /// Why the session failed, where more is known than the failure's class says.
    fn reason(&self) -> Option<Reason> {
        None
    }

    /// The same in words for a person; empty where no more is known.
    fn explain(&self) -> String {
        self.reason().map(|reason| reason.in_one_line()).unwrap_or_default()
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
    /// How an earlier session was resumed; `None` in a full handshake.
    pub resumed_by: Resume,
    /// What became of early data.
    pub early_data: EarlyData,
    /// Whether the server was authenticated in full: on this connection, or on the one whose session
    /// it resumes.
    pub authenticated: bool,
    /// Whether the engine's own client made the handshake.
    pub own_client: bool,
}

/// What became of early data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum EarlyData {
    /// None was sent.
    #[default]
    None,
    /// The server took it.
    Accepted,
    /// The server did not take it; the request was sent again (RFC 8446, section 4.2.10).
    Rejected,
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
    /// How an earlier session was resumed: `id`, `ticket`, `psk`, `psk-only`; `none` if it was not.
    pub resumed_by: String,
    /// Early data: `none` was sent, or it was `accepted` or `rejected`.
    pub early_data: String,
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
            resumed_by: negotiated.resumed_by.to_string(),
            early_data: match negotiated.early_data {
                EarlyData::None => "none".to_owned(),
                EarlyData::Accepted => "accepted".to_owned(),
                EarlyData::Rejected => "rejected".to_owned(),
            },
        }
    }
}

impl Facts {
    /// The kind of the handshake in words: `resumed by psk, early data accepted`.
    pub fn kind_in_words(&self) -> String {
        let mut words = self.kind.clone();
        if self.resumed_by != "none" {
            words += &format!(" by {}", self.resumed_by);
        }
        if self.early_data != "none" {
            words += &format!(", early data {}", self.early_data);
        }
        if self.client_authenticated {
            words += ", client authenticated";
        }
        if self.hello_retry_request {
            words += ", after a HelloRetryRequest";
        }
        words
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
