//! A whole run: guard, preflight, workers, merge.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::clock::{Clock, MILLISECOND, MonotonicClock, Nanos, SECOND};
use crate::connection::Script;
use crate::files;
use crate::guard::{self, GuardError, PUBLIC_TIME, Permit};
use crate::http::h1;
use crate::outcome::{Failure, Outcome};
use crate::phase::{Phase, Schedule};
use crate::preflight::{PreflightError, certificate_group, preflight};
use crate::record::{CpuTime, Preflight, RECORD_SCHEMA, RunRecord, WorkerUsage};
use crate::recorder::Recorder;
use crate::spec::{CheckedSpec, RunSpec, Stop};
use crate::tls::choice::{Choice, choose};
use crate::tls::expectation::Expectation;
use crate::tls::openssl::OpensslBackend;
use crate::tls::rustls::RustlsBackend;
use crate::tls::{Backend, BackendError, Offer, TrustAnchors};
use crate::verdict::{Evidence, verdicts};
use crate::worker::{Gauge, Report, Share, Worker};

/// How often a run's progress is looked at.
const WATCH: Duration = Duration::from_millis(20);

/// From the moment that all workers are ready until they begin.
const LEAD: Nanos = 2 * MILLISECOND;

/// Who wants to know how a run goes.
pub trait Observer {
    /// The preflight connection has been made.
    fn preflight(&mut self, checked: &Checked);

    /// A phase has begun, at this instant of CLOCK_MONOTONIC.
    fn phase(&mut self, phase: &'static str, at: Nanos);

    /// Another second of the measurement is over.
    fn progress(&mut self, progress: Progress);
}

/// How far a measurement is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Seconds since it began.
    pub at_s: f64,
    /// Connections completed.
    pub completed: u64,
    /// Connections that failed or were unexpected.
    pub failed: u64,
    /// Connections completed per second, over the last second.
    pub connections_per_s: f64,
}

/// A target that has been found to be what was asked for.
#[derive(Debug, Clone)]
pub struct Checked {
    /// Where it is.
    pub permit: Permit,
    /// The back end that makes the handshakes.
    pub backend: Choice,
    /// What the preflight connection saw.
    pub preflight: Preflight,
    /// What each connection offers.
    offer: Offer,
}

/// Why a run could not be.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The target is not to be loaded, or not to be found.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// No back end can do what was asked.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The preflight connection did not do what was asked.
    #[error("{}", describe_preflight(.target, .error))]
    Preflight {
        /// Host and port.
        target: String,
        /// What happened.
        error: PreflightError,
    },
    /// This process may not open as many files as the run needs.
    #[error("this many connections need {needed} open files, and only {granted} are allowed")]
    Files {
        /// What the run needs.
        needed: u64,
        /// What the system grants.
        granted: u64,
    },
    /// The processor that a worker should be pinned to is not there.
    #[error("cannot pin a worker to processor {processor}: {source}")]
    Pin {
        /// The processor.
        processor: usize,
        /// The system's words.
        source: io::Error,
    },
    /// The operating system refused something that a run needs.
    #[error("the operating system refused: {0}")]
    System(#[from] io::Error),
    /// A public target was loaded beyond what it takes without proof; the run was ended.
    #[error(transparent)]
    Exceeded(GuardError),
}

impl RunError {
    /// The class under which the error is reported, a failure class where there is one.
    pub fn class(&self) -> String {
        match self {
            Self::Guard(GuardError::NameNotFound { .. }) => "name_not_found".to_owned(),
            Self::Guard(_) | Self::Exceeded(_) => "target_refused".to_owned(),
            Self::Backend(_) => "unsupported".to_owned(),
            Self::Preflight { error, .. } => match error.outcome {
                Outcome::Failed(failure) => failure.to_string(),
                Outcome::Unexpected(fact) => format!("unexpected_{fact}"),
                Outcome::Completed => "completed".to_owned(),
            },
            Self::Files { .. } => Failure::FilesExhausted.to_string(),
            Self::Pin { .. } => "pin".to_owned(),
            Self::System(e) => crate::socket::failure(e, crate::outcome::Step::Connect).to_string(),
        }
    }
}

