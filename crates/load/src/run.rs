//! A whole run: workers that begin at one instant, and the record of their reports.

mod gate;
mod record;

use std::any::Any;
use std::mem;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use self::gate::Gate;
use self::record::record;
use crate::check::Checked;
use crate::connection::Script;
use crate::error::RunError;
use crate::mix::Mix;
use crate::pacing::{Arrivals, Curve};
use crate::phase::Schedule;
use crate::prime::{Wanted, prime};
use crate::recorder::Primed;
use crate::start::{ImmediateStart, StartInstant, Starter};
use crate::trace::Trace;
use crate::watch::{Ending, Observer, Watched, ended, watch};
use crate::worker::{Patience, Refill, Report, Share, Worker, WorkerStatus};
use tlslab_contract::record::RunRecord;
use tlslab_contract::spec::{CheckedSpec, Resume, RunSpec, Stop};
use tlslab_system::backlog::Overflows;
use tlslab_system::clock::{Clock, MILLISECOND, MonotonicClock, Nanos};
use tlslab_system::guard::{GuardError, Permit};
use tlslab_system::processor::{pin, run_in_real_time};
use tlslab_tls::choice::Choice;
use tlslab_tls::plain::PlainBackend;
use tlslab_tls::rustls::RustlsBackend;
use tlslab_tls::{Backend, BackendError};

/// Makes a run. `interrupt`, once true, ends the run early; the record then covers the time until
/// then.
pub fn run(
    spec: &CheckedSpec,
    checked: &Checked,
    observer: &mut dyn Observer,
    interrupt: &AtomicBool,
) -> Result<RunRecord, RunError> {
    run_from(spec, checked, observer, interrupt, &mut ImmediateStart)
}

/// As [`run`], but the starter decides when the load begins.
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
        #[cfg(feature = "openssl")]
        Choice::Openssl => load(spec, checked, observer, interrupt, starter, || {
            tlslab_tls::openssl::OpensslBackend::new(settings)
        }),
        Choice::Plain => load(spec, checked, observer, interrupt, starter, || Ok(PlainBackend)),
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
    let request = spec.spec();
    let threads = request.threads as usize;
    let statuses: Vec<WorkerStatus> = (0..threads).map(|_| WorkerStatus::default()).collect();
    let overflows = Overflows::begin(checked.permit.address);
    let (script, permit) = (&checked.script, &checked.permit);
    let job = Job { spec: request, refill: refill(checked), script, permit, interrupt };
    if request.tls.resume != Resume::None {
        observer.phase("prime", MonotonicClock.now());
    }
    let (mut reports, begun, watched) = work_together(&job, &statuses, observer, starter, &make)?;
    let Watched { ending, reported, kept_off } = watched;
    check_ending(ending, &job)?;
    let supply = kept_off.add_to(&mut reports);
    let totals = ended(&statuses, reported, &reports);
    if request.load.trace > 0 {
        let traces = reports.iter_mut().map(|report| mem::take(&mut report.recorder.trace));
        observer.trace(Trace::joined(traces));
    }
    let interrupted = ending == Ending::Interrupted;
    let record = record(spec, checked, &reports, supply, overflows, begun, interrupted);
    observer.ended(totals, record.seconds);
    Ok(record)
}

/// Starts all workers at one instant and watches them until they end. Returns their reports, when
/// the load began, and what the watching thread has seen.
fn work_together<B: Backend>(
    job: &Job<'_>,
    statuses: &[WorkerStatus],
    observer: &mut dyn Observer,
    starter: &mut dyn Starter,
    make: &(impl Fn() -> Result<B, BackendError> + Sync),
) -> Result<(Vec<Report>, StartInstant, Watched), RunError> {
    let gate = Gate::new(statuses.len());
    let first_error = Mutex::new(None);
    let (reports, watched) = thread::scope(|scope| {
        let workers: Vec<_> = statuses
            .iter()
            .enumerate()
            .map(|(index, status)| {
                let (gate, first_error) = (&gate, &first_error);
                scope.spawn(move || {
                    let result = work(job, status, index, gate, make);
                    result.map_err(|e| {
                        first_error.lock().expect("no panics").get_or_insert(e).class()
                    })
                })
            })
            .collect();
        let opened = gate.open(starter, job.interrupt);
        let finished = || workers.iter().all(|worker| worker.is_finished());
        let watched = opened.map(|begun| {
            let (spec, permit, interrupt) = (job.spec, job.permit, job.interrupt);
            (begun, watch(spec, permit, statuses, begun.at, observer, interrupt, finished))
        });
        let reports: Vec<_> = workers.into_iter().map(ScopedJoinHandle::join).collect();
        (reports, watched)
    });
    if let Some(error) = first_error.into_inner().expect("no panics") {
        return Err(error);
    }
    let (begun, watched) = watched?;
    let reports: Vec<_> = reports
        .into_iter()
        .collect::<Result<_, _>>()
        .map_err(|panic| RunError::Panicked(words(panic.as_ref())))?;
    Ok((reports.into_iter().flatten().collect(), begun, watched))
}

/// The error of a run that was stopped because a limit was exceeded or connections were missing.
fn check_ending(ending: Ending, job: &Job<'_>) -> Result<(), RunError> {
    match ending {
        Ending::Planned | Ending::Interrupted => Ok(()),
        Ending::Exceeded => {
            let address = job.permit.address.ip();
            Err(RunError::Exceeded(GuardError::PublicWithoutProof { address }))
        }
        Ending::NotOpen(open) => {
            let (wanted, ms) = (job.spec.connections, job.spec.load.open_within_ms);
            Err(RunError::NotOpen { open, wanted, ms })
        }
    }
}

/// The message of a panic.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// The common task of all workers.
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
        gate.fail();
    }
    let start = pass.go();
    let (backend, primed) = ready?;
    if gate.has_failed() {
        // The run has no record, so it makes no load.
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

/// A worker's back end, primed with sessions if the run resumes.
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

/// How the workers keep their pools full if the server issues no sessions on resumed connections.
/// `None` otherwise. In TLS 1.2 a resumed session can be resumed again.
fn refill(checked: &Checked) -> Option<Refill> {
    let sessions = checked.preflight.sessions?;
    (sessions.resumed == 0).then_some(Refill { each: sessions.full as usize })
}

/// A worker's share of a run that begins at `start`.
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
        patience: load
            .patience_ms
            .map(|ms| Patience { each: ms * MILLISECOND, retries: load.retries }),
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

/// One worker's part of a total. Parts differ by at most one.
fn part(total: u64, workers: u32, index: usize) -> u64 {
    let workers = u64::from(workers);
    total / workers + u64::from((index as u64) < total % workers)
}

#[cfg(test)]
mod tests;
