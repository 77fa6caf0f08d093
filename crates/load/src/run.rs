//! A whole run: guard, preflight, workers, merge.

use std::any::Any;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::check::Checked;
use crate::connection::Script;
use crate::error::RunError;
use crate::mix::Mix;
use crate::notes::notes as remarks;
use crate::pacing::{Arrivals, Curve};
use crate::phase::Schedule;
use crate::prime::{Wanted, prime};
use crate::recorder::Primed;
use crate::recorder::Recorder;
use crate::start::{ImmediateStart, StartInstant, Starter};
use crate::trace::Trace;
use crate::verdict::{Evidence, verdicts};
use crate::watch::{Ending, Observer, ended, watch};
use crate::worker::{Refill, Report, Share, Worker, WorkerStatus};
use tlslab_contract::record::{
    ClientCertificate, CpuTime, RECORD_SCHEMA, RunRecord, SlowConnects, StartTime, WorkerUsage,
};
use tlslab_contract::spec::{CheckedSpec, Resume, RunSpec, Stop};
use tlslab_system::backlog::{self, Overflows};
use tlslab_system::clock::{Clock, MonotonicClock, Nanos, SECOND};
use tlslab_system::environment::environment;
use tlslab_system::guard::{GuardError, Permit};
use tlslab_system::processor::{pin, run_in_real_time};
use tlslab_tls::choice::Choice;
use tlslab_tls::openssl::OpensslBackend;
use tlslab_tls::rustls::RustlsBackend;
use tlslab_tls::versions::versions;
use tlslab_tls::{Backend, BackendError};

/// Makes a whole run. `interrupt`, once true, ends it early with what has been measured so far.
pub fn run(
    spec: &CheckedSpec,
    checked: &Checked,
    observer: &mut dyn Observer,
    interrupt: &AtomicBool,
) -> Result<RunRecord, RunError> {
    run_from(spec, checked, observer, interrupt, &mut ImmediateStart)
}

/// The same, of a run that begins when the starter says so.
pub fn run_from(
    spec: &CheckedSpec,
    checked: &Checked,
    observer: &mut dyn Observer,
    interrupt: &AtomicBool,
    starter: &mut dyn Starter,
) -> Result<RunRecord, RunError> {
    observer.preflight(checked);
    let settings = &checked.settings;
    match checked.backend {
        Choice::Rustls => {
            load(spec, checked, observer, interrupt, starter, || RustlsBackend::new(settings))
        }
        Choice::Openssl => {
            load(spec, checked, observer, interrupt, starter, || OpensslBackend::new(settings))
        }
    }
}

fn load<B: Backend>(
    spec: &CheckedSpec,
    checked: &Checked,
    observer: &mut dyn Observer,
    interrupt: &AtomicBool,
    starter: &mut dyn Starter,
    make: impl Fn() -> Result<B, BackendError> + Sync,
) -> Result<RunRecord, RunError> {
    let threads = spec.spec().threads as usize;
    let statuses: Vec<WorkerStatus> = (0..threads).map(|_| WorkerStatus::default()).collect();
    let gate = Gate::new(threads);
    let overflows = Overflows::begin(checked.permit.address);
    let refill = refill(checked);
    let (script, permit) = (&checked.script, &checked.permit);
    let job = Job { spec: spec.spec(), refill, script, permit, interrupt };
    let first_error = Mutex::new(None);
    if spec.spec().tls.resume != Resume::None {
        observer.phase("prime", MonotonicClock.now());
    }
    let (reports, begun, (ending, reported)) = thread::scope(|scope| {
        let workers: Vec<_> = statuses
            .iter()
            .enumerate()
            .map(|(index, status)| {
                let (gate, job, make, first_error) = (&gate, &job, &make, &first_error);
                scope.spawn(move || {
                    let result = work(job, status, index, gate, make);
                    result.map_err(|e| {
                        first_error.lock().expect("no panics").get_or_insert(e).class()
                    })
                })
            })
            .collect();
        let begun = gate.open(starter, interrupt);
        let finished = || workers.iter().all(|worker| worker.is_finished());
        let ending = match &begun {
            Ok(begin) => {
                let permit = &checked.permit;
                watch(spec.spec(), permit, &statuses, begin.at, observer, interrupt, finished)
            }
            Err(_) => (Ending::Planned, Vec::new()),
        };
        let reports: Vec<_> = workers.into_iter().map(ScopedJoinHandle::join).collect();
        (reports, begun, ending)
    });
    if let Some(error) = first_error.into_inner().expect("no panics") {
        return Err(error);
    }
    let begun = begun?;
    let reports: Vec<_> = reports
        .into_iter()
        .collect::<Result<_, _>>()
        .map_err(|panic| RunError::Panicked(words(panic.as_ref())))?;
    if ending == Ending::Exceeded {
        let address = checked.permit.address.ip();
        return Err(RunError::Exceeded(GuardError::PublicWithoutProof { address }));
    }
    if let Ending::NotOpen(open) = ending {
        let (wanted, ms) = (spec.spec().connections, spec.spec().load.open_within_ms);
        return Err(RunError::NotOpen { open, wanted, ms });
    }
    let mut reports: Vec<Report> = reports.into_iter().flatten().collect();
    let totals = ended(&statuses, reported, &reports);
    if spec.spec().load.trace > 0 {
        let traces = reports.iter_mut().map(|report| mem::take(&mut report.recorder.trace));
        observer.trace(Trace::joined(traces));
    }
    let mut record = record(spec, checked, &reports, overflows, ending == Ending::Interrupted);
    record.started = started(&reports, begun);
    observer.ended(totals, record.seconds);
    Ok(record)
}

