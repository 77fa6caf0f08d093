//! What is out of the ordinary in what was asked for, and no fault: the notes of a record.

use crate::names::{CipherSuite, TlsVersion};
use crate::tls::{Facts, Offer};

/// The notes on a run that offered this and whose handshakes negotiated these facts.
pub fn notes<'f>(offer: &Offer, facts: impl Iterator<Item = &'f Facts>) -> Vec<String> {
    let mut notes = Vec::new();
    if offer.key_log.is_some() {
        notes.push(
            "the secrets of all connections were written to a key log: the run was slowed, and \
             whoever has the log can decrypt its traffic"
                .to_owned(),
        );
    }
    if offer.allow_obsolete {
        let used = list(facts.flat_map(obsolete));
        notes.push(format!(
            "obsolete protocols, suites and keys were allowed; used: {}",
            if used.is_empty() { "none" } else { &used }
        ));
    }
    notes
}

/// The version and the suite of a handshake, where they are obsolete.
fn obsolete(facts: &Facts) -> impl Iterator<Item = String> {
    let version: Option<TlsVersion> = facts.tls.parse().ok();
    let version = version.filter(|version| version.is_obsolete());
    let suite: Option<CipherSuite> = facts.suite.parse().ok();
    let suite = suite.filter(|suite| suite.is_obsolete());
    let prime = facts.group.strip_prefix("DH-").and_then(|bits| bits.parse().ok());
    let prime = prime.filter(|bits: &u32| *bits < crate::obsolete::SHORTEST_PRIME);
    [
        version.map(|version| format!("TLS version {version}")),
        suite.map(|suite| suite.to_string()),
        prime.map(|_| facts.group.clone()),
    ]
    .into_iter()
    .flatten()
}

/// Each text once, in order.
fn list(texts: impl Iterator<Item = String>) -> String {
    let distinct: std::collections::BTreeSet<String> = texts.collect();
    distinct.into_iter().collect::<Vec<_>>().join(", ")
}
