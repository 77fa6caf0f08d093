//! Several records into one: what several generators measured of one server at the same time.
//!
//! Nothing is averaged that can be added: counts, bytes, processor time, and histograms (value by
//! value). What each generator did on its own stays in [`RunRecord::hosts`].

mod hosts;
mod specs;
mod times;
mod window;

use std::collections::{BTreeMap, BTreeSet};

use tlslab_contract::accounting::Outcomes;
use tlslab_contract::record::{
    Bytes, CLIENTS, CountedFacts, CountedName, CpuTime, Environment, FlightTimes, HostFound, Kinds,
    LostHost, OpenLoop, RunRecord, SlowConnects, StepResult, Verdict, VerdictCode, WorkerUsage,
    add_slices,
};
use tlslab_contract::spec::RunSpec;
use tlslab_wire::reason::{CountedReason, EXAMPLES_LIMIT, OTHER, REASONS_LIMIT};

use self::hosts::{
    clocks_moved, host_lost, host_parts, last_outcomes, shared_processors_saturated,
};
use self::specs::joined_spec;
use self::times::{joined_clients, joined_histograms, summaries};
use self::window::{common_window, not_simultaneous, started_apart};

/// The record of one generator, by its name.
#[derive(Debug, Clone)]
pub struct Named {
    /// What the generator is called in the merged record.
    pub name: String,
    /// What it measured.
    pub record: RunRecord,
}

/// What is known of the generators beside their records.
#[derive(Debug, Clone, Default)]
pub struct HostFindings {
    /// Those that were lost, and left no record.
    pub lost: Vec<LostHost>,
    /// The kernel, speed and clock of each, by its name.
    pub found: BTreeMap<String, HostFound>,
}

/// Why records cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages are the documentation")]
pub enum MergeError {
    #[error("there is nothing to merge")]
    Nothing,
    #[error("two records are called '{0}'; name them: NAME=FILE")]
    SameName(String),
    #[error("'{name}' differs from '{first}' in {what}; records of one load only can be merged")]
    Different { first: String, name: String, what: String },
    #[error("'{name}' is the same record as '{first}'")]
    Same { first: String, name: String },
    #[error("the histogram {histogram} of '{name}' cannot be read")]
    Histogram { name: String, histogram: String },
    #[error("the accounting of '{0}' is not balanced")]
    Unbalanced(String),
    #[error("'{0}' is itself a merged record; merge the records that it was made of")]
    Merged(String),
    #[error("nothing is called '{0}', of which something was found out")]
    NotThere(String),
}

/// The record of all generators together, as one generator's with all their workers would be.
///
/// `seconds` is the mean over all workers, as in every record; [`RunRecord::common`] has the rate
/// over the time that all were measuring. Quantiles of steps are left out: steps keep no histograms.
///
/// For a lost host the accounting has what it reported last, and the connections that were under way
/// then. All other figures are those of the other hosts: nothing more is known of a lost one.
///
/// # Errors
/// The records are of different loads, or one of them is damaged.
pub fn merge(parts: &[Named], findings: &HostFindings) -> Result<RunRecord, MergeError> {
    let first = parts.first().ok_or(MergeError::Nothing)?;
    check(parts)?;
    check_findings(parts, findings)?;
    let spec = joined_spec(&shares(parts, findings))?;
    let records = || parts.iter().map(|part| &part.record);
    let outcomes = joined_outcomes(records(), &findings.lost);
    let workers: Vec<WorkerUsage> = records().flat_map(|r| r.workers.clone()).collect();
    let seconds = mean_seconds(&workers, parts);
    let flight = joined_flight(parts);
    let histograms = joined_histograms(parts, |record| &record.histograms)?;
    let (mut cpu, mut kinds) = (CpuTime::default(), Kinds::default());
    let (mut bytes, mut intervals) = (Bytes::default(), Vec::new());
    for record in records() {
        cpu += record.cpu;
        kinds += record.kinds;
        bytes += &record.bytes;
        add_slices(&mut intervals, &record.intervals);
    }
    Ok(RunRecord {
        schema: first.record.schema.clone(),
        spec,
        backend: first.record.backend.clone(),
        versions: first.record.versions.clone(),
        environment: joined_environment(parts),
        address: joined(records().map(|r| r.address.as_str())),
        preflight: first.record.preflight.clone(),
        facts: joined_facts(records()),
        server_names: joined_names(records()),
        client_certificate: first.record.client_certificate.clone(),
        kinds,
        authenticated: records().map(|r| r.authenticated).sum(),
        minimal_client: records().map(|r| r.minimal_client).sum(),
        requests: records().map(|r| r.requests).sum(),
        seconds,
        cpu,
        workers,
        bytes,
        summaries: summaries(&histograms),
        histograms: times::encoded_all(&histograms),
        clients: joined_clients(parts)?,
        intervals,
        open_loop: joined_open_loop(records()),
        steps: joined_steps(records()),
        concurrency: match flight {
            Some(flight) if seconds > 0.0 => flight.within_s / seconds,
            _ => records().map(|r| r.concurrency).sum(),
        },
        flight,
        slow_connects: joined_slow_connects(records()),
        verdicts: joined_verdicts(parts, findings),
        notes: joined_notes(parts),
        outcomes,
        started: records().filter_map(|r| r.started).min_by(|a, b| a.unix_s.total_cmp(&b.unix_s)),
        hosts: host_parts(parts, findings),
        common: common_window(records()),
    })
}

