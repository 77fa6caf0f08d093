//! Merges the records of several generators that measured one server at the same time.
//!
//! Values that can be added are added, not averaged: counts, bytes, processor time, and histograms
//! (value by value). [`RunRecord::hosts`] keeps each generator's own results.

mod compatible;
mod hosts;
mod outcomes;
mod specs;
mod times;
mod verdicts;
mod window;

use std::collections::BTreeMap;

use tlslab_contract::record::{
    Bytes, CLIENTS, ConfirmedBy, CountedFacts, CountedName, CpuTime, Environment, FlightTimes,
    HostFound, Interval, Kinds, LostHost, OpenLoop, RoundTrips, RunRecord, SlowConnects,
    StepResult, Supply, WorkerUsage, add_slices, busiest, places_of,
};
use tlslab_contract::spec::RunSpec;

use self::compatible::{check_findings, check_parts};
use self::hosts::host_parts;
use self::outcomes::joined_outcomes;
use self::specs::joined_spec;
use self::times::{joined_clients, joined_histograms, joined_urls, summaries};
use self::verdicts::{joined_notes, joined_verdicts};
use self::window::common_window;

/// The record of one generator, with the generator's name.
#[derive(Debug, Clone)]
pub struct Named {
    /// The generator's name in the merged record.
    pub name: String,
    /// The generator's record.
    pub record: RunRecord,
}

/// Findings about the generators that are not in their records.
#[derive(Debug, Clone, Default)]
pub struct HostFindings {
    /// Hosts that were lost and left no record.
    pub lost: Vec<LostHost>,
    /// The kernel, speed and clock of each host, by the host's name.
    pub found: BTreeMap<String, HostFound>,
}

/// Errors that prevent a merge.
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

/// Merges the records of all generators into the record that one generator with all their workers
/// would have.
///
/// `seconds` is the mean over all workers, as in every record. [`RunRecord::common`] has the rate
/// over the time in which all generators were measuring. Steps have no quantiles, because steps
/// keep no histograms.
///
/// For a lost host, the accounting has the host's last report, and the connections that were in
/// flight at that time. All other figures are those of the other hosts, because nothing more is
/// known of a lost host.
///
/// # Errors
/// The records are of different loads, or a record is damaged.
pub fn merge(parts: &[Named], findings: &HostFindings) -> Result<RunRecord, MergeError> {
    let first = parts.first().ok_or(MergeError::Nothing)?;
    check_parts(parts)?;
    check_findings(parts, findings)?;
    let records = || parts.iter().map(|part| &part.record);
    let workers: Vec<WorkerUsage> = records().flat_map(|r| r.workers.clone()).collect();
    let seconds = mean_seconds(&workers, parts);
    let hosts = host_parts(parts, findings);
    let flight = joined_flight(parts);
    let histograms = joined_histograms(parts, |record| &record.histograms)?;
    let Added { cpu, kinds, round_trips, bytes, intervals } = added(records());
    Ok(RunRecord {
        schema: first.record.schema.clone(),
        spec: joined_spec(&shares(parts, findings))?,
        backend: first.record.backend.clone(),
        versions: first.record.versions.clone(),
        environment: joined_environment(parts),
        address: joined(records().map(|r| r.address.as_str())),
        preflight: first.record.preflight.clone(),
        facts: joined_facts(records()),
        server_names: joined_names(records()),
        statuses: joined_statuses(records()),
        urls: joined_urls(parts)?,
        client_certificate: first.record.client_certificate.clone(),
        kinds,
        authenticated: records().map(|r| r.authenticated).sum(),
        minimal_client: records().map(|r| r.minimal_client).sum(),
        confirmed_by: joined_confirmed(records()),
        round_trips,
        requests: records().map(|r| r.requests).sum(),
        seconds,
        cpu,
        workers,
        supply: joined_supply(records()),
        busy: busiest(&places_of(&hosts)),
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
        client_fallback: parts.iter().find_map(|part| part.record.client_fallback.clone()),
        outcomes: joined_outcomes(records(), &findings.lost),
        started: records().filter_map(|r| r.started).min_by(|a, b| a.unix_s.total_cmp(&b.unix_s)),
        hosts,
        common: common_window(records()),
    })
}

