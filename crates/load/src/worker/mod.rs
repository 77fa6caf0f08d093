//! One worker: one thread, one poller, its share of the connections; nothing shared on the way.

mod arrivals;
mod recv_low_water;
mod refill;
mod status;
mod time;
mod wakeup_lead;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use self::recv_low_water::RecvLowWater;
pub use self::refill::Refill;
use self::refill::Refiller;
pub use self::status::WorkerStatus;
use self::time::Mark;
use self::wakeup_lead::WakeupLead;
use crate::connection::{Connection, Context, Script, Start, Turn};
use crate::mix::Mix;
use crate::pacing::{Arrivals, Pacing};
use crate::phase::{Phase, Schedule};
use crate::recorder::Recorder;
use crate::trace::{Trace, TracedConnection};
use tlslab_contract::record::{CpuTime, WorkerUsage};
use tlslab_system::clock::{Clock, MILLISECOND, Nanos};
use tlslab_system::poller::{Poller, Ready};
use tlslab_system::socket::Socket;
use tlslab_tls::{Backend, HandshakeKind};
use tlslab_wire::outcome::{Failure, Outcome};

/// How long a slot of a closed loop rests after a connection that failed, so that a dead server is not
/// hammered. An open loop has a rate of its own.
const REST: Nanos = 10 * MILLISECOND;

/// Room for decrypted bytes: a whole record's worth (RFC 8446, section 5.1).
const PLAINTEXT: usize = 16 * 1024;

/// A worker's share of a run.
#[derive(Debug)]
pub struct Share<'r> {
    /// What each connection does.
    pub script: &'r Script,
    /// Connections in flight at once in each step of the measurement; in an open loop, at most.
    pub levels: Vec<usize>,
    /// When connections are due, in an open loop.
    pub arrivals: Option<Arrivals>,
    /// Connections to count, for a run that ends by count.
    pub count: Option<u64>,
    /// The kinds of its connections, one after the other.
    pub mix: Mix,
    /// Connections begun before the first phase, to collect sessions to resume.
    pub primed: u64,
    /// How its sessions to resume are renewed, where resumed connections bring none.
    pub refill: Option<Refill>,
    /// When the phases begin.
    pub schedule: Schedule,
    /// Connections whose instants are to be kept.
    pub trace: usize,
    /// The processor that this worker is pinned to.
    pub processor: Option<usize>,
    /// Where to report its progress.
    pub status: &'r WorkerStatus,
}

/// What a worker brings back.
#[derive(Debug)]
pub struct Report {
    /// Its notes.
    pub recorder: Recorder,
    /// What it used.
    pub usage: WorkerUsage,
}

/// A place for a connection. In a closed loop each is filled anew as soon as its connection has ended;
/// in an open one it waits for the next arrival.
enum Slot<S> {
    Idle,
    Busy(Box<Connection<S>>),
    /// After a failure, until an instant.
    Resting(Nanos),
}

/// A worker at work.
pub struct Worker<'r, B: Backend, C> {
    share: Share<'r>,
    backend: B,
    clock: C,
    poller: Poller,
    slots: Vec<Slot<B::Session>>,
    /// In an open loop: the arrivals, and the slots that are free for them.
    pacing: Option<Pacing>,
    free: Vec<usize>,
    wakeup_lead: WakeupLead,
    low_water: RecvLowWater,
    /// The session of the next connection, made ahead of its arrival, and how long the last took.
    ahead: Option<B::Session>,
    making: Nanos,
    /// Connections that think, by the instant at which they go on.
    thinking: BinaryHeap<Reverse<(Nanos, usize)>>,
    refiller: Option<Refiller<B::Session>>,
    in_flight: usize,
    /// The instant up to which time in flight has been added up.
    flown_until: Nanos,
    started: u64,
    phase: Phase,
    recorder: Recorder,
    plaintext: Vec<u8>,
    measurement: Mark,
    slice: Mark,
    step: Mark,
    /// When this worker last reported.
    reported_at: Nanos,
    next_sweep: Nanos,
    usage: WorkerUsage,
}

