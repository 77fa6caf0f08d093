//! The rustls back end of the server.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{
    ClientHello, NoServerSessionStorage, ResolvesServerCert, ServerSessionMemoryCache,
    WebPkiClientVerifier,
};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, ServerConfig, ServerConnection, SupportedCipherSuite};

use super::{Acceptor, HTTP2, Inbound, Session, TlsFailure};
use crate::spec::{ClientAuth, Resumption, SESSIONS, ServeError, ServeSpec};
use tlslab_contract::spec::KeyShare;
use tlslab_tls::identity::{Identity, IdentityError};
use tlslab_tls::rustls::key_exchange::implementation;
use tlslab_tls::{BackendError, HandshakeKind};
use tlslab_wire::names::{CipherSuite, Group, TlsVersion};

const NAME: &str = "rustls";

/// Creates rustls sessions.
#[derive(Clone)]
pub(crate) struct RustlsAcceptor(Arc<ServerConfig>);

impl RustlsAcceptor {
    /// Builds the configuration that all sessions of a server share.
    pub fn new(spec: &ServeSpec) -> Result<Self, ServeError> {
        let provider = CryptoProvider {
            kx_groups: groups(&spec.groups)?,
            cipher_suites: suites(&spec.suites)?,
            ..aws_lc_rs::default_provider()
        };
        let certificates = Certificates::load(&spec.identities, &provider)?;
        if let Some(bits) = spec.dh_bits {
            let has = "groups of elliptic curves and KEMs".to_owned();
            let what = format!("Diffie-Hellman parameters of {bits} bits");
            return Err(BackendError::Unsupported { backend: NAME, what, has }.into());
        }
        let versions = spec.served_versions().into_iter().map(protocol);
        let versions = versions.collect::<Result<Vec<_>, _>>()?;
        let provider = Arc::new(provider);
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(refused)?
            .with_client_cert_verifier(client_verifier(spec.client_auth.as_ref(), provider)?)
            .with_cert_resolver(Arc::new(certificates));
        config.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
        set_resumption(&mut config, spec.resumption)?;
        Ok(Self(Arc::new(config)))
    }
}

/// rustls has one session store and one ticket encryptor for both versions: a session that is
/// stored or sealed for TLS 1.3 can be resumed in TLS 1.2 as well.
fn set_resumption(config: &mut ServerConfig, resumption: Resumption) -> Result<(), BackendError> {
    config.session_storage = match resumption.keeps_sessions() {
        true => ServerSessionMemoryCache::new(SESSIONS as usize),
        false => Arc::new(NoServerSessionStorage {}),
    };
    let sealed_in_tls13 = resumption.psk && !resumption.keeps_sessions();
    if resumption.ticket || sealed_in_tls13 {
        config.ticketer = aws_lc_rs::Ticketer::new().map_err(refused)?;
    }
    config.send_tls13_tickets = resumption.tls13_tickets();
    config.max_early_data_size = resumption.early_data;
    Ok(())
}

fn protocol(
    version: TlsVersion,
) -> Result<&'static rustls::SupportedProtocolVersion, BackendError> {
    let (what, has) = (format!("TLS version {version}"), "1.2, 1.3".to_owned());
    match version {
        TlsVersion::Tls12 => Ok(&rustls::version::TLS12),
        TlsVersion::Tls13 => Ok(&rustls::version::TLS13),
        _ => Err(BackendError::Unsupported { backend: NAME, what, has }),
    }
}

