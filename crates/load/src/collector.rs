//! Makes full handshakes, uncounted, to collect sessions to resume: before a load that resumes
//! ([`crate::prime`]), and during it if the server gives no sessions on resumed connections.

use std::io;

use crate::connection::{Connection, Context, Script, Start};
use crate::event_loop::{Entry, EventLoop, Policy};
use tlslab_system::clock::{Clock, MILLISECOND, MonotonicClock, Nanos};
use tlslab_system::poller::Poller;
use tlslab_tls::{Backend, Session};
use tlslab_wire::outcome::Outcome;

/// Connections under way at once: enough to hide a round trip, too few to be a load.
pub const AT_ONCE: usize = 16;

/// Connections in a row that may fail, or bring nothing to resume by, before collecting is given up.
const FRUITLESS: u32 = 32;

/// How often deadlines are checked.
pub const LOOK: Nanos = 20 * MILLISECOND;

/// How long nothing is begun after a connection that failed, so that a dead server is not hammered.
const REST: Nanos = 10 * MILLISECOND;

/// Connections that are made for their sessions alone.
pub struct Collector<S> {
    events: EventLoop<S, MonotonicClock>,
    collection: Collection,
}

/// The state of the connections that collect sessions.
struct Collection {
    script: Script,
    in_flight: usize,
    /// Connections begun, and those of them that did as asked.
    started: u64,
    completed: u64,
    /// Connections in a row that failed or brought nothing, and how the last of them ended.
    fruitless: u32,
    failed: Option<Outcome>,
    /// When the next connection may be begun.
    rests_until: Nanos,
}

impl<S: Session> Collector<S> {
    /// A collector of connections like the load's, with one request each and N of them at once.
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

    /// Its poller, for a worker that waits for its own sockets as well.
    pub fn poller(&self) -> &Poller {
        self.events.poller()
    }

    /// Connections begun so far.
    pub fn started(&self) -> u64 {
        self.collection.started
    }

    /// Connections completed so far.
    pub fn completed(&self) -> u64 {
        self.collection.completed
    }

    /// Connections under way.
    pub fn in_flight(&self) -> usize {
        self.collection.in_flight
    }

    /// How the last connection ended, where too many in a row brought nothing.
    pub fn is_vain(&self) -> Option<Outcome> {
        self.collection.failed.filter(|_| self.collection.fruitless > FRUITLESS)
    }

    /// Starts connections in free slots, as many as the missing sessions need if each brings N.
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

    /// Serves the sockets that are ready now.
    pub fn look(&mut self) -> io::Result<()> {
        self.events.look()?;
        self.events.serve_ready(&mut self.collection);
        let now = self.events.now();
        self.events.sweep_if_due(&mut self.collection, now);
        Ok(())
    }
}

impl Collection {
    /// Notes how a connection ended that has brought N sessions. What counts is what it brought
    /// itself: in TLS 1.2 sessions come at the end of the handshake, long before the connection's own.
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
