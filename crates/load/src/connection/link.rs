//! The part of a connection that does not depend on HTTP: its socket, session, step and instants.

use super::{Context, Turn};
use crate::recorder::Milestones;
use tlslab_system::clock::{Clock, Nanos};
use tlslab_system::socket::Socket;
use tlslab_tls::{HandshakeKind, Negotiated, Session};
use tlslab_wire::outcome::{Mismatch, Outcome, Step};

/// A socket with a session, which the requests of a connection go over.
pub struct Link<S> {
    /// Its socket, for the poller.
    pub socket: Socket,
    pub session: S,
    /// The kind of handshake that it was opened for.
    pub wanted: HandshakeKind,
    /// The fact by which the handshake was not the one asked for, while the connection goes on to
    /// collect what the next one can resume by.
    pub unexpected: Option<Mismatch>,
    pub step: Step,
    pub at: Milestones,
    pub deadline: Nanos,
    pub facts: Option<Negotiated>,
    /// Requests that were answered in full.
    pub requests_done: u32,
    /// The index of its first request in the order of all.
    pub place: u32,
    /// The instant at which the next request may be sent, while the connection waits for it.
    pub thinks_until: Option<Nanos>,
    /// Reads left in this turn.
    reads: u32,
}

impl<S: Session> Link<S> {
    /// A socket that has begun to connect at `at.started`.
    pub fn new(
        socket: Socket,
        session: S,
        wanted: HandshakeKind,
        at: Milestones,
        deadline: Nanos,
    ) -> Self {
        Self {
            socket,
            session,
            wanted,
            unexpected: None,
            step: Step::Connect,
            at,
            deadline,
            facts: None,
            requests_done: 0,
            place: 0,
            thinks_until: None,
            reads: 0,
        }
    }

    /// Allows N reads in this turn.
    pub fn allow_reads(&mut self, reads: u32) {
        self.reads = reads;
    }

    /// Whether another read is allowed in this turn, which is then counted.
    pub fn may_read(&mut self) -> bool {
        let may_read = self.reads > 0;
        self.reads -= u32::from(may_read);
        may_read
    }

    /// Goes on to a step, whose deadline is counted from now on.
    pub fn enter<C: Clock>(&mut self, step: Step, now: Nanos, context: &Context<'_, C>) {
        self.step = step;
        self.deadline = now + context.script.deadline(step);
    }

    /// The outcome of a connection that has done all it had to do.
    pub fn outcome(&self) -> Outcome {
        self.unexpected.map_or(Outcome::Completed, Outcome::Unexpected)
    }

    /// Whether the minimal client made the handshake.
    pub fn is_minimal(&self) -> bool {
        self.facts.is_some_and(|facts| facts.minimal_client)
    }

    /// No deadline applies while the connection waits for the client itself.
    pub fn start_to_think<C: Clock>(&mut self, now: Nanos, context: &Context<'_, C>) -> Turn {
        let until = now + context.script.think;
        self.thinks_until = Some(until);
        self.step = Step::FirstByte;
        self.deadline = Nanos::MAX;
        Turn::Think(until)
    }
}
