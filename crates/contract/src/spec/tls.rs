//! The client's TLS offer, and the expectations that each connection is checked against.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ClientIdentity, HelloRetry, HttpVersion, Resume, SpecError};
use tlslab_wire::names::{CipherSuite, Group, KeyExchange, SignatureScheme, TlsVersion};
use tlslab_wire::tls::PROTOCOL_NAME_LIMIT;
use tlslab_wire::tls::obsolete::SHORTEST_PRIME;

/// The client's TLS offer. Every non-empty list is also an expectation that each connection is
/// checked against.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TlsSpec {
    /// Protocol versions; empty: the back end's default.
    pub versions: Vec<TlsVersion>,
    /// Cipher suites, preferred first; empty: the back end's default.
    pub suites: Vec<CipherSuite>,
    /// Key-exchange groups, preferred first; empty: the back end's default.
    pub groups: Vec<Group>,
    /// Signature schemes, preferred first; empty: the back end's default.
    pub signature_schemes: Vec<SignatureScheme>,
    /// The TLS library that makes the handshakes.
    pub backend: BackendChoice,
    /// How often the server's certificate and signature are verified.
    pub authenticate: Authenticate,
    /// Whether each connection generates a new key share.
    pub key_share: KeyShare,
    /// The client that makes the handshakes which the minimal client supports.
    pub client: ClientChoice,
    /// The name for SNI and for the certificate check. Default: the host of the URL.
    pub server_name: Option<String>,
    /// Several such names instead, at most 1,000. Connections use them in turn, and the record
    /// counts outcomes by name.
    pub server_names: Vec<String>,
    /// Application protocols (ALPN) to offer, preferred first. The server must select one of them.
    /// An empty list offers none. Default: `http/1.1`, which the server may ignore. Requests are
    /// made in the HTTP version of the run, so other protocols require `handshake_only`.
    pub alpn: Option<Vec<String>>,
    /// A client certificate. The server must request it in each full handshake.
    pub client_identity: Option<ClientIdentity>,
    /// The required size in bits of the server's Diffie-Hellman parameters. Requires DHE suites
    /// only.
    pub dh_bits: Option<u32>,
    /// Allows versions before TLS 1.2, RC4, 3DES, and keys and primes shorter than 2,048 bits. None
    /// of these is offered by default.
    pub allow_obsolete: bool,
    /// The trust anchors for the server's certificate.
    pub trust: Trust,
    /// How connections resume an earlier session. Default: no resumption.
    pub resume: Resume,
    /// The share of connections that resume, 0 to 1. The others make full handshakes. Default: 1,
    /// if `resume` is set.
    pub resume_ratio: Option<f64>,
    /// Send the first request of each resumed connection as early data (RFC 8446, section 2.3).
    pub early_data: bool,
    /// Provoke a HelloRetryRequest, in which the server asks for another key share.
    pub hello_retry: Option<HelloRetry>,
    /// Whether the server must staple an OCSP response (true) or must not (false). Each full
    /// handshake is checked. Clients request a response in any case.
    pub ocsp_stapling: Option<bool>,
}

/// The TLS library that makes the handshakes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BackendChoice {
    /// rustls where it supports the specification, OpenSSL otherwise.
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
    /// The same checks on the first connection of each worker and on 1 in 128 after that.
    Sampled,
}

/// The origin of a connection's ephemeral key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyShare {
    /// Generated for every connection, as ordinary clients do.
    #[default]
    Fresh,
    /// One per worker and group. The client saves the key generation; the server does the same
    /// work.
    Reused,
}

/// The client that makes handshakes of TLS 1.3, full ones and resumptions by PSK with a key exchange,
/// without a client certificate and without a key log. The library makes all other handshakes, and
/// those of connections that are held open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClientChoice {
    /// The minimal client, which costs least. The library makes the first connection of each worker
    /// and 1 in 128 after that. With OpenSSL, the library makes all.
    #[default]
    Auto,
    /// The library on every connection: the client's costs are those of the library.
    Library,
}

/// The trust anchors for the server's certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// The trust anchors of this machine.
    #[default]
    System,
    /// Only the certificates in this PEM text.
    Pem(String),
    /// Any certificate: the chain is not checked, the handshake signature is.
    Anyone,
}

/// The highest number of server names in a run. Each is checked before the load begins.
pub(super) const SERVER_NAMES_LIMIT: usize = 1000;

impl TlsSpec {
    /// Whether the offer includes a version.
    pub fn offers(&self, version: TlsVersion) -> bool {
        match &*self.offered_versions() {
            [] => !version.is_obsolete(),
            versions => versions.contains(&version),
        }
    }

