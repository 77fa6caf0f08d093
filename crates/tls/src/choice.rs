//! The choice of the back end that makes the handshakes.

#[cfg(feature = "openssl")]
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
    #[cfg(feature = "openssl")]
    Openssl,
    /// None: connections without TLS.
    Plain,
}

impl Choice {
    /// The name in specifications and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rustls => super::rustls::NAME,
            #[cfg(feature = "openssl")]
            Self::Openssl => super::openssl::NAME,
            Self::Plain => super::plain::NAME,
        }
    }
}

/// Chooses the back end: the requested one, or with `auto` rustls if it supports the settings,
/// otherwise OpenSSL. Only OpenSSL accepts obsolete server keys. An error names the unsupported
/// setting.
pub fn choose(asked: BackendChoice, settings: &ClientSettings) -> Result<Choice, BackendError> {
    let rustls = || RustlsBackend::new(settings).map(|_| Choice::Rustls);
    match asked {
        BackendChoice::Rustls => rustls(),
        BackendChoice::Openssl => openssl(settings, None),
        BackendChoice::Auto if settings.allow_obsolete => openssl(settings, None),
        BackendChoice::Auto => match rustls() {
            Err(BackendError::Unsupported { what, .. }) => openssl(settings, Some(what)),
            other => other,
        },
    }
}

#[cfg(feature = "openssl")]
fn openssl(settings: &ClientSettings, _: Option<String>) -> Result<Choice, BackendError> {
    OpensslBackend::new(settings).map(|_| Choice::Openssl)
}

/// `lacking`: the feature that rustls lacks, if that is the reason to ask for OpenSSL.
#[cfg(not(feature = "openssl"))]
fn openssl(_: &ClientSettings, lacking: Option<String>) -> Result<Choice, BackendError> {
    Err(BackendError::NotBuilt { lacking })
}
