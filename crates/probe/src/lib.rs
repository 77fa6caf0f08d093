//! The probe finds what a server accepts, with few consecutive connections, most of which end after
//! the server's first flight.
//!
//! Data that servers send unencrypted is found with the probe's own ClientHellos and the answers to
//! them (the modules `client_hello`, `server_flight` and `answer` of tlslab-wire, and `shares`):
//! versions, suites, groups, and up to TLS 1.2 schemes and certificates. That needs no key exchange
//! and does not depend on the offers of a TLS library. Data that TLS 1.3 encrypts, and data after a
//! handshake, is found by complete handshakes (`handshake`, `sessions`, `certificate_compression`).

mod asker;
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
mod trust;
mod versions;

use std::time::Duration;

use tlslab_system::guard::{self, GuardError, Permit};
use tlslab_tls::TrustAnchors;
use tlslab_wire::outcome::Failure;

pub use record::{
    Accepted, Chain, Compression, FailedProtocol, LargeHello, Named, OfferFound, Order,
    PROBE_SCHEMA, ProbeRecord, Protections, Protocols, Renegotiation, Resumption, Staple, Suite,
    Tries, TrustCode, TrustVerdict, Unanswered, VersionFound,
};
pub use spec::{CheckedProbe, PROBE_SPEC_SCHEMA, ProbeLimits, ProbeOffer, ProbeSpec, Topic};
pub use tlslab_wire::starttls::Service;
pub use tlslab_wire::tls::answer::Refusal;
pub use tlslab_wire::tls::registry::Protocol;

use asker::Asker;
use connection::Stop;

/// Errors that leave a probe without any finding.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The target is not permitted or was not found.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The first connection failed.
    #[error("{}", describe_connect(.target, *.failure))]
    Connect {
        /// Host, port and address of the target.
        target: String,
        /// The failure.
        failure: Failure,
    },
    /// The target accepts connections, but does not answer in TLS.
    #[error("{}", describe_no_tls(.target, .refusal))]
    NoTls {
        /// Host, port and address of the target.
        target: String,
        /// The server's behaviour instead.
        refusal: Refusal,
    },
    /// The target did not turn to TLS.
    #[error("{target} does not turn to TLS as {}: it {refusal}", .service.name())]
    StartTls {
        /// Host, port and address of the target.
        target: String,
        /// The service that was asked.
        service: Service,
        /// The server's behaviour instead.
        refusal: Refusal,
    },
}

impl ProbeError {
    /// The class under which the error is reported.
    pub fn class(&self) -> String {
        match self {
            Self::Guard(GuardError::NameNotFound { .. }) => "name_not_found".to_owned(),
            Self::Guard(GuardError::NameTimedOut { .. }) => "timeout_name".to_owned(),
            Self::Guard(GuardError::NoneAccepts { failure, .. }) => failure.to_string(),
            Self::Guard(_) => "target_refused".to_owned(),
            Self::Connect { failure, .. } => failure.to_string(),
            Self::NoTls { .. } => "no_tls".to_owned(),
            Self::StartTls { .. } => "no_starttls".to_owned(),
        }
    }
}

/// Only an answer in another protocol shows that the server does not speak TLS.
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

/// The reason why the questions ended early.
enum End {
    Stop(Stop),
    NoTls(Refusal),
}