    /// The application protocols to offer, preferred first. Default: the protocol of the run's HTTP
    /// version.
    pub fn offered_protocols(&self, http: HttpVersion) -> Vec<String> {
        self.alpn.clone().unwrap_or_else(|| vec![http.alpn().to_owned()])
    }

    /// The name of an option that needs TLS and is set; `None` if there is none. Trust and the
    /// client's effort (`authenticate`, `key_share`, `client`) may be set: they have no effect.
    pub(super) fn of_tls(&self) -> Option<&'static str> {
        let set = [
            (!self.versions.is_empty(), "tls.versions"),
            (!self.suites.is_empty(), "tls.suites"),
            (!self.groups.is_empty(), "tls.groups"),
            (!self.signature_schemes.is_empty(), "tls.signature_schemes"),
            (self.backend != BackendChoice::Auto, "tls.backend"),
            (self.server_name.is_some(), "tls.server_name"),
            (!self.server_names.is_empty(), "tls.server_names"),
            (self.alpn.is_some(), "tls.alpn"),
            (self.client_identity.is_some(), "tls.client_identity"),
            (self.dh_bits.is_some(), "tls.dh_bits"),
            (self.resume != Resume::None, "tls.resume"),
            (self.early_data, "tls.early_data"),
            (self.hello_retry.is_some(), "tls.hello_retry"),
            (self.ocsp_stapling.is_some(), "tls.ocsp_stapling"),
        ];
        set.into_iter().find_map(|(is_set, option)| is_set.then_some(option))
    }

    pub(super) fn check(&self, http: HttpVersion, handshake_only: bool) -> Result<(), SpecError> {
        self.check_obsolete()?;
        self.check_resumption()?;
        self.check_versions()?;
        self.check_groups()?;
        self.check_protocols(http, handshake_only)?;
        match (&self.server_name, self.server_names.len()) {
            (Some(_), 1..) => Err(SpecError::NameAndNames),
            (_, 0..=SERVER_NAMES_LIMIT) => Ok(()),
            (_, count) => Err(SpecError::TooManyNames(count)),
        }
    }

    /// Refuses obsolete parameters unless `allow_obsolete` is set.
    fn check_obsolete(&self) -> Result<(), SpecError> {
        let version = self.versions.iter().find(|version| version.is_obsolete());
        let suite = self.suites.iter().find(|suite| suite.is_obsolete());
        let dh = self.dh_bits.filter(|bits| *bits < SHORTEST_PRIME);
        let what = (version.map(|version| format!("TLS version {version}")))
            .or_else(|| suite.map(|suite| format!("suite {suite}")))
            .or_else(|| dh.map(|bits| format!("Diffie-Hellman with {bits} bits")));
        match what {
            Some(what) if !self.allow_obsolete => Err(SpecError::Obsolete(what)),
            _ => Ok(()),
        }
    }

    fn check_versions(&self) -> Result<(), SpecError> {
        if let Some(gap) = TlsVersion::gap(&self.versions) {
            return Err(SpecError::VersionsApart(gap));
        }
        let fits = |suite: CipherSuite| {
            TlsVersion::ALL.into_iter().any(|version| self.offers(version) && suite.fits(version))
        };
        if let Some(&suite) = self.suites.iter().find(|suite| !fits(**suite)) {
            return Err(SpecError::SuiteOutsideVersions { suite, needs: suite.version() });
        }
        let has_suite = |version: TlsVersion| self.suites.iter().any(|suite| suite.fits(version));
        let without = self.versions.iter().find(|version| !has_suite(**version));
        match without {
            Some(&version) if !self.suites.is_empty() => {
                Err(SpecError::VersionWithoutSuite(version))
            }
            _ => Ok(()),
        }
    }

    fn check_groups(&self) -> Result<(), SpecError> {
        let is = |suite: &CipherSuite, kinds: &[KeyExchange]| kinds.contains(&suite.key_exchange());
        for &group in &self.groups {
            if group.needs_tls13() && !self.offers(TlsVersion::Tls13) {
                return Err(SpecError::GroupNeedsTls13(group));
            }
            let other = |suite: &&CipherSuite| is(suite, &[KeyExchange::Dhe, KeyExchange::Rsa]);
            if let Some(&suite) = self.suites.iter().find(other) {
                return Err(SpecError::GroupWithoutEcdhe(group, suite));
            }
        }
        let only_dhe = self.suites.iter().all(|suite| is(suite, &[KeyExchange::Dhe]));
        match self.dh_bits {
            Some(_) if self.suites.is_empty() || !only_dhe => Err(SpecError::DhBitsWithoutDhe),
            _ => Ok(()),
        }
    }

    fn check_protocols(&self, http: HttpVersion, handshake_only: bool) -> Result<(), SpecError> {
        let names = self.alpn.as_deref().unwrap_or_default();
        if let Some(name) =
            names.iter().find(|name| !(1..=PROTOCOL_NAME_LIMIT).contains(&name.len()))
        {
            return Err(SpecError::ProtocolName(name.clone()));
        }
        if handshake_only {
            return Ok(());
        }
        let spoken = http.alpn();
        match names.iter().find(|name| *name != spoken) {
            Some(name) => Err(SpecError::ProtocolWithRequests { name: name.clone(), spoken }),
            None if http == HttpVersion::Http2 && self.alpn.is_some() && names.is_empty() => {
                Err(SpecError::Http2WithoutAlpn)
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tlslab_wire::tls::{HTTP_1_1, HTTP_2};

    fn check(json: &str, handshake_only: bool) -> Result<(), SpecError> {
        serde_json::from_str::<TlsSpec>(json).unwrap().check(HttpVersion::Http11, handshake_only)
    }

    #[test]
    fn obsolete_things_need_to_be_allowed() {
        for (rest, what) in [
            (r#""versions":["ssl3"]"#, "TLS version ssl3"),
            (r#""versions":["1.2","1.1"]"#, "TLS version 1.1"),
            (r#""suites":["RC4-MD5"]"#, "suite TLS_RSA_WITH_RC4_128_MD5"),
            (r#""suites":["DHE-RSA-AES128-SHA"],"dh_bits":1024"#, "Diffie-Hellman with 1024 bits"),
        ] {
            assert_eq!(check(&format!("{{{rest}}}"), false), Err(SpecError::Obsolete(what.into())));
            assert_eq!(check(&format!(r#"{{{rest},"allow_obsolete":true}}"#), false), Ok(()));
        }
    }

    #[test]
    fn obsolete_suites_fit_their_versions() {
        let with = |rest: &str| check(&format!(r#"{{"allow_obsolete":true,{rest}}}"#), false);
        assert_eq!(with(r#""versions":["ssl3"],"suites":["RC4-MD5"]"#), Ok(()));
        let gcm = with(r#""versions":["1.1"],"suites":["AES128-GCM-SHA256"]"#);
        assert!(matches!(gcm, Err(SpecError::SuiteOutsideVersions { .. })), "{gcm:?}");
        let apart = Err(SpecError::VersionsApart(TlsVersion::Tls11));
        assert_eq!(with(r#""versions":["1.0","1.2"]"#), apart);
    }

    #[test]
    fn a_prime_goes_with_suites_that_use_one() {
        for suites in ["", "AES128-SHA", r#"DHE-RSA-AES128-SHA","AES128-SHA"#] {
            let suites = if suites.is_empty() { String::new() } else { format!(r#""{suites}""#) };
            let json = format!(r#"{{"suites":[{suites}],"dh_bits":2048}}"#);
            assert_eq!(check(&json, false), Err(SpecError::DhBitsWithoutDhe), "{json}");
        }
    }

    #[test]
    fn requests_are_made_in_http_only() {
        let h2 = r#"{"alpn":["h2","http/1.1"]}"#;
        let refused =
            |name: &str, spoken| Err(SpecError::ProtocolWithRequests { name: name.into(), spoken });
        assert_eq!(check(h2, false), refused("h2", HTTP_1_1));
        assert_eq!(check(h2, true), Ok(()));
        assert_eq!(check(r#"{"alpn":["http/1.1"]}"#, false), Ok(()));
        assert_eq!(check(r#"{"alpn":[]}"#, false), Ok(()));
        let over_http2 = |alpn: &[&str]| {
            let alpn = Some(alpn.iter().map(ToString::to_string).collect());
            TlsSpec { alpn, ..TlsSpec::default() }.check(HttpVersion::Http2, false)
        };
        assert_eq!(over_http2(&["h2"]), Ok(()));
        assert_eq!(over_http2(&["h2", "http/1.1"]), refused("http/1.1", HTTP_2));
        assert_eq!(over_http2(&[]), Err(SpecError::Http2WithoutAlpn));
        for wrong in [String::new(), "x".repeat(PROTOCOL_NAME_LIMIT + 1)] {
            let json = format!(r#"{{"alpn":["{wrong}"]}}"#);
            assert_eq!(check(&json, true), Err(SpecError::ProtocolName(wrong)));
        }
    }

    #[test]
    fn a_name_and_names_exclude_each_other() {
        let json = r#"{"server_name":"a","server_names":["b"]}"#;
        assert_eq!(check(json, false), Err(SpecError::NameAndNames));
        let many = TlsSpec { server_names: vec!["a".to_owned(); 1001], ..TlsSpec::default() };
        assert_eq!(many.check(HttpVersion::Http11, false), Err(SpecError::TooManyNames(1001)));
    }
}
