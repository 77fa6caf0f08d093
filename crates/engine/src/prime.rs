//! The priming before a load that resumes: full handshakes, uncounted, that fill a worker's pool.
//!
//! It comes before the warm-up, so that from the first connection of the load on there is a session
//! for each that is to resume. Each worker fills a pool of its own.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::clock::{Clock, MILLISECOND, MonotonicClock, Nanos};
use crate::connection::{Begin, Connection, Context, Script, Turn};
use crate::error::RunError;
use crate::guard::{GuardError, Permit};
use crate::outcome::Outcome;
use crate::poller::{Poller, Ready};
use crate::tls::{Backend, Session};

/// Connections under way at once: enough to hide a round trip, too few to be a load.
const AT_ONCE: usize = 16;

/// Connections in a row that may fail, or bring nothing to resume by, before priming is given up.
///
/// In TLS 1.2 a session is there when the handshake is done, and its connection completes later: as many
/// connections in a row as are under way at once may complete without bringing anything new.
const FRUITLESS: usize = 2 * AT_ONCE;

/// How often deadlines and the interrupt are looked at.
const LOOK: Nanos = 20 * MILLISECOND;

/// Room for decrypted bytes: a whole record's worth (RFC 8446, section 5.1).
const PLAINTEXT: usize = 16 * 1024;

/// What a worker wants to be primed for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'r> {
    /// Its connections in flight at once.
    pub connections: usize,
    /// Workers that are primed at the same time.
    pub workers: u32,
    /// What the target takes.
    pub permit: &'r Permit,
    /// Ends the priming early.
    pub interrupt: &'r AtomicBool,
}

impl Wanted<'_> {
    /// As many as can be taken at once, and a few in reserve for those that are lost with
    /// connections that fail.
    fn sessions(&self) -> usize {
        self.connections + self.connections / 4 + 4
    }
}

/// What priming took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Primed {
    /// Full handshakes made.
    pub connections: u64,
    /// Sessions that could then be resumed.
    pub sessions: u64,
}

/// Fills a back end's pool.
///
/// # Errors
/// [`RunError::Priming`] when too many connections fail or bring nothing; [`RunError::Exceeded`] when
/// a public target is asked for more than it takes without proof.
pub fn prime<B: Backend>(
    backend: &mut B,
    script: &Script,
    wanted: Wanted<'_>,
) -> Result<Primed, RunError> {
    let sessions = wanted.sessions();
    backend.keep(2 * sessions);
    let script = Script { requests: Some(1), early_data: false, ..script.clone() };
    let mut priming = Priming {
        script: &script,
        slots: (0..AT_ONCE.min(sessions)).map(|_| None).collect(),
        poller: Poller::new()?,
        plaintext: vec![0; PLAINTEXT],
        started: 0,
        completed: 0,
        fruitless: 0,
        resumable: 0,
    };
    let began = MonotonicClock.now();
    let mut ready = Vec::new();
    // Those under way at the end go on to theirs, so that the server sees none broken off.
    while backend.resumable() < sessions || priming.in_flight() > 0 {
        if wanted.interrupt.load(Ordering::Relaxed) {
            break;
        }
        let now = MonotonicClock.now();
        let of_all = priming.started * u64::from(wanted.workers);
        if wanted.permit.is_exceeded(of_all, now - began) {
            let address = wanted.permit.address.ip();
            return Err(RunError::Exceeded(GuardError::PublicWithoutProof { address }));
        }
        priming.fill(backend, sessions)?;
        priming.poller.wait(now + LOOK, &mut ready)?;
        priming.turn(&ready, backend)?;
    }
    Ok(Primed { connections: priming.completed, sessions: backend.resumable() as u64 })
}

/// A place for a connection.
type Slot<S> = Option<Box<Connection<S>>>;

struct Priming<'r, S> {
    script: &'r Script,
    slots: Vec<Slot<S>>,
    poller: Poller,
    plaintext: Vec<u8>,
    started: u64,
    completed: u64,
    /// Connections in a row that failed or brought nothing.
    fruitless: usize,
    /// What there was to resume when a connection last ended.
    resumable: usize,
}

impl<S: Session> Priming<'_, S> {
    /// Starts as many connections as there is room for and sessions are missing.
    fn fill<B: Backend<Session = S>>(
        &mut self,
        backend: &mut B,
        sessions: usize,
    ) -> Result<(), RunError> {
        let missing = sessions.saturating_sub(backend.resumable() + self.in_flight());
        let free = (0..self.slots.len()).filter(|index| self.slots[*index].is_none());
        for index in free.take(missing).collect::<Vec<_>>() {
            self.started += 1;
            let begin = Begin::full(self.started);
            match Connection::start(|| backend.open(), self.script, &MonotonicClock, begin) {
                Ok(connection) => {
                    self.poller.add(&connection.socket, index, true)?;
                    self.slots[index] = Some(Box::new(connection));
                }
                Err(failure) => self.ended(Outcome::Failed(failure), backend.resumable())?,
            }
        }
        Ok(())
    }

    fn in_flight(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// Serves the connections whose sockets are ready, and looks at all deadlines.
    fn turn<B: Backend<Session = S>>(
        &mut self,
        ready: &[Ready],
        backend: &B,
    ) -> Result<(), RunError> {
        for event in ready {
            let Some(mut connection) = self.slots[event.slot].take() else { continue };
            if event.readable || event.ended {
                connection.socket.became_readable(event.ended);
            }
            match connection.advance(&mut self.context()) {
                Turn::Ended(outcome) => self.ended(outcome, backend.resumable())?,
                Turn::Write => {
                    self.poller.change(&connection.socket, event.slot, true)?;
                    self.slots[event.slot] = Some(connection);
                }
                Turn::Read | Turn::Think(_) => self.slots[event.slot] = Some(connection),
            }
        }
        self.expire(backend.resumable())
    }

    /// Notes how a connection ended, and whether anything to resume by has come since the last one.
    fn ended(&mut self, outcome: Outcome, resumable: usize) -> Result<(), RunError> {
        if outcome == Outcome::Completed {
            self.completed += 1;
        }
        if resumable > self.resumable {
            self.resumable = resumable;
            self.fruitless = 0;
            return Ok(());
        }
        self.fruitless += 1;
        if self.fruitless > FRUITLESS { Err(RunError::Priming(outcome)) } else { Ok(()) }
    }

    fn expire(&mut self, resumable: usize) -> Result<(), RunError> {
        let now = MonotonicClock.now();
        for index in 0..self.slots.len() {
            let Some(mut connection) = self.slots[index].take() else { continue };
            match connection.expire(now, &mut self.context()) {
                Some(Turn::Ended(outcome)) => self.ended(outcome, resumable)?,
                _ => self.slots[index] = Some(connection),
            }
        }
        Ok(())
    }

    fn context(&mut self) -> Context<'_, MonotonicClock> {
        Context {
            script: self.script,
            clock: &MonotonicClock,
            recorder: None,
            plaintext: &mut self.plaintext,
            urgent_at: Nanos::MAX,
            draining: false,
        }
    }
}
