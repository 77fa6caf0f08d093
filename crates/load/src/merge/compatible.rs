//! Checks that records can be merged with each other and with findings about their hosts.

use std::collections::BTreeSet;

use tlslab_contract::record::RunRecord;

use super::{HostFindings, MergeError, Named};

/// Checks that the records are of one load and are not damaged.
pub fn check_parts(parts: &[Named]) -> Result<(), MergeError> {
    let first = &parts[0];
    let mut names = BTreeSet::new();
    for (index, Named { name, record }) in parts.iter().enumerate() {
        if !names.insert(name) {
            return Err(MergeError::SameName(name.clone()));
        }
        if !record.hosts.is_empty() {
            return Err(MergeError::Merged(name.clone()));
        }
        if !record.outcomes.balanced() {
            return Err(MergeError::Unbalanced(name.clone()));
        }
        let is_same = |earlier: &&Named| is_one(&earlier.record, record);
        if let Some(first) = parts[..index].iter().find(is_same) {
            let (first, name) = (first.name.clone(), name.clone());
            return Err(MergeError::Same { first, name });
        }
        let known = &first.record;
        let differs = [
            ("the schema", record.schema != known.schema),
            ("the TLS back end", record.backend != known.backend),
            ("the versions of the programs", record.versions != known.versions),
            ("the client's certificate", record.client_certificate != known.client_certificate),
        ];
        if let Some((what, _)) = differs.iter().find(|(_, differs)| *differs) {
            let (first, name) = (first.name.clone(), name.clone());
            return Err(MergeError::Different { first, name, what: (*what).to_owned() });
        }
    }
    Ok(())
}

/// Checks that all generators, including lost ones, have different names, and that every finding is
/// about one of them.
pub fn check_findings(parts: &[Named], findings: &HostFindings) -> Result<(), MergeError> {
    let mut names: BTreeSet<&String> = parts.iter().map(|part| &part.name).collect();
    for lost in &findings.lost {
        if !names.insert(&lost.host) {
            return Err(MergeError::SameName(lost.host.clone()));
        }
    }
    match findings.found.keys().find(|name| !names.contains(name)) {
        Some(name) => Err(MergeError::NotThere(name.clone())),
        None => Ok(()),
    }
}

/// True if two records are of the same measurement. No two measurements start in the same
/// microsecond and have the same outcomes.
fn is_one(mine: &RunRecord, theirs: &RunRecord) -> bool {
    mine.started.is_some() && mine.started == theirs.started && mine.outcomes == theirs.outcomes
}
