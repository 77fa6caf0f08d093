//! The load of one worker: starts connections in its slots, and records how they end.

use std::io;

use super::in_flight::InFlight;
use super::open_loop::{OpenLoop, Patience};
use super::recv_low_water::RecvLowWater;
use super::sessions::Sessions;
use super::thinking::Thinking;
use super::timekeeper::Timekeeper;
use super::{Report, SWEEP, Share};
use crate::connection::{Connection, Context, Start, Turn};
use crate::event_loop::{Care, Entry, EventLoop, Policy};
use crate::phase::Phase;
use crate::recorder::{Attempt, LONG_WAIT, Milestones, Pages, Recorder};
use crate::trace::{Trace, TracedConnection};
use tlslab_contract::record::WorkerUsage;
use tlslab_system::clock::{Clock, MILLISECOND, Nanos};
use tlslab_system::poller::Poller;
use tlslab_system::socket::Socket;
use tlslab_tls::Backend;
use tlslab_wire::outcome::{Failure, Outcome};

/// Pause of a closed loop's slot after a failed connection, which keeps a dead server from being
/// flooded. In an open loop the rate limits the connections.
const REST: Nanos = 10 * MILLISECOND;

/// The event loop of a back end's connections.
type Events<B, C> = EventLoop<<B as Backend>::Session, C>;

/// A worker's load. In a closed loop each slot gets a new connection as soon as its last one has
/// ended; in an open loop it waits for the next arrival.
pub struct Load<'r, B: Backend> {
    share: Share<'r>,
    sessions: Sessions<B>,
    open_loop: Option<OpenLoop<B::Session>>,
    /// In a closed loop: the instant until which each slot pauses after a failure.
    resting: Vec<Option<Nanos>>,
    thinking: Thinking,
    low_water: RecvLowWater,
    in_flight: InFlight,
    started: u64,
    time: Timekeeper,
    recorder: Recorder,
    usage: WorkerUsage,
}

impl<'r, B: Backend> Load<'r, B> {
    /// A load of N slots, before its start; this poller waits for the sockets.
    pub fn new(
        mut share: Share<'r>,
        backend: B,
        slots: usize,
        poller: &Poller,
    ) -> io::Result<Self> {
        let patience = share.patience;
        let open_loop =
            share.arrivals.take().map(|arrivals| OpenLoop::new(arrivals, patience, slots));
        let mut recorder = Recorder::new(share.schedule.steps, open_loop.is_some());
        recorder.trace = Trace::new(share.trace);
        recorder.pages = Pages::new(share.script.messages.pages());
        let usage = WorkerUsage { processor: share.processor, ..WorkerUsage::default() };
        Ok(Self {
            sessions: Sessions::new(backend, &share, slots, poller)?,
            resting: if open_loop.is_some() { Vec::new() } else { vec![None; slots] },
            open_loop,
            thinking: Thinking::new(slots),
            low_water: RecvLowWater::new(share.script, share.mix.is_full()),
            in_flight: InFlight::default(),
            started: share.primed,
            time: Timekeeper::new(share.schedule, share.status),
            recorder,
            usage,
            share,
        })
    }

    /// The worker's report.
    pub fn into_report(self) -> Report {
        let measured_from = self.time.measured_from();
        Report { recorder: self.recorder, usage: self.usage, measured_from }
    }

    /// Applies the changes of phase, step and slice and the deadline check that are due.
    pub fn keep_time<C: Clock>(&mut self, events: &mut Events<B, C>) -> Phase {
        let (now, status) = (events.now(), self.share.status);
        let phase = self.time.follow(now, status, self.share.count, &mut self.recorder);
        if phase >= Phase::Measure && self.time.phase() < Phase::Measure {
            self.start_measurement(now, events);
        }
        if phase >= Phase::Drain && self.time.phase() < Phase::Drain {
            self.end_measurement(now, events);
        }
        if self.time.keep_step(now, &mut self.recorder) {
            self.fill(events);
        }
        if events.sweep_if_due(self, now) {
            self.fill_rested(now, events);
            if self.time.phase() == Phase::Warmup {
                let open = events.busy().filter(|connection| connection.is_open());
                status.report_open(open.count() as u64);
            }
        }
        if status.is_asked() {
            let waiting = self.open_loop.as_ref().map_or(0, OpenLoop::waiting);
            let in_flight = match self.time.phase() {
                // Connections that end during the drain are not counted as ended.
                Phase::Drain | Phase::Done => self.recorder.in_flight_at_stop,
                Phase::Warmup | Phase::Measure => self.in_flight.count() as u64,
            };
            self.time.report(now, status, &mut self.recorder, [in_flight, waiting]);
        }
        self.time.enter(phase, self.in_flight.count())
    }

