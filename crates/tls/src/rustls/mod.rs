//! The fast back end: rustls on aws-lc-rs.

pub mod certificate_error;
mod chain_memo;
pub mod client_identity;
mod decoy;
mod facts;
mod failure;
mod ffi;
mod flight;
mod handover;
mod inspection;
pub mod key_exchange;
mod key_memo;
mod key_schedule;
mod minimal;
mod random;
mod session;
pub mod signed_with;
mod suites;
mod tickets;
mod transcript;
mod trusted_leaf;
mod variant_name;
mod verifier;

use std::sync::Arc;
use std::time::Instant;

use rustls::client::{Resumption, Tls12Resumption};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, SupportedCipherSuite, SupportedProtocolVersion};

use self::client_identity::OneIdentity;
use self::handover::{HandedGroup, Handover};
use self::minimal::{ClientHelloTemplate, MinimalTicket, ServerAuthenticator};
use self::random::Random;
use self::suites::CIPHER_SUITES;
use self::tickets::{LibraryTicket, Ticket, Tickets};
use self::verifier::Verifier;
use super::pool::Pool;
use super::turns::{Turn, Turns};
use super::{Backend, BackendError, ClientSettings, SAMPLING_PERIOD, USUAL_GROUPS};
use tlslab_contract::spec::{Authenticate, ClientChoice, HelloRetry, KeyShare, Resume};
use tlslab_wire::names::{CipherSuite, Group, SignatureScheme, TlsVersion};
use tlslab_wire::outcome::Failure;

pub use self::key_exchange::GROUPS;
pub use self::session::RustlsSession;

/// The name of this back end in specifications and records.
pub const NAME: &str = "rustls";

/// The highest number of sessions that a server may have issued after a session of the library that
/// a sampled connection resumes: a server's cache may keep some hundreds only (256 by default in
/// rustls), and drops the oldest.
const RECENT: u64 = 200;

/// With this number issued after it, a session of the library is resumed before its turn, while the
/// server still has it: a server that issues several on each resumption reaches that sooner.
const AGED: u64 = 150;

/// The beginning of the minimal client's connections for one server name.
struct Beginning {
    template: Arc<ClientHelloTemplate>,
    /// For the servers that answer the same ClientHello with an older version or with a
    /// HelloRetryRequest; `None` if it offers only one version and group.
    handover: Option<Arc<Handover>>,
}

/// Creates the rustls sessions of one worker.
pub struct RustlsBackend {
    /// The configuration of connections that authenticate the server.
    verifying: Arc<ClientConfig>,
    /// The configuration of connections that do not, between two samples.
    trusting: Arc<ClientConfig>,
    server_names: Vec<ServerName<'static>>,
    /// The beginnings of the minimal client's connections for each name; empty if it does not
    /// support the run's settings.
    minimal: Vec<Beginning>,
    /// The order of names and the selection of sampled connections.
    turns: Turns,
    /// The selection of sampled resumptions.
    resumptions: Turns,
    authenticate: Authenticate,
    resume: Resume,
    pool: Pool<Ticket>,
}

impl RustlsBackend {
    /// Builds the back end; an error names the missing feature.
    pub fn new(settings: &ClientSettings) -> Result<Self, BackendError> {
        if settings.resume == Resume::PskOnly {
            let has = [Resume::Id, Resume::Ticket, Resume::Psk].into_iter();
            return Err(lacks("resumption by", &settings.resume, has.map(|kind| kind.to_string())));
        }
        let provider = Arc::new(provider(settings)?);
        let algorithms = provider.signature_verification_algorithms;
        let schemes = signature_schemes(settings, &provider)?;
        let verifier = Verifier::full(&settings.trust, algorithms, schemes.clone())
            .map_err(|message| BackendError::Refused { backend: NAME, message })?;
        let verifier = Arc::new(verifier);
        let trusting = Arc::new(Verifier::none(algorithms, schemes));
        let server_names = settings
            .names(NAME, |name| ServerName::try_from(name.to_owned()).map_err(|e| e.to_string()))?;
        Ok(Self {
            verifying: config(settings, &provider, Arc::clone(&verifier))?,
            minimal: beginnings(settings, &provider, [&verifier, &trusting], &server_names)?,
            trusting: config(settings, &provider, trusting)?,
            turns: Turns::new(server_names.len(), SAMPLING_PERIOD),
            resumptions: Turns::new(1, SAMPLING_PERIOD),
            server_names,
            authenticate: settings.authenticate,
            resume: settings.resume,
            pool: Pool::sparing(|ticket| !ticket.is_minimal()),
        })
    }

