//! Several records into one: what several generators measured of one server at the same time.
//!
//! Nothing is averaged that can be added: counts, bytes, processor time, and histograms (value by
//! value). What each generator did on its own stays in [`RunRecord::hosts`].

mod compatible;
mod hosts;
mod outcomes;
mod specs;
mod times;
mod verdicts;
mod window;

use std::collections::BTreeMap;

use tlslab_contract::record::{
    Bytes, CLIENTS, CountedFacts, CountedName, CpuTime, Environment, FlightTimes, HostFound, Kinds,
    LostHost, OpenLoop, RunRecord, SlowConnects, StepResult, WorkerUsage, add_slices,
};
use tlslab_contract::spec::RunSpec;

use self::compatible::{check_findings, check_parts};
use self::hosts::host_parts;
use self::outcomes::joined_outcomes;
use self::specs::joined_spec;
use self::times::{joined_clients, joined_histograms, summaries};
use self::verdicts::{joined_notes, joined_verdicts};
use self::window::common_window;

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
    check_parts(parts)?;
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

/// Each generator's share of the load, by its name.
fn shares<'p>(parts: &'p [Named], findings: &'p HostFindings) -> Vec<(&'p str, &'p RunSpec)> {
    let kept = parts.iter().map(|part| (part.name.as_str(), &part.record.spec));
    let lost = findings.lost.iter().map(|lost| (lost.host.as_str(), &lost.spec));
    kept.chain(lost).collect()
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

/// The client that made all connections of a record in which one client made them all.
fn only_client(record: &RunRecord) -> &'static str {
    CLIENTS[usize::from(record.minimal_client > 0)]
}

#[cfg(test)]
mod tests;
