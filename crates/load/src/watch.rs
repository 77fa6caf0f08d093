//! Watches a run from outside: reports its progress, and ends it on request or when it has to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::check::Checked;
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

/// How long to wait for the answers of workers that are asked for their counts.
const ANSWER: Nanos = 250 * MILLISECOND;

/// The least time from when the workers are asked to measure until they do.
const NOTICE: Nanos = 200 * MILLISECOND;

/// Follows a run: each method is one event.
pub trait Observer {
    /// The preflight connection has been made.
    fn preflight(&mut self, checked: &Checked);

    /// A phase has begun, at this instant of CLOCK_MONOTONIC.
    fn phase(&mut self, phase: &'static str, at: Nanos);

    /// Another second of the measurement is over.
    fn progress(&mut self, progress: Progress);

    /// A second of the run has passed, whatever its phase.
    fn alive(&mut self, _at: Nanos) {}

    /// The run is over; its accounting and the length of its measurement in seconds, which are those of
    /// the record.
    fn ended(&mut self, _totals: Totals, _seconds: f64) {}

    /// The run is over; the instants of its connections, where the specification asks for them.
    fn trace(&mut self, _trace: Trace) {}
}

/// How far a measurement is, and what went on since the last report.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Seconds since the measurement began.
    pub at_s: f64,
    /// Connections completed, since it began.
    pub completed: u64,
    /// Connections that failed or were unexpected, since it began.
    pub failed: u64,
    /// Seconds until the measurement ends; `None` where it ends by count.
    pub left_s: Option<f64>,
    /// In an open loop: arrivals that were due per second.
    pub offered_per_s: Option<f64>,
    /// Connections started per second.
    pub started_per_s: f64,
    /// Connections completed per second.
    pub connections_per_s: f64,
    /// Requests answered per second.
    pub requests_per_s: f64,
    /// Connections in flight now.
    pub in_flight: u64,
    /// Arrivals of an open loop that wait for a free slot now.
    pub waiting: u64,
    /// Service times of the connections that completed, if any did.
    pub service: Option<Percentiles>,
    /// Their response times, in an open loop.
    pub response: Option<Percentiles>,
    /// Times of the requests that were answered, from their start to their last byte.
    pub exchange: Option<Percentiles>,
    /// The accounting of all connections since the measurement began.
    pub totals: Totals,
}

/// How a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Planned,
    Interrupted,
    Exceeded,
    /// N connections were open when all should have been.
    NotOpen(u64),
}

/// Reports the progress to the observer, and ends the run on request or when it has to. Returns how it
/// ended, and what each worker has reported.
pub(crate) fn watch(
    spec: &RunSpec,
    permit: &Permit,
    statuses: &[WorkerStatus],
    start: Nanos,
    observer: &mut dyn Observer,
    interrupt: &AtomicBool,
    finished: impl Fn() -> bool,
) -> (Ending, Vec<Totals>) {
    let mut schedule = Schedule::new(spec, start);
    let mut opening = spec.load.open_within_ms > 0;
    let mut ending = Ending::Planned;
    let mut phase = None;
    let mut reporter = ProgressReporter::new(statuses, spec.load.rate.is_some());
    let mut beat = 0;
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
            statuses.iter().for_each(WorkerStatus::stop);
        }
        let change = schedule.next_change(now).map_or(Nanos::MAX, |change| change - now);
        thread::sleep(WATCH.min(Duration::from_nanos(change)));
    }
    observer.phase(Phase::Done.name(), MonotonicClock.now());
    (ending, reporter.totals)
}

/// The accounting of a run that is over: of each worker, what it has reported, and what is left in its
/// mailbox and in its notes.
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

/// The totals of all workers as one.
fn merged(workers: &[Totals]) -> Totals {
    let mut all = Totals::new(workers.iter().all(|each| each.due.is_some()));
    workers.iter().for_each(|each| all.merge(each));
    all
}

/// Asks the workers once a second what they did, and reports it to the observer.
struct ProgressReporter<'r> {
    statuses: &'r [WorkerStatus],
    /// When to ask next, in time since the measurement began.
    next: Nanos,
    asked: bool,
    /// What each worker has reported so far.
    totals: Vec<Totals>,
}

impl<'r> ProgressReporter<'r> {
    fn new(statuses: &'r [WorkerStatus], open_loop: bool) -> Self {
        let totals = vec![Totals::new(open_loop); statuses.len()];
        Self { statuses, next: SECOND, asked: false, totals }
    }

    /// Asks the workers, or reports what they have answered. `passed` is the time since the start of the
    /// measurement, `left` the time to its end. A worker that does not answer in time, because it was
    /// stopped or is busy, is included in the next report.
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
