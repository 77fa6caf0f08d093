//! Builds the record of a run from the reports of its workers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::refill;
use crate::check::Checked;
use crate::notes::{closed_between, notes as remarks, patience, processor_notes};
use crate::recorder::{Conclusion, Recorder};
use crate::start::StartInstant;
use crate::verdict::{Evidence, verdicts};
use crate::worker::Report;
use tlslab_contract::record::{
    ClientCertificate, CpuTime, RECORD_SCHEMA, RunRecord, SlowConnects, StartTime, Supply, Verdict,
    WorkerUsage, busiest, places,
};
use tlslab_contract::spec::load::Rate;
use tlslab_contract::spec::{CheckedSpec, RunSpec, Stop};
use tlslab_system::backlog::{self, Overflows};
use tlslab_system::clock::{Clock, MonotonicClock, SECOND};
use tlslab_system::environment::environment;
use tlslab_tls::versions::versions;

/// The record of a run that began at this instant.
pub(super) fn record(
    spec: &CheckedSpec,
    checked: &Checked,
    reports: &[Report],
    supply: Supply,
    overflows: Overflows,
    begun: StartInstant,
    interrupted: bool,
) -> RunRecord {
    let request = spec.spec();
    let notes = conclusion(request, reports);
    let workers: Vec<WorkerUsage> = reports.iter().map(|report| report.usage.clone()).collect();
    let seconds = workers.iter().map(|w| w.seconds).sum::<f64>() / workers.len().max(1) as f64;
    let verdicts = judged(request, checked, &notes, (&workers, &supply), seconds, interrupted);
    let flight = notes.flight.times();
    let slow_connects = slow_connects(notes.slow_connects, overflows);
    RunRecord {
        schema: RECORD_SCHEMA.to_owned(),
        spec: request.clone(),
        backend: checked.backend.name().to_owned(),
        versions: versions(),
        environment: environment(),
        address: checked.permit.address.to_string(),
        preflight: checked.preflight.clone(),
        client_fallback: checked.fallback.clone(),
        notes: all_remarks(request, checked, &notes, slow_connects, (&workers, &supply)),
        facts: notes.facts,
        server_names: notes.server_names,
        statuses: notes.statuses,
        urls: notes.urls,
        client_certificate: client_certificate(checked),
        kinds: notes.kinds,
        authenticated: notes.authenticated,
        minimal_client: notes.minimal_client,
        confirmed_by: notes.confirmed_by,
        round_trips: notes.round_trips,
        requests: notes.requests,
        seconds,
        cpu: processor_time(reports),
        busy: busiest(&places(&workers, &supply)),
        workers,
        supply,
        bytes: notes.bytes,
        histograms: notes.histograms,
        summaries: notes.summaries,
        clients: notes.clients,
        intervals: notes.slices,
        open_loop: notes.open_loop,
        steps: notes.steps,
        concurrency: if seconds > 0.0 { flight.within_s / seconds } else { 0.0 },
        flight: Some(flight),
        slow_connects,
        verdicts,
        outcomes: notes.outcomes,
        started: started(reports, begun),
        hosts: Vec::new(),
        common: None,
    }
}

/// Connections whose SYN was retransmitted, with the overflows of the server's accept queue.
fn slow_connects(count: u64, overflows: Overflows) -> SlowConnects {
    SlowConnects { count, listen_overflows: overflows.since() }
}

/// The certificate that the client sends to servers that request one.
fn client_certificate(checked: &Checked) -> Option<ClientCertificate> {
    let own = checked.settings.client_identity.as_ref()?;
    Some(ClientCertificate { key: own.key_kind(), sha256: own.fingerprint() })
}

/// The merged recorders of all workers, as fields of a record.
fn conclusion(request: &RunSpec, reports: &[Report]) -> Conclusion {
    let mut notes = Recorder::new(request.load.steps(), request.load.rate.is_some());
    for report in reports {
        notes.merge(&report.recorder);
    }
    notes.conclude(request)
}

/// The processor time of all workers.
fn processor_time(reports: &[Report]) -> CpuTime {
    let mut cpu = CpuTime::default();
    for report in reports {
        cpu += report.usage.cpu;
    }
    cpu
}

/// The verdicts of a run whose workers measured for `seconds` on average.
fn judged(
    request: &RunSpec,
    checked: &Checked,
    notes: &Conclusion,
    (workers, supply): (&[WorkerUsage], &Supply),
    seconds: f64,
    interrupted: bool,
) -> Vec<Verdict> {
    verdicts(&Evidence {
        outcomes: &notes.outcomes,
        summaries: &notes.summaries,
        open_loop: notes.open_loop,
        flight: notes.flight,
        carried: notes.carried,
        workers,
        supply,
        seconds,
        intervals: &notes.slices,
        waits: &notes.waits_at_stop,
        // Connections that wait for a session are not in flight.
        connections: constant_level(request).filter(|_| refill(checked).is_none()),
        is_steady: constant_level(request).is_some()
            && matches!(request.load.rate, Some(Rate::Constant(_))),
        requests: notes.requests,
        kinds: notes.kinds,
        resume_millionths: request.tls.resume_millionths(),
        interrupted,
    })
}

/// The notes of a record: unusual settings, what the check noted, and slow connects.
fn all_remarks(
    request: &RunSpec,
    checked: &Checked,
    notes: &Conclusion,
    slow_connects: SlowConnects,
    (workers, supply): (&[WorkerUsage], &Supply),
) -> Vec<String> {
    let mut all = remarks(&checked.settings, &checked.preflight, &notes.facts, notes.kinds);
    all.extend_from_slice(&checked.notes);
    all.extend(checked.fallback.as_ref().map(|why| {
        format!("the library made all connections: the minimal client could not be used ({why})")
    }));
    all.extend(patience(request, notes.open_loop.and_then(|open_loop| open_loop.users)));
    all.extend(closed_between(request, &notes.outcomes, notes.requests));
    all.extend(backlog::note(slow_connects));
    all.extend(processor_notes(workers, supply));
    all
}

/// The constant number of connections in flight. `None` for a run in steps, and for a run that ends
/// by count, which has fewer at its end.
fn constant_level(spec: &RunSpec) -> Option<u32> {
    let is_constant =
        spec.load.connection_steps.is_empty() && matches!(spec.stop, Stop::DurationMs(_));
    is_constant.then_some(spec.connections)
}

/// The start of the first worker's measurement by both clocks. `None` if no worker reached it. If
/// the leader of several generators set the start, the leader's clock counts.
fn started(reports: &[Report], begun: StartInstant) -> Option<StartTime> {
    let first = reports.iter().map(|report| report.measured_from).filter(|at| *at > 0).min()?;
    let monotonic_s = first as f64 / SECOND as f64;
    let unix_s = match begun.unix_s {
        Some(unix_s) => unix_s + first.saturating_sub(begun.at) as f64 / SECOND as f64,
        None => {
            let ago = Duration::from_nanos(MonotonicClock.now().saturating_sub(first));
            let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.checked_sub(ago)?;
            unix.as_secs_f64()
        }
    };
    Some(StartTime { unix_s, monotonic_s })
}