impl<'r, B: Backend, C: Clock> Worker<'r, B, C> {
    /// A worker that has not begun.
    pub fn new(mut share: Share<'r>, backend: B, clock: C) -> io::Result<Self> {
        let quota = share.count.map_or(usize::MAX, |count| count.try_into().unwrap_or(usize::MAX));
        let slots = share.levels.iter().copied().max().unwrap_or(0).min(quota);
        let pacing = share.arrivals.take().map(Pacing::new);
        let mark = Mark { at: 0, cpu: CpuTime::default() };
        let mut recorder = Recorder::new(share.schedule.steps, pacing.is_some());
        recorder.trace = Trace::new(share.trace);
        let poller = Poller::new()?;
        let refiller =
            share.refill.map(|refill| Refiller::new(refill, share.script, slots, &poller));
        Ok(Self {
            usage: WorkerUsage { processor: share.processor, cpu: mark.cpu, seconds: 0.0 },
            backend,
            clock,
            poller,
            refiller: refiller.transpose()?,
            slots: (0..slots).map(|_| Slot::Idle).collect(),
            free: if pacing.is_some() { (0..slots).rev().collect() } else { Vec::new() },
            pacing,
            wakeup_lead: WakeupLead::default(),
            low_water: RecvLowWater::new(share.script, share.mix.is_full()),
            ahead: None,
            making: 0,
            thinking: BinaryHeap::with_capacity(slots),
            in_flight: 0,
            flown_until: 0,
            started: share.primed,
            phase: Phase::Warmup,
            recorder,
            plaintext: vec![0; PLAINTEXT],
            measurement: mark,
            slice: mark,
            step: mark,
            reported_at: 0,
            next_sweep: 0,
            share,
        })
    }

    /// Runs to the end of the schedule.
    pub fn run(mut self) -> io::Result<Report> {
        let mut ready = Vec::new();
        self.keep_time();
        self.fill();
        while self.keep_time() != Phase::Done {
            self.collect()?;
            self.admit();
            self.wait(&mut ready)?;
            self.wake();
            for event in &ready {
                // An arrival that is due goes before reports to others.
                self.admit();
                self.serve(*event);
            }
            self.prepare();
        }
        Ok(Report { recorder: self.recorder, usage: self.usage })
    }

    /// Closed loop: starts a connection in each slot that should have one and has none.
    fn fill(&mut self) {
        for index in 0..self.slots.len() {
            if self.pacing.is_none() && matches!(self.slots[index], Slot::Idle) {
                self.refill(index, None);
            }
        }
    }

    /// Lets connections go on that have thought long enough.
    fn wake(&mut self) {
        while let Some(&Reverse((at, slot))) = self.thinking.peek() {
            if at > self.clock.now() {
                return;
            }
            self.thinking.pop();
            self.serve(Ready { slot, readable: false, ended: false });
        }
    }

    /// Waits for sockets, or until something is due whatever they do. For an arrival it is up early,
    /// and looks at the sockets without waiting until the arrival is due.
    fn wait(&mut self, ready: &mut Vec<Ready>) -> io::Result<()> {
        let now = self.clock.now();
        let early = self.next_arrival().saturating_sub(self.wakeup_lead.lead());
        if early <= now {
            return self.poller.look(ready);
        }
        let change = self.share.schedule.next_change(now).unwrap_or(Nanos::MAX);
        let thought = self.thinking.peek().map_or(Nanos::MAX, |Reverse((at, _))| *at);
        let alarm = change.min(self.next_sweep).min(thought).min(early);
        self.poller.wait(alarm, ready)?;
        if alarm == early && ready.is_empty() {
            self.wakeup_lead.woke_late_by(self.clock.now().saturating_sub(alarm));
        }
        Ok(())
    }

