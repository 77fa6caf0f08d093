//! What the client offers in its handshakes, and what each connection is checked against.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SpecError;
use crate::names::{CipherSuite, Group, KeyExchange, SignatureScheme, TlsVersion};

/// What the client offers; every non-empty list is also what each connection is checked against.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TlsSpec {
    /// Protocol versions; empty: the back end's own default.
    pub versions: Vec<TlsVersion>,
    /// Cipher suites, preferred first; empty: the back end's own default.
    pub suites: Vec<CipherSuite>,
    /// Key-exchange groups, preferred first; empty: the back end's own default.
    pub groups: Vec<Group>,
    /// Signature schemes, preferred first; empty: the back end's own default.
    pub signature_schemes: Vec<SignatureScheme>,
    /// Which TLS library makes the handshakes.
    pub backend: BackendChoice,
    /// How often the server's certificate and signature are verified.
    pub authenticate: Authenticate,
    /// Whether each connection draws a key share of its own.
    pub key_share: KeyShare,
    /// The name for SNI and for the certificate check; by default the URL's host.
    pub server_name: Option<String>,
    /// Whom to trust to have issued the server's certificate.
    pub trust: Trust,
}

/// Which TLS library makes the handshakes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BackendChoice {
    /// rustls where it can do what is asked, OpenSSL where it cannot.
    #[default]
    Auto,
    /// rustls on aws-lc-rs.
    Rustls,
    /// OpenSSL 3.6, built in.
    Openssl,
}

/// How often a connection's server is authenticated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Authenticate {
    /// Chain, name, validity and handshake signature on every connection.
    #[default]
    Every,
    /// The same on the first connection of each worker and on one in 128 thereafter.
    Sampled,
}

/// Where a connection's ephemeral key comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyShare {
    /// Drawn anew for every connection, as a real client does.
    #[default]
    Fresh,
    /// One per worker and group: the client saves the key generation, the server notices nothing.
    Reused,
}

/// Whom to trust to have issued the server's certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// The trust anchors that this machine is set up with.
    #[default]
    System,
    /// The certificates in this PEM text, and no others.
    Pem(String),
    /// Anybody: the chain is not checked, the handshake signature still is.
    Anyone,
}

impl TlsSpec {
    /// Whether a version may be negotiated.
    pub fn offers(&self, version: TlsVersion) -> bool {
        self.versions.is_empty() || self.versions.contains(&version)
    }

    pub(super) fn check(&self) -> Result<(), SpecError> {
        for &suite in &self.suites {
            let needs = suite.version();
            if !self.offers(needs) {
                return Err(SpecError::SuiteOutsideVersions { suite, needs });
            }
        }
        if !self.suites.is_empty() {
            for &version in &self.versions {
                if !self.suites.iter().any(|suite| suite.version() == version) {
                    return Err(SpecError::VersionWithoutSuite(version));
                }
            }
        }
        for &group in &self.groups {
            if group.needs_tls13() && !self.offers(TlsVersion::Tls13) {
                return Err(SpecError::GroupNeedsTls13(group));
            }
            let other = |suite: &&CipherSuite| {
                matches!(suite.key_exchange(), KeyExchange::Dhe | KeyExchange::Rsa)
            };
            if let Some(&suite) = self.suites.iter().find(other) {
                return Err(SpecError::GroupWithoutEcdhe(group, suite));
            }
        }
        Ok(())
    }
}
