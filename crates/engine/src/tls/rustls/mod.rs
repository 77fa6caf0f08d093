//! The fast back end: rustls on aws-lc-rs.

mod chain_memo;
mod client_identity;
mod key_exchange;
mod key_schedule;
mod session;
mod verifier;

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, SupportedCipherSuite, SupportedProtocolVersion};

use self::client_identity::OneIdentity;
use self::key_schedule::CIPHER_SUITES;
use self::verifier::Verifier;
use super::{Backend, BackendError, Offer, SAMPLING_PERIOD};
use crate::names::{CipherSuite, SignatureScheme, TlsVersion};
use crate::outcome::Failure;
use crate::spec::Authenticate;

pub use self::key_exchange::GROUPS;
pub use self::session::RustlsSession;

/// The name of this back end in specifications and records.
pub const NAME: &str = "rustls";

/// Makes rustls sessions for one worker.
pub struct RustlsBackend {
    /// Authenticates the server.
    verifying: Arc<ClientConfig>,
    /// Does not; for the connections between two samples.
    trusting: Arc<ClientConfig>,
    server_names: Vec<ServerName<'static>>,
    /// Whose turn it is.
    next_name: usize,
    authenticate: Authenticate,
    opened: u32,
}

impl RustlsBackend {
    /// Builds the back end; an error names what the library lacks.
    pub fn new(offer: &Offer) -> Result<Self, BackendError> {
        let provider = Arc::new(provider(offer)?);
        let algorithms = provider.signature_verification_algorithms;
        let schemes = signature_schemes(offer, &provider)?;
        let verifying = Verifier::full(&offer.trust, algorithms, schemes.clone())
            .map_err(|message| BackendError::Refused { backend: NAME, message })?;
        let trusting = Verifier::none(algorithms, schemes);
        let server_names = offer
            .names(NAME, |name| ServerName::try_from(name.to_owned()).map_err(|e| e.to_string()))?;
        Ok(Self {
            verifying: config(offer, &provider, verifying)?,
            trusting: config(offer, &provider, trusting)?,
            server_names,
            next_name: 0,
            authenticate: offer.authenticate,
            opened: 0,
        })
    }
}

impl Backend for RustlsBackend {
    type Session = RustlsSession;

    fn open(&mut self) -> Result<RustlsSession, Failure> {
        let verify = match self.authenticate {
            Authenticate::Every => true,
            Authenticate::Sampled => self.opened.is_multiple_of(SAMPLING_PERIOD),
        };
        self.opened = self.opened.wrapping_add(1);
        let config = if verify { &self.verifying } else { &self.trusting };
        let name = self.next_name;
        self.next_name = (name + 1) % self.server_names.len();
        RustlsSession::new(Arc::clone(config), self.server_names[name].clone(), verify, name)
    }
}

/// Whether the library has a suite.
pub fn has_suite(suite: CipherSuite) -> bool {
    implementation(suite).is_some()
}

/// Whether the library can verify a signature scheme.
pub fn has_signature_scheme(scheme: SignatureScheme) -> bool {
    aws_lc_rs::default_provider()
        .signature_verification_algorithms
        .supported_schemes()
        .contains(&scheme.code_point().into())
}

fn implementation(suite: CipherSuite) -> Option<SupportedCipherSuite> {
    CIPHER_SUITES.iter().copied().find(|known| u16::from(known.suite()) == suite.code_point())
}

fn provider(offer: &Offer) -> Result<CryptoProvider, BackendError> {
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites.clone_from(&CIPHER_SUITES);
    if !offer.suites.is_empty() {
        let all = CIPHER_SUITES.iter();
        let has = || all.map(|s| CipherSuite::from_code_point(s.suite().into()).to_string());
        provider.cipher_suites = offer
            .suites
            .iter()
            .map(|suite| implementation(*suite).ok_or_else(|| lacks("suite", suite, has.clone()())))
            .collect::<Result<_, _>>()?;
    }
    let groups = if offer.groups.is_empty() { &key_exchange::DEFAULT[..] } else { &offer.groups };
    provider.kx_groups = groups
        .iter()
        .map(|group| {
            key_exchange::implementation(*group, offer.key_share)
                .ok_or_else(|| lacks("group", group, GROUPS.iter().map(ToString::to_string)))
        })
        .collect::<Result<_, _>>()?;
    Ok(provider)
}

fn signature_schemes(
    offer: &Offer,
    provider: &CryptoProvider,
) -> Result<Vec<rustls::SignatureScheme>, BackendError> {
    let has = provider.signature_verification_algorithms.supported_schemes();
    if offer.signature_schemes.is_empty() {
        return Ok(has);
    }
    let names = || has.iter().map(|s| SignatureScheme::from_code_point((*s).into()).to_string());
    offer
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
    offer: &Offer,
    provider: &Arc<CryptoProvider>,
    verifier: Verifier,
) -> Result<Arc<ClientConfig>, BackendError> {
    let versions: Vec<_> = versions(offer)?;
    let config = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&versions)
        .map_err(|e| BackendError::Refused { backend: NAME, message: e.to_string() })?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config =
        match &offer.client_identity {
            Some(identity) => config.with_client_cert_resolver(Arc::new(
                OneIdentity::new(identity, provider)
                    .map_err(|e| BackendError::Refused { backend: NAME, message: e.to_string() })?,
            )),
            None => config.with_no_client_auth(),
        };
    config.resumption = Resumption::disabled();
    config.alpn_protocols = offer.alpn.iter().map(|name| name.clone().into_bytes()).collect();
    if let Some(log) = offer.key_log.clone() {
        config.key_log = log;
    }
    Ok(Arc::new(config))
}

fn versions(offer: &Offer) -> Result<Vec<&'static SupportedProtocolVersion>, BackendError> {
    let asked = match &*offer.versions {
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
