//! Makes full handshakes, uncounted, for the sessions that come with them: before a load that resumes
//! ([`crate::prime`]), and beside it where the server gives none on resumed connections.

use crate::connection::{Connection, Context, Script, Start, Turn};
use tlslab_system::clock::{Clock, MILLISECOND, MonotonicClock, Nanos};
use tlslab_system::poller::{Poller, Ready};
use tlslab_tls::{Backend, Session};
use tlslab_wire::outcome::Outcome;

/// Connections under way at once: enough to hide a round trip, too few to be a load.
pub const AT_ONCE: usize = 16;

/// Connections in a row that may fail, or bring nothing to resume by, before collecting is given up.
const FRUITLESS: u32 = 32;

/// How often deadlines are looked at.
pub const LOOK: Nanos = 20 * MILLISECOND;

/// How long nothing is begun after a connection that failed, so that a dead server is not hammered.
const REST: Nanos = 10 * MILLISECOND;

/// Room for decrypted bytes: a whole record's worth (RFC 8446, section 5.1).
const PLAINTEXT: usize = 16 * 1024;

/// A place for a connection.
type Slot<S> = Option<Box<Connection<S>>>;

/// Connections that are made for their sessions alone.
pub struct Collector<S> {
    script: Script,
    slots: Vec<Slot<S>>,
    in_flight: usize,
    poller: Poller,
    ready: Vec<Ready>,
    plaintext: Vec<u8>,
    /// Connections begun, and those of them that did as asked.
    started: u64,
    completed: u64,
    /// Connections in a row that failed or brought nothing, and how the last of them ended.
    fruitless: u32,
    failed: Option<Outcome>,
    /// When the next connection may be begun.
    rests_until: Nanos,
    next_sweep: Nanos,
}

impl<S: Session> Collector<S> {
    /// One that does as the load's connections do, with one request each and N of them at once.
    pub fn new(script: &Script, at_once: usize) -> std::io::Result<Self> {
        Ok(Self {
            script: Script { requests: Some(1), early_data: false, ..script.clone() },
            slots: (0..at_once).map(|_| None).collect(),
            in_flight: 0,
            poller: Poller::new()?,
            ready: Vec::new(),
            plaintext: vec![0; PLAINTEXT],
            started: 0,
            completed: 0,
            fruitless: 0,
            failed: None,
            rests_until: 0,
            next_sweep: 0,
        })
    }

    /// Its poller, for a worker that waits for its own sockets as well.
    pub fn poller(&self) -> &Poller {
        &self.poller
    }

    /// Connections begun so far.
    pub fn started(&self) -> u64 {
        self.started
    }

    /// Connections that did as asked so far.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// Connections under way.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// How the last connection ended, where too many in a row brought nothing.
    pub fn is_vain(&self) -> Option<Outcome> {
        self.failed.filter(|_| self.fruitless > FRUITLESS)
    }

    /// Starts as many connections as there is room for and sessions are missing, of which each
    /// connection brings N.
    pub fn fill<B: Backend<Session = S>>(
        &mut self,
        backend: &mut B,
        missing: usize,
        each: usize,
    ) -> std::io::Result<()> {
        let missing = missing.div_ceil(each.max(1)).saturating_sub(self.in_flight);
        if missing == 0 || self.in_flight == self.slots.len() {
            return Ok(());
        }
        if MonotonicClock.now() < self.rests_until {
            return Ok(());
        }
        let free = (0..self.slots.len()).filter(|index| self.slots[*index].is_none());
        for index in free.take(missing).collect::<Vec<_>>() {
            self.started += 1;
            let begin = Start::full(self.started);
            match Connection::start(|| backend.open(), &self.script, &MonotonicClock, begin) {
                Ok(connection) => {
                    self.poller.add(&connection.socket, index, true)?;
                    self.slots[index] = Some(Box::new(connection));
                    self.in_flight += 1;
                }
                Err(failure) => self.ended(Outcome::Failed(failure), 0),
            }
        }
        Ok(())
    }

    /// Waits for a socket, for [`LOOK`] at most, and serves those that are ready.
    pub fn wait(&mut self) -> std::io::Result<()> {
        let mut ready = std::mem::take(&mut self.ready);
        self.poller.wait(MonotonicClock.now() + LOOK, &mut ready)?;
        self.turn(ready)
    }

    /// Serves the sockets that are ready now.
    pub fn look(&mut self) -> std::io::Result<()> {
        let mut ready = std::mem::take(&mut self.ready);
        self.poller.look(&mut ready)?;
        self.turn(ready)
    }

    fn turn(&mut self, ready: Vec<Ready>) -> std::io::Result<()> {
        for event in &ready {
            let Some(mut connection) = self.slots[event.slot].take() else { continue };
            if event.readable || event.ended {
                connection.socket.became_readable(event.ended);
            }
            match connection.advance(&mut self.context()) {
                Turn::Ended(outcome) => {
                    self.in_flight -= 1;
                    self.ended(outcome, connection.session().gained());
                }
                Turn::Write => {
                    self.poller.change(&connection.socket, event.slot, true)?;
                    self.slots[event.slot] = Some(connection);
                }
                Turn::Read | Turn::Think(_) => self.slots[event.slot] = Some(connection),
            }
        }
        self.ready = ready;
        let now = MonotonicClock.now();
        if now >= self.next_sweep {
            self.next_sweep = now + LOOK;
            self.expire(now);
        }
        Ok(())
    }

    fn expire(&mut self, now: Nanos) {
        for index in 0..self.slots.len() {
            let Some(mut connection) = self.slots[index].take() else { continue };
            match connection.expire(now, &mut self.context()) {
                Some(Turn::Ended(outcome)) => {
                    self.in_flight -= 1;
                    self.ended(outcome, connection.session().gained());
                }
                _ => self.slots[index] = Some(connection),
            }
        }
    }

    /// Notes how a connection ended that has brought N sessions. What counts is what it brought
    /// itself: in TLS 1.2 sessions come at the end of the handshake, long before the connection's own.
    fn ended(&mut self, outcome: Outcome, gained: u32) {
        match outcome {
            Outcome::Completed => self.completed += 1,
            _ => self.rests_until = MonotonicClock.now() + REST,
        }
        if outcome == Outcome::Completed && gained > 0 {
            self.fruitless = 0;
        } else {
            self.fruitless += 1;
            self.failed = Some(outcome);
        }
    }

    fn context(&mut self) -> Context<'_, MonotonicClock> {
        Context {
            script: &self.script,
            clock: &MonotonicClock,
            recorder: None,
            plaintext: &mut self.plaintext,
            urgent_at: Nanos::MAX,
            draining: false,
        }
    }
}