/// Requests certificates of clients, if the specification does, and verifies them.
fn client_verifier(
    auth: Option<&ClientAuth>,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, BackendError> {
    let Some(auth) = auth else { return Ok(WebPkiClientVerifier::no_client_auth()) };
    let refused = |message: String| BackendError::Refused { backend: NAME, message };
    let mut roots = RootCertStore::empty();
    for authority in &auth.authorities {
        roots.add(authority.clone()).map_err(|e| refused(e.to_string()))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let verifier = if auth.required { verifier } else { verifier.allow_unauthenticated() };
    verifier.build().map_err(|e| refused(e.to_string()))
}

/// The groups of the provider, and P-521, which aws-lc has as well.
fn groups(asked: &[Group]) -> Result<Vec<&'static dyn SupportedKxGroup>, BackendError> {
    let more = implementation(Group::P521, KeyShare::Fresh);
    let all: Vec<_> = aws_lc_rs::ALL_KX_GROUPS.iter().copied().chain(more).collect();
    select("group", asked, &all, |group| Group::from_code_point(u16::from(group.name())))
}

fn suites(asked: &[CipherSuite]) -> Result<Vec<SupportedCipherSuite>, BackendError> {
    select("cipher suite", asked, aws_lc_rs::ALL_CIPHER_SUITES, |suite| {
        Some(CipherSuite::from_code_point(u16::from(suite.suite())))
    })
}

/// The requested items, in their order, as far as supported; all items if none were requested.
fn select<N, T>(
    kind: &str,
    asked: &[N],
    there: &[T],
    name: impl Fn(&T) -> Option<N>,
) -> Result<Vec<T>, BackendError>
where
    N: PartialEq + std::fmt::Display + Copy,
    T: Copy,
{
    if asked.is_empty() {
        return Ok(there.to_vec());
    }
    let find = |wanted: &N| {
        let found = there.iter().find(|item| name(item).as_ref() == Some(wanted));
        found.copied().ok_or_else(|| BackendError::Unsupported {
            backend: NAME,
            what: format!("{kind} {wanted}"),
            has: there
                .iter()
                .filter_map(&name)
                .map(|n| n.to_string())
                .collect::<Vec<_>>()
                .join(", "),
        })
    };
    asked.iter().map(find).collect()
}

fn refused(error: rustls::Error) -> BackendError {
    BackendError::Refused { backend: NAME, message: error.to_string() }
}

/// The server's certificates. Each client gets the first that fits its most preferred scheme.
#[derive(Debug)]
struct Certificates(Vec<Arc<CertifiedKey>>);

impl Certificates {
    fn load(identities: &[Identity], provider: &CryptoProvider) -> Result<Self, ServeError> {
        for (index, identity) in identities.iter().enumerate() {
            // RSA keys of different sizes sign with the same schemes.
            let choice = |of: &Identity| match of.algorithm() {
                "RSA" => "RSA".to_owned(),
                _ => of.key_kind(),
            };
            if identities[..index].iter().any(|other| choice(other) == choice(identity)) {
                return Err(ServeError::AmbiguousIdentities(choice(identity)));
            }
        }
        let certified = |identity: &Identity| Ok(Arc::new(identity.certified(provider)?));
        Ok(Self(identities.iter().map(certified).collect::<Result<_, IdentityError>>()?))
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // rustls has already removed the schemes that none of the client's suites can use.
        hello.signature_schemes().iter().find_map(|scheme| {
            let signs = |certified: &&Arc<CertifiedKey>| {
                certified.key.choose_scheme(std::slice::from_ref(scheme)).is_some()
            };
            self.0.iter().find(signs).cloned()
        })
    }
}

impl Acceptor for RustlsAcceptor {
    type Session = RustlsSession;

    fn accept(&self) -> Result<RustlsSession, TlsFailure> {
        let mut connection = ServerConnection::new(Arc::clone(&self.0)).map_err(|_| TlsFailure)?;
        // The connection writes at most a quantum before it sends, so no limit is needed.
        connection.set_buffer_limit(None);
        Ok(RustlsSession { connection, early: false })
    }
}

/// A rustls session.
pub(crate) struct RustlsSession {
    connection: ServerConnection,
    /// Whether early data was accepted.
    early: bool,
}

impl Session for RustlsSession {
    fn handshake(&self) -> Option<HandshakeKind> {
        if self.connection.is_handshaking() {
            return None;
        }
        Some(match self.connection.handshake_kind() {
            Some(rustls::HandshakeKind::Resumed) => HandshakeKind::Resumed,
            _ => HandshakeKind::Full,
        })
    }

    fn speaks_http2(&self) -> bool {
        self.connection.alpn_protocol() == Some(HTTP2)
    }

    fn has_client_certificate(&self) -> bool {
        // rustls keeps only certificates that passed the verification.
        self.connection.peer_certificates().is_some()
    }

    fn accepted_early_data(&self) -> bool {
        self.early
    }

    fn receive(
        &mut self,
        mut received: &[u8],
        plaintext: &mut Vec<u8>,
    ) -> Result<Inbound, TlsFailure> {
        while !received.is_empty() {
            self.connection.read_tls(&mut received).map_err(|_| TlsFailure)?;
            let state = self.connection.process_new_packets().map_err(|_| TlsFailure)?;
            if let Some(mut early) = self.connection.early_data() {
                self.early = true;
                early.read_to_end(plaintext).map_err(|_| TlsFailure)?;
            }
            let length = state.plaintext_bytes_to_read();
            if length > 0 {
                let start = plaintext.len();
                plaintext.resize(start + length, 0);
                self.connection
                    .reader()
                    .read_exact(&mut plaintext[start..])
                    .map_err(|_| TlsFailure)?;
            }
            if state.peer_has_closed() {
                return Ok(Inbound::Ended);
            }
        }
        Ok(Inbound::Open)
    }

    fn write(&mut self, plaintext: &[u8]) -> Result<(), TlsFailure> {
        self.connection.writer().write_all(plaintext).map_err(|_| TlsFailure)
    }

    fn close(&mut self) {
        self.connection.send_close_notify();
    }

    fn send(&mut self, socket: &mut impl Write) -> io::Result<bool> {
        while self.connection.wants_write() {
            match self.connection.write_tls(socket) {
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }
}
