//! One worker: one thread, one poller, its share of the connections; nothing shared on the way.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::clock::{Clock, MILLISECOND, Nanos, SECOND};
use crate::connection::{Connection, Context, Script, Turn};
use crate::mix::Mix;
use crate::outcome::{Failure, Outcome};
use crate::phase::{Phase, Schedule};
use crate::poller::{Poller, Ready};
use crate::record::{CpuTime, WorkerUsage};
use crate::recorder::Recorder;
use crate::tls::{Backend, HandshakeKind};
use crate::usage::thread_cpu;

/// How often deadlines are looked at: far below the second by which they may be late.
const SWEEP: Nanos = 50 * MILLISECOND;

/// How long a slot rests after a connection that failed, so that a dead server is not hammered.
const REST: Nanos = 10 * MILLISECOND;

/// The length of the slices in which a measurement is recorded.
const SLICE: Nanos = 100 * MILLISECOND;

/// Room for decrypted bytes: a whole record's worth (RFC 8446, section 5.1).
const PLAINTEXT: usize = 16 * 1024;

/// What a worker tells while it runs; it writes, and whoever watches the run reads.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Gauge {
    started: AtomicU64,
    completed: AtomicU64,
    troubled: AtomicU64,
    stop: AtomicBool,
}

impl Gauge {
    /// Connections completed and failed in the measurement so far.
    pub fn read(&self) -> (u64, u64) {
        (self.completed.load(Ordering::Relaxed), self.troubled.load(Ordering::Relaxed))
    }

    /// Connections begun so far, in whatever phase.
    pub fn started(&self) -> u64 {
        self.started.load(Ordering::Relaxed)
    }

    /// Asks the worker to end its measurement now.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// A worker's share of a run.
#[derive(Debug)]
pub struct Share<'r> {
    /// What each connection does.
    pub script: &'r Script,
    /// Connections in flight at once.
    pub connections: usize,
    /// Connections to count, for a run that ends by count.
    pub count: Option<u64>,
    /// The kinds of its connections, one after the other.
    pub mix: Mix,
    /// Connections begun before the first phase, to collect sessions to resume.
    pub primed: u64,
    /// When the phases begin.
    pub schedule: Schedule,
    /// The processor that this worker is pinned to.
    pub processor: Option<usize>,
    /// Where to tell how far it is.
    pub gauge: &'r Gauge,
}

/// What a worker brings back.
#[derive(Debug)]
pub struct Report {
    /// Its notes.
    pub recorder: Recorder,
    /// What it used.
    pub usage: WorkerUsage,
}

/// A place for a connection; each is filled anew as soon as its connection has ended.
enum Slot<S> {
    Idle,
    Busy(Box<Connection<S>>),
    /// After a failure, until an instant.
    Resting(Nanos),
}

/// The begin of something that is measured.
#[derive(Debug, Clone, Copy)]
struct Mark {
    at: Nanos,
    cpu: CpuTime,
}

/// A worker at work.
pub struct Worker<'r, B: Backend, C> {
    share: Share<'r>,
    backend: B,
    clock: C,
    poller: Poller,
    slots: Vec<Slot<B::Session>>,
    in_flight: usize,
    started: u64,
    phase: Phase,
    recorder: Recorder,
    plaintext: Vec<u8>,
    measurement: Mark,
    slice: Mark,
    next_sweep: Nanos,
    usage: WorkerUsage,
}

impl<'r, B: Backend, C: Clock> Worker<'r, B, C> {
    /// A worker that has not begun.
    pub fn new(share: Share<'r>, backend: B, clock: C) -> io::Result<Self> {
        let quota = share.count.map_or(usize::MAX, |count| count.try_into().unwrap_or(usize::MAX));
        let slots = share.connections.min(quota);
        let mark = Mark { at: 0, cpu: CpuTime::default() };
        Ok(Self {
            usage: WorkerUsage { processor: share.processor, cpu: mark.cpu, seconds: 0.0 },
            backend,
            clock,
            poller: Poller::new()?,
            slots: (0..slots).map(|_| Slot::Idle).collect(),
            in_flight: 0,
            started: share.primed,
            phase: Phase::Warmup,
            recorder: Recorder::new(),
            plaintext: vec![0; PLAINTEXT],
            measurement: mark,
            slice: mark,
            next_sweep: 0,
            share,
        })
    }