fn describe_preflight(target: &str, error: &PreflightError) -> String {
    let words = if error.explanation.is_empty() {
        String::new()
    } else {
        format!(" ({})", error.explanation)
    };
    match (error.outcome, error.status) {
        (Outcome::Failed(Failure::HttpStatus), Some(status)) => {
            format!("{target} answered with status {status}")
        }
        (Outcome::Failed(Failure::Refused), _) => format!("nothing listens on {target}"),
        (Outcome::Unexpected(fact), _) => {
            format!("{target} negotiated another {fact} than the one asked for{words}")
        }
        (Outcome::Failed(failure), _) => format!("{target}: {failure}{words}"),
        (Outcome::Completed, _) => format!("{target}: nothing is the matter"),
    }
}

/// Resolves, permits and tries the target with one connection; all that can be known to be wrong
/// before a load is found here.
pub fn check(spec: &CheckedSpec, trust: TrustAnchors) -> Result<Checked, RunError> {
    let permit = guard::permit(spec.spec(), spec.target(), false)?;
    let needed = files::needed(spec.spec().connections, spec.spec().threads);
    let granted = files::granted()?;
    if granted < needed {
        return Err(RunError::Files { needed, granted });
    }
    let mut offer = offer(spec, trust);
    add_certificate_group(spec, &permit, &mut offer)?;
    let backend = choose(spec.spec().tls.backend, &offer)?;
    let script = Script { requests: Some(1), ..script(spec, permit) };
    let (preflight, _) = match backend {
        Choice::Rustls => preflight(&mut RustlsBackend::new(&offer)?, &script),
        Choice::Openssl => preflight(&mut OpensslBackend::new(&offer)?, &script),
    }
    .map_err(|error| preflight_error(spec, error))?;
    Ok(Checked { permit, backend, preflight, offer })
}

fn preflight_error(spec: &CheckedSpec, error: PreflightError) -> RunError {
    let target = format!("{}:{}", spec.target().host, spec.target().port);
    RunError::Preflight { target, error }
}

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

fn offer(spec: &CheckedSpec, trust: TrustAnchors) -> Offer {
    let tls = &spec.spec().tls;
    Offer {
        versions: tls.versions.clone(),
        suites: tls.suites.clone(),
        groups: tls.groups.clone(),
        signature_schemes: tls.signature_schemes.clone(),
        server_name: spec.server_name().to_owned(),
        trust,
        authenticate: tls.authenticate,
        key_share: tls.key_share,
    }
}

/// In TLS 1.2 many servers choose an ECDSA certificate only if the client lists the certificate's own
/// curve among its groups (RFC 8422, section 5.1). So a first handshake, with no group forced, learns
/// that curve, and it is then listed behind the groups that were asked for; which group is really
/// used is verified on every connection.
fn add_certificate_group(
    spec: &CheckedSpec,
    permit: &Permit,
    offer: &mut Offer,
) -> Result<(), RunError> {
    use crate::names::TlsVersion;
    if offer.groups.is_empty() || !spec.spec().tls.offers(TlsVersion::Tls12) {
        return Ok(());
    }
    let open = Offer { groups: Vec::new(), trust: TrustAnchors::Anyone, ..offer.clone() };
    let mut script = script(spec, *permit);
    script.handshake_only = true;
    script.expectation = Expectation::default();
    let scouted = match choose(spec.spec().tls.backend, &open)? {
        Choice::Rustls => preflight(&mut RustlsBackend::new(&open)?, &script),
        Choice::Openssl => preflight(&mut OpensslBackend::new(&open)?, &script),
    };
    match scouted {
        Ok((_, certificates)) => {
            let group = certificate_group(&certificates);
            offer.groups.extend(group.filter(|group| !offer.groups.contains(group)));
            Ok(())
        }
        // Nobody has to wait for the same twice.
        Err(error) if matches!(error.outcome, Outcome::Failed(Failure::TimedOut(_))) => {
            Err(preflight_error(spec, error))
        }
        // A target that cannot be scouted will fail its preflight, which says why.
        Err(_) => Ok(()),
    }
}