    /// A back end that samples no connections: the minimal client makes all, if it supports the
    /// run's settings.
    pub fn minimal_only(settings: &ClientSettings) -> Result<Self, BackendError> {
        let backend = Self::new(settings)?;
        let (turns, resumptions) = (backend.turns.unsampled(), backend.resumptions.unsampled());
        Ok(Self { turns, resumptions, ..backend })
    }

    /// A session that adds its tickets or session IDs to the pool, if the run resumes sessions.
    fn session(
        &mut self,
        name: usize,
        verify: bool,
        ticket: Option<LibraryTicket>,
    ) -> Result<RustlsSession, Failure> {
        let config = Arc::clone(if verify { &self.verifying } else { &self.trusting });
        let server_name = self.server_names[name].clone();
        let session = RustlsSession::new(config, server_name, verify, name, ticket)?;
        Ok(self.keeping_tickets(session))
    }

    /// A session by the minimal client, in the same way.
    fn minimal(
        &self,
        name: usize,
        ticket: Option<MinimalTicket>,
    ) -> Result<RustlsSession, Failure> {
        let Beginning { template, handover } = &self.minimal[name];
        let mut session = RustlsSession::minimal(Arc::clone(template), name, ticket)?;
        session.hand_over_by(handover.clone());
        Ok(self.keeping_tickets(session))
    }

    fn keeping_tickets(&self, mut session: RustlsSession) -> RustlsSession {
        if self.resume != Resume::None {
            session.keep_tickets(self.pool.clone());
        }
        session
    }

    /// The newest session to resume: of the library for a sampled connection, otherwise of the
    /// minimal client. One of the other kind if there is none.
    fn ticket(&mut self) -> Option<Ticket> {
        let now = Instant::now();
        self.pool.drop_oldest(|ticket| ticket.has_expired(now));
        let is_due = self.resumptions.next().is_sampled;
        let is_sampled = is_due || self.pool.after_spared().is_some_and(|later| later >= AGED);
        let fits = |ticket: &Ticket, later: u64| {
            self.minimal.is_empty()
                || (ticket.is_minimal() != is_sampled && (!is_sampled || later < RECENT))
        };
        self.pool
            .take_if(|ticket, later| fits(ticket, later) && !ticket.has_expired(now))
            .or_else(|| self.pool.take_if(|ticket, _| !ticket.has_expired(now)))
    }

    /// Whether the minimal client supports the run's settings. If not, the library makes all
    /// connections.
    pub fn uses_minimal_client(&self) -> bool {
        !self.minimal.is_empty()
    }
}

impl Backend for RustlsBackend {
    type Session = RustlsSession;

    /// The library makes the sampled connections: a fault of the minimal client would show as a
    /// difference between the two.
    fn open(&mut self) -> Result<RustlsSession, Failure> {
        let Turn { name, is_sampled } = self.turns.next();
        if !is_sampled && !self.minimal.is_empty() {
            return self.minimal(name, None);
        }
        self.session(name, is_sampled || self.authenticate == Authenticate::Every, None)
    }

    /// The library resumes with the configuration of the session's full handshake: rustls resumes
    /// with no other. A run that resumes sessions has one name.
    fn resume(&mut self) -> Result<Option<RustlsSession>, Failure> {
        let session = match self.ticket() {
            None => return Ok(None),
            Some(Ticket::Minimal(ticket)) => self.minimal(0, Some(ticket)),
            Some(Ticket::Library(ticket)) => self.session(0, ticket.authenticated(), Some(ticket)),
        };
        session.map(Some)
    }

    fn resumable(&self) -> usize {
        self.pool.len()
    }

    fn keep(&mut self, sessions: usize) {
        self.pool.keep(sessions);
    }
}

