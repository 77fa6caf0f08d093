//! A worker's time: its phases, steps and slices.

use super::WorkerStatus;
use crate::phase::{Phase, Schedule};
use crate::recorder::Recorder;
use tlslab_contract::record::{CpuTime, WorkerUsage};
use tlslab_system::clock::{MILLISECOND, Nanos, SECOND};
use tlslab_system::run_queue::RunQueue;
use tlslab_system::usage::thread_cpu;

/// The length of a slice of the measurement.
const SLICE: Nanos = 100 * MILLISECOND;

/// The start of a measured interval: instant and processor time.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    at: Nanos,
    cpu: CpuTime,
}

impl Mark {
    fn set(now: Nanos) -> Self {
        Self { at: now, cpu: thread_cpu() }
    }
}

/// The current phase of a worker, and the starts of its measured intervals.
#[derive(Debug)]
pub struct Timekeeper {
    schedule: Schedule,
    phase: Phase,
    measurement: Mark,
    slice: Mark,
    step: Mark,
    run_queue: Option<RunQueue>,
    /// The time in the run queue before the measurement.
    waited: Option<Nanos>,
    /// The instant of the last report.
    reported_at: Nanos,
}

impl Timekeeper {
    /// The state of the calling thread before the first phase.
    pub fn new(schedule: Schedule, status: &WorkerStatus) -> Self {
        let (unset, run_queue) = (Mark::default(), RunQueue::of_this_thread());
        run_queue.iter().for_each(|queue| status.waits_in(queue.clone()));
        Self {
            schedule,
            phase: Phase::Warmup,
            measurement: unset,
            slice: unset,
            step: unset,
            run_queue,
            waited: None,
            reported_at: 0,
        }
    }

    /// The current phase.
    #[inline]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The schedule of the phases.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The end of the arrivals of this phase, if it has any.
    #[inline]
    pub fn arrivals_end(&self) -> Option<Nanos> {
        match self.phase {
            Phase::Warmup => Some(self.schedule.measure),
            Phase::Measure => Some(self.schedule.drain.unwrap_or(Nanos::MAX)),
            Phase::Drain | Phase::Done => None,
        }
    }

    /// Closes a slice that is over, and applies the watcher's requests and a reached count. Returns
    /// the phase at this instant.
    pub fn follow(
        &mut self,
        now: Nanos,
        status: &WorkerStatus,
        count: Option<u64>,
        recorder: &mut Recorder,
    ) -> Phase {
        if status.is_stopped() && self.phase < Phase::Drain {
            self.schedule = self.schedule.ended(now);
        }
        if self.phase == Phase::Measure && now >= self.slice.at + SLICE {
            self.close_slice(now, recorder);
        }
        if self.phase == Phase::Measure && is_reached(count, recorder) {
            self.schedule = self.schedule.ended(now);
        }
        if self.phase == Phase::Warmup && status.measures_at() < self.schedule.measure {
            self.schedule = self.schedule.begun_at(status.measures_at());
        }
        self.schedule.at(now)
    }

    /// The measurement starts.
    pub fn start_measurement(&mut self, now: Nanos) {
        self.phase = Phase::Measure;
        self.waited = self.run_queue.as_ref().and_then(RunQueue::waited);
        self.measurement = Mark::set(now);
        self.slice = self.measurement;
        self.step = self.measurement;
        self.reported_at = now;
    }

    /// The start of the measurement; 0 before.
    pub fn measured_from(&self) -> Nanos {
        self.measurement.at
    }

    /// Ends the measurement: notes its length, the processor time, and the wait for a processor.
    pub fn end_measurement(
        &mut self,
        now: Nanos,
        recorder: &mut Recorder,
        usage: &mut WorkerUsage,
    ) {
        self.close_slice(now, recorder);
        self.close_step(recorder.step(), now, recorder);
        self.phase = Phase::Drain;
        let seconds = |time: Nanos| time as f64 / SECOND as f64;
        usage.seconds = seconds(now - self.measurement.at);
        usage.cpu = self.slice.cpu - self.measurement.cpu;
        let waited = self.run_queue.as_ref().and_then(RunQueue::waited).zip(self.waited);
        usage.queued_s = waited.map(|(after, before)| seconds(after.saturating_sub(before)));
    }

    /// Closes a step that is over. Returns whether another one has begun.
    pub fn keep_step(&mut self, now: Nanos, recorder: &mut Recorder) -> bool {
        let step = self.schedule.step_at(now);
        let is_over = self.phase == Phase::Measure && step != recorder.step();
        if is_over {
            self.close_step(step, now, recorder);
        }
        is_over
    }

    /// Enters the phase of this instant. A drain ends once nothing is in flight.
    pub fn enter(&mut self, phase: Phase, in_flight: usize) -> Phase {
        if self.phase == Phase::Drain && in_flight == 0 {
            self.phase = Phase::Done;
        }
        self.phase = self.phase.max(phase);
        self.phase
    }

    /// Reports the counts since the last report, if the watcher asked.
    pub fn report(
        &mut self,
        now: Nanos,
        status: &WorkerStatus,
        recorder: &mut Recorder,
        [in_flight, waiting]: [u64; 2],
    ) {
        let second = &mut recorder.second;
        second.length = now - self.reported_at;
        (second.in_flight, second.waiting) = (in_flight, waiting);
        let is_over = self.phase >= Phase::Drain;
        second.cpu = if is_over { self.slice.cpu } else { thread_cpu() } - self.measurement.cpu;
        status.answer(second);
        if !status.is_asked() {
            self.reported_at = now;
        }
    }

    fn close_step(&mut self, next: usize, now: Nanos, recorder: &mut Recorder) {
        let mark = Mark::set(now);
        let used = mark.cpu - self.step.cpu;
        recorder.close_step(next, self.measurement.at, self.step.at, now, used);
        self.step = mark;
    }

    fn close_slice(&mut self, now: Nanos, recorder: &mut Recorder) {
        let next = Mark::set(now);
        let used = next.cpu - self.slice.cpu;
        recorder.close_slice(self.slice.at, self.measurement.at, now, used);
        self.slice = next;
    }
}

fn is_reached(count: Option<u64>, recorder: &Recorder) -> bool {
    let (completed, troubled) = recorder.ended();
    count.is_some_and(|count| completed + troubled >= count)
}
