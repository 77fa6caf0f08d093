//! The specification of the reference server.

use std::net::SocketAddr;

use rustls_pki_types::CertificateDer;

use crate::burn::BURN_LIMIT;
use tlslab_system::clock::{Nanos, SECOND};
use tlslab_tls::BackendError;
use tlslab_tls::certificates;
use tlslab_tls::identity::{Identity, IdentityError};
use tlslab_wire::names::{CipherSuite, Group, TlsVersion};
use tlslab_wire::tls::obsolete::SHORTEST_PRIME;

/// The TLS library of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ServerBackend {
    /// The built-in OpenSSL 3.6: every group and every suite of TLS 1.2 and 1.3.
    #[default]
    Openssl,
    /// rustls on aws-lc-rs.
    Rustls,
    /// No TLS: HTTP/1.1 in the clear.
    None,
}

/// The default limit of silence between two requests.
pub const IDLE: Nanos = 30 * SECOND;

/// The specification of the server: content, TLS parameters and processors.
#[derive(Debug)]
pub struct ServeSpec {
    /// The address to listen on; port 0 lets the system choose a port.
    pub listen: SocketAddr,
    /// The number of workers. Each is one thread with a poller and its own listening socket.
    pub threads: usize,
    /// Processors for the workers, in order and repeated as needed; empty: not pinned.
    pub cpus: Vec<usize>,
    /// The TLS library of the server.
    pub backend: ServerBackend,
    /// Protocol versions; empty: those of the suites or, without suites, all.
    pub versions: Vec<TlsVersion>,
    /// Cipher suites; empty: all of the back end. The client's order decides.
    pub suites: Vec<CipherSuite>,
    /// Key-exchange groups; empty: all of the back end.
    pub groups: Vec<Group>,
    /// The pause before each response, which simulates work.
    pub pause: Nanos,
    /// Processor time that each new connection wastes, as a share of its cost (0.05: 5 %) for
    /// accept, handshake, first exchange and close. `None`: the cost is not measured. 0: the cost
    /// is measured and nothing is wasted, as the baseline of a comparison.
    pub burn: Option<f64>,
    /// The longest silence between two requests.
    pub idle: Nanos,
    /// Certificates with their keys, at least one. The client's signature schemes and suites
    /// decide.
    pub identities: Vec<Identity>,
    /// Whether clients are asked for certificates.
    pub client_auth: Option<ClientAuth>,
    /// The size of the Diffie-Hellman parameters, one of [`DH_SIZES`]; `None`: as strong as the
    /// certificate's key.
    pub dh_bits: Option<u32>,
    /// Whether versions before TLS 1.2, RC4, 3DES, and primes shorter than 2,048 bits may be
    /// requested. They are served only on request.
    pub allow_obsolete: bool,
    /// The allowed kinds of resumption.
    pub resumption: Resumption,
}

/// The available sizes of primes in bits: those of RFC 2409 (except 768) and RFC 3526.
pub const DH_SIZES: [u32; 7] = [1024, 1536, 2048, 3072, 4096, 6144, 8192];

/// How clients are authenticated.
#[derive(Debug, Clone)]
pub struct ClientAuth {
    /// The trust anchors for clients' certificates.
    pub(super) authorities: Vec<CertificateDer<'static>>,
    /// Whether a client without a certificate is refused. A client with an invalid one always is.
    pub required: bool,
}

impl ClientAuth {
    /// Trusts the certificates in a PEM text. `None` if it contains none, or an invalid one.
    pub fn from_pem(authorities: &str, required: bool) -> Option<Self> {
        Some(Self { authorities: certificates::from_pem(authorities)?, required })
    }
}

/// The kinds of resumption that a server offers. Default: none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resumption {
    /// By session ID, in TLS 1.2.
    pub id: bool,
    /// By ticket, in TLS 1.2.
    pub ticket: bool,
    /// By pre-shared key, in TLS 1.3; without a key exchange if the client offers psk_ke.
    pub psk: bool,
    /// Number of tickets on each TLS 1.3 connection. OpenSSL sends one after a resumed handshake.
    pub tickets: usize,
    /// Bytes of early data that a resumed TLS 1.3 connection may send. Above 0, the server stores
    /// its sessions, so that each is used once.
    pub early_data: u32,
}

impl Default for Resumption {
    fn default() -> Self {
        Self { id: false, ticket: false, psk: false, tickets: 2, early_data: 0 }
    }
}

impl Resumption {
    /// True if the server stores sessions, by their session IDs or by identifiers in tickets.
    pub(super) fn keeps_sessions(self) -> bool {
        self.id || (self.psk && self.early_data > 0)
    }

    /// The number of tickets on each TLS 1.3 connection.
    pub(super) fn tls13_tickets(self) -> usize {
        if self.psk { self.tickets } else { 0 }
    }
}

/// The highest number of stored sessions.
pub(super) const SESSIONS: i32 = 64 * 1024;

