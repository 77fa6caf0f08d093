//! The specification of a probe.

use std::net::IpAddr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::connection::Limits;
use tlslab_contract::spec::{SpecError, Trust, check_allowed, checked_name};
use tlslab_wire::names::{CipherSuite, Group, SignatureScheme, TlsVersion};
use tlslab_wire::sanitize::sanitize;
use tlslab_wire::starttls::Service;
use tlslab_wire::target::{Target, UrlError};

/// The identifier of the specification format.
pub const PROBE_SPEC_SCHEMA: &str = "tlslab.probe-spec/1";

/// The specification of one probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeSpec {
    /// The specification format, `tlslab.probe-spec/1`.
    #[serde(default = "spec_schema")]
    pub schema: String,
    /// The target: `HOST` or `HOST:PORT`.
    pub target: String,
    /// The service whose connections begin in plain text, and turn to TLS; null: TLS begins at once.
    /// The target's default port is the service's.
    #[serde(default)]
    pub starttls: Option<Service>,
    /// The name for SNI and for the certificate check. Default: the target's host.
    #[serde(default)]
    pub server_name: Option<String>,
    /// The trust anchors for the server's certificates.
    #[serde(default)]
    pub trust: Trust,
    /// Hosts, other than loopback ones, that the user has allowed as targets.
    #[serde(default)]
    pub allow: Vec<String>,
    /// The topics to probe; empty: all or, if there are offers, only the offers.
    #[serde(default)]
    pub only: Vec<Topic>,
    /// Handshakes to try, each by itself.
    #[serde(default)]
    pub offers: Vec<ProbeOffer>,
    /// The limits of the probe.
    #[serde(default)]
    pub limits: ProbeLimits,
}

/// A topic of the probe. The versions are always probed, unless only offers are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "each is the field of the record that it fills")]
pub enum Topic {
    Versions,
    Suites,
    Groups,
    SignatureSchemes,
    Certificates,
    Alpn,
    Resumption,
    Compression,
    Renegotiation,
    Protections,
}

impl Topic {
    /// All topics, in the order in which they are probed.
    pub const ALL: [Self; 10] = [
        Self::Versions,
        Self::Suites,
        Self::Groups,
        Self::SignatureSchemes,
        Self::Certificates,
        Self::Alpn,
        Self::Resumption,
        Self::Compression,
        Self::Renegotiation,
        Self::Protections,
    ];
}

/// A handshake to try. As in a run's specification, an empty list offers everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProbeOffer {
    /// Protocol versions.
    pub versions: Vec<TlsVersion>,
    /// Cipher suites.
    pub suites: Vec<CipherSuite>,
    /// Key-exchange groups.
    pub groups: Vec<Group>,
    /// Signature schemes.
    pub signature_schemes: Vec<SignatureScheme>,
}

/// The limits of a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProbeLimits {
    /// The highest number of connections, made one after the other.
    pub connections: u32,
    /// Connections a second; null: unlimited on loopback, 20 elsewhere.
    pub rate: Option<u32>,
    /// The longest time of each connection, in milliseconds.
    pub connection_ms: u32,
    /// The longest time of all connections together, in milliseconds.
    pub all_ms: u32,
}

impl Default for ProbeLimits {
    /// A server with all of OpenSSL's suites in four versions takes some 250 connections.
    fn default() -> Self {
        Self { connections: 400, rate: None, connection_ms: 5_000, all_ms: 120_000 }
    }
}

/// The rate on other hosts than this one, which may serve other clients.
const POLITE_RATE: u32 = 20;

/// The highest limits that can be requested.
const CONNECTIONS_LIMIT: u32 = 2_000;
const TIME_LIMIT_MS: u32 = 3_600_000;
const RATE_LIMIT: u32 = 1_000;

fn spec_schema() -> String {
    PROBE_SPEC_SCHEMA.to_owned()
}

/// A specification whose parts are consistent. Only [`ProbeSpec::checked`] creates one.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedProbe {
    spec: ProbeSpec,
    target: Target,
    server_name: String,
}

impl ProbeSpec {
    /// A specification that probes all topics of this target.
    pub fn of(target: String) -> Self {
        Self {
            schema: spec_schema(),
            target,
            starttls: None,
            server_name: None,
            trust: Trust::System,
            allow: Vec::new(),
            only: Vec::new(),
            offers: Vec::new(),
            limits: ProbeLimits::default(),
        }
    }

    /// Checks that the parts are consistent.
    pub fn checked(self) -> Result<CheckedProbe, SpecError> {
        if self.schema != PROBE_SPEC_SCHEMA {
            return Err(SpecError::ProbeSchema(self.schema));
        }
        let mut target = parse_target(&self.target)?;
        if let Some(service) = self.starttls.filter(|_| !target.has_port) {
            target.port = service.default_port();
        }
        let l = &self.limits;
        let bounded = [
            ("limits.connections", l.connections, CONNECTIONS_LIMIT),
            ("limits.rate", l.rate.unwrap_or(1), RATE_LIMIT),
            ("limits.connection_ms", l.connection_ms, TIME_LIMIT_MS),
            ("limits.all_ms", l.all_ms, TIME_LIMIT_MS),
        ];
        for (field, value, most) in bounded {
            if !(1..=most).contains(&value) {
                return Err(SpecError::OutOfRange { field, most });
            }
        }
        // The questions use all versions; an offer is a handshake that a run would make.
        let mut offered = self.offers.iter().flat_map(|offer| &offer.versions);
        if let Some(version) = offered.find(|version| version.is_obsolete()) {
            return Err(SpecError::Obsolete(format!("TLS version {version}")));
        }
        check_allowed(&self.allow)?;
        let given = self.server_name.as_deref().unwrap_or(&target.host);
        let server_name = checked_name(given)?;
        Ok(CheckedProbe { spec: self, target, server_name })
    }
}