    fn start_measurement<C: Clock>(&mut self, now: Nanos, events: &Events<B, C>) {
        self.recorder.start_measurement(self.in_flight.count() as u64);
        self.lose_waiting(now);
        if let Some(open_loop) = &mut self.open_loop {
            let (at, attempts) = (self.time.schedule().measure, self.recorder.attempts());
            self.recorder.due(open_loop.start_measurement(at, attempts, self.share.count));
        }
        self.in_flight.restart(now);
        self.recorder.flight.before = events.flown(now);
        self.time.start_measurement(now);
    }

    fn end_measurement<C: Clock>(&mut self, now: Nanos, events: &Events<B, C>) {
        self.lose_waiting(now);
        if let Some(open_loop) = &mut self.open_loop {
            let schedule = self.time.schedule();
            let end = schedule.drain.unwrap_or(now);
            open_loop.end_measurement(schedule.measure, end, &mut self.recorder);
        }
        let recorder = &mut self.recorder;
        self.time.end_measurement(now, recorder, &mut self.usage);
        recorder.in_flight_at_stop = self.in_flight.count() as u64;
        recorder.flight.within = self.in_flight.spent(now);
        recorder.flight.unfinished = events.flown(now);
        let waits = events.busy().filter_map(Connection::waits_since);
        let waits = waits.map(|since| now.saturating_sub(since));
        recorder.waits_at_stop.extend(waits.filter(|wait| *wait >= LONG_WAIT));
        let slow = events.busy().filter(|connection| connection.connects_slowly(now));
        recorder.slow_connects += slow.count() as u64;
        if recorder.trace.is_wanted() {
            events.busy().for_each(|busy| recorder.trace.keep(busy.traced(0, None)));
        }
    }

    /// The next end of a phase, a step or a think time.
    pub fn next_change(&self, now: Nanos) -> Nanos {
        let change = self.time.schedule().next_change(now).unwrap_or(Nanos::MAX);
        change.min(self.thinking.next_end())
    }

    /// The instant to wake at for the next arrival of an open loop.
    pub fn next_wakeup(&self) -> Nanos {
        let phase = self.time.phase();
        self.open_loop.as_ref().map_or(Nanos::MAX, |open_loop| open_loop.next_wakeup(phase))
    }

    /// Records how late the timer woke the worker for an arrival.
    pub fn woke_late_by(&mut self, late: Nanos) {
        if let Some(open_loop) = &mut self.open_loop {
            open_loop.woke_late_by(late);
        }
    }

    /// Continues connections whose think time is over.
    pub fn wake<C: Clock>(&mut self, events: &mut Events<B, C>) {
        while let Some(slot) = self.thinking.take_over(|| events.now()) {
            events.go_on(self, slot);
        }
    }

    /// Open loop: creates the session of the next connection before its arrival, if possible.
    pub fn prepare<C: Clock>(&mut self, clock: &C) {
        if let Some(open_loop) = &mut self.open_loop
            && let Some(backend) = self.sessions.ahead()
        {
            open_loop.prepare(backend, self.time.phase(), clock);
        }
    }

    /// Collects sessions to resume until there are enough.
    pub fn collect<C: Clock>(&mut self, events: &mut Events<B, C>) -> io::Result<()> {
        let collected = self.sessions.collect(self.time.phase() >= Phase::Drain)?;
        self.started += collected.started;
        if self.time.phase() == Phase::Measure {
            self.recorder.refilled(collected.completed);
        }
        if collected.feeds {
            self.fill(events);
        }
        Ok(())
    }

    /// Closed loop: starts a connection in each slot that is due for one.
    pub fn fill<C: Clock>(&mut self, events: &mut Events<B, C>) {
        for slot in 0..self.resting.len() {
            if self.resting[slot].is_none() && events.is_free(slot) {
                self.refill(slot, None, events);
            }
        }
    }

    /// Closed loop: starts a connection in each slot whose pause is over.
    fn fill_rested<C: Clock>(&mut self, now: Nanos, events: &mut Events<B, C>) {
        for slot in 0..self.resting.len() {
            if self.resting[slot].is_some_and(|until| now >= until) {
                self.resting[slot] = None;
                self.refill(slot, None, events);
            }
        }
    }