fn script(spec: &CheckedSpec, permit: Permit) -> Script {
    let deadlines = &spec.spec().deadlines;
    Script {
        address: permit.address,
        request: h1::request(spec.target(), false),
        last_request: h1::request(spec.target(), true),
        requests: spec.requests_per_connection(),
        handshake_only: spec.spec().handshake_only,
        deadlines: [
            deadlines.connect_ms,
            deadlines.handshake_ms,
            deadlines.first_byte_ms,
            deadlines.body_ms,
        ]
        .map(|ms| Nanos::from(ms) * MILLISECOND),
        expectation: Expectation::new(&spec.spec().tls),
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
            watch(spec.spec(), &checked.permit, &gauges, &gate, observer, interrupt, || {
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

    /// Says that a worker is ready; returns the instant at which it begins.
    fn pass(&self) -> Nanos {
        self.barrier.wait();
        self.barrier.wait();
        self.start.load(Ordering::SeqCst)
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
    let pinned = processor.map_or(Ok(()), pin);
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

fn pin(processor: usize) -> Result<(), RunError> {
    let mut set = CpuSet::new();
    set.set(processor)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(|errno| RunError::Pin { processor, source: errno.into() })
}

/// How a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Planned,
    Interrupted,
    Exceeded,
}

/// Tells the observer how the run goes, and ends it when it is told to or when it has to.
fn watch(
    spec: &RunSpec,
    permit: &Permit,
    gauges: &[Gauge],
    gate: &Gate,
    observer: &mut dyn Observer,
    interrupt: &AtomicBool,
    finished: impl Fn() -> bool,
) -> Ending {
    let start = gate.start.load(Ordering::SeqCst);
    let schedule = Schedule::new(spec, start);
    let mut ending = Ending::Planned;
    let mut phase = None;
    let mut seen = Progress { at_s: 0.0, completed: 0, failed: 0, connections_per_s: 0.0 };
    while !finished() {
        let now = MonotonicClock.now();
        let next = schedule.at(now);
        if now >= start && phase != Some(next) && next < Phase::Done {
            phase = Some(next);
            observer.phase(next.name(), now);
        }
        let at_s = now.saturating_sub(schedule.measure) as f64 / SECOND as f64;
        if next == Phase::Measure && at_s >= seen.at_s + 1.0 {
            seen = progress(gauges, &seen, at_s);
            observer.progress(seen);
        }
        let connections: u64 = gauges.iter().map(|gauge| gauge.read().0).sum();
        let elapsed = now.saturating_sub(start).min(PUBLIC_TIME + SECOND);
        let exceeded = permit.is_exceeded(connections, elapsed);
        if ending == Ending::Planned && (exceeded || interrupt.load(Ordering::Relaxed)) {
            ending = if exceeded { Ending::Exceeded } else { Ending::Interrupted };
            gauges.iter().for_each(Gauge::stop);
        }
        let change = schedule.next_change(now).map_or(Nanos::MAX, |change| change - now);
        thread::sleep(WATCH.min(Duration::from_nanos(change)));
    }
    observer.phase(Phase::Done.name(), MonotonicClock.now());
    ending
}

fn progress(gauges: &[Gauge], before: &Progress, at_s: f64) -> Progress {
    let (completed, failed) = gauges
        .iter()
        .map(Gauge::read)
        .fold((0, 0), |sum, (completed, failed)| (sum.0 + completed, sum.1 + failed));
    let rate = (completed - before.completed) as f64 / (at_s - before.at_s);
    Progress { at_s, completed, failed, connections_per_s: rate }
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
    RunRecord {
        schema: RECORD_SCHEMA.to_owned(),
        spec: spec.spec().clone(),
        backend: checked.backend.name().to_owned(),
        versions: versions(),
        environment: crate::environment::environment(),
        address: checked.permit.address.to_string(),
        preflight: checked.preflight.clone(),
        facts: notes.facts(),
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