impl CheckedProbe {
    /// The specification as given.
    pub fn spec(&self) -> &ProbeSpec {
        &self.spec
    }

    /// Host and port.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The name for the certificate check.
    pub fn server_name(&self) -> &str {
        &self.server_name
    }

    /// The name for SNI; `None` for an address (RFC 6066, section 3).
    pub fn sni(&self) -> Option<&str> {
        Some(self.server_name()).filter(|name| name.parse::<IpAddr>().is_err())
    }

    /// The topics to probe, in order.
    pub fn topics(&self) -> Vec<Topic> {
        match (&*self.spec.only, &*self.spec.offers) {
            ([], []) => Topic::ALL.to_vec(),
            (only, _) => Topic::ALL.into_iter().filter(|topic| only.contains(topic)).collect(),
        }
    }

    /// The limits for a loopback or another address.
    pub fn limits(&self, loopback: bool) -> Limits {
        let limits = &self.spec.limits;
        Limits {
            connections: limits.connections,
            rate: limits.rate.or((!loopback).then_some(POLITE_RATE)),
            each: Duration::from_millis(limits.connection_ms.into()),
            all: Duration::from_millis(limits.all_ms.into()),
        }
    }
}

/// Parses `HOST`, `HOST:PORT`, an IPv6 address with or without brackets, or the URL of a page.
fn parse_target(text: &str) -> Result<Target, SpecError> {
    let refuse = |why: String| SpecError::Target { target: sanitize(text, 200), why };
    if text.contains("://") {
        return Ok(Target::parse_tls(text)?);
    }
    if text.is_empty() || text.contains(['/', '?', '#', '@', '\\']) {
        return Err(refuse("is not HOST or HOST:PORT".to_owned()));
    }
    let bare = text.parse::<std::net::Ipv6Addr>().is_ok();
    let url = if bare { format!("https://[{text}]/") } else { format!("https://{text}/") };
    Target::parse(&url).map_err(|UrlError { why, .. }| refuse(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Result<(String, u16), SpecError> {
        ProbeSpec::of(text.to_owned()).checked().map(|c| (c.target.host.clone(), c.target.port))
    }

    #[test]
    fn a_target_is_a_host_with_or_without_a_port() {
        for (text, host, port) in [
            ("example.org", "example.org", 443),
            ("localhost:8443", "localhost", 8443),
            ("::1", "::1", 443),
            ("[::1]:1", "::1", 1),
            ("127.0.0.1:65535", "127.0.0.1", 65535),
            ("https://a:8443/x?y", "a", 8443),
            ("https://[::1]/", "::1", 443),
        ] {
            assert_eq!(target(text), Ok((host.to_owned(), port)), "{text}");
        }
        for wrong in ["", "a/b", "u@h", "h:0", "h:99999", "h:x", "a b", "a#", "a\nb", "a\t"] {
            assert!(matches!(target(wrong), Err(SpecError::Target { .. })), "{wrong}");
        }
        assert!(matches!(target("http://a/"), Err(SpecError::Url { .. })));
    }

    #[test]
    fn a_service_has_its_own_port_by_default() {
        let port = |target: &str, service| {
            let spec = ProbeSpec { starttls: Some(service), ..ProbeSpec::of(target.to_owned()) };
            spec.checked().unwrap().target.port
        };
        assert_eq!(Service::ALL.map(|service| port("h", service)), [25, 143, 110, 5432, 389]);
        for (target, wanted) in [("::1", 25), ("[::1]:587", 587), ("h:443", 443)] {
            assert_eq!(port(target, Service::Smtp), wanted, "{target}");
        }
    }

    #[test]
    fn limits_are_limited() {
        let with = |limits: &str| {
            let json = format!(r#"{{"target":"h","limits":{limits}}}"#);
            serde_json::from_str::<ProbeSpec>(&json).unwrap().checked().map(|_| ())
        };
        assert_eq!(with(r#"{"rate":5}"#), Ok(()));
        for wrong in [r#"{"rate":0}"#, r#"{"connections":2001}"#, r#"{"all_ms":0}"#] {
            assert!(matches!(with(wrong), Err(SpecError::OutOfRange { .. })), "{wrong}");
        }
    }

    #[test]
    fn everything_is_asked_unless_something_is() {
        let topics = |json: &str| {
            serde_json::from_str::<ProbeSpec>(json).unwrap().checked().unwrap().topics()
        };
        assert_eq!(topics(r#"{"target":"h"}"#), Topic::ALL);
        assert_eq!(topics(r#"{"target":"h","only":["alpn"]}"#), [Topic::Alpn]);
        assert_eq!(topics(r#"{"target":"h","offers":[{}]}"#), []);
    }

    #[test]
    fn other_hosts_are_asked_slowly() {
        let checked = ProbeSpec::of("h".to_owned()).checked().unwrap();
        assert_eq!((checked.limits(true).rate, checked.limits(false).rate), (None, Some(20)));
    }
}
