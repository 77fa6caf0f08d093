//! A worker's time: the phases, steps and slices that it moves through.

use super::{Slot, Worker};
use crate::phase::Phase;
use tlslab_contract::record::CpuTime;
use tlslab_system::clock::{Clock, MILLISECOND, Nanos, SECOND};
use tlslab_system::usage::thread_cpu;
use tlslab_tls::Backend;

/// How often deadlines are looked at: far below the second by which they may be late.
pub(super) const SWEEP: Nanos = 50 * MILLISECOND;

/// The length of the slices in which a measurement is recorded.
const SLICE: Nanos = 100 * MILLISECOND;

/// The start of something that is measured.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    pub at: Nanos,
    pub cpu: CpuTime,
}

impl<B: Backend, C: Clock> Worker<'_, B, C> {
    /// Moves on to the phase, step, slice and sweep that the time calls for.
    pub(super) fn keep_time(&mut self) -> Phase {
        let now = self.clock.now();
        if self.share.status.is_stopped() && self.phase < Phase::Drain {
            self.share.schedule = self.share.schedule.ended(now);
        }
        if self.phase == Phase::Measure && now >= self.slice.at + SLICE {
            self.close_slice(now);
        }
        if self.phase == Phase::Measure && self.count_is_reached() {
            self.share.schedule = self.share.schedule.ended(now);
        }
        if self.phase == Phase::Warmup
            && self.share.status.measures_at() < self.share.schedule.measure
        {
            self.share.schedule = self.share.schedule.begun_at(self.share.status.measures_at());
        }
        let phase = self.share.schedule.at(now);
        if phase >= Phase::Measure && self.phase < Phase::Measure {
            self.begin_measurement(now);
        }
        if phase >= Phase::Drain && self.phase < Phase::Drain {
            self.end_measurement(now);
        }
        self.keep_step(now);
        if now >= self.next_sweep {
            self.next_sweep = now + SWEEP;
            self.sweep(now);
            if self.phase == Phase::Warmup {
                self.share.status.report_open(self.open());
            }
        }
        if self.share.status.is_asked() {
            self.report(now);
        }
        if self.phase == Phase::Drain && self.in_flight == 0 {
            self.phase = Phase::Done;
        }
        self.phase = self.phase.max(phase);
        self.phase
    }

    /// Connections whose handshake is done.
    fn open(&self) -> u64 {
        let is_open = |slot: &Slot<B::Session>| match slot {
            Slot::Busy(connection) => connection.facts().is_some(),
            Slot::Idle | Slot::Resting(_) => false,
        };
        self.slots.iter().filter(|slot| is_open(slot)).count() as u64
    }

    fn begin_measurement(&mut self, now: Nanos) {
        self.phase = Phase::Measure;
        self.recorder.begin(self.in_flight as u64);
        self.begin_arrivals();
        self.fly(now);
        self.recorder.flight.within = 0;
        self.recorder.flight.before = self.flown(now);
        self.measurement = Mark { at: now, cpu: thread_cpu() };
        self.slice = self.measurement;
        self.step = self.measurement;
        self.reported_at = now;
    }

    fn end_measurement(&mut self, now: Nanos) {
        if let Some(pacing) = &mut self.pacing {
            let end = self.share.schedule.drain.unwrap_or(now);
            self.recorder.arrivals.due += pacing.look(end);
            self.recorder.arrivals.waiting_at_stop = pacing.waiting();
            self.recorder.arrivals.window = end.saturating_sub(self.share.schedule.measure);
        }
        self.close_slice(now);
        self.close_step(self.recorder.step(), now);
        self.fly(now);
        self.phase = Phase::Drain;
        self.recorder.in_flight_at_stop = self.in_flight as u64;
        self.recorder.flight.unfinished = self.flown(now);
        self.recorder.slow_connects += self.connecting_slowly(now);
        self.trace_in_flight();
        self.usage.cpu = self.slice.cpu - self.measurement.cpu;
        self.usage.seconds = (now - self.measurement.at) as f64 / SECOND as f64;
    }

    fn trace_in_flight(&mut self) {
        if !self.recorder.trace.is_wanted() {
            return;
        }
        for slot in &self.slots {
            if let Slot::Busy(connection) = slot {
                self.recorder.trace.keep(connection.traced(0, None));
            }
        }
    }

    /// Adds the time since it was last called to what the connections in flight spent there.
    pub(super) fn fly(&mut self, now: Nanos) {
        let passed = now.saturating_sub(self.flown_until);
        if self.phase == Phase::Measure {
            self.recorder.flight.within += u128::from(passed) * self.in_flight as u128;
        }
        self.flown_until = now;
    }

    /// What the connections that are in flight have spent there since their start.
    fn flown(&self, now: Nanos) -> u128 {
        let busy = self.slots.iter().filter_map(|slot| match slot {
            Slot::Busy(connection) => Some(now.saturating_sub(connection.started())),
            _ => None,
        });
        busy.map(u128::from).sum()
    }

    /// Connections in flight that waited for a retransmission of their SYN, or still do.
    fn connecting_slowly(&self, now: Nanos) -> u64 {
        let is_slow = |slot: &&Slot<B::Session>| match slot {
            Slot::Busy(connection) => connection.connects_slowly(now),
            _ => false,
        };
        self.slots.iter().filter(is_slow).count() as u64
    }

    fn keep_step(&mut self, now: Nanos) {
        let step = self.share.schedule.step_at(now);
        if self.phase == Phase::Measure && step != self.recorder.step() {
            self.close_step(step, now);
            self.fill();
        }
    }

    fn close_step(&mut self, next: usize, now: Nanos) {
        let mark = Mark { at: now, cpu: thread_cpu() };
        let used = mark.cpu - self.step.cpu;
        self.recorder.close_step(next, self.measurement.at, self.step.at, now, used);
        self.step = mark;
    }

    fn close_slice(&mut self, now: Nanos) {
        let next = Mark { at: now, cpu: thread_cpu() };
        let used = next.cpu - self.slice.cpu;
        self.recorder.close_slice(self.slice.at, self.measurement.at, now, used);
        self.slice = next;
    }

    /// Reports what was done since the last report.
    fn report(&mut self, now: Nanos) {
        let second = &mut self.recorder.second;
        second.length = now - self.reported_at;
        second.in_flight = self.in_flight as u64;
        second.waiting = self.pacing.as_ref().map_or(0, |pacing| pacing.waiting());
        self.share.status.answer(second);
        if !self.share.status.is_asked() {
            self.reported_at = now;
        }
    }

    fn count_is_reached(&self) -> bool {
        let (completed, troubled) = self.recorder.ended();
        self.share.count.is_some_and(|count| completed + troubled >= count)
    }
}