/// What a thread that panicked said.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// Lets all workers begin at one instant.
struct Gate {
    barrier: Barrier,
    start: AtomicU64,
    /// A worker cannot begin.
    failed: AtomicBool,
}

impl Gate {
    fn new(workers: usize) -> Self {
        let barrier = Barrier::new(workers + 1);
        Self { barrier, start: AtomicU64::new(0), failed: AtomicBool::new(false) }
    }

    /// Waits until all workers are ready, then lets them begin when the starter says so. Without a
    /// start they go through the gate as when one of them cannot begin.
    fn open(
        &self,
        starter: &mut dyn Starter,
        interrupt: &AtomicBool,
    ) -> Result<StartInstant, RunError> {
        self.barrier.wait();
        let begun = match self.failed.load(Ordering::SeqCst) {
            true => Ok(StartInstant::soon()),
            false => starter.begin(interrupt),
        };
        if begun.is_err() {
            self.failed.store(true, Ordering::SeqCst);
        }
        let at = begun.as_ref().map_or_else(|_| MonotonicClock.now(), |begin| begin.at);
        self.start.store(at, Ordering::SeqCst);
        self.barrier.wait();
        begun
    }

    /// The instant at which the workers begin, once the gate is open.
    fn start(&self) -> Nanos {
        self.start.load(Ordering::SeqCst)
    }

    /// A worker's way through, to be taken once.
    fn pass(&self) -> Pass<'_> {
        Pass { gate: self, is_open: true }
    }
}

/// A worker's way through the gate. A worker that panics goes through it, too, as one that cannot
/// begin: the others would wait for it for ever.
struct Pass<'g> {
    gate: &'g Gate,
    is_open: bool,
}

impl Pass<'_> {
    /// Says that the worker is ready; returns the instant at which it begins.
    fn go(mut self) -> Nanos {
        self.through();
        self.gate.start()
    }

    fn through(&mut self) {
        if mem::take(&mut self.is_open) {
            self.gate.barrier.wait();
            self.gate.barrier.wait();
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.gate.failed.store(true, Ordering::SeqCst);
        }
        self.through();
    }
}

/// What all workers of a run do.
struct Job<'r> {
    spec: &'r RunSpec,
    refill: Option<Refill>,
    script: &'r Script,
    permit: &'r Permit,
    interrupt: &'r AtomicBool,
}

fn work<B: Backend>(
    job: &Job<'_>,
    status: &WorkerStatus,
    index: usize,
    gate: &Gate,
    make: &impl Fn() -> Result<B, BackendError>,
) -> Result<Report, RunError> {
    let spec = job.spec;
    let pass = gate.pass();
    let pinned = processor(spec, index).map_or(Ok(()), |processor| {
        pin(processor).map_err(|source| RunError::Pin { processor, source })
    });
    let connections = part(u64::from(spec.connections), spec.threads, index) as usize;
    let ready = pinned.and_then(|()| primed(job, connections, make)).and_then(|primed| {
        if spec.load.realtime {
            run_in_real_time().map_err(RunError::Realtime)?;
        }
        Ok(primed)
    });
    if ready.is_err() {
        gate.failed.store(true, Ordering::SeqCst);
    }
    let start = pass.go();
    let (backend, primed) = ready?;
    if gate.failed.load(Ordering::SeqCst) {
        // There will be no record: nothing is to be loaded for it.
        status.stop();
    }
    let share = Share {
        primed: primed.connections,
        refill: job.refill,
        ..share(spec, job.script, status, index, start)
    };
    thread::sleep(Duration::from_nanos(start.saturating_sub(MonotonicClock.now())));
    let mut report = Worker::new(share, backend, MonotonicClock)?.run()?;
    report.recorder.primed(primed);
    Ok(report)
}

/// A worker's back end, with sessions to resume if any are to be.
fn primed<B: Backend>(
    job: &Job<'_>,
    connections: usize,
    make: &impl Fn() -> Result<B, BackendError>,
) -> Result<(B, Primed), RunError> {
    let mut backend = make()?;
    if job.spec.tls.resume == Resume::None {
        return Ok((backend, Primed::default()));
    }
    let (permit, interrupt) = (job.permit, job.interrupt);
    let wanted = Wanted { connections, workers: job.spec.threads, permit, interrupt };
    let primed = prime(&mut backend, job.script, wanted)?;
    Ok((backend, primed))
}

