//! Sends a probe's ClientHellos, and stores the findings that later questions depend on.

use std::time::Duration;

use super::connection::{Connector, ProbeConnection, Stop};
use super::shares;
use super::spec::CheckedProbe;
use tlslab_system::guard::Permit;
use tlslab_wire::tls::answer::{Answer, Flight, Refusal};
use tlslab_wire::tls::client_hello::ClientHello;
use tlslab_wire::tls::registry::{self, Protocol};

/// Sends ClientHellos, and stores the findings that later questions depend on.
pub struct Asker {
    connector: Connector,
    /// The name for the certificate check.
    server_name: String,
    /// The name for SNI.
    sni: Option<String>,
    /// The server's versions, newest first.
    versions: Vec<Protocol>,
    /// The highest number of suites that the server accepts in one offer.
    suites_at_once: usize,
    /// The suites of the newest version up to TLS 1.2; empty until known.
    legacy_suites: Vec<u16>,
}

impl Asker {
    /// An asker without findings.
    pub fn new(spec: &CheckedProbe, permit: Permit) -> Self {
        let limits = spec.limits(permit.address.ip().to_canonical().is_loopback());
        Self {
            connector: Connector::new(permit.address, limits),
            server_name: spec.server_name().to_owned(),
            sni: spec.sni().map(str::to_owned),
            versions: Vec::new(),
            suites_at_once: usize::MAX,
            legacy_suites: Vec::new(),
        }
    }

    /// Connections made.
    pub fn connections(&self) -> u32 {
        self.connector.connections
    }

    /// The time since the first question.
    pub fn elapsed(&self) -> Duration {
        self.connector.elapsed()
    }

    /// Makes a connection, for a question that needs more than a ClientHello.
    pub fn connect(&mut self) -> Result<ProbeConnection, Stop> {
        self.connector.connect()
    }

    /// The name for the certificate check.
    pub fn server_name(&self) -> &str {
        &self.server_name
    }

    /// The name for SNI.
    pub fn sni(&self) -> Option<&str> {
        self.sni.as_deref()
    }

    /// The server's versions, newest first.
    pub fn versions(&self) -> &[Protocol] {
        &self.versions
    }

    /// Stores the server's versions, newest first.
    pub fn learn_versions(&mut self, versions: Vec<Protocol>) {
        self.versions = versions;
    }

    /// The highest number of suites that the server accepts in one offer.
    pub fn suites_at_once(&self) -> usize {
        self.suites_at_once
    }

    /// Limits each offer from now on to N suites.
    pub fn limit_suites(&mut self, suites_at_once: usize) {
        self.suites_at_once = suites_at_once;
    }

    /// The suites of the newest version up to TLS 1.2; empty until known.
    pub fn legacy_suites(&self) -> &[u16] {
        &self.legacy_suites
    }

    /// Stores the suites of the newest version up to TLS 1.2.
    pub fn learn_legacy_suites(&mut self, suites: Vec<u16>) {
        self.legacy_suites = suites;
    }

    /// A ClientHello of one version that offers everything, with key shares that most servers
    /// accept.
    pub fn hello(&self, version: Protocol) -> ClientHello {
        let usual = [29, 23].map(|group| (group, shares::public_key(group).unwrap_or_default()));
        ClientHello {
            versions: vec![version],
            suites: registry::suites_of(version),
            groups: registry::groups(),
            schemes: registry::schemes(),
            shares: usual.to_vec(),
            server_name: self.sni.clone(),
            compression: Vec::new(),
        }
    }

    /// The same for the newest version up to TLS 1.2, restricted to the server's known suites.
    pub fn legacy_hello(&self) -> Option<ClientHello> {
        self.newest_legacy().map(|version| self.short_hello(version))
    }

    /// The same with no more suites than the server accepts: its known suites.
    pub fn short_hello(&self, version: Protocol) -> ClientHello {
        let mut hello = self.hello(version);
        if Some(version) == self.newest_legacy() && !self.legacy_suites.is_empty() {
            hello.suites.clone_from(&self.legacy_suites);
        }
        hello.suites.truncate(self.suites_at_once);
        hello
    }

    /// True if the server has a version.
    pub fn has(&self, version: Protocol) -> bool {
        self.versions.contains(&version)
    }

    /// The newest of the server's versions up to TLS 1.2.
    pub fn newest_legacy(&self) -> Option<Protocol> {
        self.versions
            .iter()
            .copied()
            .find(|version| (Protocol::Ssl3..=Protocol::Tls12).contains(version))
    }

    /// The server's flight if it continues as offered, otherwise its refusal. Any device on the
    /// path may send a reset: the question is repeated, and only a second reset counts as an
    /// answer.
    pub fn ask(&mut self, hello: &ClientHello) -> Result<Result<Flight, Refusal>, Stop> {
        let answer = match self.connector.ask(hello)? {
            Answer::Refused(refusal) if refusal.is_reset() => self.connector.ask(hello)?,
            answer => answer,
        };
        let flight = match answer {
            Answer::Refused(refusal) => return Ok(Err(refusal)),
            Answer::Flight(flight) => *flight,
        };
        let version = flight.protocol();
        if !version.is_some_and(|version| hello.versions.contains(&version)) {
            let chosen = version.map_or("another version".to_owned(), |chosen| chosen.to_string());
            return Ok(Err(Refusal::other("version", format!("chose {chosen}"))));
        }
        if !hello.suites.contains(&flight.suite) {
            let words =
                format!("chose {}, which was not offered", registry::suite_name(flight.suite));
            return Ok(Err(Refusal::other("suite", words)));
        }
        if let Some(group) = flight.group.filter(|group| !hello.groups.contains(group)) {
            let words =
                format!("chose group {}, which was not offered", registry::group_name(group));
            return Ok(Err(Refusal::other("group", words)));
        }
        Ok(Ok(flight))
    }
}
