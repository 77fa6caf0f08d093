//! Both sides with rustls, over its unbuffered interface, with its default provider.
//!
//! The load generator uses another provider, with a key schedule of its own (ADR 0011); here the
//! library itself is measured. Groups that the default provider lacks (P-521, X448) come from the
//! load generator.

mod authentication;
mod session;
mod tickets;

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, UnbufferedServerConnection};
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};

use self::session::RustlsSide;
use self::tickets::Tickets;
use super::InMemoryError;
use super::library::{HandshakeError, Library};
use super::role::Role;
use super::settings::{SERVER_NAME, Settings};
use super::spec::{InMemorySpec, has_group};
use tlslab_contract::spec::KeyShare;
use tlslab_remote_keys::{self as keys, SharedSession, SignatureAccounting};
use tlslab_tls::BackendError;
use tlslab_tls::rustls::{GROUPS, NAME, key_exchange};
use tlslab_tls::self_signed::Issued;
use tlslab_wire::names::{CipherSuite, Group};

/// The client and the server of one thread.
pub struct RustlsLibrary {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    server_name: ServerName<'static>,
    tickets: Option<Arc<Tickets>>,
    session: Option<SharedSession>,
}

/// Checks that rustls supports a specification; the error names the missing feature.
pub fn supports(spec: &InMemorySpec) -> Result<(), BackendError> {
    spec.suites.iter().try_for_each(|suite| provider(*suite, spec.group).map(|_| ()))
}

impl Library for RustlsLibrary {
    const NAME: &'static str = NAME;
    type Client = RustlsSide<UnbufferedClientConnection>;
    type Server = RustlsSide<UnbufferedServerConnection>;

    fn new(settings: &Settings) -> Result<Self, InMemoryError> {
        let provider = Arc::new(provider(settings.suite, settings.group)?);
        let tickets = settings.resumes.then(|| Arc::new(Tickets::default()));
        let session = match &settings.away {
            Some((_, source)) => Some(Arc::new(Mutex::new(keys::open_session(source.as_ref())?))),
            None => None,
        };
        let mut client = client(settings, &provider, session.as_ref())?;
        let mut server = server(settings, &provider, session.as_ref())?;
        client.resumption = match &tickets {
            Some(tickets) => Resumption::store(Arc::clone(tickets) as Arc<_>),
            None => Resumption::disabled(),
        };
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = usize::from(settings.resumes);
        if settings.resumes {
            server.ticketer = aws_lc_rs::Ticketer::new().map_err(refused)?;
        }
        Ok(Self {
            client: Arc::new(client),
            server: Arc::new(server),
            server_name: ServerName::try_from(SERVER_NAME).expect("a DNS name"),
            tickets,
            session,
        })
    }

    fn client(&mut self) -> Result<Self::Client, HandshakeError> {
        let config = Arc::clone(&self.client);
        UnbufferedClientConnection::new(config, self.server_name.clone())
            .map(|connection| RustlsSide::new(connection, Role::Client))
            .map_err(|error| trouble(Role::Client, &error))
    }

    fn server(&mut self) -> Result<Self::Server, HandshakeError> {
        UnbufferedServerConnection::new(Arc::clone(&self.server))
            .map(|connection| RustlsSide::new(connection, Role::Server))
            .map_err(|error| trouble(Role::Server, &error))
    }

    fn tickets(&self) -> usize {
        self.tickets.as_ref().map_or(0, |tickets| tickets.count())
    }

    fn signatures(&mut self) -> Option<SignatureAccounting> {
        let session = self.session.as_ref()?;
        Some(session.lock().unwrap_or_else(PoisonError::into_inner).take_accounting())
    }
}

fn trouble(side: Role, error: &rustls::Error) -> HandshakeError {
    HandshakeError { side, message: error.to_string() }
}

fn refused(error: rustls::Error) -> InMemoryError {
    BackendError::Refused { backend: NAME, message: error.to_string() }.into()
}

/// The provider with one suite and one group.
fn provider(suite: CipherSuite, group: Group) -> Result<CryptoProvider, BackendError> {
    let all = aws_lc_rs::ALL_CIPHER_SUITES.iter();
    let number = |s: &rustls::SupportedCipherSuite| CipherSuite::from_code_point(s.suite().into());
    let listed = |names: Vec<String>| names.join(", ");
    let Some(found) = all.clone().find(|known| number(known) == suite) else {
        return Err(BackendError::Unsupported {
            backend: NAME,
            what: format!("suite {suite}"),
            has: listed(all.map(|known| number(known).to_string()).collect()),
        });
    };
    let group = key_exchange::implementation(group, KeyShare::Fresh).ok_or_else(|| {
        BackendError::Unsupported {
            backend: NAME,
            what: format!("group {group}"),
            has: listed(GROUPS.iter().map(ToString::to_string).collect()),
        }
    })?;
    Ok(CryptoProvider {
        cipher_suites: vec![*found],
        // A suite without a group would need no groups; rustls has no such suites.
        kx_groups: if has_group(suite) { vec![group] } else { Vec::new() },
        ..aws_lc_rs::default_provider()
    })
}

fn version(settings: &Settings) -> &'static SupportedProtocolVersion {
    if settings.is_tls13() { &rustls::version::TLS13 } else { &rustls::version::TLS12 }
}

fn client(
    settings: &Settings,
    provider: &Arc<CryptoProvider>,
    session: Option<&SharedSession>,
) -> Result<ClientConfig, InMemoryError> {
    let roots = roots(&settings.identity)?;
    let verifier = authentication::server_verifier(roots, provider, settings.scheme)?;
    let builder = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[version(settings)])
        .map_err(refused)?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    match &settings.client_identity {
        None => Ok(builder.with_no_client_auth()),
        Some((identity, _)) => {
            match of(Role::Client, settings, session) {
                Some(session) => Ok(builder
                    .with_client_cert_resolver(keys::certified(&identity.certificate, session))),
                None => {
                    let (chain, key) = chain_and_key(identity);
                    builder.with_client_auth_cert(chain, key).map_err(refused)
                }
            }
        }
    }
}

fn server(
    settings: &Settings,
    provider: &Arc<CryptoProvider>,
    session: Option<&SharedSession>,
) -> Result<ServerConfig, InMemoryError> {
    let builder = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[version(settings)])
        .map_err(refused)?;
    let builder = match &settings.client_identity {
        None => builder.with_no_client_auth(),
        Some((identity, scheme)) => {
            let roots = roots(identity)?;
            let verifier = authentication::client_verifier(roots, provider, *scheme)?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    if let Some(session) = of(Role::Server, settings, session) {
        let certified = keys::certified(&settings.identity.certificate, session);
        return Ok(builder.with_cert_resolver(certified));
    }
    let (chain, key) = chain_and_key(&settings.identity);
    builder.with_single_cert(chain, key).map_err(refused)
}

/// The session with the key, if the key belongs to this side.
fn of<'a>(
    role: Role,
    settings: &Settings,
    session: Option<&'a SharedSession>,
) -> Option<&'a SharedSession> {
    session.filter(|_| settings.away.as_ref().is_some_and(|(side, _)| *side == role))
}

fn roots(identity: &Issued) -> Result<Arc<RootCertStore>, InMemoryError> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(identity.authority.clone())).map_err(refused)?;
    Ok(Arc::new(roots))
}

fn chain_and_key(identity: &Issued) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let key = PrivatePkcs8KeyDer::from(identity.key.clone());
    (vec![CertificateDer::from(identity.certificate.clone())], PrivateKeyDer::Pkcs8(key))
}