impl ServeSpec {
    /// A server on a free port of 127.0.0.1 with one worker and everything that the back end
    /// supports.
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
            burn: None,
            idle: IDLE,
            identities,
            client_auth: None,
            dh_bits: None,
            allow_obsolete: false,
            resumption: Resumption::default(),
        }
    }

    /// The processor of a worker; `None` if workers are not pinned.
    pub(super) fn processor(&self, worker: usize) -> Option<usize> {
        (!self.cpus.is_empty()).then(|| self.cpus[worker % self.cpus.len()])
    }

    /// The served versions: the requested ones, or those of the requested suites, or all.
    pub(super) fn served_versions(&self) -> Vec<TlsVersion> {
        let asked = |version: &TlsVersion| match (&*self.versions, &*self.suites) {
            ([], []) => !version.is_obsolete(),
            ([], suites) => {
                !version.is_obsolete() && suites.iter().any(|suite| suite.fits(*version))
            }
            (versions, _) => versions.contains(version),
        };
        TlsVersion::ALL.into_iter().filter(asked).collect()
    }

    /// Checks that the parts are consistent.
    pub(super) fn check(&self) -> Result<(), ServeError> {
        if self.threads == 0 {
            return Err(ServeError::NoThreads);
        }
        if self.identities.is_empty() && self.backend != ServerBackend::None {
            return Err(ServeError::NoIdentity);
        }
        if let Some(option) = self.of_tls().filter(|_| self.backend == ServerBackend::None) {
            return Err(ServeError::OfTls(option));
        }
        self.check_obsolete()?;
        if let Some(share) = self.burn.filter(|share| !(0.0..=BURN_LIMIT).contains(share)) {
            return Err(ServeError::Burn(share));
        }
        if self.resumption.early_data > 0 && !self.resumption.psk {
            return Err(ServeError::EarlyDataWithoutPsk);
        }
        let versions = self.served_versions();
        if let Some(gap) = TlsVersion::gap(&versions) {
            return Err(ServeError::VersionsApart(gap));
        }
        for &suite in &self.suites {
            if !versions.iter().any(|version| suite.fits(*version)) {
                return Err(ServeError::SuiteOutsideVersions(suite, suite.version()));
            }
        }
        for version in versions {
            let has_suite = self.suites.iter().any(|suite| suite.fits(version));
            if !self.suites.is_empty() && !has_suite {
                return Err(ServeError::VersionWithoutSuite(version));
            }
        }
        match self.dh_bits {
            Some(bits) if !DH_SIZES.contains(&bits) => Err(ServeError::DhSize(bits)),
            _ => Ok(()),
        }
    }

    /// An option of TLS that is set, if any.
    fn of_tls(&self) -> Option<&'static str> {
        let set = [
            (!self.identities.is_empty(), "a certificate"),
            (!self.versions.is_empty(), "a version of TLS"),
            (!self.suites.is_empty(), "a cipher suite"),
            (!self.groups.is_empty(), "a group"),
            (self.client_auth.is_some(), "a client's certificate"),
            (self.dh_bits.is_some(), "a Diffie-Hellman prime"),
            (self.resumption != Resumption::default(), "resumption"),
        ];
        set.into_iter().find_map(|(is_set, option)| is_set.then_some(option))
    }

    /// Checks that obsolete parameters are allowed, if any are requested.
    fn check_obsolete(&self) -> Result<(), ServeError> {
        let version = self.versions.iter().find(|version| version.is_obsolete());
        let suite = self.suites.iter().find(|suite| suite.is_obsolete());
        let key = self.identities.iter().find_map(Identity::short_key);
        let dh = self.dh_bits.filter(|bits| *bits < SHORTEST_PRIME);
        let what = (version.map(|version| format!("TLS version {version}")))
            .or_else(|| suite.map(|suite| format!("suite {suite}")))
            .or_else(|| key.map(|kind| format!("a certificate with an {kind} key")))
            .or_else(|| dh.map(|bits| format!("Diffie-Hellman with {bits} bits")));
        match what {
            Some(what) if !self.allow_obsolete => Err(ServeError::Obsolete(what)),
            _ => Ok(()),
        }
    }
}

/// Errors that prevent the start of a server, or its failure.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages are the documentation")]
pub enum ServeError {
    #[error("threads must be at least 1")]
    NoThreads,
    #[error("a server needs a certificate with its key, or a self-signed one")]
    NoIdentity,
    #[error("a server without TLS (backend none) has no use for {0}")]
    OfTls(&'static str),
    #[error("burn ({0}) must be a share from 0 to {BURN_LIMIT}")]
    Burn(f64),
    #[error("early data needs resumption by psk")]
    EarlyDataWithoutPsk,
    #[error("suite {0} belongs to TLS {1}, which is not among the versions asked for")]
    SuiteOutsideVersions(CipherSuite, TlsVersion),
    #[error("no suite given for TLS {0}; give one, or leave that version or all suites out")]
    VersionWithoutSuite(TlsVersion),
    #[error("the versions must be consecutive, but TLS {0} is missing between them")]
    VersionsApart(TlsVersion),
    #[error("there is no Diffie-Hellman prime of {0} bits here; known sizes: {DH_SIZES:?}")]
    DhSize(u32),
    #[error("{0} is obsolete; give --allow-obsolete to have it all the same")]
    Obsolete(String),
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
    /// The remedy.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Listen { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse => {
                "end what listens there, or give another port with --listen (0: any that is free)"
            }
            Self::Listen { .. } => "give an address of this machine, and a port that you may have",
            Self::Pin { .. } => "give processors that are online with --cpu",
            Self::WorkerPanicked => {
                "please report it with the command line: it is a fault of the server"
            }
            Self::System(_) => {
                "check that the system has memory, files and processes left (ulimit -a)"
            }
            Self::Backend(BackendError::NotBuilt { .. }) => {
                "`make setup` builds it, or give --backend rustls"
            }
            Self::Backend(_) => {
                "ask for what this library has, or give the other one with --backend"
            }
            Self::Identity(_) => "give a certificate chain with its key, both in PEM",
            _ => "see --help",
        }
    }

    /// True if the specification is at fault rather than this machine.
    pub fn is_usage(&self) -> bool {
        !matches!(
            self,
            Self::Listen { .. }
                | Self::Pin { .. }
                | Self::WorkerPanicked
                | Self::System(_)
                | Self::Backend(BackendError::NotBuilt { .. })
        )
    }
}
