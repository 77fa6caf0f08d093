//! TLS in memory: client and server in one thread, without sockets.
//!
//! Each thread has a client and a server, with their own configurations, tickets and buffers;
//! nothing is shared between threads. The output of one side is passed to the other by reference.
//! The facts of every handshake are read on both sides and compared with the specification, as in a
//! load.
//!
//! `spec` is the specification and `record` the result; `library` is the interface of a back end,
//! implemented by `rustls` and `openssl`; `exchange` makes one handshake, `handshakes` makes many,
//! and `bulk` transfers records.

mod buffer;
mod bulk;
mod code_path;
mod exchange;
mod handshakes;
mod library;
mod openssl;
mod record;
mod role;
mod rustls;
mod settings;
mod spec;
mod threads;

use std::sync::atomic::AtomicBool;

pub use record::{
    BulkResult, BulkSide, Flight, HandshakeFacts, HandshakeResult, IN_MEMORY_SCHEMA,
    InMemoryRecord, NodeSignatures, SideCost,
};
pub use spec::{BulkSpec, Direction, HandshakeForm, InMemorySpec};
pub use tlslab_remote_keys::{
    ClusterKey, KeyAway, KeyError, KeyPlace, KeySide, Pkcs11Key, Secret, SigningNode,
};

use self::library::{HandshakeError, Library};
use self::openssl::OpensslLibrary;
use self::record::verdicts;
use self::rustls::RustlsLibrary;
use self::settings::Settings;
use tlslab_contract::spec::BackendChoice;
use tlslab_system::environment::environment;
use tlslab_tls::BackendError;
use tlslab_tls::versions::versions;

/// Errors that prevent a measurement in memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages are the documentation")]
pub enum InMemoryError {
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error("cannot make a certificate: {0}")]
    Certificate(String),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("the handshake fails at the {side}: {message}")]
    Handshake { side: &'static str, message: String },
    #[error("the handshake is not the one that was asked for: its {0} differs")]
    Unexpected(String),
    #[error("cannot pin a thread to processor {processor}: {message}")]
    Pin { processor: usize, message: String },
}

impl InMemoryError {
    /// True if the specification is at fault rather than this machine.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Usage(_) | Self::Backend(_) | Self::Key(KeyError::Usage(_)))
    }
}

impl From<HandshakeError> for InMemoryError {
    fn from(trouble: HandshakeError) -> Self {
        Self::Handshake { side: trouble.side.name(), message: trouble.message }
    }
}

/// Measures handshakes, or bulk transfer if specified, until the specified end or the interruption.
///
/// # Errors
/// Parts of the specification contradict each other, the library lacks a feature, or the first
/// handshake, which is not measured, fails.
pub fn measure(
    spec: InMemorySpec,
    interrupt: &AtomicBool,
) -> Result<InMemoryRecord, InMemoryError> {
    spec.check()?;
    if spec.key_away.is_some() && spec.backend == BackendChoice::Openssl {
        return Err(InMemoryError::Backend(BackendError::Unsupported {
            backend: OpensslLibrary::NAME,
            what: "key away from the process".to_owned(),
            has: "keys in memory".to_owned(),
        }));
    }
    match spec.backend {
        BackendChoice::Rustls => measure_with::<RustlsLibrary>(spec, interrupt),
        BackendChoice::Openssl => measure_with::<OpensslLibrary>(spec, interrupt),
        BackendChoice::Auto if spec.key_away.is_some() || rustls::supports(&spec).is_ok() => {
            measure_with::<RustlsLibrary>(spec, interrupt)
        }
        BackendChoice::Auto => measure_with::<OpensslLibrary>(spec, interrupt),
    }
}

fn measure_with<L: Library>(
    spec: InMemorySpec,
    interrupt: &AtomicBool,
) -> Result<InMemoryRecord, InMemoryError> {
    let (handshakes, bulk) = match &spec.bulk {
        None => {
            let settings = Settings::new(&spec, spec.suite())?;
            (Some(handshakes::measure::<L>(&spec, &settings, interrupt)?), Vec::new())
        }
        Some(asked) => (None, bulk::measure::<L>(&spec, asked, interrupt)?),
    };
    let mut versions = versions();
    versions.insert("code_path".to_owned(), code_path::code_path());
    Ok(InMemoryRecord {
        schema: IN_MEMORY_SCHEMA.to_owned(),
        backend: L::NAME.to_owned(),
        versions,
        environment: environment(),
        verdicts: verdicts(handshakes.as_ref(), &bulk, interrupt),
        spec,
        handshakes,
        bulk,
    })
}