/// The beginnings of the minimal client's connections for each name, if all connections can be TLS
/// 1.3 handshakes, full or resumed with a key exchange, without other features. Empty otherwise. The
/// verifiers are that of authenticated connections and that of the others.
fn beginnings(
    settings: &ClientSettings,
    provider: &CryptoProvider,
    [verifier, trusting]: [&Arc<Verifier>; 2],
    server_names: &[ServerName<'static>],
) -> Result<Vec<Beginning>, BackendError> {
    let versions = &settings.versions;
    let can = settings.client == ClientChoice::Auto
        && (versions.is_empty() || versions.contains(&TlsVersion::Tls13))
        && settings.client_identity.is_none()
        && matches!(settings.resume, Resume::None | Resume::Psk)
        && !settings.early_data
        && settings.hello_retry.is_none()
        && settings.key_log.is_none();
    let first = provider.kx_groups.first().filter(|_| can);
    let group = match settings.key_share {
        KeyShare::Fresh => first
            .and_then(|first| Group::from_code_point(first.name().into()))
            .and_then(|first| key_exchange::own(first, KeyShare::Fresh)),
        // The share of the library's connections.
        KeyShare::Reused => first.copied(),
    };
    let Some(group) = group else { return Ok(Vec::new()) };
    // Lives as long as the program, as the groups of `key_exchange` do.
    let group: &'static HandedGroup = Box::leak(Box::new(HandedGroup(group)));
    let mut provider = provider.clone();
    provider.kx_groups[0] = group;
    let is_open = provider.kx_groups.len() > 1 || *versions != [TlsVersion::Tls13];
    let authenticates = settings.authenticate == Authenticate::Every;
    let verifier_of_all = if authenticates { verifier } else { trusting };
    let config = config(settings, &Arc::new(provider), Arc::clone(verifier_of_all))?;
    let beginning = |name: &ServerName<'static>| {
        let authenticator =
            authenticates.then(|| ServerAuthenticator::new(Arc::clone(verifier), name.clone()));
        let make = || ClientHelloTemplate::new(&config, name, group, authenticator);
        let (template, drawn) = random::recording(make);
        let template = template?;
        let handover = || {
            let (config, record) = (Arc::clone(&config), template.record());
            Handover::new(config, name.clone(), record, drawn, authenticates).map(Arc::new)
        };
        let handover = if is_open { Some(handover()?) } else { None };
        Some(Beginning { template: Arc::new(template), handover })
    };
    Ok(server_names.iter().map(beginning).collect::<Option<_>>().unwrap_or_default())
}

fn implementation(suite: CipherSuite) -> Option<SupportedCipherSuite> {
    CIPHER_SUITES.iter().copied().find(|known| u16::from(known.suite()) == suite.code_point())
}

fn provider(settings: &ClientSettings) -> Result<CryptoProvider, BackendError> {
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites.clone_from(&CIPHER_SUITES);
    provider.secure_random = &Random;
    if !settings.suites.is_empty() {
        let all = CIPHER_SUITES.iter();
        let has = || all.map(|s| CipherSuite::from_code_point(s.suite().into()).to_string());
        provider.cipher_suites = settings
            .suites
            .iter()
            .map(|suite| implementation(*suite).ok_or_else(|| lacks("suite", suite, has.clone()())))
            .collect::<Result<_, _>>()?;
    }
    let groups = if settings.groups.is_empty() { &USUAL_GROUPS[..] } else { &settings.groups };
    let group = |group: &Group| {
        key_exchange::implementation(*group, settings.key_share)
            .ok_or_else(|| lacks("group", group, GROUPS.iter().map(ToString::to_string)))
    };
    provider.kx_groups = groups.iter().map(group).collect::<Result<_, _>>()?;
    // rustls sends a key share for the first of its groups.
    match settings.hello_retry {
        None => {}
        Some(HelloRetry::Decoy) => provider.kx_groups.insert(0, &decoy::DECOY),
        Some(HelloRetry::Share(share)) => provider.kx_groups.insert(0, group(&share)?),
    }
    Ok(provider)
}

fn signature_schemes(
    settings: &ClientSettings,
    provider: &CryptoProvider,
) -> Result<Vec<rustls::SignatureScheme>, BackendError> {
    let has = provider.signature_verification_algorithms.supported_schemes();
    if settings.signature_schemes.is_empty() {
        return Ok(has);
    }
    let names = || has.iter().map(|s| SignatureScheme::from_code_point((*s).into()).to_string());
    settings
        .signature_schemes
        .iter()
        .map(|asked| {
            let scheme = rustls::SignatureScheme::from(asked.code_point());
            let known = has.contains(&scheme).then_some(scheme);
            known.ok_or_else(|| lacks("signature scheme", asked, names()))
        })
        .collect()
}

fn lacks(
    kind: &str,
    what: &impl std::fmt::Display,
    has: impl Iterator<Item = String>,
) -> BackendError {
    BackendError::Unsupported {
        backend: NAME,
        what: format!("{kind} {what}"),
        has: has.collect::<Vec<_>>().join(", "),
    }
}

fn config(
    settings: &ClientSettings,
    provider: &Arc<CryptoProvider>,
    verifier: Arc<Verifier>,
) -> Result<Arc<ClientConfig>, BackendError> {
    let versions: Vec<_> = versions(settings)?;
    let config = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&versions)
        .map_err(|e| BackendError::Refused { backend: NAME, message: e.to_string() })?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match &settings.client_identity {
        Some(identity) => {
            let identity = OneIdentity::new(identity, provider)
                .map_err(|e| BackendError::Refused { backend: NAME, message: e.to_string() })?;
            config.with_client_cert_resolver(Arc::new(identity))
        }
        None => config.with_no_client_auth(),
    };
    config.resumption = match settings.resume {
        Resume::None => Resumption::disabled(),
        Resume::Id => {
            Resumption::store(Arc::new(Tickets)).tls12_resumption(Tls12Resumption::SessionIdOnly)
        }
        Resume::Ticket | Resume::Psk | Resume::PskOnly => Resumption::store(Arc::new(Tickets)),
    };
    config.enable_early_data = settings.early_data;
    config.alpn_protocols = settings.alpn.iter().map(|name| name.clone().into_bytes()).collect();
    if let Some(log) = settings.key_log.clone() {
        config.key_log = log;
    }
    Ok(Arc::new(config))
}

