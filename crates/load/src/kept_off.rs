//! What kept the workers from running during the measurement, as the watching thread sees it. The
//! workers themselves read only their own run queue, when the measurement begins and when it ends.

use std::thread;
use std::time::Duration;

use crate::worker::{Report, WorkerStatus};
use tlslab_contract::record::Supply;
use tlslab_system::clock::{BootClock, Clock, MILLISECOND, MonotonicClock, Nanos, SECOND};
use tlslab_system::control_group::ControlGroup;
use tlslab_system::processor::allowed;
use tlslab_system::run_queue::RunQueue;
use tlslab_system::steal::Steal;

/// The shortest stop that is seen. A hypervisor or a slow disk keeps a thread asleep for some tens
/// of milliseconds; a stop of a tenth of a second is 1 % of a measurement of ten seconds.
const SHORTEST_STOP: Nanos = 100 * MILLISECOND;

/// The readings of the watching thread.
#[derive(Debug)]
pub(crate) struct KeptOff {
    steal: Steal,
    group: ControlGroup,
    /// The watching thread's own run queue.
    own: Option<RunQueue>,
    began: Option<Reading>,
    ended: Option<Reading>,
    /// The last readings: of the own run queue, and of each worker's.
    waited: Option<Nanos>,
    workers_waited: Vec<Option<Nanos>>,
    /// The end of the current second.
    next: Nanos,
    stopped: Nanos,
    /// The part of `stopped` in the current second.
    stopped_now: Nanos,
    /// For each worker, the time kept off in each second so far; `None` where it is not known.
    seconds: Vec<Vec<Option<Nanos>>>,
}

/// Times so far of the control group and of the machine.
#[derive(Debug, Clone, Copy)]
struct Reading {
    throttled: Option<Nanos>,
    suspended: Nanos,
}

impl KeptOff {
    /// Before the measurement of N workers.
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            steal: Steal::default(),
            group: ControlGroup::of_this_process(),
            own: RunQueue::of_this_thread(),
            began: None,
            ended: None,
            waited: None,
            workers_waited: vec![None; workers],
            next: 0,
            stopped: 0,
            stopped_now: 0,
            seconds: vec![Vec::new(); workers],
        }
    }

    /// Reads the start when the measurement begins, and the end when it is over.
    pub(crate) fn follow(&mut self, is_measuring: bool, now: Nanos, statuses: &[WorkerStatus]) {
        if !is_measuring {
            self.end();
        } else if self.began.is_none() {
            self.steal.follow(true);
            self.began = Some(self.read());
            self.next = now + SECOND;
            self.waited = self.own.as_ref().and_then(RunQueue::waited);
            self.workers_waited = statuses.iter().map(WorkerStatus::waited).collect();
        }
    }

    /// The measurement is over; later calls change nothing.
    pub(crate) fn end(&mut self) {
        if self.is_measuring() {
            self.steal.follow(false);
            self.ended = Some(self.read());
        }
    }

    fn is_measuring(&self) -> bool {
        self.began.is_some() && self.ended.is_none()
    }

    fn read(&self) -> Reading {
        let suspended = BootClock.now().saturating_sub(MonotonicClock.now());
        Reading { throttled: self.group.throttled(), suspended }
    }

    /// Sleeps, and notes the seconds of the measurement that have passed. Sleep that lasts longer
    /// than it was to, while the thread was not on a run queue, is a stop of the process.
    pub(crate) fn sleep(&mut self, length: Duration, statuses: &[WorkerStatus]) {
        let before = MonotonicClock.now();
        thread::sleep(length);
        let now = MonotonicClock.now();
        let over = (now - before).saturating_sub(length.as_nanos() as Nanos);
        if over >= SHORTEST_STOP && self.is_measuring() {
            self.slept_over(over, self.own.as_ref().and_then(RunQueue::waited));
        }
        self.tick(now, statuses);
    }

    /// Sleep was too long by `over`; the thread has waited for a processor for so long since its
    /// start. Where that is not known, a stop cannot be distinguished from a wait.
    fn slept_over(&mut self, over: Nanos, waited: Option<Nanos>) {
        let Some((before, now)) = self.waited.zip(waited) else { return };
        let stopped = over.saturating_sub(now.saturating_sub(before));
        if stopped >= SHORTEST_STOP {
            self.stopped += stopped;
            self.stopped_now += stopped;
        }
        self.waited = waited;
    }

    /// Notes each second of the measurement that has passed.
    fn tick(&mut self, now: Nanos, statuses: &[WorkerStatus]) {
        if self.is_measuring() && now >= self.next {
            self.waited = self.own.as_ref().and_then(RunQueue::waited);
            let passed = (now - self.next) / SECOND + 1;
            let waited: Vec<_> = statuses.iter().map(WorkerStatus::waited).collect();
            self.close_seconds(passed, &waited);
            self.next += passed * SECOND;
        }
    }

    /// Several seconds pass at once if the process was stopped: each has the same part.
    fn close_seconds(&mut self, passed: u64, waited: &[Option<Nanos>]) {
        let stopped = std::mem::take(&mut self.stopped_now);
        let workers = self.seconds.iter_mut().zip(&mut self.workers_waited).zip(waited);
        for ((seconds, before), now) in workers {
            let queued = before.zip(*now).map(|(before, now)| now.saturating_sub(before));
            let each = queued.map(|queued| (queued + stopped) / passed);
            seconds.extend((0..passed).map(|_| each));
            *before = *now;
        }
    }

    /// Adds what was seen to the workers' reports.
    pub(crate) fn add_to(self, reports: &mut [Report]) -> Supply {
        let stopped_s = seconds(self.stopped);
        let allowed = allowed();
        for (Report { usage, .. }, noted) in reports.iter_mut().zip(self.seconds) {
            let own = usage.processor.map(|processor| vec![processor]);
            if let Some(processors) = own.as_ref().or(allowed.as_ref()) {
                usage.stolen = self.steal.least_share(processors);
                usage.processor_busy = self.steal.busy_share(processors);
            }
            usage.stopped_s = stopped_s;
            if let Some(queued_s) = usage.queued_s {
                usage.kept_off_s = each_second(&noted, usage.seconds, queued_s + stopped_s);
            }
        }
        let (began, ended) = (self.began, self.ended);
        let suspended = began.zip(ended).map(|(a, b)| b.suspended.saturating_sub(a.suspended));
        let throttled = began
            .zip(ended)
            .and_then(|(began, ended)| Some(ended.throttled?.saturating_sub(began.throttled?)));
        Supply {
            processors: allowed.map(|processors| processors.len()),
            quota: self.group.quota(),
            throttled_s: throttled.map(seconds),
            // The two clocks are not read at the same instant.
            suspended_s: suspended.filter(|it| *it >= SHORTEST_STOP).map_or(0.0, seconds),
        }
    }
}

