//! Watches a run from outside: reports its progress, and stops the run on request or at a limit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::check::Checked;
use crate::kept_off::KeptOff;
use crate::phase::{Phase, Schedule};
use crate::recorder::Second;
use crate::trace::Trace;
use crate::worker::{Report, WorkerStatus};
use tlslab_contract::spec::RunSpec;
use tlslab_system::clock::{Clock, MILLISECOND, MonotonicClock, Nanos, SECOND};
use tlslab_system::guard::{PUBLIC_TIME, Permit};

pub use crate::recorder::{BOUNDS, Buckets, Percentiles, TimesInBuckets, Totals};

/// How often a run's progress is checked.
const WATCH: Duration = Duration::from_millis(20);

/// The longest wait for the answers of workers that were asked for their counts.
const ANSWER: Nanos = 250 * MILLISECOND;

/// The shortest notice that workers get before the measurement.
const NOTICE: Nanos = 200 * MILLISECOND;

/// Receives the events of a run, one method each.
pub trait Observer {
    /// The preflight connection has been made.
    fn preflight(&mut self, checked: &Checked);

    /// A phase has begun, at this CLOCK_MONOTONIC instant.
    fn phase(&mut self, phase: &'static str, at: Nanos);

    /// Another second of the measurement is over.
    fn progress(&mut self, progress: Progress);

    /// A second of the run has passed, in any phase.
    fn alive(&mut self, _at: Nanos) {}

    /// The run is over. The accounting, and the length of the measurement in seconds, equal the
    /// record's.
    fn ended(&mut self, _totals: Totals, _seconds: f64) {}

    /// The run is over; the event times of its connections, if the specification asks for them.
    fn trace(&mut self, _trace: Trace) {}
}

/// The state of a measurement, and the rates since the last report.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Seconds since the measurement began.
    pub at_s: f64,
    /// Connections completed since the measurement began.
    pub completed: u64,
    /// Connections that failed or were unexpected since the measurement began.
    pub failed: u64,
    /// Seconds until the measurement ends; `None` if it ends by count.
    pub left_s: Option<f64>,
    /// In an open loop: due arrivals per second.
    pub offered_per_s: Option<f64>,
    /// Connections started per second.
    pub started_per_s: f64,
    /// Connections completed per second.
    pub connections_per_s: f64,
    /// Requests answered per second.
    pub requests_per_s: f64,
    /// Connections in flight now.
    pub in_flight: u64,
    /// Arrivals of an open loop that now wait for a free slot.
    pub waiting: u64,
    /// Service times of the completed connections, if any.
    pub service: Option<Percentiles>,
    /// Response times of the completed connections, in an open loop.
    pub response: Option<Percentiles>,
    /// Times of the answered requests, from their start to the last byte of the response.
    pub exchange: Option<Percentiles>,
    /// The accounting of all connections since the measurement began.
    pub totals: Totals,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Planned,
    Interrupted,
    Exceeded,
    /// Only N connections were open at the time limit.
    NotOpen(u64),
}

/// What the watching thread has seen of a run.
#[derive(Debug)]
pub(crate) struct Watched {
    pub ending: Ending,
    /// The totals that each worker reported during the run.
    pub reported: Vec<Totals>,
    /// What kept the workers from running during the measurement.
    pub kept_off: KeptOff,
}

