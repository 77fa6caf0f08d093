//! One worker: a thread with one event loop and its share of the connections. Workers share no data
//! during a run.

mod in_flight;
mod load;
mod open_loop;
mod recv_low_water;
mod refill;
mod sessions;
mod status;
mod thinking;
mod timekeeper;
mod wakeup_lead;

use std::io;

use self::load::Load;
pub use self::open_loop::Patience;
pub use self::refill::Refill;
pub use self::status::WorkerStatus;
use crate::connection::Script;
use crate::event_loop::EventLoop;
use crate::mix::Mix;
use crate::pacing::Arrivals;
use crate::phase::{Phase, Schedule};
use crate::recorder::Recorder;
use tlslab_contract::record::WorkerUsage;
use tlslab_system::clock::{Clock, MILLISECOND, Nanos};
use tlslab_tls::Backend;

/// The interval of deadline checks: far below the second by which they may be late.
const SWEEP: Nanos = 50 * MILLISECOND;

/// A worker's share of a run.
#[derive(Debug)]
pub struct Share<'r> {
    /// The steps of every connection.
    pub script: &'r Script,
    /// Connections in flight in each step of the measurement; in an open loop, the limit.
    pub levels: Vec<usize>,
    /// The arrivals of an open loop.
    pub arrivals: Option<Arrivals>,
    /// In an open loop: the patience of its users, if it is limited.
    pub patience: Option<Patience>,
    /// Attempts of the measurement, in a run that ends by count.
    pub count: Option<u64>,
    /// The kinds of handshake of the connections, in order.
    pub mix: Mix,
    /// Connections of priming, before the first phase.
    pub primed: u64,
    /// How the pool is kept full if resumed connections receive no sessions.
    pub refill: Option<Refill>,
    /// The instants at which the phases begin.
    pub schedule: Schedule,
    /// Number of connections to trace.
    pub trace: usize,
    /// The processor that this worker is pinned to.
    pub processor: Option<usize>,
    /// Where the worker reports its progress.
    pub status: &'r WorkerStatus,
}

/// A worker's report after the run.
#[derive(Debug)]
pub struct Report {
    /// The counts and times.
    pub recorder: Recorder,
    /// Processor time and length of the measurement.
    pub usage: WorkerUsage,
    /// Start of the measurement; 0 if there was none.
    pub measured_from: Nanos,
}

/// A running worker.
pub struct Worker<'r, B: Backend, C> {
    events: EventLoop<B::Session, C>,
    load: Load<'r, B>,
}

impl<'r, B: Backend, C: Clock> Worker<'r, B, C> {
    /// A worker before its start.
    pub fn new(share: Share<'r>, backend: B, clock: C) -> io::Result<Self> {
        let quota = share.count.map_or(usize::MAX, |count| count.try_into().unwrap_or(usize::MAX));
        let slots = share.levels.iter().copied().max().unwrap_or(0).min(quota);
        let sweep = share.patience.map_or(SWEEP, |patience| SWEEP.min(patience.check_every()));
        let events = EventLoop::new(slots, sweep, clock)?;
        let load = Load::new(share, backend, slots, events.poller())?;
        Ok(Self { events, load })
    }

    /// Runs to the end of the schedule.
    pub fn run(mut self) -> io::Result<Report> {
        self.load.keep_time(&mut self.events);
        self.load.fill(&mut self.events);
        while self.load.keep_time(&mut self.events) != Phase::Done {
            self.load.collect(&mut self.events)?;
            self.load.admit(&mut self.events);
            self.wait()?;
            self.load.wake(&mut self.events);
            self.events.serve_ready(&mut self.load);
            self.load.prepare(self.events.clock());
        }
        Ok(self.load.into_report())
    }

    /// Waits for sockets, or until something is due. Before an arrival it wakes early and polls the
    /// sockets without waiting until the arrival is due.
    fn wait(&mut self) -> io::Result<()> {
        let now = self.events.now();
        let early = self.load.next_wakeup();
        if early <= now {
            return self.events.look();
        }
        let alarm = self.load.next_change(now).min(self.events.next_sweep()).min(early);
        let ready = self.events.wait(alarm)?;
        if alarm == early && ready == 0 {
            self.load.woke_late_by(self.events.now().saturating_sub(alarm));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