/// How pools are kept full where the server gives nothing to resume by on resumed connections. In TLS
/// 1.2 what was resumed can be resumed again.
fn refill(checked: &Checked) -> Option<Refill> {
    let sessions = checked.preflight.sessions?;
    (sessions.resumed == 0).then_some(Refill { each: sessions.full as usize })
}

/// What falls to a worker of a run that begins at `start`.
fn share<'r>(
    spec: &RunSpec,
    script: &'r Script,
    status: &'r WorkerStatus,
    index: usize,
    start: Nanos,
) -> Share<'r> {
    let (load, threads) = (&spec.load, spec.threads);
    let mine = |total: u64| part(total, threads, index);
    let schedule = Schedule::new(spec, start);
    let same = [spec.connections];
    let levels = if load.connection_steps.is_empty() { &same[..] } else { &load.connection_steps };
    Share {
        script,
        levels: levels.iter().map(|level| mine(u64::from(*level)) as usize).collect(),
        arrivals: load.rate.as_ref().map(|rate| {
            let curve = Curve::new(rate, start, &schedule);
            Arrivals::new(curve, load.arrivals, load.seed, index, threads)
        }),
        count: match spec.stop {
            Stop::Count(count) => Some(mine(count)),
            Stop::DurationMs(_) => None,
        },
        mix: Mix::new(spec.tls.resume_millionths()),
        primed: 0,
        refill: None,
        schedule,
        trace: mine(u64::from(load.trace)) as usize,
        processor: processor(spec, index),
        status,
    }
}

/// The processor that a worker is pinned to.
fn processor(spec: &RunSpec, index: usize) -> Option<usize> {
    (!spec.cpus.is_empty()).then(|| spec.cpus[index % spec.cpus.len()])
}

/// The connections that a run keeps in flight, if it does: one that ends by count runs out of them.
fn constant_level(spec: &RunSpec) -> Option<u32> {
    let is_constant =
        spec.load.connection_steps.is_empty() && matches!(spec.stop, Stop::DurationMs(_));
    is_constant.then_some(spec.connections)
}

/// What of a total falls to one of several workers; the parts differ by one at most.
fn part(total: u64, workers: u32, index: usize) -> u64 {
    let workers = u64::from(workers);
    total / workers + u64::from((index as u64) < total % workers)
}

fn record(
    spec: &CheckedSpec,
    checked: &Checked,
    reports: &[Report],
    overflows: Overflows,
    interrupted: bool,
) -> RunRecord {
    let request = spec.spec();
    let mut notes = Recorder::new(request.load.steps(), request.load.rate.is_some());
    let mut cpu = CpuTime::default();
    for report in reports {
        notes.merge(&report.recorder);
        cpu += report.usage.cpu;
    }
    let workers: Vec<WorkerUsage> = reports.iter().map(|report| report.usage.clone()).collect();
    let seconds = workers.iter().map(|w| w.seconds).sum::<f64>() / workers.len().max(1) as f64;
    let notes = notes.conclude(request);
    let verdicts = verdicts(&Evidence {
        outcomes: &notes.outcomes,
        summaries: &notes.summaries,
        open_loop: notes.open_loop,
        flight: notes.flight,
        carried: notes.carried,
        workers: &workers,
        seconds,
        intervals: &notes.slices,
        // Connections that wait for a session are not in flight.
        connections: constant_level(request).filter(|_| refill(checked).is_none()),
        requests: notes.requests,
        kinds: notes.kinds,
        resume_millionths: request.tls.resume_millionths(),
        interrupted,
    });
    let flight = notes.flight.times();
    let (count, listen_overflows) = (notes.slow_connects, overflows.since());
    let slow_connects = SlowConnects { count, listen_overflows };
    let mut remarks = remarks(&checked.settings, &checked.preflight, &notes.facts, notes.kinds);
    remarks.extend_from_slice(&checked.notes);
    remarks.extend(backlog::note(slow_connects));
    let own = checked.settings.client_identity.as_ref();
    RunRecord {
        schema: RECORD_SCHEMA.to_owned(),
        spec: request.clone(),
        backend: checked.backend.name().to_owned(),
        versions: versions(),
        environment: environment(),
        address: checked.permit.address.to_string(),
        preflight: checked.preflight.clone(),
        notes: remarks,
        facts: notes.facts,
        server_names: notes.server_names,
        client_certificate: own
            .map(|own| ClientCertificate { key: own.key_kind(), sha256: own.fingerprint() }),
        kinds: notes.kinds,
        authenticated: notes.authenticated,
        minimal_client: notes.minimal_client,
        requests: notes.requests,
        seconds,
        cpu,
        workers,
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
        started: None,
        hosts: Vec::new(),
        common: None,
    }
}

/// When the first worker's measurement began, by both clocks; none where no worker came to it. A run
/// whose beginning was agreed upon goes by the clock of those who agreed.
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

#[cfg(test)]
mod tests;