/// The time kept off in each second of a measurement of this length, of which the whole is known.
/// The last second has what the worker counted beyond those before: its thread may have ended when
/// the watching thread read the last one.
fn each_second(noted: &[Option<Nanos>], length_s: f64, whole_s: f64) -> Vec<f64> {
    let before = (length_s.ceil() as usize).saturating_sub(1);
    let mut each: Vec<f64> =
        noted.iter().take(before).map_while(|noted| noted.map(seconds)).collect();
    each.push((whole_s - each.iter().sum::<f64>()).max(0.0));
    each
}

fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 / SECOND as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Nanos = SECOND;

    #[test]
    fn sleep_that_is_too_long_is_a_stop_unless_the_thread_was_ready() {
        let mut seen = KeptOff::new(1);
        seen.waited = Some(5);
        seen.slept_over(LONG, Some(5));
        assert_eq!(seen.stopped, LONG);
        seen.slept_over(LONG, Some(5 + LONG));
        seen.slept_over(LONG, Some(5 + 2 * LONG - SHORTEST_STOP / 2));
        seen.slept_over(LONG, None);
        assert_eq!(seen.stopped, LONG);
    }

    #[test]
    fn a_stop_of_several_seconds_is_in_each_of_them_for_every_worker() {
        let mut seen = KeptOff::new(2);
        seen.workers_waited = vec![Some(10), None];
        seen.stopped_now = 3 * SECOND;
        seen.close_seconds(3, &[Some(10 + 3 * MILLISECOND), Some(7)]);
        seen.close_seconds(1, &[Some(12 + 3 * MILLISECOND), Some(9)]);
        let each = Some(SECOND + MILLISECOND);
        assert_eq!(
            seen.seconds,
            [vec![each, each, each, Some(2)], vec![None, None, None, Some(2)]]
        );
    }

    #[test]
    fn the_last_second_has_the_rest_also_if_the_worker_has_ended() {
        let quarter = Some(SECOND / 4);
        assert_eq!(each_second(&[quarter, quarter], 2.5, 1.0), [0.25, 0.25, 0.5]);
        assert_eq!(each_second(&[quarter, None], 2.0, 1.0), [0.25, 0.75]);
        assert_eq!(each_second(&[None], 0.9, 0.5), [0.5]);
        assert_eq!(each_second(&[], 0.0, 0.0), [0.0]);
    }

    #[test]
    fn nothing_is_noted_outside_the_measurement() {
        let statuses = [WorkerStatus::default()];
        let mut seen = KeptOff::new(1);
        seen.tick(5 * SECOND, &statuses);
        seen.end();
        assert!(seen.ended.is_none() && seen.seconds[0].is_empty());
        seen.follow(true, SECOND, &statuses);
        seen.tick(2 * SECOND - 1, &statuses);
        assert_eq!(seen.seconds[0].len(), 0);
        seen.tick(3 * SECOND, &statuses);
        seen.end();
        seen.tick(4 * SECOND, &statuses);
        assert_eq!(seen.seconds[0].len(), 2);
    }
}