/// Reports the progress to the observer, and stops the run on request or at a limit.
pub(crate) fn watch(
    spec: &RunSpec,
    permit: &Permit,
    statuses: &[WorkerStatus],
    start: Nanos,
    observer: &mut dyn Observer,
    interrupt: &AtomicBool,
    finished: impl Fn() -> bool,
) -> Watched {
    let mut schedule = Schedule::new(spec, start);
    let mut opening = spec.load.open_within_ms > 0;
    let mut ending = Ending::Planned;
    let mut phase = None;
    let mut reporter = ProgressReporter::new(statuses, spec.load.rate.is_some());
    let (mut beat, mut kept_off) = (0, KeptOff::new(statuses.len()));
    while !finished() {
        let now = MonotonicClock.now();
        let open: u64 = statuses.iter().map(WorkerStatus::open).sum();
        if opening && open >= u64::from(spec.connections) {
            opening = false;
            let measure = now + NOTICE.max(spec.warmup_ms * MILLISECOND);
            schedule = schedule.begun_at(measure.min(schedule.measure));
            statuses.iter().for_each(|status| status.measure_at(schedule.measure));
        }
        let late = now >= start + spec.load.open_within_ms * MILLISECOND;
        if ending == Ending::Planned && opening && late {
            ending = Ending::NotOpen(open);
            statuses.iter().for_each(WorkerStatus::stop);
        }
        if now >= beat {
            observer.alive(now);
            beat = now + SECOND;
        }
        let next = schedule.at(now);
        let is_reported = now >= start && !matches!(ending, Ending::NotOpen(_));
        if is_reported && phase != Some(next) && next < Phase::Done {
            phase = Some(next);
            observer.phase(next.name(), now);
            let is_measuring = next == Phase::Measure && ending == Ending::Planned;
            kept_off.follow(is_measuring, now, statuses);
        }
        if is_reported && next == Phase::Measure {
            let left = schedule.drain.map(|drain| drain.saturating_sub(now));
            reporter.report(now.saturating_sub(schedule.measure), left, observer);
        }
        let connections: u64 = statuses.iter().map(WorkerStatus::started).sum();
        let elapsed = now.saturating_sub(start).min(PUBLIC_TIME + SECOND);
        let exceeded = permit.is_exceeded(connections, elapsed);
        if ending == Ending::Planned && (exceeded || interrupt.load(Ordering::Relaxed)) {
            ending = if exceeded { Ending::Exceeded } else { Ending::Interrupted };
            kept_off.end();
            statuses.iter().for_each(WorkerStatus::stop);
        }
        let change = schedule.next_change(now).map_or(Nanos::MAX, |change| change - now);
        kept_off.sleep(WATCH.min(Duration::from_nanos(change)), statuses);
    }
    kept_off.end();
    observer.phase(Phase::Done.name(), MonotonicClock.now());
    Watched { ending, reported: reporter.totals, kept_off }
}

/// The final accounting of each worker: its reports, and the counts left in its mailbox and in its
/// notes.
pub(crate) fn ended(
    statuses: &[WorkerStatus],
    mut reported: Vec<Totals>,
    reports: &[Report],
) -> Totals {
    for ((totals, status), report) in reported.iter_mut().zip(statuses).zip(reports) {
        status.collect_rest(totals);
        totals.add(&report.recorder.second);
        (totals.in_flight, totals.cpu) = (report.recorder.in_flight_at_stop, report.usage.cpu);
    }
    merged(&reported)
}

/// The merged totals of all workers.
fn merged(workers: &[Totals]) -> Totals {
    let mut all = Totals::new(workers.iter().all(|each| each.due.is_some()));
    workers.iter().for_each(|each| all.merge(each));
    all
}

/// Asks the workers for their counts once a second and reports them to the observer.
struct ProgressReporter<'r> {
    statuses: &'r [WorkerStatus],
    /// The time of the next request, since the start of the measurement.
    next: Nanos,
    asked: bool,
    /// The totals of each worker so far.
    totals: Vec<Totals>,
}

impl<'r> ProgressReporter<'r> {
    fn new(statuses: &'r [WorkerStatus], open_loop: bool) -> Self {
        let totals = vec![Totals::new(open_loop); statuses.len()];
        Self { statuses, next: SECOND, asked: false, totals }
    }

    /// Asks the workers for their counts, or reports their answers. `passed` is the time since the
    /// start of the measurement, `left` the time to its end. A worker that does not answer in time,
    /// because it was stopped or is busy, is included in the next report.
    fn report(&mut self, passed: Nanos, left: Option<Nanos>, observer: &mut dyn Observer) {
        if !self.asked && passed >= self.next {
            self.statuses.iter().for_each(WorkerStatus::ask);
            self.asked = true;
        }
        let answered = || !self.statuses.iter().any(WorkerStatus::is_asked);
        if self.asked && (answered() || passed >= self.next + ANSWER) {
            let mut second = Second::new();
            for (status, totals) in self.statuses.iter().zip(&mut self.totals) {
                status.collect(&mut second, totals);
            }
            observer.progress(self.progress(passed, left, &second));
            self.asked = false;
            self.next += SECOND * ((passed - self.next) / SECOND + 1);
        }
    }

    fn progress(&self, passed: Nanos, left: Option<Nanos>, second: &Second) -> Progress {
        let totals = merged(&self.totals);
        let seconds = second.length as f64 / SECOND as f64;
        let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        Progress {
            at_s: passed as f64 / SECOND as f64,
            completed: totals.completed,
            failed: totals.failed.values().sum::<u64>() + totals.unexpected,
            left_s: left.map(|left| left as f64 / SECOND as f64),
            offered_per_s: totals.due.map(|_| rate(second.due)),
            started_per_s: rate(second.started),
            connections_per_s: rate(second.completed),
            requests_per_s: rate(second.requests),
            in_flight: second.in_flight,
            waiting: second.waiting,
            service: second.service(),
            response: second.response(),
            exchange: second.exchange(),
            totals,
        }
    }
}
