//! The parts of a merged record: each generator's own results, and the lost hosts.

use std::collections::BTreeMap;

use tlslab_contract::accounting::Outcomes;
use tlslab_contract::record::{
    CpuTime, Environment, HostFound, HostPart, LastTotals, LostHost, Place, RunRecord, Supply,
    Verdict, VerdictCode, WorkerUsage, places,
};
use tlslab_wire::wording::{counted, decimal};

use super::{HostFindings, Named};
use crate::verdict::{SATURATED, SATURATED_OPEN, time_lost};

/// The fact under which unexpected handshakes of a lost host are counted. The host reported only
/// their number.
const FACT_NOT_KNOWN: &str = "not_known";

/// How far a clock may move beyond its drift and the uncertainties, in seconds.
const CLOCK_LIMIT_S: f64 = 0.001;

/// The parts of all hosts. Lost hosts come last.
pub fn host_parts(parts: &[Named], findings: &HostFindings) -> Vec<HostPart> {
    let starts = || parts.iter().filter_map(|part| part.record.started);
    let first = starts().map(|start| start.unix_s).fold(f64::MAX, f64::min);
    let kept = parts.iter().map(|part| measured_part(part, findings.found.get(&part.name), first));
    let lost = findings.lost.iter().map(|lost| lost_part(lost, findings.found.get(&lost.host)));
    kept.chain(lost).collect()
}

fn measured_part(part: &Named, found: Option<&HostFound>, first: f64) -> HostPart {
    let record = &part.record;
    let mut verdicts = record.verdicts.clone();
    if let Some(moved) = found.and_then(clock_moved) {
        verdicts.retain(|verdict| verdict.code != VerdictCode::Valid);
        verdicts.push(moved);
    }
    HostPart {
        name: part.name.clone(),
        environment: record.environment.clone(),
        address: record.address.clone(),
        started: record.started,
        seconds: record.seconds,
        connections: record.spec.connections,
        outcomes: record.outcomes.clone(),
        requests: record.requests,
        cpu: record.cpu,
        workers: record.workers.clone(),
        supply: record.supply,
        open_loop: record.open_loop,
        verdicts,
        start_skew_s: record.started.map(|start| start.unix_s - first),
        found: found.cloned(),
        lost: None,
    }
}

fn lost_part(host: &LostHost, found: Option<&HostFound>) -> HostPart {
    HostPart {
        name: host.host.clone(),
        environment: Environment::default(),
        address: String::new(),
        started: None,
        seconds: host.lost.at_s.max(0.0),
        connections: host.spec.connections,
        outcomes: last_outcomes(&host.lost.totals),
        requests: host.lost.totals.requests,
        cpu: CpuTime::default(),
        workers: Vec::new(),
        supply: Supply::default(),
        open_loop: None,
        verdicts: vec![lost_verdict(host)],
        start_skew_s: None,
        found: found.cloned(),
        lost: Some(host.lost.clone()),
    }
}

/// The accounting of a lost host: the outcomes in its last report, and the connections that were in
/// flight at that time.
pub fn last_outcomes(totals: &LastTotals) -> Outcomes {
    let unexpected =
        (totals.unexpected > 0).then(|| (FACT_NOT_KNOWN.to_owned(), totals.unexpected));
    let mut outcomes = Outcomes {
        completed: totals.completed,
        lost_with_host: totals.in_flight,
        failed: totals.failed.clone(),
        abandoned: totals.abandoned,
        unexpected: unexpected.into_iter().collect(),
        ..Outcomes::default()
    };
    outcomes.attempts = outcomes.ended() + outcomes.lost_with_host;
    outcomes
}

/// The verdict on a load with lost hosts; `None` if no host was lost.
pub fn host_lost(findings: &HostFindings, all: usize) -> Option<Verdict> {
    let first = findings.lost.first()?;
    let message =
        format!("{} of {all} generators: {}", findings.lost.len(), lost_verdict(first).message);
    Some(Verdict { code: VerdictCode::HostLost, message })
}

fn lost_verdict(host: &LostHost) -> Verdict {
    let (name, lost) = (&host.host, &host.lost);
    let when = match lost.at_s {
        at_s if at_s < 0.0 => "before the measurement".to_owned(),
        at_s => format!("{at_s:.1} s into the measurement"),
    };
    let message = format!(
        "{name} was lost {when}: {}; {} in flight there, its times are not known",
        lost.reason,
        counted(lost.totals.in_flight, "connection")
    );
    Verdict { code: VerdictCode::HostLost, message }
}

