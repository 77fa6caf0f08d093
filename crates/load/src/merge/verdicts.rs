//! The verdicts and notes of a merged record: those of each generator, and those about all
//! generators together.

use tlslab_contract::record::{Verdict, VerdictCode};

use super::hosts::{
    SharedProcessor, clocks_moved, host_lost, is_left_to_others, limit, shared_processors,
};
use super::window::{not_simultaneous, started_apart};
use super::{HostFindings, Named};

/// Valid if every generator's run is valid and there is no verdict on all together. Otherwise each
/// other verdict once, with the number of generators that have it and the message of the first.
pub fn joined_verdicts(parts: &[Named], findings: &HostFindings) -> Vec<Verdict> {
    let shared = shared_processors(parts, findings);
    let mut found: Vec<(VerdictCode, usize, String)> = Vec::new();
    for part in parts {
        let Named { name, record } = part;
        for Verdict { code, message } in &record.verdicts {
            if is_left_to_others(part, *code, &shared) {
                continue;
            }
            match found.iter_mut().find(|(known, ..)| known == code) {
                Some((_, count, _)) => *count += 1,
                None => found.push((*code, 1, format!("{name}: {message}"))),
            }
        }
    }
    let all = parts.len();
    let is_saturated = found.iter().any(|(code, ..)| *code == VerdictCode::ClientSaturated);
    let of_all: Vec<Verdict> = [
        host_lost(findings, all + findings.lost.len()),
        not_simultaneous(parts.iter().map(|part| &part.record)),
        clocks_moved(parts, findings),
        shared
            .iter()
            .filter(|_| !is_saturated)
            .find_map(|each| each.saturated(limit(&parts[0].record))),
        shared.iter().find_map(SharedProcessor::kept_off),
    ]
    .into_iter()
    .flatten()
    .collect();
    let is_valid = found.iter().all(|(code, ..)| *code == VerdictCode::Valid);
    if is_valid && of_all.is_empty() {
        let message = match all {
            1 => "valid: the run of the one generator is".to_owned(),
            _ => format!("valid: the runs of all {all} generators are, and at the same time"),
        };
        return vec![Verdict { code: VerdictCode::Valid, message }];
    }
    let objections = found.into_iter().filter(|(code, ..)| *code != VerdictCode::Valid);
    let worded = objections.map(|(code, count, words)| {
        let message = format!("{count} of {all} generators: {words}");
        Verdict { code, message }
    });
    of_all.into_iter().chain(worded).collect()
}

/// Notes that all generators have, once; other notes, with the generator's name; and notes about
/// all generators together.
pub fn joined_notes(parts: &[Named]) -> Vec<String> {
    let has_it = |part: &Named, note: &String| part.record.notes.contains(note);
    let mut notes: Vec<String> = Vec::new();
    for part in parts {
        for note in &part.record.notes {
            let is_common = parts.iter().all(|other| has_it(other, note));
            let line = if is_common { note.clone() } else { format!("{}: {note}", part.name) };
            if !notes.contains(&line) {
                notes.push(line);
            }
        }
    }
    let preflights =
        parts.iter().filter(|part| part.record.preflight.facts != parts[0].record.preflight.facts);
    notes.extend(preflights.map(|part| {
        let (name, first) = (&part.name, &parts[0].name);
        format!("{name}: the preflight negotiated something else than that of {first}")
    }));
    notes.extend(started_apart(parts));
    notes
}