    /// Closed loop: starts a connection in a free slot, if the level allows.
    fn refill<C: Clock>(&mut self, slot: usize, socket: Option<Socket>, events: &mut Events<B, C>) {
        if self.may_start(slot) {
            self.start(slot, Attempt::NONE, socket, events);
        }
    }

    /// Open loop: starts the due connections in order, as long as slots are free.
    pub fn admit<C: Clock>(&mut self, events: &mut Events<B, C>) {
        let Some(open_loop) = &mut self.open_loop else { return };
        let Some(end) = self.time.arrivals_end() else { return };
        let now = events.now();
        if !open_loop.is_due(now) {
            return;
        }
        let due = open_loop.look(end.min(now + 1));
        self.lose_waiting(now);
        while let Some((slot, attempt)) = self.next_due() {
            self.start(slot, attempt, None, events);
        }
        if self.time.phase() == Phase::Measure
            && let Some(open_loop) = &mut self.open_loop
        {
            self.recorder.due(due);
            self.recorder.arrivals.blocked += open_loop.newly_waiting();
        }
    }

    /// Open loop: removes the waiting arrivals whose patience is over.
    fn lose_waiting(&mut self, now: Nanos) {
        let Some(open_loop) = &mut self.open_loop else { return };
        let lost = open_loop.lose_waiting(now);
        if let Some(Patience { each, .. }) = self.share.patience
            && self.time.phase() == Phase::Measure
        {
            self.recorder.left_waiting(lost, each, !self.share.script.handshake_only);
        }
    }

    /// Takes the next due arrival and a slot for it.
    fn next_due(&mut self) -> Option<(usize, Attempt)> {
        let slot = self.open_loop.as_mut()?.take_slot()?;
        let may_start = self.may_start(slot);
        let open_loop = self.open_loop.as_mut()?;
        let attempt = if may_start { open_loop.take_arrival() } else { None };
        if attempt.is_none() {
            open_loop.free(slot);
        }
        Some((slot, attempt?))
    }

    /// True if a connection may start in this slot now.
    fn may_start(&mut self, slot: usize) -> bool {
        if self.sessions.starves() {
            return false;
        }
        let Self { share, recorder, .. } = self;
        let level = share.levels[recorder.step().min(share.levels.len() - 1)];
        match self.time.phase() {
            Phase::Warmup => slot < level,
            Phase::Measure => {
                slot < level && share.count.is_none_or(|count| recorder.attempts() < count)
            }
            Phase::Drain | Phase::Done => false,
        }
    }

    /// Starts a connection in a free slot. In an open loop it is an attempt of a user.
    fn start<C: Clock>(
        &mut self,
        slot: usize,
        attempt: Attempt,
        socket: Option<Socket>,
        events: &mut Events<B, C>,
    ) {
        let now = events.now();
        if self.time.phase() == Phase::Measure {
            let arrives = self.open_loop.is_some() && attempt.retry == 0;
            self.recorder.started(arrives.then(|| now.saturating_sub(attempt.arrived)));
        }
        let number = self.started;
        self.started += 1;
        self.share.status.report_started(self.started);
        self.in_flight.start(now);
        let is_known = socket.is_some();
        let wanted = self.sessions.next_kind();
        let ahead = self.open_loop.as_mut().and_then(OpenLoop::take_session);
        let (sessions, script) = (&mut self.sessions, self.share.script);
        let session = || ahead.map_or_else(|| sessions.open(wanted), Ok);
        let start = Start { number, wanted, attempt, socket };
        let mut connection = match Connection::start(session, script, events.clock(), start) {
            Ok(connection) => Box::new(connection),
            Err(failure) => return self.not_begun(slot, attempt, failure, now, events),
        };
        self.low_water.set(&mut connection.link.socket);
        // If another arrival is already due, its connect precedes this connection's ClientHello.
        let waits = self.open_loop.is_some() && self.next_start() <= events.now();
        if let Err(failure) = events.attach(self, slot, connection, Entry { is_known, waits }) {
            self.not_begun(slot, attempt, failure, now, events);
        }
    }

    /// The start of the next possible connection of an open loop.
    #[inline]
    fn next_start(&self) -> Nanos {
        match &self.open_loop {
            Some(open_loop) => open_loop.next_start(self.time.phase()),
            None => Nanos::MAX,
        }
    }

