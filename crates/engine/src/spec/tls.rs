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
    /// How connections resume an earlier session; by default none does.
    pub resume: Resume,
    /// The share of connections that resume, 0 to 1; the others are full handshakes. By default all
    /// resume, if any do.
    pub resume_ratio: Option<f64>,
    /// Send the first request of each resumed connection as early data (RFC 8446, section 2.3).
    pub early_data: bool,
    /// Make the server ask for another key share first, by a HelloRetryRequest.
    pub hello_retry: Option<HelloRetry>,
}

/// How connections resume an earlier session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resume {
    /// Not at all: every handshake is a full one.
    #[default]
    None,
    /// By session ID (TLS 1.2; RFC 5246, section 7.3): the server keeps the session.
    Id,
    /// By session ticket (TLS 1.2; RFC 5077): the client keeps the session, sealed by the server.
    Ticket,
    /// By pre-shared key with key exchange (TLS 1.3; psk_dhe_ke of RFC 8446, section 4.2.9).
    Psk,
    /// By pre-shared key alone (TLS 1.3; psk_ke of RFC 8446, section 4.2.9).
    PskOnly,
}

impl Resume {
    /// The only version that has this kind of resumption.
    pub fn version(self) -> Option<TlsVersion> {
        match self {
            Self::None => None,
            Self::Id | Self::Ticket => Some(TlsVersion::Tls12),
            Self::Psk | Self::PskOnly => Some(TlsVersion::Tls13),
        }
    }

    /// The name in records, in messages and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Id => "id",
            Self::Ticket => "ticket",
            Self::Psk => "psk",
            Self::PskOnly => "psk-only",
        }
    }
}

impl std::fmt::Display for Resume {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The key share that makes a server ask for another one: it comes first and is the only one sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HelloRetry {
    /// A share of a group that hardly any server takes.
    Decoy,
    /// A share of this group, which the server must not take.
    Share(Group),
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
    /// The versions to offer; empty: the back end's own default. Resumption and HelloRetryRequest
    /// each exist in one version, which is then the only one.
    pub fn offered_versions(&self) -> Vec<TlsVersion> {
        match self.needed_version() {
            Some(version) => vec![version],
            None => self.versions.clone(),
        }
    }

    /// Whether a version may be negotiated.
    pub fn offers(&self, version: TlsVersion) -> bool {
        let offered = self.offered_versions();
        offered.is_empty() || offered.contains(&version)
    }

    /// The share of connections that resume, in millionths.
    pub fn resume_millionths(&self) -> u32 {
        match self.resume {
            Resume::None => 0,
            _ => (self.resume_ratio.unwrap_or(1.0) * 1e6).round() as u32,
        }
    }

    fn needed_version(&self) -> Option<TlsVersion> {
        self.resume.version().or(self.hello_retry.map(|_| TlsVersion::Tls13))
    }

    fn check_resumption(&self) -> Result<(), SpecError> {
        if let Some(ratio) = self.resume_ratio {
            if self.resume == Resume::None {
                return Err(SpecError::RatioOfNothing);
            }
            if !(0.0..=1.0).contains(&ratio) {
                return Err(SpecError::ResumeRatio(ratio.to_string()));
            }
        }
        if self.early_data && self.resume.version() != Some(TlsVersion::Tls13) {
            return Err(SpecError::EarlyDataWithoutPsk);
        }
        if self.hello_retry.is_some() && self.resume != Resume::None {
            return Err(SpecError::RetryOfResumed);
        }
        if let Some(HelloRetry::Share(group)) = self.hello_retry
            && self.groups.contains(&group)
        {
            return Err(SpecError::ShareIsWanted(group));
        }
        match (self.needed_version(), self.versions.as_slice()) {
            (None, _) | (Some(_), []) => Ok(()),
            (Some(needs), versions) if versions.iter().all(|version| *version == needs) => Ok(()),
            (Some(needs), _) => {
                let what = match self.resume {
                    Resume::None => "a HelloRetryRequest".to_owned(),
                    resume => format!("resumption by {resume}"),
                };
                Err(SpecError::OneVersionOnly { what, needs })
            }
        }
    }

    pub(super) fn check(&self) -> Result<(), SpecError> {
        self.check_resumption()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(tls: &str) -> Result<TlsSpec, SpecError> {
        let spec: TlsSpec = serde_json::from_str(tls).expect("well-formed");
        spec.check().map(|()| spec)
    }

    #[test]
    fn resumption_and_hello_retry_settle_the_version() {
        let cases = [
            (r#"{"resume":"id"}"#, vec![TlsVersion::Tls12]),
            (r#"{"resume":"ticket","versions":["1.2"]}"#, vec![TlsVersion::Tls12]),
            (r#"{"resume":"psk-only"}"#, vec![TlsVersion::Tls13]),
            (r#"{"hello_retry":"decoy"}"#, vec![TlsVersion::Tls13]),
            (r#"{"resume":"none"}"#, vec![]),
        ];
        for (tls, versions) in cases {
            assert_eq!(checked(tls).unwrap().offered_versions(), versions, "{tls}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused_in_words() {
        let cases = [
            (r#"{"resume":"id","versions":["1.3"]}"#, "resumption by id exists in TLS 1.2 only"),
            (r#"{"resume":"psk","versions":["1.2","1.3"]}"#, "resumption by psk exists in TLS 1.3"),
            (r#"{"hello_retry":"decoy","versions":["1.2"]}"#, "a HelloRetryRequest exists in TLS"),
            (r#"{"resume":"id","groups":["MLKEM768"]}"#, "MLKEM768 exists in TLS 1.3 only"),
            (r#"{"resume_ratio":0.5}"#, "goes with a kind of resumption"),
            (r#"{"resume":"psk","resume_ratio":1.01}"#, "(1.01) must lie between 0 and 1"),
            (r#"{"resume":"psk","resume_ratio":-0.1}"#, "(-0.1) must lie between 0 and 1"),
            (r#"{"early_data":true}"#, "early data goes with resumption by psk"),
            (r#"{"resume":"ticket","early_data":true}"#, "early data goes with resumption by psk"),
            (r#"{"resume":"psk","hello_retry":"decoy"}"#, "with full handshakes"),
            (r#"{"groups":["P-256"],"hello_retry":{"share":"P-256"}}"#, "share of P-256"),
        ];
        for (tls, words) in cases {
            let error = checked(tls).unwrap_err().to_string();
            assert!(error.contains(words), "{tls}: {error}");
        }
    }

    #[test]
    fn the_share_that_resumes_is_counted_in_millionths() {
        let millionths = |tls| checked(tls).unwrap().resume_millionths();
        assert_eq!(millionths(r#"{"resume":"psk","resume_ratio":0.6}"#), 600_000);
        assert_eq!(millionths(r#"{"resume":"psk"}"#), 1_000_000);
        assert_eq!(millionths("{}"), 0);
    }
}