    /// Ends connections whose step took too long; wakes slots that have rested.
    fn sweep(&mut self, now: Nanos) {
        for index in 0..self.slots.len() {
            let mut slot = std::mem::replace(&mut self.slots[index], Slot::Idle);
            let ended = match &mut slot {
                Slot::Busy(connection) => {
                    // What has come, if not enough to wake, is looked at now.
                    if now >= connection.started() + time::SWEEP {
                        self.wake_at(&mut connection.socket, 1);
                    }
                    self.with_context(|c| connection.expire(now, c))
                }
                Slot::Resting(until) if now >= *until => {
                    self.refill(index, None);
                    continue;
                }
                Slot::Idle | Slot::Resting(_) => None,
            };
            self.slots[index] = slot;
            if let Some(Turn::Ended(outcome)) = ended {
                self.ended(index, outcome, None);
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
        if turn == Turn::Read && self.low_water.waits(connection.wait(), connection.flight()) {
            self.wake_at(&mut connection.socket, 1);
        }
        match (turn, slot) {
            (Turn::Ended(outcome), Slot::Busy(connection)) => {
                if outcome == Outcome::Completed {
                    self.low_water.completed(connection.since_handshake());
                }
                let socket = Some(connection.socket).filter(Socket::resets);
                return self.ended(event.slot, outcome, socket);
            }
            (_, slot) => self.slots[event.slot] = slot,
        }
        if let Turn::Think(until) = turn {
            self.thinking.push(Reverse((until, event.slot)));
        }
    }

    fn with_context<T>(&mut self, run: impl FnOnce(&mut Context<'_, C>) -> T) -> T {
        let urgent_at = self.next_start();
        run(&mut Context {
            script: self.share.script,
            clock: &self.clock,
            recorder: (self.phase == Phase::Measure).then_some(&mut self.recorder),
            plaintext: &mut self.plaintext,
            urgent_at,
            draining: self.phase >= Phase::Drain,
        })
    }

    /// Clears a slot whose connection has ended. In a closed loop it is filled anew, after a rest if
    /// the connection failed; the socket of a connection that completed serves the next one.
    fn ended(&mut self, index: usize, outcome: Outcome, socket: Option<Socket>) {
        let now = self.clock.now();
        self.fly(now);
        self.in_flight -= 1;
        self.slots[index] = Slot::Idle;
        if self.pacing.is_some() {
            self.free.push(index);
        } else if outcome == Outcome::Completed {
            self.refill(index, socket);
        } else {
            self.slots[index] = Slot::Resting(now + REST);
        }
    }

    /// Closed loop: starts a connection in a slot, if it should have one.
    fn refill(&mut self, index: usize, socket: Option<Socket>) {
        self.slots[index] = Slot::Idle;
        if self.may_start(index) {
            self.begin(index, None, socket);
        }
    }

    /// Starts a connection in an idle slot; in an open loop, the one that was due at `intended`.
    fn begin(&mut self, index: usize, intended: Option<Nanos>, socket: Option<Socket>) {
        let now = self.clock.now();
        if self.phase == Phase::Measure {
            self.recorder.started(intended.map(|intended| now.saturating_sub(intended)));
        }
        let number = self.started;
        self.started += 1;
        self.share.status.report_started(self.started);
        self.fly(now);
        self.in_flight += 1;
        let is_known = socket.is_some();
        let wanted = self.share.mix.next_kind();
        let (backend, script, ahead) = (&mut self.backend, self.share.script, self.ahead.take());
        let begin = Start { number, wanted, intended, socket };
        let session = || ahead.map_or_else(|| open(backend, wanted), Ok);
        let begun = Connection::start(session, script, &self.clock, begin);
        let mut connection = match begun {
            Ok(connection) => Box::new(connection),
            Err(failure) => return self.not_begun(index, failure, now),
        };
        self.wake_at(&mut connection.socket, self.low_water.bytes());
        // Where the next arrival is due already, its connect goes before this one's ClientHello.
        let is_next_due = self.pacing.is_some() && self.next_start() <= self.clock.now();
        let turn = if is_next_due {
            Turn::Write
        } else {
            self.with_context(|context| connection.advance(context))
        };
        if let Turn::Ended(outcome) = turn {
            return self.ended(index, outcome, None);
        }
        match self.register(&connection.socket, index, turn == Turn::Write, is_known) {
            Ok(()) => self.slots[index] = Slot::Busy(connection),
            Err(e) => {
                let failure = tlslab_system::socket::failure(&e, connection.step());
                self.not_begun(index, failure, now);
            }
        }
    }

    /// Says how many bytes of a socket wake this worker.
    fn wake_at(&mut self, socket: &mut Socket, bytes: u32) {
        if socket.wake_at(bytes).is_err() {
            self.low_water.give_up();
        }
    }

    /// Notes a connection that failed before it could wait for its server.
    fn not_begun(&mut self, index: usize, failure: Failure, now: Nanos) {
        let outcome = Outcome::Failed(failure);
        if self.phase == Phase::Measure {
            let took = self.clock.now().saturating_sub(now);
            self.recorder.flight.troubled += u128::from(took);
            self.recorder.troubled(outcome, None);
            if self.recorder.trace.is_wanted() {
                self.recorder.trace.keep(TracedConnection::not_begun(now, outcome));
            }
        }
        self.ended(index, outcome, None);
    }

    /// Has the poller report a socket, unless it already does.
    fn register(
        &self,
        socket: &Socket,
        slot: usize,
        writable: bool,
        known: bool,
    ) -> io::Result<()> {
        match (known, writable) {
            (false, _) => self.poller.add(socket, slot, writable),
            (true, true) => self.poller.change(socket, slot, true),
            (true, false) => Ok(()),
        }
    }

    /// Whether a slot may have a connection begun in it now.
    fn may_start(&mut self, index: usize) -> bool {
        if self.starves() {
            return false;
        }
        let level = self.share.levels[self.recorder.step().min(self.share.levels.len() - 1)];
        match self.phase {
            Phase::Warmup => index < level,
            Phase::Measure => {
                let attempts = || self.recorder.attempts();
                index < level && self.share.count.is_none_or(|count| attempts() < count)
            }
            Phase::Drain | Phase::Done => false,
        }
    }
}

/// A session for a connection of this kind. With nothing left to resume it makes a full handshake,
/// which then is not the one that was asked for: the accounting says so, and what the server gives there is
/// resumed next.
fn open<B: Backend>(backend: &mut B, wanted: HandshakeKind) -> Result<B::Session, Failure> {
    let resumed = match wanted {
        HandshakeKind::Full => None,
        HandshakeKind::Resumed => backend.resume()?,
    };
    resumed.map_or_else(|| backend.open(), Ok)
}

#[cfg(test)]
mod tests;