impl From<Stop> for End {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// Finds what a server accepts. If a limit ends the probe early, the record says so and contains
/// the findings so far.
pub fn probe(spec: &CheckedProbe, trust: TrustAnchors) -> Result<ProbeRecord, ProbeError> {
    let each = Duration::from_millis(spec.spec().limits.connection_ms.into());
    let permit = guard::permit_host(spec.target(), &spec.spec().allow, each)?;
    let mut asker = Asker::new(spec, permit);
    let mut record = empty_record(spec, permit);
    let words = spec.target().address_in_words(permit.address.ip());
    let target = format!("{}{words}", record.target);
    match fill(&mut asker, &trust, spec, &mut record) {
        Ok(()) => {}
        Err(End::NoTls(refusal)) => return Err(ProbeError::NoTls { target, refusal }),
        Err(End::Stop(Stop::Connect { number: 1, failure })) => {
            return Err(ProbeError::Connect { target, failure });
        }
        Err(End::Stop(Stop::StartTls { number: 1, refusal, service })) => {
            return Err(ProbeError::StartTls { target, service, refusal });
        }
        Err(End::Stop(stop)) => record.incomplete = Some(stop.to_string()),
    }
    record.trust = trust::overall(&record.certificates);
    record.unanswered = asker.unanswered().to_vec();
    record.connections = asker.connections();
    record.seconds = asker.elapsed().as_secs_f64();
    Ok(record)
}

fn empty_record(spec: &CheckedProbe, permit: Permit) -> ProbeRecord {
    ProbeRecord {
        schema: PROBE_SCHEMA.to_owned(),
        target: spec.target().place(),
        address: permit.address.to_string(),
        starttls: spec.spec().starttls,
        server_name: spec.sni().map(str::to_owned),
        topics: spec.topics(),
        versions: Vec::new(),
        large_hello: None,
        dh_prime: None,
        suites: Vec::new(),
        groups: Vec::new(),
        signature_schemes: Vec::new(),
        certificates: Vec::new(),
        trust: None,
        client_certificate: None,
        alpn: None,
        resumption: None,
        compression: None,
        renegotiation: None,
        protections: None,
        offers: Vec::new(),
        unanswered: Vec::new(),
        hints: Vec::new(),
        incomplete: None,
        connections: 0,
        seconds: 0.0,
    }
}

/// Asks the questions of the specification, one topic after the other.
fn fill(
    asker: &mut Asker,
    anchors: &TrustAnchors,
    spec: &CheckedProbe,
    record: &mut ProbeRecord,
) -> Result<(), End> {
    for offer in &spec.spec().offers {
        record.offers.push(offers::offer(asker, offer)?);
    }
    let topics = spec.topics();
    if topics.is_empty() {
        return Ok(());
    }
    asker.begin(Topic::Versions);
    record.versions = versions::find_versions(asker)?;
    record.large_hello = versions::find_large_hello(asker)?;
    record.hints.extend(hint_at_names(asker, &record.versions));
    let begins = |asker: &mut Asker, topic| {
        let is_wanted = topics.contains(&topic);
        if is_wanted {
            asker.begin(topic);
        }
        is_wanted
    };
    if begins(asker, Topic::Suites) {
        lists::find_suites(asker, record)?;
    }
    if begins(asker, Topic::Groups) {
        lists::find_groups(asker, &mut record.groups)?;
    }
    if begins(asker, Topic::SignatureSchemes) {
        lists::find_schemes(asker, &mut record.signature_schemes)?;
    }
    if begins(asker, Topic::Certificates) {
        certificates::find_certificates(asker, anchors, &mut record.certificates)?;
        record.client_certificate = asker.client_certificate();
    }
    if begins(asker, Topic::Alpn) {
        record.alpn = protocols::find_protocols(asker)?;
    }
    if begins(asker, Topic::Resumption) {
        record.resumption = Some(sessions::find_resumption(asker)?);
    }
    if begins(asker, Topic::Compression) {
        record.compression = Some(protections::find_compression(asker)?);
    }
    if begins(asker, Topic::Renegotiation) {
        record.renegotiation = Some(handshake::find_renegotiation(asker)?);
    }
    if begins(asker, Topic::Protections) {
        record.protections = Some(protections::find_protections(asker)?);
    }
    if topics.contains(&Topic::Suites) && asker.unanswered().is_empty() {
        asker.begin(Topic::Versions);
        record.hints.extend(versions::find_contradiction(asker, &record.versions)?);
    }
    Ok(())
}

/// A server that selects sites by name may refuse a client without SNI, such as one that connects
/// to an address.
fn hint_at_names(asker: &Asker, versions: &[VersionFound]) -> Option<String> {
    let hint = "an address has no name to ask for, and the server refuses all versions: if its \
                sites go by name, give one with --sni NAME";
    let refused = versions.iter().all(|found| found.accepted == Some(false));
    (asker.sni().is_none() && refused).then(|| hint.to_owned())
}