fn versions(
    settings: &ClientSettings,
) -> Result<Vec<&'static SupportedProtocolVersion>, BackendError> {
    let asked = match &*settings.versions {
        [] => TlsVersion::CURRENT.to_vec(),
        versions => versions.to_vec(),
    };
    let has = || TlsVersion::CURRENT.iter().map(ToString::to_string);
    let implementation = |version: &TlsVersion| match version {
        TlsVersion::Tls12 => Ok(&rustls::version::TLS12),
        TlsVersion::Tls13 => Ok(&rustls::version::TLS13),
        _ => Err(lacks("TLS version", version, has())),
    };
    asked.iter().map(implementation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TrustAnchors;
    use crate::identity::Identity;
    use crate::keylog::KeyLog;

    /// The settings of `--tls 1.3 --group X25519`.
    pub fn settings() -> ClientSettings {
        ClientSettings {
            versions: vec![TlsVersion::Tls13],
            suites: vec![],
            groups: vec![Group::X25519],
            signature_schemes: vec![],
            server_names: vec!["a.test".to_owned(), "b.test".to_owned()],
            alpn: vec![],
            client_identity: None,
            trust: TrustAnchors::Anyone,
            authenticate: Authenticate::Every,
            key_share: KeyShare::Fresh,
            client: ClientChoice::Auto,
            key_log: None,
            allow_obsolete: false,
            resume: Resume::None,
            early_data: false,
            hello_retry: None,
        }
    }

    /// The same settings with `--lean`.
    pub fn lean() -> ClientSettings {
        let (authenticate, key_share) = (Authenticate::Sampled, KeyShare::Reused);
        ClientSettings { authenticate, key_share, ..settings() }
    }

    /// For each of the first connections: whether the minimal client makes it.
    fn by_minimal_client(settings: &ClientSettings) -> Vec<bool> {
        let mut backend = RustlsBackend::new(settings).unwrap();
        (0..2 * SAMPLING_PERIOD).map(|_| backend.open().unwrap().is_minimal()).collect()
    }

    #[test]
    fn connections_that_are_not_sampled_are_the_minimal_clients() {
        let mut turns = Turns::new(settings().server_names.len(), SAMPLING_PERIOD);
        let expected: Vec<_> = (0..2 * SAMPLING_PERIOD).map(|_| !turns.next().is_sampled).collect();
        assert!(!expected[0] && !expected[1] && expected[2..100].iter().all(|minimal| *minimal));
        for settings in [settings(), lean()] {
            for group in GROUPS {
                let settings = ClientSettings { groups: vec![group], ..settings.clone() };
                assert_eq!(by_minimal_client(&settings), expected);
            }
        }
    }

    #[test]
    fn more_than_one_version_or_group_may_be_offered() {
        let both = vec![TlsVersion::Tls12, TlsVersion::Tls13];
        for more in [
            ClientSettings { versions: vec![], ..settings() },
            ClientSettings { versions: both, ..settings() },
            ClientSettings { groups: vec![], ..settings() },
            ClientSettings { groups: vec![Group::X25519, Group::P256], ..settings() },
            ClientSettings { versions: vec![], groups: vec![], ..lean() },
        ] {
            assert!(by_minimal_client(&more)[2..100].iter().all(|minimal| *minimal), "{more:?}");
        }
    }

    #[test]
    fn what_it_cannot_do_or_must_not_stays_with_the_library() {
        let made = rcgen::generate_simple_self_signed(["client".to_owned()]).unwrap();
        let identity = Identity::from_pem(&made.cert.pem(), &made.signing_key.serialize_pem());
        for other in [
            ClientSettings { client: ClientChoice::Library, ..settings() },
            ClientSettings { client: ClientChoice::Library, ..lean() },
            ClientSettings { versions: vec![TlsVersion::Tls12], ..settings() },
            ClientSettings { resume: Resume::Psk, early_data: true, ..settings() },
            ClientSettings { hello_retry: Some(HelloRetry::Decoy), ..settings() },
            ClientSettings { client_identity: Some(identity.unwrap()), ..settings() },
            ClientSettings { key_log: Some(Arc::new(KeyLog::new(std::io::sink()))), ..settings() },
        ] {
            assert!(!by_minimal_client(&other).contains(&true), "{other:?}");
        }
    }
}
