//! The event loop of all connections: of a load, of a collection of sessions, of a preflight, and
//! of connections that are held idle. A [`Policy`] holds the differences (docs/adr/0054).

use std::io;
use std::mem;

use crate::connection::{Connection, Context, Turn};
use tlslab_system::clock::{Clock, Nanos};
use tlslab_system::poller::{Poller, Ready};
use tlslab_system::socket::{self, Socket};
use tlslab_tls::Session;
use tlslab_wire::outcome::{Failure, Outcome};

/// Size of the buffer for decrypted bytes: the plaintext of a receive call of the rustls back end, and
/// of the record (of 16 KiB, RFC 8446, section 5.1) that the one before cut.
const PLAINTEXT: usize = 80 * 1024;

/// How the event loop treats a waiting connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// Serve its events and check its deadlines.
    Busy,
    /// Only detect its end.
    Idle,
}

/// How a connection enters the loop.
#[derive(Debug, Clone, Copy, Default)]
pub struct Entry {
    /// Whether the poller has already registered the socket, for an earlier connection.
    pub is_known: bool,
    /// Whether the first turn waits for the first event, because other work is due sooner.
    pub waits: bool,
}

/// The decisions of a user of the event loop.
pub trait Policy<S: Session, C: Clock>: Sized {
    /// The context that a connection borrows while it runs.
    fn context<'w>(&'w mut self, clock: &'w C, plaintext: &'w mut [u8]) -> Context<'w, C>;

    /// Called when a connection has ended and its slot is free.
    fn ended(
        &mut self,
        events: &mut EventLoop<S, C>,
        slot: usize,
        connection: Box<Connection<S>>,
        outcome: Outcome,
    );

    /// Called before a ready connection is served.
    #[inline]
    fn before(&mut self, _: &mut EventLoop<S, C>) {}

    /// Called when a connection waits after a turn.
    #[inline]
    fn waits(&mut self, _slot: usize, _: &mut Connection<S>, _: Turn) -> Care {
        Care::Busy
    }

    /// Called before the deadline of a connection is checked.
    #[inline]
    fn swept(&mut self, _: &mut Connection<S>, _now: Nanos) {}

    /// Called when the server has ended an idle connection and its slot is free.
    #[inline]
    fn lost(&mut self) {}
}

/// A place for a connection.
enum Slot<S> {
    Free,
    Busy(Box<Connection<S>>),
    Idle(Box<Connection<S>>),
}

/// Connections in slots, with the poller that waits for their sockets.
pub struct EventLoop<S, C> {
    clock: C,
    poller: Poller,
    ready: Vec<Ready>,
    slots: Vec<Slot<S>>,
    plaintext: Vec<u8>,
    /// The interval of deadline checks, and the instant of the next one.
    every: Nanos,
    next_sweep: Nanos,
}

impl<S: Session, C: Clock> EventLoop<S, C> {
    /// A loop with N free slots that checks deadlines at this interval.
    pub fn new(slots: usize, every: Nanos, clock: C) -> io::Result<Self> {
        Ok(Self {
            clock,
            poller: Poller::new()?,
            ready: Vec::new(),
            slots: (0..slots).map(|_| Slot::Free).collect(),
            plaintext: vec![0; PLAINTEXT],
            every,
            next_sweep: 0,
        })
    }

    /// Reserves memory for N slots in total, so that memory does not grow in large steps.
    pub fn reserve_slots(&mut self, count: usize) {
        self.slots.reserve_exact(count.saturating_sub(self.slots.len()));
    }