/// Counts of several records, added.
#[derive(Default)]
struct Added {
    cpu: CpuTime,
    kinds: Kinds,
    round_trips: RoundTrips,
    bytes: Bytes,
    intervals: Vec<Interval>,
}

fn added<'r>(records: impl Iterator<Item = &'r RunRecord>) -> Added {
    let mut all = Added::default();
    for record in records {
        all.cpu += record.cpu;
        all.kinds += record.kinds;
        all.round_trips += &record.round_trips;
        all.bytes += &record.bytes;
        add_slices(&mut all.intervals, &record.intervals);
    }
    all
}

/// The share of the load of each generator, including lost ones, by the generator's name.
fn shares<'p>(parts: &'p [Named], findings: &'p HostFindings) -> Vec<(&'p str, &'p RunSpec)> {
    let kept = parts.iter().map(|part| (part.name.as_str(), &part.record.spec));
    let lost = findings.lost.iter().map(|lost| (lost.host.as_str(), &lost.spec));
    kept.chain(lost).collect()
}

/// The mean length over all workers, in seconds; over all records if no record lists workers.
fn mean_seconds(workers: &[WorkerUsage], parts: &[Named]) -> f64 {
    let lengths: Vec<f64> = match workers {
        [] => parts.iter().map(|part| part.record.seconds).collect(),
        _ => workers.iter().map(|worker| worker.seconds).collect(),
    };
    lengths.iter().sum::<f64>() / lengths.len() as f64
}

/// Each different text once, in the order of the records.
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

/// The accounting by server name, added. The specifications are the same, so all records have the
/// same names in the same order.
fn joined_names<'r>(mut records: impl Iterator<Item = &'r RunRecord>) -> Vec<CountedName> {
    let mut names = records.next().map(|record| record.server_names.clone()).unwrap_or_default();
    for record in records {
        for (mine, theirs) in names.iter_mut().zip(&record.server_names) {
            mine.completed += theirs.completed;
            mine.failed += theirs.failed;
            mine.unexpected += theirs.unexpected;
            mine.abandoned += theirs.abandoned;
        }
    }
    names
}

/// Responses by status, added over all records.
fn joined_statuses<'r>(records: impl Iterator<Item = &'r RunRecord>) -> BTreeMap<String, u64> {
    records.fold(BTreeMap::new(), |mut all, record| {
        add_counts(&mut all, &record.statuses);
        all
    })
}

/// What confirmed the handshakes, added over all records.
fn joined_confirmed<'r>(records: impl Iterator<Item = &'r RunRecord>) -> ConfirmedBy {
    records.fold(ConfirmedBy::default(), |mut all, record| {
        all += record.confirmed_by;
        all
    })
}

/// The times in flight, added over all records; `None` if a record lacks them.
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

/// The slow connects of all generators, and the highest of their counts of full listen queues.
fn joined_slow_connects<'r>(records: impl Iterator<Item = &'r RunRecord>) -> SlowConnects {
    let mut all = SlowConnects::default();
    for SlowConnects { count, listen_overflows } in records.map(|record| record.slow_connects) {
        all.count += count;
        all.listen_overflows = all.listen_overflows.max(listen_overflows);
    }
    all
}

/// Throttling of all generators, and the longest suspend. Generators may share processors, so their
/// numbers do not add up.
fn joined_supply<'r>(records: impl Iterator<Item = &'r RunRecord>) -> Supply {
    let mut all = Supply::default();
    for Supply { throttled_s, suspended_s, .. } in records.map(|record| record.supply) {
        all.throttled_s = match (all.throttled_s, throttled_s) {
            (Some(mine), Some(theirs)) => Some(mine + theirs),
            (mine, theirs) => mine.or(theirs),
        };
        all.suspended_s = all.suspended_s.max(suspended_s);
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
            users: mine.users.zip(theirs.users).map(|(mut mine, theirs)| {
                mine += theirs;
                mine
            }),
        })
    })?
}

/// Merges steps of the same index. The merged steps have no times, because steps keep no
/// histograms.
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
            mine.abandoned += theirs.abandoned;
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

/// The client of a record in which one client made all connections.
fn only_client(record: &RunRecord) -> &'static str {
    CLIENTS[usize::from(record.minimal_client > 0)]
}

#[cfg(test)]
mod tests;
