//! The probe: what does this server accept? Few connections, one after the other, most of them
//! ended after the server's first flight.
//!
//! What can be learned in the clear is learned by ClientHellos of our own (`hello`, `shares`) and
//! the answers to them (`flight`, `answer`): versions, suites, groups, and up to TLS 1.2 schemes and
//! certificates. That costs no key exchange and does not depend on what a TLS library offers. What
//! TLS 1.3 encrypts, and what comes after a handshake, is learned by real ones (`handshake`,
//! `sessions`, `certificate_compression`).

mod certificate_compression;
mod certificates;
mod connection;
mod enumerate;
mod handshake;
mod lists;
mod offers;
mod protections;
mod protocols;
mod random;
mod record;
mod sessions;
mod shares;
mod spec;
mod versions;

use std::time::Duration;

use tlslab_system::guard::{self, GuardError, Permit};
use tlslab_tls::TrustAnchors;
use tlslab_wire::outcome::Failure;

pub use record::{
    Accepted, Chain, Compression, FailedProtocol, Named, OfferFound, Order, PROBE_SCHEMA,
    ProbeRecord, Protections, Protocols, Renegotiation, Resumption, Staple, Suite, VersionFound,
};
pub use spec::{CheckedProbe, PROBE_SPEC_SCHEMA, ProbeLimits, ProbeOffer, ProbeSpec, Topic};
pub use tlslab_wire::tls::answer::Refusal;
pub use tlslab_wire::tls::registry::Protocol;

use connection::{Connector, Stop};
use tlslab_wire::tls::answer::{Answer, Flight};
use tlslab_wire::tls::client_hello::ClientHello;
use tlslab_wire::tls::registry;

/// Why a probe found nothing.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The target is not to be connected to, or not to be found.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// No connection could be made.
    #[error("{}", describe_connect(.target, *.failure))]
    Connect {
        /// Host and port.
        target: String,
        /// Why.
        failure: Failure,
    },
    /// Something listens there, and answers nothing in TLS.
    #[error("{}", describe_no_tls(.target, .refusal))]
    NoTls {
        /// Host and port.
        target: String,
        /// What it does instead.
        refusal: Refusal,
    },
}

impl ProbeError {
    /// The class under which the error is reported.
    pub fn class(&self) -> String {
        match self {
            Self::Guard(GuardError::NameNotFound { .. }) => "name_not_found".to_owned(),
            Self::Guard(_) => "target_refused".to_owned(),
            Self::Connect { failure, .. } => failure.to_string(),
            Self::NoTls { .. } => "no_tls".to_owned(),
        }
    }
}

/// Only who answers in something else has said that it speaks no TLS.
fn describe_no_tls(target: &str, refusal: &Refusal) -> String {
    if refusal.says_nothing() {
        format!("cannot say whether {target} speaks TLS: it {refusal} at every offer")
    } else {
        format!("{target} speaks no TLS: it {refusal}")
    }
}

fn describe_connect(target: &str, failure: Failure) -> String {
    match failure {
        Failure::Refused => format!("nothing listens on {target}"),
        other => format!("{target}: {other}"),
    }
}

/// Why the asking ended early.
enum End {
    Stop(Stop),
    NoTls(Refusal),
}