    /// Runs to the end of the schedule.
    pub fn run(mut self) -> io::Result<Report> {
        let mut ready = Vec::new();
        self.keep_time();
        for slot in 0..self.slots.len() {
            self.refill(slot);
        }
        while self.keep_time() != Phase::Done {
            self.poller.wait(self.patience(), &mut ready)?;
            for event in &ready {
                self.serve(*event);
            }
        }
        Ok(Report { recorder: self.recorder, usage: self.usage })
    }

    /// Moves on to the phase, slice and sweep that the time calls for.
    fn keep_time(&mut self) -> Phase {
        let now = self.clock.now();
        if self.share.gauge.stop.load(Ordering::Relaxed) && self.phase < Phase::Drain {
            self.share.schedule = self.share.schedule.ended(now);
        }
        if self.phase == Phase::Measure && now >= self.slice.at + SLICE {
            self.close_slice(now);
        }
        if self.phase == Phase::Measure && self.count_is_reached() {
            self.share.schedule = self.share.schedule.ended(now);
        }
        let phase = self.share.schedule.at(now);
        if phase >= Phase::Measure && self.phase < Phase::Measure {
            self.begin_measurement(now);
        }
        if phase >= Phase::Drain && self.phase < Phase::Drain {
            self.end_measurement(now);
        }
        if now >= self.next_sweep {
            self.next_sweep = now + SWEEP;
            self.sweep(now);
        }
        if self.phase == Phase::Drain && self.in_flight == 0 {
            self.phase = Phase::Done;
        }
        self.phase = self.phase.max(phase);
        self.phase
    }

    fn begin_measurement(&mut self, now: Nanos) {
        self.phase = Phase::Measure;
        self.recorder.attempts = self.in_flight as u64;
        self.measurement = Mark { at: now, cpu: thread_cpu() };
        self.slice = self.measurement;
    }

    fn end_measurement(&mut self, now: Nanos) {
        self.close_slice(now);
        self.phase = Phase::Drain;
        self.recorder.in_flight_at_stop = self.in_flight as u64;
        self.usage.cpu = self.slice.cpu - self.measurement.cpu;
        self.usage.seconds = (now - self.measurement.at) as f64 / SECOND as f64;
    }

    fn close_slice(&mut self, now: Nanos) {
        let next = Mark { at: now, cpu: thread_cpu() };
        let used = next.cpu - self.slice.cpu;
        self.recorder.close_slice(self.slice.at, self.measurement.at, now, used);
        self.slice = next;
        let (completed, troubled) = self.recorder.ended();
        self.share.gauge.completed.store(completed, Ordering::Relaxed);
        self.share.gauge.troubled.store(troubled, Ordering::Relaxed);
    }

    fn count_is_reached(&self) -> bool {
        let (completed, troubled) = self.recorder.ended();
        self.share.count.is_some_and(|count| completed + troubled >= count)
    }

    /// How long to wait for sockets before the time has to be looked at again.
    fn patience(&self) -> Nanos {
        let now = self.clock.now();
        let change = self.share.schedule.next_change(now).unwrap_or(Nanos::MAX);
        change.min(self.next_sweep).min(now + REST).saturating_sub(now)
    }

    /// Ends connections whose step took too long; wakes slots that have rested.
    fn sweep(&mut self, now: Nanos) {
        for index in 0..self.slots.len() {
            let mut slot = std::mem::replace(&mut self.slots[index], Slot::Idle);
            let ended = match &mut slot {
                Slot::Busy(connection) => self.with_context(|c| connection.expire(now, c)),
                Slot::Resting(until) if now >= *until => {
                    self.refill(index);
                    continue;
                }
                Slot::Idle | Slot::Resting(_) => None,
            };
            self.slots[index] = slot;
            if let Some(Turn::Ended(outcome)) = ended {
                self.ended(index, outcome);
            }
        }
    }

