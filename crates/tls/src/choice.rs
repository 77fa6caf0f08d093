//! Which back end makes the handshakes.

use super::openssl::OpensslBackend;
use super::rustls::RustlsBackend;
use super::{BackendError, ClientSettings};
use tlslab_contract::spec::BackendChoice;

/// A back end that can do what is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// rustls on aws-lc-rs.
    Rustls,
    /// The OpenSSL that is built in.
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

/// Takes the back end that was asked for; with `auto`, rustls if it can do what is offered, else
/// OpenSSL, which alone takes a server's obsolete keys as well. An error names what is lacking.
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