    /// Adds a free slot; returns its index.
    pub fn add_slot(&mut self) -> usize {
        self.slots.push(Slot::Free);
        self.slots.len() - 1
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// True if a slot has no connection.
    pub fn is_free(&self, slot: usize) -> bool {
        matches!(self.slots[slot], Slot::Free)
    }

    /// True if a slot has an idle connection.
    pub fn is_idle(&self, slot: usize) -> bool {
        matches!(self.slots[slot], Slot::Idle(_))
    }

    /// The busy connections.
    pub fn busy(&self) -> impl Iterator<Item = &Connection<S>> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Busy(connection) => Some(&**connection),
            Slot::Free | Slot::Idle(_) => None,
        })
    }

    /// The time in flight of the busy connections since their start, in nanoseconds.
    pub fn flown(&self, now: Nanos) -> u128 {
        let spent = self.busy().map(|connection| now.saturating_sub(connection.started()));
        spent.map(u128::from).sum()
    }

    /// The current time of the loop's clock.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// The clock.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// The poller, for an outer loop that must wake when a connection of this loop is ready.
    pub fn poller(&self) -> &Poller {
        &self.poller
    }

    /// Puts a connection whose connect has started into a free slot. Fails if the poller cannot
    /// register the socket.
    pub fn attach<P: Policy<S, C>>(
        &mut self,
        policy: &mut P,
        slot: usize,
        mut connection: Box<Connection<S>>,
        entry: Entry,
    ) -> Result<(), Failure> {
        let turn = if entry.waits {
            Turn::Write
        } else {
            connection.advance(&mut policy.context(&self.clock, &mut self.plaintext))
        };
        if let Turn::Ended(outcome) = turn {
            policy.ended(self, slot, connection, outcome);
            return Ok(());
        }
        self.register(&connection.link.socket, slot, turn == Turn::Write, entry.is_known)
            .map_err(|e| socket::failure(&e, connection.step()))?;
        self.slots[slot] = Slot::Busy(connection);
        Ok(())
    }

    /// Registers a socket with the poller, unless it is already registered.
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

    /// Waits for sockets until an instant, serves the ready ones, and checks deadlines if due.
    pub fn turn<P: Policy<S, C>>(&mut self, policy: &mut P, until: Nanos) -> io::Result<()> {
        self.wait(until)?;
        self.serve_ready(policy);
        self.sweep_if_due(policy, self.clock.now());
        Ok(())
    }

    /// Waits until a socket is ready or the instant is reached. Returns the number of ready
    /// sockets.
    pub fn wait(&mut self, until: Nanos) -> io::Result<usize> {
        self.poller.wait(until, &mut self.ready)?;
        Ok(self.ready.len())
    }

    /// Polls for ready sockets without waiting.
    pub fn look(&mut self) -> io::Result<()> {
        self.poller.look(&mut self.ready)
    }

    /// Serves the sockets of the last poll.
    pub fn serve_ready<P: Policy<S, C>>(&mut self, policy: &mut P) {
        let ready = mem::take(&mut self.ready);
        for event in &ready {
            policy.before(self);
            self.serve(policy, *event);
        }
        self.ready = ready;
    }

    /// Continues the connection of a slot, whatever the state of its socket.
    pub fn go_on<P: Policy<S, C>>(&mut self, policy: &mut P, slot: usize) {
        self.serve(policy, Ready { slot, readable: false, ended: false });
    }

    /// Makes an idle connection send its next request.
    pub fn wake<P: Policy<S, C>>(&mut self, policy: &mut P, slot: usize) {
        match mem::replace(&mut self.slots[slot], Slot::Free) {
            Slot::Idle(mut connection) => {
                connection.go_on();
                self.slots[slot] = Slot::Busy(connection);
                self.go_on(policy, slot);
            }
            other => self.slots[slot] = other,
        }
    }

    fn serve<P: Policy<S, C>>(&mut self, policy: &mut P, event: Ready) {
        let mut connection = match mem::replace(&mut self.slots[event.slot], Slot::Free) {
            Slot::Busy(connection) => connection,
            Slot::Idle(connection) => return self.notice(policy, event, connection),
            Slot::Free => return,
        };
        if event.readable || event.ended {
            connection.link.socket.became_readable(event.ended);
        }
        let turn = connection.advance(&mut policy.context(&self.clock, &mut self.plaintext));
        match turn {
            Turn::Ended(outcome) => return policy.ended(self, event.slot, connection, outcome),
            Turn::Write => {
                // If the poller cannot register the socket, the connection ends by its deadline.
                let changed = self.poller.change(&connection.link.socket, event.slot, true);
                debug_assert!(changed.is_ok(), "{changed:?}");
            }
            Turn::Read | Turn::Think(_) => {}
        }
        self.slots[event.slot] = match policy.waits(event.slot, &mut connection, turn) {
            Care::Busy => Slot::Busy(connection),
            Care::Idle => Slot::Idle(connection),
        };
    }

    /// Handles an event of an idle connection.
    #[cold]
    fn notice<P: Policy<S, C>>(
        &mut self,
        policy: &mut P,
        event: Ready,
        mut connection: Box<Connection<S>>,
    ) {
        if event.ended {
            return policy.lost();
        }
        if event.readable {
            connection.link.socket.became_readable(false);
        }
        self.slots[event.slot] = Slot::Idle(connection);
    }

    /// The instant of the next deadline check.
    #[inline]
    pub fn next_sweep(&self) -> Nanos {
        self.next_sweep
    }

    /// If the check is due, ends the connections that exceeded a deadline. Returns whether it was
    /// due.
    #[inline]
    pub fn sweep_if_due<P: Policy<S, C>>(&mut self, policy: &mut P, now: Nanos) -> bool {
        let is_due = now >= self.next_sweep;
        if is_due {
            self.next_sweep = now + self.every;
            self.sweep(policy, now);
        }
        is_due
    }

    fn sweep<P: Policy<S, C>>(&mut self, policy: &mut P, now: Nanos) {
        for slot in 0..self.slots.len() {
            let Slot::Busy(connection) = &mut self.slots[slot] else { continue };
            policy.swept(connection, now);
            let expired =
                connection.expire(now, &mut policy.context(&self.clock, &mut self.plaintext));
            if let Some(Turn::Ended(outcome)) = expired
                && let Slot::Busy(connection) = mem::replace(&mut self.slots[slot], Slot::Free)
            {
                policy.ended(self, slot, connection, outcome);
            }
        }
    }
}
