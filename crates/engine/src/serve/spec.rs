//! What the reference server is to be.

use std::net::SocketAddr;

use super::tls::identity::{Identity, IdentityError};
use crate::clock::{Nanos, SECOND};
use crate::names::{CipherSuite, Group, TlsVersion};
use crate::tls::BackendError;

/// Which TLS library serves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ServerBackend {
    /// OpenSSL 3.6, built in: every group and every suite of TLS 1.2 and 1.3.
    #[default]
    Openssl,
    /// rustls on aws-lc-rs.
    Rustls,
}

/// How long a connection may be silent between two requests, unless something else is asked for.
pub const IDLE: Nanos = 30 * SECOND;

/// What to serve, with what, and on which processors.
#[derive(Debug)]
pub struct ServeSpec {
    /// Where to listen; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// Workers; each is one thread with a poller and a listening socket of its own.
    pub threads: usize,
    /// The processors to pin the workers to, in order and repeated as needed; empty: not pinned.
    pub cpus: Vec<usize>,
    /// Which TLS library serves.
    pub backend: ServerBackend,
    /// Protocol versions; empty: those of the suites, and without suites all.
    pub versions: Vec<TlsVersion>,
    /// Cipher suites; empty: all that the back end has. The client's order decides.
    pub suites: Vec<CipherSuite>,
    /// Key-exchange groups; empty: all that the back end has.
    pub groups: Vec<Group>,
    /// The time before each response, as if there were work to do for it.
    pub pause: Nanos,
    /// How long a connection may be silent between two requests.
    pub idle: Nanos,
    /// Certificates with their keys, at least one; the client's signature schemes and suites choose.
    pub identities: Vec<Identity>,
    /// Which sessions may be resumed.
    pub resumption: Resumption,
}

/// Which sessions a server lets its clients resume; by default none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resumption {
    /// By session ID, in TLS 1.2.
    pub id: bool,
    /// By ticket, in TLS 1.2.
    pub ticket: bool,
    /// By pre-shared key, in TLS 1.3; without a key exchange where the client offers that.
    pub psk: bool,
    /// Tickets on each connection of TLS 1.3; OpenSSL sends one after a resumed handshake.
    pub tickets: usize,
    /// Bytes of early data that a resumed connection of TLS 1.3 may send. With any, the server keeps
    /// its sessions, so that each is used once.
    pub early_data: u32,
}

impl Default for Resumption {
    fn default() -> Self {
        Self { id: false, ticket: false, psk: false, tickets: 2, early_data: 0 }
    }
}

impl Resumption {
    /// Whether the server itself keeps sessions, by their IDs or by the names in tickets.
    pub(super) fn keeps_sessions(self) -> bool {
        self.id || (self.psk && self.early_data > 0)
    }

    /// Tickets on each connection of TLS 1.3.
    pub(super) fn tls13_tickets(self) -> usize {
        if self.psk { self.tickets } else { 0 }
    }
}

/// Sessions that a server keeps at most.
pub(super) const SESSIONS: i32 = 64 * 1024;

impl ServeSpec {
    /// A server on a free port of 127.0.0.1 with one worker and all that the back end has.
    pub fn loopback(backend: ServerBackend, identities: Vec<Identity>) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            threads: 1,
            cpus: Vec::new(),
            backend,
            versions: Vec::new(),
            suites: Vec::new(),
            groups: Vec::new(),
            pause: 0,
            idle: IDLE,
            identities,
            resumption: Resumption::default(),
        }
    }

    /// The processor of a worker; `None` when workers are not pinned.
    pub(super) fn processor(&self, worker: usize) -> Option<usize> {
        (!self.cpus.is_empty()).then(|| self.cpus[worker % self.cpus.len()])
    }

    /// The versions to serve: those asked for, or those of the suites asked for, or all.
    pub(super) fn served_versions(&self) -> Vec<TlsVersion> {
        let asked = |version: &TlsVersion| match (&*self.versions, &*self.suites) {
            ([], []) => true,
            ([], suites) => suites.iter().any(|suite| suite.version() == *version),
            (versions, _) => versions.contains(version),
        };
        TlsVersion::ALL.into_iter().filter(asked).collect()
    }

    /// Checks that the parts fit each other.
    pub(super) fn check(&self) -> Result<(), ServeError> {
        if self.threads == 0 {
            return Err(ServeError::NoThreads);
        }
        if self.identities.is_empty() {
            return Err(ServeError::NoIdentity);
        }
        if self.resumption.early_data > 0 && !self.resumption.psk {
            return Err(ServeError::EarlyDataWithoutPsk);
        }
        let versions = self.served_versions();
        for &suite in &self.suites {
            if !versions.contains(&suite.version()) {
                return Err(ServeError::SuiteOutsideVersions(suite, suite.version()));
            }
        }
        for version in versions {
            let has_suite = self.suites.iter().any(|suite| suite.version() == version);
            if !self.suites.is_empty() && !has_suite {
                return Err(ServeError::VersionWithoutSuite(version));
            }
        }
        Ok(())
    }
}

/// Why a server cannot be started, or ended badly.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages are the documentation")]
pub enum ServeError {
    #[error("threads must be at least 1")]
    NoThreads,
    #[error("a server needs a certificate with its key, or a self-signed one")]
    NoIdentity,
    #[error("early data goes with resumption by psk")]
    EarlyDataWithoutPsk,
    #[error("suite {0} belongs to TLS {1}, which is not among the versions asked for")]
    SuiteOutsideVersions(CipherSuite, TlsVersion),
    #[error("no suite given for TLS {0}; give one, or leave that version or all suites out")]
    VersionWithoutSuite(TlsVersion),
    #[error("two certificates with {0} keys: no client could choose between them")]
    AmbiguousIdentities(String),
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("cannot pin a worker to processor {processor}: {source}")]
    Pin { processor: usize, source: std::io::Error },
    #[error("a worker panicked")]
    WorkerPanicked,
    #[error("the operating system refused: {0}")]
    System(#[from] std::io::Error),
}

impl ServeError {
    /// Whether what was asked for cannot be (as opposed to: this machine refuses it now).
    pub fn is_usage(&self) -> bool {
        !matches!(
            self,
            Self::Listen { .. } | Self::Pin { .. } | Self::WorkerPanicked | Self::System(_)
        )
    }
}
