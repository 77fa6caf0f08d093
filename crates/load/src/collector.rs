//! Full handshakes that collect sessions to resume and are not counted: before a load that resumes
//! ([`crate::prime`]), and during the load if the server issues no sessions on resumed connections.

use std::io;

use crate::connection::{Connection, Context, Script, Start};
use crate::event_loop::{Entry, EventLoop, Policy};
use tlslab_system::clock::{Clock, MILLISECOND, MonotonicClock, Nanos};
use tlslab_system::poller::Poller;
use tlslab_tls::{Backend, Session};
use tlslab_wire::outcome::Outcome;

/// Connections in flight at once: enough to hide a round trip, too few to load the server.
pub const AT_ONCE: usize = 16;

/// Consecutive connections without a new session (failed or completed) after which collecting
/// stops.
const FRUITLESS: u32 = 32;

/// The interval of deadline checks.
pub const LOOK: Nanos = 20 * MILLISECOND;

/// The pause after a failed connection, which keeps a dead server from being flooded.
const REST: Nanos = 10 * MILLISECOND;

/// Makes connections only to collect their sessions.
pub struct Collector<S> {
    events: EventLoop<S, MonotonicClock>,
    collection: Collection,
}

/// The counts and limits of a collection.
struct Collection {
    script: Script,
    in_flight: usize,
    /// Connections started, and connections completed.
    started: u64,
    completed: u64,
    /// Consecutive connections that failed or gave no session, and the outcome of the last of them.
    fruitless: u32,
    failed: Option<Outcome>,
    /// The earliest start of the next connection.
    rests_until: Nanos,
}

impl<S: Session> Collector<S> {
    /// A collector whose connections follow the load's script with one request each, at most N at
    /// once.
    pub fn new(script: &Script, at_once: usize) -> io::Result<Self> {
        let script = Script { requests: Some(1), early_data: false, ..script.clone() };
        Ok(Self {
            events: EventLoop::new(at_once, LOOK, MonotonicClock)?,
            collection: Collection {
                script,
                in_flight: 0,
                started: 0,
                completed: 0,
                fruitless: 0,
                failed: None,
                rests_until: 0,
            },
        })
    }

    /// The poller of the collector, for a worker that waits for its own sockets as well.
    pub fn poller(&self) -> &Poller {
        self.events.poller()
    }

    /// Connections started so far.
    pub fn started(&self) -> u64 {
        self.collection.started
    }

    /// Connections completed so far.
    pub fn completed(&self) -> u64 {
        self.collection.completed
    }

    /// Connections in flight.
    pub fn in_flight(&self) -> usize {
        self.collection.in_flight
    }

    /// The outcome of the last connection, if too many consecutive connections gave no session.
    pub fn is_vain(&self) -> Option<Outcome> {
        self.collection.failed.filter(|_| self.collection.fruitless > FRUITLESS)
    }

    /// Starts connections in free slots, as many as needed for the missing sessions at N sessions
    /// each.
    pub fn fill<B: Backend<Session = S>>(&mut self, backend: &mut B, missing: usize, each: usize) {
        let Self { events, collection } = self;
        let missing = missing.div_ceil(each.max(1)).saturating_sub(collection.in_flight);
        if missing == 0 || collection.in_flight == events.slots() {
            return;
        }
        if events.now() < collection.rests_until {
            return;
        }
        let free = (0..events.slots()).filter(|slot| events.is_free(*slot));
        for slot in free.take(missing).collect::<Vec<_>>() {
            collection.started += 1;
            collection.in_flight += 1;
            let (script, start) = (&collection.script, Start::full(collection.started));
            let started = Connection::start(|| backend.open(), script, events.clock(), start)
                .map(Box::new)
                .and_then(|started| events.attach(collection, slot, started, Entry::default()));
            if let Err(failure) = started {
                collection.note(Outcome::Failed(failure), 0, events.now());
            }
        }
    }

    /// Waits for a socket, for [`LOOK`] at most, and serves those that are ready.
    pub fn wait(&mut self) -> io::Result<()> {
        let until = self.events.now() + LOOK;
        self.events.turn(&mut self.collection, until)
    }

    /// Serves the sockets that are ready, without waiting.
    pub fn look(&mut self) -> io::Result<()> {
        self.events.look()?;
        self.events.serve_ready(&mut self.collection);
        let now = self.events.now();
        self.events.sweep_if_due(&mut self.collection, now);
        Ok(())
    }
}

impl Collection {
    /// Notes the outcome of a connection that received N sessions itself. The pool's size is no
    /// measure: in TLS 1.2 a session arrives at the end of the handshake, long before the
    /// connection ends.
    fn note(&mut self, outcome: Outcome, gained: u32, now: Nanos) {
        self.in_flight -= 1;
        match outcome {
            Outcome::Completed => self.completed += 1,
            _ => self.rests_until = now + REST,
        }
        if outcome == Outcome::Completed && gained > 0 {
            self.fruitless = 0;
        } else {
            self.fruitless += 1;
            self.failed = Some(outcome);
        }
    }
}

impl<S: Session, C: Clock> Policy<S, C> for Collection {
    fn context<'w>(&'w mut self, clock: &'w C, plaintext: &'w mut [u8]) -> Context<'w, C> {
        Context::uncounted(&self.script, clock, plaintext)
    }

    fn ended(
        &mut self,
        events: &mut EventLoop<S, C>,
        _: usize,
        connection: Box<Connection<S>>,
        outcome: Outcome,
    ) {
        self.note(outcome, connection.session().gained(), events.now());
    }
}