/// The verdict on clocks that moved: the message about the first one, and the number of such
/// clocks. `None` if no clock moved.
pub fn clocks_moved(parts: &[Named], findings: &HostFindings) -> Option<Verdict> {
    let moved = |part: &Named| {
        let verdict = clock_moved(findings.found.get(&part.name)?)?;
        Some(format!("{}: {}", part.name, verdict.message))
    };
    let all: Vec<String> = parts.iter().filter_map(moved).collect();
    let first = all.first()?;
    let message = format!("{} of {} generators: {first}", all.len(), parts.len());
    Some(Verdict { code: VerdictCode::ClockMoved, message })
}

fn clock_moved(found: &HostFound) -> Option<Verdict> {
    let clock = found.clock?;
    let message = format!(
        "its clock moved by {} ms against the others' during the run, beyond its drift: its load \
         was not at the same time as theirs",
        decimal(clock.moved_s * 1e3, 1)
    );
    (clock.moved_s > CLOCK_LIMIT_S).then_some(Verdict { code: VerdictCode::ClockMoved, message })
}

/// A processor that several generators of one machine share: their names, and their workers there.
#[derive(Debug, Clone)]
pub struct SharedProcessor<'p> {
    processor: usize,
    names: Vec<&'p str>,
    place: Place,
    supply: Supply,
}

/// Generators with workers on one processor: their names, these workers, and the longest time for
/// which a control group of theirs was throttled. Generators of one group report the same time.
#[derive(Default)]
struct Sharing<'p> {
    names: Vec<&'p str>,
    workers: Vec<WorkerUsage>,
    supply: Supply,
}

/// The processors that several generators share.
pub fn shared_processors<'p>(
    parts: &'p [Named],
    findings: &'p HostFindings,
) -> Vec<SharedProcessor<'p>> {
    let mut all: BTreeMap<(&str, usize), Sharing<'_>> = BTreeMap::new();
    for Named { name, record } in parts {
        let boot_id = findings.found.get(name).and_then(|found| found.boot_id.as_deref());
        let Some(boot_id) = boot_id else { continue };
        for worker in &record.workers {
            let Some(processor) = worker.processor else { continue };
            let sharing = all.entry((boot_id, processor)).or_default();
            if !sharing.names.contains(&name.as_str()) {
                sharing.names.push(name);
            }
            sharing.workers.push(worker.clone());
            if record.supply.throttled_s > sharing.supply.throttled_s {
                let Supply { throttled_s, quota, .. } = record.supply;
                sharing.supply = Supply { throttled_s, quota, ..Supply::default() };
            }
        }
    }
    let shared = all.into_iter().filter(|(_, sharing)| sharing.names.len() > 1);
    let together = shared.filter_map(|((_, processor), Sharing { names, workers, supply })| {
        let place = places(&workers, &supply).pop()?;
        Some(SharedProcessor { processor, names, place, supply })
    });
    together.collect()
}

/// Whether a generator's verdict on lost time is only about the time that it left to other
/// generators of the load: then the shared processors count as a whole
/// ([`SharedProcessor::kept_off`]).
pub fn is_left_to_others(part: &Named, code: VerdictCode, shared: &[SharedProcessor<'_>]) -> bool {
    let Named { name, record } = part;
    let own: Vec<_> = shared.iter().filter(|each| each.names.contains(&name.as_str())).collect();
    let is_shared = |worker: &&WorkerUsage| {
        own.iter().any(|processor| worker.processor == Some(processor.processor))
    };
    let alone: Vec<_> =
        record.workers.iter().filter(|worker| !is_shared(worker)).cloned().collect();
    matches!(code, VerdictCode::ClientDelayed | VerdictCode::ClientStarved)
        && !own.is_empty()
        && own.iter().all(|processor| processor.place.stopped == 0.0)
        && record.supply.suspended_s == 0.0
        && time_lost(&places(&alone, &record.supply), &record.supply).is_none()
}

impl SharedProcessor<'_> {
    /// The verdict on time that the generators lost together.
    pub fn kept_off(&self) -> Option<Verdict> {
        let Verdict { code, message } = time_lost(&[self.place], &self.supply)?;
        Some(Verdict { code, message: format!("{}: {message}", self.names.join(" and ")) })
    }

    /// The verdict on generators that saturate the processor together. The caller ignores it if a
    /// generator is saturated alone.
    pub fn saturated(&self, limit: f64) -> Option<Verdict> {
        let busy = self.place.busy();
        let message = format!(
            "processor {}, which {} share, was busy {:.0} % of the time left to them: the \
             generators were the bottleneck, rates are lower bounds",
            self.processor,
            self.names.join(" and "),
            busy.min(1.0) * 100.0
        );
        (busy >= limit).then_some(Verdict { code: VerdictCode::ClientSaturated, message })
    }
}

/// The share from which these generators limit the load.
pub fn limit(record: &RunRecord) -> f64 {
    if record.open_loop.is_some() { SATURATED_OPEN } else { SATURATED }
}