impl From<Stop> for End {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// Finds out what a server accepts. Where a limit ends it early, the record says so, and holds what
/// was found by then.
pub fn probe(spec: &CheckedProbe, trust: TrustAnchors) -> Result<ProbeRecord, ProbeError> {
    let each = Duration::from_millis(spec.spec().limits.connection_ms.into());
    let permit = guard::permit_host(spec.target(), &spec.spec().allow, each)?;
    let mut prober = Prober::new(spec, permit, trust);
    let mut record = empty_record(spec, permit);
    let target = record.target.clone();
    match prober.fill(spec, &mut record) {
        Ok(()) => {}
        Err(End::NoTls(refusal)) => return Err(ProbeError::NoTls { target, refusal }),
        Err(End::Stop(Stop::Connect { number: 1, failure })) => {
            return Err(ProbeError::Connect { target, failure });
        }
        Err(End::Stop(stop)) => record.incomplete = Some(stop.to_string()),
    }
    record.connections = prober.connector.connections;
    record.seconds = prober.connector.elapsed().as_secs_f64();
    Ok(record)
}

fn empty_record(spec: &CheckedProbe, permit: Permit) -> ProbeRecord {
    let target = spec.target();
    let bracketed = target.host.contains(':');
    let host = if bracketed { format!("[{}]", target.host) } else { target.host.clone() };
    ProbeRecord {
        schema: PROBE_SCHEMA.to_owned(),
        target: format!("{host}:{}", target.port),
        address: permit.address.to_string(),
        server_name: spec.sni().map(str::to_owned),
        topics: spec.topics(),
        versions: Vec::new(),
        suites: Vec::new(),
        groups: Vec::new(),
        signature_schemes: Vec::new(),
        certificates: Vec::new(),
        alpn: None,
        resumption: None,
        compression: None,
        renegotiation: None,
        protections: None,
        offers: Vec::new(),
        hints: Vec::new(),
        incomplete: None,
        connections: 0,
        seconds: 0.0,
    }
}

/// Asks, and keeps what later questions depend on.
struct Prober {
    connector: Connector,
    /// The name for the certificate check.
    server_name: String,
    /// The name for SNI.
    sni: Option<String>,
    trust: TrustAnchors,
    /// The versions that the server has, newest first.
    versions: Vec<Protocol>,
    /// The most suites that the server takes in one offer.
    suites_at_once: usize,
    /// The suites of the newest version up to TLS 1.2, once they are known.
    legacy_suites: Vec<u16>,
}

impl Prober {
    fn new(spec: &CheckedProbe, permit: Permit, trust: TrustAnchors) -> Self {
        let limits = spec.limits(permit.address.ip().to_canonical().is_loopback());
        Self {
            connector: Connector::new(permit.address, limits),
            server_name: spec.server_name().to_owned(),
            sni: spec.sni().map(str::to_owned),
            trust,
            versions: Vec::new(),
            suites_at_once: usize::MAX,
            legacy_suites: Vec::new(),
        }
    }

    /// Asks what the specification wants to know, one topic after the other.
    fn fill(&mut self, spec: &CheckedProbe, record: &mut ProbeRecord) -> Result<(), End> {
        for offer in &spec.spec().offers {
            record.offers.push(self.offer(offer)?);
        }
        let topics = spec.topics();
        if topics.is_empty() {
            return Ok(());
        }
        record.versions = self.find_versions()?;
        record.hints.extend(self.hint_at_names());
        let wanted = |topic| topics.contains(&topic);
        if wanted(Topic::Suites) {
            self.find_suites(&mut record.suites)?;
        }
        if wanted(Topic::Groups) {
            self.find_groups(&mut record.groups)?;
        }
        if wanted(Topic::SignatureSchemes) {
            self.find_schemes(&mut record.signature_schemes)?;
        }
        if wanted(Topic::Certificates) {
            self.find_certificates(&mut record.certificates)?;
        }
        if wanted(Topic::Alpn) {
            record.alpn = Some(self.find_protocols()?);
        }
        if wanted(Topic::Resumption) {
            record.resumption = Some(self.find_resumption()?);
        }
        if wanted(Topic::Compression) {
            record.compression = Some(self.find_compression()?);
        }
        if wanted(Topic::Renegotiation) {
            record.renegotiation = Some(self.find_renegotiation()?);
        }
        if wanted(Topic::Protections) {
            record.protections = Some(self.find_protections()?);
        }
        Ok(())
    }

    /// A server whose sites go by name may refuse whoever asks for none, as by an address.
    fn hint_at_names(&self) -> Option<String> {
        let hint = "an address has no name to ask for, and the server refuses all versions: if its \
                    sites go by name, give one with --sni NAME";
        (self.sni.is_none() && self.versions.is_empty()).then(|| hint.to_owned())
    }

    /// A ClientHello of one version that offers all there is, with key shares that most servers take.
    fn hello(&self, version: Protocol) -> ClientHello {
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

    /// The same with the suites that the server is known to have, for a version up to TLS 1.2.
    fn legacy_hello(&self) -> Option<ClientHello> {
        let mut hello = self.hello(self.newest_legacy()?);
        if !self.legacy_suites.is_empty() {
            hello.suites.clone_from(&self.legacy_suites);
        }
        hello.suites.truncate(self.suites_at_once);
        Some(hello)
    }

    fn has(&self, version: Protocol) -> bool {
        self.versions.contains(&version)
    }

    /// The newest version up to TLS 1.2 that the server has.
    fn newest_legacy(&self) -> Option<Protocol> {
        self.versions
            .iter()
            .copied()
            .find(|version| (Protocol::Ssl3..=Protocol::Tls12).contains(version))
    }

    /// The server's flight, if it goes on as the hello has it; else how it refuses. A reset may have
    /// come from anything on the way: it is asked again, and only a second one is an answer.
    fn ask(&mut self, hello: &ClientHello) -> Result<Result<Flight, Refusal>, Stop> {
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
