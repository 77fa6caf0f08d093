//! TLS back ends behind one narrow trait.
//!
//! A back end is made once per worker from an [`ClientSettings`] and opens one [`Session`] a connection.
//! A session does its own reads and writes on the connection's [`Socket`] and never blocks: it says
//! [`Progress::WantRead`] or [`Progress::WantWrite`] when the socket has no more to give or to take.

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
pub mod openssl;
mod pool;
pub mod rustls;
pub mod self_signed;
mod turns;
pub mod versions;

pub use keylog::KeyLog;
pub use tlslab_wire::tls::flood::{FLOOD, FRUITLESS_LIMIT};
pub use tlslab_wire::tls::{
    Alpn, EarlyData, Facts, HELLO_RETRY_REQUEST, HTTP_1_1, HTTP_2, HandshakeKind, KeyExchangeGroup,
    Negotiated, PROTOCOL_NAME_LIMIT, alpn, observer,
};

/// What a call on a session has achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The step is done; for reads and writes, N bytes of plaintext were moved.
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

/// What a back end is built from: what each connection offers, and how the server is checked.
#[derive(Debug, Clone)]
pub struct ClientSettings {
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
    /// The certificate authorities that are trusted for the server's certificate.
    pub trust: TrustAnchors,
    /// How often the server is authenticated.
    pub authenticate: Authenticate,
    /// Whether each connection makes a fresh key share.
    pub key_share: KeyShare,
    /// Whether the minimal client or the library makes the handshakes that both can make.
    pub client: ClientChoice,
    /// Where to write the secrets of connections.
    pub key_log: Option<Arc<KeyLog>>,
    /// Whether versions before TLS 1.2, RC4, 3DES and short keys may be used.
    pub allow_obsolete: bool,
    /// How [`Backend::resume`] resumes; with `None` no session is kept at all.
    pub resume: Resume,
    /// Whether resumed connections may send early data.
    pub early_data: bool,
    /// The group of the only key share that is sent, so that the server asks for another share.
    pub hello_retry: Option<HelloRetry>,
}

/// The groups that are offered behind a share that makes the server ask for another, when none are
/// asked for: those of rustls, in its order.
pub const USUAL_GROUPS: [Group; 4] =
    [Group::X25519MlKem768, Group::X25519, Group::P256, Group::P384];

/// The certificate authorities that are trusted for a server's certificate.
#[derive(Debug, Clone)]
pub enum TrustAnchors {
    /// The authorities of these certificates, DER.
    Certificates(Vec<Vec<u8>>),
    /// All: chain, name and validity are not checked; the handshake signature still is.
    Anyone,
}

impl ClientSettings {
    /// The server names, each as a back end has it.
    ///
    /// # Errors
    /// There is none, or the back end refuses one of them.
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

/// With [`Authenticate::Sampled`], one connection in N of each server name is authenticated in
/// full, the first one included.
pub const SAMPLING_PERIOD: u32 = 128;

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

    /// Keeps N sessions to resume; of more the oldest are dropped.
    fn keep(&mut self, sessions: usize);
}

/// Called between the records of a handshake: whether something is due that must not wait for the
/// remaining records. `None` if nothing ever is.
pub type Urgent<'u> = Option<&'u dyn Fn() -> bool>;

/// One connection's TLS state.
pub trait Session {
    /// The number of bytes that the session has accepted or made and not yet sent.
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

    /// Frees the buffers that only an active session needs. The connection is idle from here on.
    fn rest(&mut self) {}

    /// The certificates that the server sent, DER, its own first; empty if the session reads none.
    fn peer_certificates(&self) -> Vec<Vec<u8>>;

    /// The reason why the session failed, if more than the failure's class is known.
    fn reason(&self) -> Option<Reason> {
        None
    }

    /// The same reason in words; empty if no more is known.
    fn explain(&self) -> String {
        self.reason().map(|reason| reason.in_one_line()).unwrap_or_default()
    }
}