    fn serve(&mut self, event: Ready) {
        let mut slot = std::mem::replace(&mut self.slots[event.slot], Slot::Idle);
        let Slot::Busy(connection) = &mut slot else {
            self.slots[event.slot] = slot;
            return;
        };
        if event.readable || event.ended {
            connection.socket.became_readable(event.ended);
        }
        let turn = self.with_context(|context| connection.advance(context));
        if turn == Turn::Write {
            let changed = self.poller.change(&connection.socket, event.slot, true);
            debug_assert!(changed.is_ok(), "{changed:?}");
        }
        self.slots[event.slot] = slot;
        if let Turn::Ended(outcome) = turn {
            self.ended(event.slot, outcome);
        }
    }

    fn with_context<T>(&mut self, run: impl FnOnce(&mut Context<'_, C>) -> T) -> T {
        run(&mut Context {
            script: self.share.script,
            clock: &self.clock,
            recorder: (self.phase == Phase::Measure).then_some(&mut self.recorder),
            plaintext: &mut self.plaintext,
        })
    }

    /// Clears a slot whose connection has ended and fills it anew, after a rest if it failed.
    fn ended(&mut self, index: usize, outcome: Outcome) {
        self.in_flight -= 1;
        self.slots[index] = match outcome {
            Outcome::Completed => Slot::Idle,
            Outcome::Failed(_) | Outcome::Unexpected(_) => Slot::Resting(self.clock.now() + REST),
        };
        if outcome == Outcome::Completed {
            self.refill(index);
        }
    }

    /// Starts a connection in a slot, and another if it ends at once.
    fn refill(&mut self, index: usize) {
        self.slots[index] = Slot::Idle;
        if !self.may_start() {
            return;
        }
        if self.phase == Phase::Measure {
            self.recorder.attempts += 1;
        }
        self.started += 1;
        self.share.gauge.started.store(self.started, Ordering::Relaxed);
        let now = self.clock.now();
        let started = self.open().and_then(|(session, wanted)| {
            Connection::start(session, wanted, self.share.script, now)
        });
        let mut connection = match started {
            Ok(connection) => Box::new(connection),
            Err(failure) => {
                let outcome = Outcome::Failed(failure);
                if self.phase == Phase::Measure {
                    self.recorder.troubled(outcome, None);
                }
                self.slots[index] = Slot::Resting(now + REST);
                return;
            }
        };
        self.in_flight += 1;
        let turn = self.with_context(|context| connection.advance(context));
        if let Turn::Ended(outcome) = turn {
            return self.ended(index, outcome);
        }
        match self.poller.add(&connection.socket, index, turn == Turn::Write) {
            Ok(()) => self.slots[index] = Slot::Busy(connection),
            Err(e) => {
                let failure = crate::socket::failure(&e, connection.step());
                let outcome = Outcome::Failed(failure);
                if self.phase == Phase::Measure {
                    self.recorder.troubled(outcome, None);
                }
                self.ended(index, outcome);
            }
        }
    }

    /// A session for a connection of the kind whose turn it is. With nothing left to resume it makes
    /// a full handshake, which then is not the one that was asked for: the books say so, and what the
    /// server gives there is resumed next.
    fn open(&mut self) -> Result<(B::Session, HandshakeKind), Failure> {
        let wanted = self.share.mix.next_kind();
        let resumed = match wanted {
            HandshakeKind::Full => None,
            HandshakeKind::Resumed => self.backend.resume()?,
        };
        Ok((resumed.map_or_else(|| self.backend.open(), Ok)?, wanted))
    }

    fn may_start(&self) -> bool {
        match self.phase {
            Phase::Warmup => true,
            Phase::Measure => self.share.count.is_none_or(|count| self.recorder.attempts < count),
            Phase::Drain | Phase::Done => false,
        }
    }
}