/// Refuses records that are not of one load, or that are damaged.
fn check(parts: &[Named]) -> Result<(), MergeError> {
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

/// Refuses findings on hosts that are not among the generators, and two generators of one name.
fn check_findings(parts: &[Named], findings: &HostFindings) -> Result<(), MergeError> {
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

/// Each generator's share of the load, by its name.
fn shares<'p>(parts: &'p [Named], findings: &'p HostFindings) -> Vec<(&'p str, &'p RunSpec)> {
    let kept = parts.iter().map(|part| (part.name.as_str(), &part.record.spec));
    let lost = findings.lost.iter().map(|lost| (lost.host.as_str(), &lost.spec));
    kept.chain(lost).collect()
}

/// Whether two records are of one measurement: no two begin in the same microsecond and end alike.
fn is_one(mine: &RunRecord, theirs: &RunRecord) -> bool {
    mine.started.is_some() && mine.started == theirs.started && mine.outcomes == theirs.outcomes
}

/// The mean over all workers, or over the records where these name none.
fn mean_seconds(workers: &[WorkerUsage], parts: &[Named]) -> f64 {
    let lengths: Vec<f64> = match workers {
        [] => parts.iter().map(|part| part.record.seconds).collect(),
        _ => workers.iter().map(|worker| worker.seconds).collect(),
    };
    lengths.iter().sum::<f64>() / lengths.len() as f64
}

/// Each text once, in the order of the records.
fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for text in texts {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    seen.join(", ")
}

fn joined_environment(parts: &[Named]) -> Environment {
    let environments = || parts.iter().map(|part| &part.record.environment);
    Environment {
        kernel: joined(environments().map(|e| e.kernel.as_str())),
        processor: joined(environments().map(|e| e.processor.as_str())),
        processors: environments().map(|e| e.processors).sum(),
    }
}

fn joined_outcomes<'r>(
    records: impl Iterator<Item = &'r RunRecord>,
    lost: &[LostHost],
) -> Outcomes {
    let mut whole = Outcomes::default();
    for record in records {
        whole.merge(&record.outcomes);
    }
    for host in lost {
        let last = last_outcomes(&host.lost.totals);
        // The reasons of a class add up to it, where it has any.
        let explained = last.failed.iter().filter(|(class, _)| whole.reasons_of(class).count() > 0);
        let unknown: Vec<_> =
            explained.map(|(class, count)| reason_not_known(class, *count)).collect();
        whole.merge(&last);
        whole.reasons.extend(unknown);
    }
    whole.reasons = joined_reasons(std::mem::take(&mut whole.reasons));
    whole
}

/// Failures of a host that was lost before it could give their reasons.
fn reason_not_known(class: &str, count: u64) -> CountedReason {
    let (class, reason) = (class.to_owned(), "not known: the host was lost".to_owned());
    CountedReason { class, reason, count, examples: Vec::new() }
}

/// Each reason of a class once, with its first examples; those beyond the limit as others.
fn joined_reasons(reasons: Vec<CountedReason>) -> Vec<CountedReason> {
    let mut known: BTreeMap<(String, String), CountedReason> = BTreeMap::new();
    for counted in reasons {
        let key = (counted.class.clone(), counted.reason.clone());
        let is_full = known.keys().filter(|(_, reason)| reason != OTHER).count() >= REASONS_LIMIT;
        let key = match is_full && !known.contains_key(&key) {
            true => (counted.class.clone(), OTHER.to_owned()),
            false => key,
        };
        let CountedReason { class, count, examples, .. } = counted;
        let reason = key.1.clone();
        let empty = || CountedReason { class, reason, count: 0, examples: Vec::new() };
        let mine = known.entry(key).or_insert_with(empty);
        mine.count += count;
        let room = EXAMPLES_LIMIT.saturating_sub(mine.examples.len());
        mine.examples.extend(examples.into_iter().take(room));
    }
    let mut joined: Vec<_> = known.into_values().collect();
    // As in every record: by class, most frequent first, what has no reason of its own last.
    joined.sort_by(|a, b| {
        let others = |counted: &CountedReason| counted.reason == OTHER;
        let order = a.class.cmp(&b.class).then(others(a).cmp(&others(b)));
        order.then(b.count.cmp(&a.count)).then_with(|| a.reason.cmp(&b.reason))
    });
    joined
}

