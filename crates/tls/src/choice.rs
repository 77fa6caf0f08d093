//! The choice of the back end that makes the handshakes.

use super::openssl::OpensslBackend;
use super::rustls::RustlsBackend;
use super::{BackendError, ClientSettings};
use tlslab_contract::spec::BackendChoice;

/// A back end that supports everything that a run requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// rustls on aws-lc-rs.
    Rustls,
    /// The built-in OpenSSL.
    Openssl,
}

impl Choice {
    /// The name in specifications and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rustls => super::rustls::NAME,
            Self::Openssl => super::openssl::NAME,
        }
    }
}

/// Chooses the back end: the requested one, or with `auto` rustls if it supports the settings,
/// otherwise OpenSSL. Only OpenSSL accepts obsolete server keys. An error names the unsupported
/// setting.
pub fn choose(asked: BackendChoice, settings: &ClientSettings) -> Result<Choice, BackendError> {
    let rustls = || RustlsBackend::new(settings).map(|_| Choice::Rustls);
    let openssl = || OpensslBackend::new(settings).map(|_| Choice::Openssl);
    match asked {
        BackendChoice::Rustls => rustls(),
        BackendChoice::Openssl => openssl(),
        BackendChoice::Auto if settings.allow_obsolete => openssl(),
        BackendChoice::Auto => match rustls() {
            Err(BackendError::Unsupported { .. }) => openssl(),
            other => other,
        },
    }
}
