//! A whole run: guard, preflight, workers, merge.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use crate::check::{Checked, script};
use crate::clock::{Clock, MILLISECOND, MonotonicClock, Nanos};
use crate::connection::Script;
use crate::environment::environment;
use crate::error::RunError;
use crate::guard::GuardError;
use crate::notes::notes as remarks;
use crate::phase::Schedule;
use crate::processor::pin;
use crate::record::{ClientCertificate, CpuTime, RECORD_SCHEMA, RunRecord, WorkerUsage};
use crate::recorder::Recorder;
use crate::spec::{CheckedSpec, RunSpec, Stop};
use crate::tls::choice::Choice;
use crate::tls::openssl::OpensslBackend;
use crate::tls::rustls::RustlsBackend;
use crate::tls::{Backend, BackendError};
use crate::verdict::{Evidence, verdicts};
use crate::watch::{Ending, Observer, watch};
use crate::worker::{Gauge, Report, Share, Worker};

/// From the moment that all workers are ready until they begin.
const LEAD: Nanos = 2 * MILLISECOND;

/// Makes a whole run. `interrupt`, once true, ends it early with what has been measured so far.
pub fn run(
    spec: &CheckedSpec,
    checked: &Checked,
    observer: &mut dyn Observer,
    interrupt: &AtomicBool,
) -> Result<RunRecord, RunError> {
    observer.preflight(checked);
    let offer = &checked.offer;
    match checked.backend {
        Choice::Rustls => load(spec, checked, observer, interrupt, || RustlsBackend::new(offer)),
        Choice::Openssl => load(spec, checked, observer, interrupt, || OpensslBackend::new(offer)),
    }
}

fn load<B: Backend>(
    spec: &CheckedSpec,
    checked: &Checked,
    observer: &mut dyn Observer,
    interrupt: &AtomicBool,
    make: impl Fn() -> Result<B, BackendError> + Sync,
) -> Result<RunRecord, RunError> {
    let threads = spec.spec().threads as usize;
    let script = script(spec, checked.permit);
    let gauges: Vec<Gauge> = (0..threads).map(|_| Gauge::default()).collect();
    let gate = Gate { barrier: Barrier::new(threads + 1), start: AtomicU64::new(0) };
    let first_error = Mutex::new(None);
    let (reports, ending) = thread::scope(|scope| {
        let workers: Vec<_> = gauges
            .iter()
            .enumerate()
            .map(|(index, gauge)| {
                let (gate, script, make, first_error) = (&gate, &script, &make, &first_error);
                scope.spawn(move || {
                    let result = work(spec.spec(), script, gauge, index, gate, make);
                    result.map_err(|e| {
                        first_error.lock().expect("no panics").get_or_insert(e).class()
                    })
                })
            })
            .collect();
        gate.open();
        let ending =
            watch(spec.spec(), &checked.permit, &gauges, gate.start(), observer, interrupt, || {
                workers.iter().all(|worker| worker.is_finished())
            });
        let reports: Vec<_> = workers.into_iter().map(|w| w.join().expect("no panics")).collect();
        (reports, ending)
    });
    if let Some(error) = first_error.into_inner().expect("no panics") {
        return Err(error);
    }
    if ending == Ending::Exceeded {
        let address = checked.permit.address.ip();
        return Err(RunError::Exceeded(GuardError::PublicWithoutProof { address }));
    }
    let reports: Vec<Report> = reports.into_iter().flatten().collect();
    Ok(record(spec, checked, &reports, ending == Ending::Interrupted))
}

/// Lets all workers begin at one instant.
struct Gate {
    barrier: Barrier,
    start: AtomicU64,
}

impl Gate {
    /// Waits until all workers are ready, then sets the instant at which they begin.
    fn open(&self) {
        self.barrier.wait();
        self.start.store(MonotonicClock.now() + LEAD, Ordering::SeqCst);
        self.barrier.wait();
    }

    /// The instant at which the workers begin, once the gate is open.
    fn start(&self) -> Nanos {
        self.start.load(Ordering::SeqCst)
    }

    /// Says that a worker is ready; returns the instant at which it begins.
    fn pass(&self) -> Nanos {
        self.barrier.wait();
        self.barrier.wait();
        self.start()
    }
}

fn work<B: Backend>(
    spec: &RunSpec,
    script: &Script,
    gauge: &Gauge,
    index: usize,
    gate: &Gate,
    make: &impl Fn() -> Result<B, BackendError>,
) -> Result<Report, RunError> {
    let processor = (!spec.cpus.is_empty()).then(|| spec.cpus[index % spec.cpus.len()]);
    let pinned = processor.map_or(Ok(()), |processor| {
        pin(processor).map_err(|source| RunError::Pin { processor, source })
    });
    let backend = make();
    let start = gate.pass();
    pinned?;
    let share = Share {
        script,
        connections: part(u64::from(spec.connections), spec.threads, index) as usize,
        count: match spec.stop {
            Stop::Count(count) => Some(part(count, spec.threads, index)),
            Stop::DurationMs(_) => None,
        },
        schedule: Schedule::new(spec, start),
        processor,
        gauge,
    };
    thread::sleep(Duration::from_nanos(start.saturating_sub(MonotonicClock.now())));
    Ok(Worker::new(share, backend?, MonotonicClock)?.run()?)
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
    interrupted: bool,
) -> RunRecord {
    let mut notes = Recorder::new();
    let mut cpu = CpuTime::default();
    for report in reports {
        notes.merge(&report.recorder);
        cpu += report.usage.cpu;
    }
    let workers: Vec<WorkerUsage> = reports.iter().map(|report| report.usage.clone()).collect();
    let seconds = workers.iter().map(|w| w.seconds).sum::<f64>() / workers.len().max(1) as f64;
    let outcomes = notes.outcomes();
    let summaries = notes.summaries();
    let (authenticated, requests, bytes) = notes.totals();
    let verdicts = verdicts(&Evidence {
        outcomes: &outcomes,
        service: summaries["service"],
        workers: &workers,
        seconds,
        connections: spec.spec().connections,
        requests,
        interrupted,
    });
    let facts = notes.facts();
    let named = match spec.spec().tls.server_names.is_empty() {
        true => Vec::new(),
        false => notes.server_names(spec.server_names()),
    };
    let own = spec.client_identity();
    RunRecord {
        schema: RECORD_SCHEMA.to_owned(),
        spec: spec.spec().clone(),
        backend: checked.backend.name().to_owned(),
        versions: versions(),
        environment: environment(),
        address: checked.permit.address.to_string(),
        preflight: checked.preflight.clone(),
        notes: remarks(&checked.offer, facts.iter().map(|counted| &counted.facts)),
        facts,
        server_names: named,
        client_certificate: own
            .map(|own| ClientCertificate { key: own.key_kind(), sha256: own.fingerprint() }),
        authenticated,
        requests,
        seconds,
        cpu,
        workers,
        bytes,
        histograms: notes.encoded_histograms(),
        summaries,
        intervals: notes.slices().to_vec(),
        verdicts,
        outcomes,
    }
}

/// The versions of this engine and of the libraries built into it.
pub fn versions() -> BTreeMap<String, String> {
    [
        ("tlslab", env!("CARGO_PKG_VERSION")),
        ("rustls", env!("RUSTLS_VERSION")),
        ("aws-lc-sys", env!("AWS_LC_SYS_VERSION")),
        ("openssl", openssl::version::version()),
    ]
    .map(|(name, version)| (name.to_owned(), version.to_owned()))
    .into()
}