    /// Records a connection that failed before its socket could wait for the server.
    fn not_begun<C: Clock>(
        &mut self,
        slot: usize,
        attempt: Attempt,
        failure: Failure,
        now: Nanos,
        events: &mut Events<B, C>,
    ) {
        let outcome = Outcome::Failed(failure);
        if self.time.phase() == Phase::Measure {
            let took = events.now().saturating_sub(now);
            self.recorder.flight.troubled += u128::from(took);
            self.recorder.troubled(outcome, None);
            if self.recorder.trace.is_wanted() {
                self.recorder.trace.keep(TracedConnection::not_begun(now, outcome));
            }
        }
        let at = Milestones { intended: attempt.arrived, ..Milestones::default() };
        self.free(slot, attempt, (outcome, at), None, events);
    }

    /// Ends a connection. In a closed loop its slot gets a new connection, after a pause if it
    /// failed. The socket of a completed connection is reused by the next one.
    fn free<C: Clock>(
        &mut self,
        slot: usize,
        attempt: Attempt,
        (outcome, at): (Outcome, Milestones),
        socket: Option<Socket>,
        events: &mut Events<B, C>,
    ) {
        let now = events.now();
        self.in_flight.end(now);
        if self.share.patience.is_some() {
            self.come_back_or_leave(slot, attempt, (outcome, at), events);
        } else if let Some(open_loop) = &mut self.open_loop {
            open_loop.free(slot);
        } else if outcome == Outcome::Completed {
            self.refill(slot, socket, events);
        } else {
            self.resting[slot] = Some(now + REST);
        }
    }
}

impl<B: Backend> Load<'_, B> {
    /// With patience: a user who comes back keeps the slot, so that users who return never are more
    /// than slots, and waiting arrivals do not overtake them. Nobody comes back during the drain.
    fn come_back_or_leave<C: Clock>(
        &mut self,
        slot: usize,
        attempt: Attempt,
        (outcome, at): (Outcome, Milestones),
        events: &mut Events<B, C>,
    ) {
        let (Some(open_loop), Some(patience)) = (&mut self.open_loop, self.share.patience) else {
            return;
        };
        let phase = self.time.phase();
        let next = patience.next(attempt, outcome, events.now()).filter(|_| phase < Phase::Drain);
        if next.is_none() {
            open_loop.free(slot);
        }
        if phase == Phase::Measure {
            match next {
                Some(_) => self.recorder.came_back(),
                None => {
                    let requests = !self.share.script.handshake_only;
                    self.recorder.user_left(attempt, outcome, &at, requests);
                }
            }
        }
        if let Some(next) = next {
            self.start(slot, next, None, events);
        }
    }
}

impl<B: Backend, C: Clock> Policy<B::Session, C> for Load<'_, B> {
    fn context<'w>(&'w mut self, clock: &'w C, plaintext: &'w mut [u8]) -> Context<'w, C> {
        let urgent_at = self.next_start();
        Context {
            script: self.share.script,
            clock,
            recorder: (self.time.phase() == Phase::Measure).then_some(&mut self.recorder),
            plaintext,
            urgent_at,
            draining: self.time.phase() >= Phase::Drain,
        }
    }

    /// A due arrival has priority over reports.
    fn before(&mut self, events: &mut Events<B, C>) {
        self.admit(events);
    }

    fn waits(&mut self, slot: usize, connection: &mut Connection<B::Session>, turn: Turn) -> Care {
        match turn {
            Turn::Read if self.low_water.waits(connection.wait(), connection.flight()) => {
                self.low_water.unset(&mut connection.link.socket);
            }
            Turn::Think(until) => self.thinking.add(slot, until),
            Turn::Read | Turn::Write | Turn::Ended(_) => {}
        }
        Care::Busy
    }

    /// Makes bytes that have arrived wake the worker, even if fewer than expected.
    fn swept(&mut self, connection: &mut Connection<B::Session>, now: Nanos) {
        if now >= connection.started() + SWEEP {
            self.low_water.unset(&mut connection.link.socket);
        }
    }

    fn ended(
        &mut self,
        events: &mut Events<B, C>,
        slot: usize,
        connection: Box<Connection<B::Session>>,
        outcome: Outcome,
    ) {
        if outcome == Outcome::Completed {
            self.low_water.completed(connection.since_handshake());
        }
        let (attempt, at) = (connection.attempt(), connection.link.at);
        let socket = Some(connection.link.socket).filter(Socket::resets);
        self.free(slot, attempt, (outcome, at), socket, events);
    }
}
