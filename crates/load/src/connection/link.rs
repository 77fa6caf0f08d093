//! The part of a connection below HTTP: its socket, session, step and milestones.

use super::{Context, Next, Turn};
use crate::recorder::Milestones;
use tlslab_system::clock::{Clock, Nanos};
use tlslab_system::socket::{self, Socket};
use tlslab_tls::{HandshakeKind, Negotiated, Session};
use tlslab_wire::outcome::{Failure, Mismatch, Outcome, Step};

/// A socket with its TLS session, and the progress of the connection.
pub struct Link<S> {
    /// The connection's socket, as registered with the poller.
    pub socket: Socket,
    pub session: S,
    /// The requested kind of handshake.
    pub wanted: HandshakeKind,
    /// The fact by which the handshake differs from the specification. The connection continues, in
    /// order to collect sessions for the next one.
    pub unexpected: Option<Mismatch>,
    pub step: Step,
    pub at: Milestones,
    pub deadline: Nanos,
    pub facts: Option<Negotiated>,
    /// Requests with a complete response.
    pub requests_done: u32,
    /// The position of the connection's first request in the order of requests.
    pub place: u32,
    /// The earliest instant of the next request, during think time.
    pub thinks_until: Option<Nanos>,
    /// Whether the server ended the connection between two requests.
    pub closed_idle: bool,
    /// Reads left in this turn.
    reads: u32,
}

impl<S> Link<S> {
    /// The position of the request in flight in the order of requests, for HTTP/1.1.
    pub fn next_place(&self) -> u32 {
        self.place.wrapping_add(self.requests_done)
    }
}

impl<S: Session> Link<S> {
    /// A socket whose connect started at `at.started`.
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
            closed_idle: false,
            reads: 0,
        }
    }

    /// Allows N reads in this turn.
    pub fn allow_reads(&mut self, reads: u32) {
        self.reads = reads;
    }

    /// True if another read is allowed in this turn; counts that read.
    pub fn may_read(&mut self) -> bool {
        let may_read = self.reads > 0;
        self.reads -= u32::from(may_read);
        may_read
    }

    /// Enters a step and sets its deadline, counted from now.
    pub fn enter<C: Clock>(&mut self, step: Step, now: Nanos, context: &Context<'_, C>) {
        self.step = step;
        self.deadline = now + context.script.deadline(step);
    }

    /// The outcome of a connection that finished its script: completed or unexpected.
    pub fn outcome(&self) -> Outcome {
        self.unexpected.map_or(Outcome::Completed, Outcome::Unexpected)
    }

    /// The end of a connection that the server has ended between two requests, as it may (RFC 9112,
    /// section 9.3; RFC 9113, section 9.1).
    pub fn close_idle(&mut self) -> Next {
        self.closed_idle = true;
        Next::Stop(Turn::Ended(self.outcome()))
    }

    /// True if something has arrived before the first request: bytes that the session has not read,
    /// or bytes in the socket.
    pub fn has_arrived(&mut self) -> Result<bool, Failure> {
        if self.session.has_received() || self.socket.may_have_more() {
            return Ok(true);
        }
        self.socket.has_arrived().map_err(|e| socket::failure(&e, Step::FirstByte))
    }

    /// True if the minimal client made the handshake.
    pub fn is_minimal(&self) -> bool {
        self.facts.is_some_and(|facts| facts.minimal_client)
    }

    /// Starts think time, during which no deadline applies.
    pub fn start_to_think<C: Clock>(&mut self, now: Nanos, context: &Context<'_, C>) -> Turn {
        let until = now + context.script.think;
        self.thinks_until = Some(until);
        self.step = Step::FirstByte;
        self.deadline = Nanos::MAX;
        Turn::Think(until)
    }
}
