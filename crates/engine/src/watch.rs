//! Watches a run from outside: tells how it goes, ends it when it is told to or has to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::check::Checked;
use crate::clock::{Clock, MonotonicClock, Nanos, SECOND};
use crate::guard::{PUBLIC_TIME, Permit};
use crate::phase::{Phase, Schedule};
use crate::spec::RunSpec;
use crate::trace::Trace;
use crate::worker::Gauge;

/// How often a run's progress is looked at.
const WATCH: Duration = Duration::from_millis(20);

/// Who wants to know how a run goes.
pub trait Observer {
    /// The preflight connection has been made.
    fn preflight(&mut self, checked: &Checked);

    /// A phase has begun, at this instant of CLOCK_MONOTONIC.
    fn phase(&mut self, phase: &'static str, at: Nanos);

    /// Another second of the measurement is over.
    fn progress(&mut self, progress: Progress);

    /// The run is over; the instants of its connections, where the specification asks for them.
    fn trace(&mut self, _trace: Trace) {}
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

/// How a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Planned,
    Interrupted,
    Exceeded,
}

/// Tells the observer how the run goes, and ends it when it is told to or when it has to.
pub(crate) fn watch(
    spec: &RunSpec,
    permit: &Permit,
    gauges: &[Gauge],
    start: Nanos,
    observer: &mut dyn Observer,
    interrupt: &AtomicBool,
    finished: impl Fn() -> bool,
) -> Ending {
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
        let connections: u64 = gauges.iter().map(Gauge::started).sum();
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