fn joined_facts<'r>(records: impl Iterator<Item = &'r RunRecord>) -> Vec<CountedFacts> {
    let mut facts: Vec<CountedFacts> = Vec::new();
    for theirs in records.flat_map(|record| &record.facts) {
        match facts.iter_mut().find(|mine| mine.facts == theirs.facts) {
            Some(mine) => mine.count += theirs.count,
            None => facts.push(theirs.clone()),
        }
    }
    facts.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.facts.cmp(&b.facts)));
    facts
}

/// The specification is the same: the names are, too, and their order.
fn joined_names<'r>(mut records: impl Iterator<Item = &'r RunRecord>) -> Vec<CountedName> {
    let mut names = records.next().map(|record| record.server_names.clone()).unwrap_or_default();
    for record in records {
        for (mine, theirs) in names.iter_mut().zip(&record.server_names) {
            mine.completed += theirs.completed;
            mine.failed += theirs.failed;
            mine.unexpected += theirs.unexpected;
        }
    }
    names
}

/// The sum over all records; `None` if a record lacks the value.
fn joined_flight(parts: &[Named]) -> Option<FlightTimes> {
    let mut flight = FlightTimes::default();
    for part in parts {
        let theirs = part.record.flight?;
        flight.within_s += theirs.within_s;
        flight.before_s += theirs.before_s;
        flight.troubled_s += theirs.troubled_s;
        flight.unfinished_s += theirs.unfinished_s;
    }
    Some(flight)
}

/// The slow connects of all generators, with the highest count of full listen queues.
fn joined_slow_connects<'r>(records: impl Iterator<Item = &'r RunRecord>) -> SlowConnects {
    let mut all = SlowConnects::default();
    for SlowConnects { count, listen_overflows } in records.map(|record| record.slow_connects) {
        all.count += count;
        all.listen_overflows = all.listen_overflows.max(listen_overflows);
    }
    all
}

fn joined_open_loop<'r>(records: impl Iterator<Item = &'r RunRecord>) -> Option<OpenLoop> {
    records.map(|record| record.open_loop).reduce(|mine, theirs| {
        let (mine, theirs) = (mine?, theirs?);
        Some(OpenLoop {
            arrivals: mine.arrivals + theirs.arrivals,
            started: mine.started + theirs.started,
            blocked: mine.blocked + theirs.blocked,
            waiting_at_stop: mine.waiting_at_stop + theirs.waiting_at_stop,
            offered_per_s: mine.offered_per_s + theirs.offered_per_s,
            achieved_per_s: mine.achieved_per_s + theirs.achieved_per_s,
        })
    })?
}

/// Steps of the same number together, without times: their records keep no histograms.
fn joined_steps<'r>(records: impl Iterator<Item = &'r RunRecord>) -> Vec<StepResult> {
    let mut steps: Vec<StepResult> = Vec::new();
    for record in records {
        for (index, theirs) in record.steps.iter().enumerate() {
            let Some(mine) = steps.get_mut(index) else {
                let summaries = Default::default();
                steps.push(StepResult { summaries, ..theirs.clone() });
                continue;
            };
            mine.connections += theirs.connections;
            mine.rate = mine.rate.zip(theirs.rate).map(|(mine, theirs)| mine + theirs);
            mine.seconds = mine.seconds.max(theirs.seconds);
            mine.started += theirs.started;
            mine.completed += theirs.completed;
            add_counts(&mut mine.failed, &theirs.failed);
            add_counts(&mut mine.unexpected, &theirs.unexpected);
            mine.requests += theirs.requests;
            mine.cpu += theirs.cpu;
        }
    }
    steps
}

fn add_counts(mine: &mut BTreeMap<String, u64>, theirs: &BTreeMap<String, u64>) {
    for (class, count) in theirs {
        *mine.entry(class.clone()).or_default() += count;
    }
}

/// Valid if every generator's run is; else each other verdict once, with the number of generators that
/// have it and the words of the first.
fn joined_verdicts(parts: &[Named], findings: &HostFindings) -> Vec<Verdict> {
    let mut found: Vec<(VerdictCode, usize, String)> = Vec::new();
    for Named { name, record } in parts {
        for Verdict { code, message } in &record.verdicts {
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
        shared_processors_saturated(parts, findings).filter(|_| !is_saturated),
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

/// Notes that all generators have, once; other notes with the generator's name; and notes on all
/// together.
fn joined_notes(parts: &[Named]) -> Vec<String> {
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

/// The client that made all connections of a record in which one client made them all.
fn only_client(record: &RunRecord) -> &'static str {
    CLIENTS[usize::from(record.minimal_client > 0)]
}

#[cfg(test)]
mod tests;
