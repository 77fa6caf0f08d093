//! The notes of a record: unusual but legitimate settings and findings.

use std::collections::BTreeSet;

use tlslab_contract::accounting::Outcomes;
use tlslab_contract::record::{CountedFacts, Kinds, Preflight, SessionsGiven};
use tlslab_contract::spec::{RequestsPerConnection, RunSpec};
use tlslab_tls::{ClientSettings, Facts, HTTP_2};
use tlslab_wire::names::{CipherSuite, TlsVersion};
use tlslab_wire::wording::{counted, grouped};

/// The notes for these settings, this preflight, these negotiated facts, and these kinds of
/// handshake.
pub fn notes(
    settings: &ClientSettings,
    preflight: &Preflight,
    facts: &[CountedFacts],
    kinds: Kinds,
) -> Vec<String> {
    let first = &preflight.facts;
    let facts = || facts.iter().map(|counted| &counted.facts);
    let mut notes = Vec::new();
    if settings.key_log.is_some() {
        notes.push(
            "the secrets of all connections were written to a key log: the run was slowed, and \
             whoever has the log can decrypt its traffic"
                .to_owned(),
        );
    }
    if settings.allow_obsolete {
        let used = list(facts().flat_map(obsolete));
        notes.push(format!(
            "obsolete protocols, suites and keys were allowed; used: {}",
            if used.is_empty() { "none" } else { &used }
        ));
    }
    if let Some(words) = &preflight.dh_prime {
        notes.push(format!(
            "the prime of the server's own Diffie-Hellman parameters {words}: whoever knows the \
             factors of such a prime, or of its order, can break the key exchange (RFC 7919, 6)"
        ));
    }
    if let Some(SessionsGiven { full, resumed: 0 }) = preflight.sessions {
        notes.push(format!(
            "the server gives no session ticket on a resumed connection ({full} on a full \
             handshake): {} beside the load collected the sessions to resume, which is in no count, \
             rate and latency, but in the processor time of both sides",
            counted(kinds.refill_connections, "full handshake")
        ));
    }
    notes.extend(barred(facts().chain([first])));
    notes
}

/// A note about connections that the server ended between two requests, which made fewer requests
/// than the specification asks for.
pub fn closed_between(spec: &RunSpec, outcomes: &Outcomes, requests: u64) -> Option<String> {
    let Outcomes { closed_idle, completed, .. } = *outcomes;
    let asked = match spec.requests_per_connection {
        RequestsPerConnection::Count(count) => {
            format!(", where {count} a connection were asked for")
        }
        RequestsPerConnection::Unlimited => String::new(),
    };
    (closed_idle > 0).then(|| {
        format!(
            "the server ended {} of {} between two requests, as it may (RFC 9112, section 9.3; RFC \
             9113, section 9.1): {} were answered in all{asked}",
            grouped(closed_idle),
            counted(completed, "completed connection"),
            counted(requests, "request"),
        )
    })
}

/// A note about a server that allows fewer concurrent requests than are asked for.
pub fn fewer_streams(spec: &RunSpec, preflight: &Preflight) -> Option<String> {
    let asked = spec.http.streams;
    let allowed = preflight.streams.filter(|allowed| *allowed < asked)?;
    Some(format!(
        "the server allows {} on a connection (SETTINGS_MAX_CONCURRENT_STREAMS), where {asked} were \
         asked for: no connection had more requests in flight",
        counted(allowed, "concurrent stream")
    ))
}

/// A note for each suite that carried HTTP/2 although RFC 9113 prohibits it.
fn barred<'f>(facts: impl Iterator<Item = &'f Facts>) -> impl Iterator<Item = String> {
    let suites: BTreeSet<&str> = facts
        .filter(|facts| facts.alpn == HTTP_2)
        .map(|facts| facts.suite.as_str())
        .filter(|suite| suite.parse().is_ok_and(CipherSuite::is_barred_from_http2))
        .collect();
    suites.into_iter().map(|suite| {
        format!(
            "{suite} is on RFC 9113's list of prohibited suites (appendix A): \
             a server may refuse HTTP/2 with INADEQUATE_SECURITY"
        )
    })
}

/// The version and the suite of a handshake, if obsolete.
fn obsolete(facts: &Facts) -> impl Iterator<Item = String> {
    let version: Option<TlsVersion> = facts.tls.parse().ok();
    let version = version.filter(|version| version.is_obsolete());
    let suite: Option<CipherSuite> = facts.suite.parse().ok();
    let suite = suite.filter(|suite| suite.is_obsolete());
    let prime = facts.group.strip_prefix("DH-").and_then(|bits| bits.parse().ok());
    let prime = prime.filter(|bits: &u32| *bits < tlslab_wire::tls::obsolete::SHORTEST_PRIME);
    [
        version.map(|version| format!("TLS version {version}")),
        suite.map(|suite| suite.to_string()),
        prime.map(|_| facts.group.clone()),
    ]
    .into_iter()
    .flatten()
}

/// The distinct texts, in order, as a list.
fn list(texts: impl Iterator<Item = String>) -> String {
    let distinct: BTreeSet<String> = texts.collect();
    distinct.into_iter().collect::<Vec<_>>().join(", ")
}
