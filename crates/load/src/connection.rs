//! One connection, from its TCP connect to its last byte: a state machine with a function per state.
//! Its requests are [`sequential`] with HTTP/1.1 and [`multiplexed`] with HTTP/2.

mod multiplexed;
mod script;
mod sequential;

pub use self::script::Script;
use crate::recorder::{Milestones, Recorder, SLOW_CONNECT};
use crate::trace::TracedConnection;
use tlslab_contract::record::Bytes;
use tlslab_contract::spec::{Close, Finished};
use tlslab_system::clock::{Clock, Nanos};
use tlslab_system::socket::Socket;
use tlslab_tls::{EarlyData, HandshakeKind, Negotiated, Progress, Session};
use tlslab_wire::http::Seen;
use tlslab_wire::http::h1::ResponseReader;
use tlslab_wire::http::h2;
use tlslab_wire::names::TlsVersion;
use tlslab_wire::outcome::{Failure, Mismatch, Outcome, Step};
use tlslab_wire::reason::Reason;

/// How often a connection may read in one turn: a MiB at most. A peer that sends as fast as it is
/// read leaves time for other connections, deadlines and the end of the run this way.
const READS: u32 = 64;

/// What a connection is waiting for, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// For the socket to become readable.
    Read,
    /// For the socket to become writable; or, where it is, for its next turn.
    Write,
    /// For the instant at which its next request may be sent.
    Think(Nanos),
    /// For nothing any more.
    Ended(Outcome),
}

/// What of a server's next message has come when a connection has to wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Nothing.
    Start,
    /// N bytes, of which none is of the response: session tickets.
    Tickets(u64),
    /// A part.
    Rest,
}

/// What a worker lends its connections while they run.
pub struct Context<'w, C> {
    /// What to do.
    pub script: &'w Script,
    /// The time.
    pub clock: &'w C,
    /// Where to note requests and connections; `None` while nothing is counted.
    pub recorder: Option<&'w mut Recorder>,
    /// Room for decrypted bytes.
    pub plaintext: &'w mut [u8],
    /// When something is due for which a handshake stops half-way; `Nanos::MAX` for nothing.
    pub urgent_at: Nanos,
    /// The run is over: a connection with as many requests as fit ends with those under way.
    pub draining: bool,
}

impl<'w, C> Context<'w, C> {
    /// For a connection of which nothing is counted, and that nothing has to wait for.
    pub fn uncounted(script: &'w Script, clock: &'w C, plaintext: &'w mut [u8]) -> Self {
        Self { script, clock, recorder: None, plaintext, urgent_at: Nanos::MAX, draining: false }
    }
}

/// How a connection begins.
#[derive(Debug)]
pub struct Start {
    /// Its number among the connections of its worker, from 0.
    pub number: u64,
    /// The kind of handshake that it is to make.
    pub wanted: HandshakeKind,
    /// In an open loop, when it was due.
    pub intended: Option<Nanos>,
    /// The socket of a connection that has ended, to be used again.
    pub socket: Option<Socket>,
}

impl Start {
    /// With a full handshake, at once, on a socket of its own.
    pub fn full(number: u64) -> Self {
        Self { number, wanted: HandshakeKind::Full, intended: None, socket: None }
    }
}

/// One connection.
pub struct Connection<S> {
    /// Its socket, for the poller.
    pub socket: Socket,
    session: S,
    /// The kind of handshake that it was opened for.
    wanted: HandshakeKind,
    /// The fact by which the handshake was not the one asked for, while the connection goes on to
    /// collect what the next one can resume by.
    unexpected: Option<Mismatch>,
    step: Step,
    at: Milestones,
    deadline: Nanos,
    facts: Option<Negotiated>,
    handshake_bytes: (u64, u64),
    requests_done: u32,
    /// Requests begun; with HTTP/2 only.
    requests_begun: u32,
    /// The place of its first request in the order of all.
    place: u32,
    /// Bytes of the current request that the session has taken.
    request_taken: usize,
    request_sent: bool,
    /// The instant at which the next request may be sent, while the connection waits for it.
    thinks_until: Option<Nanos>,
    response: ResponseReader,
    /// What is wrong with the response, if anything is; with HTTP/1.1 only.
    fault: Option<Reason>,
    /// In place of the request and the response above, with HTTP/2.
    http2: Option<Box<h2::Client>>,
    /// Reads left in this turn.
    reads: u32,
}

/// The outcome of one state's function: go on in the next state, or stop here.
enum Next {
    Go,
    Stop(Turn),
}

impl<S: Session> Connection<S> {
    /// Begins to connect. The session is made while the network is at work, so that its making delays
    /// no connection.
    pub fn start<C: Clock>(
        make_session: impl FnOnce() -> Result<S, Failure>,
        script: &Script,
        clock: &C,
        start: Start,
    ) -> Result<Self, Failure> {
        let intended = start.intended.unwrap_or_default();
        let mut at = Milestones { intended, started: clock.now(), ..Milestones::default() };
        let socket = match start.socket {
            Some(socket) => socket.connect_again(script.address)?,
            None => Socket::connect_from(script.source(start.number), script.address)?,
        };
        if socket.is_established() {
            at.established = clock.now();
        }
        let connection = Self::new(socket, make_session()?, start.wanted, script, at);
        Ok(Self { place: script.place(start.number), ..connection })
    }

    fn new(
        socket: Socket,
        session: S,
        wanted: HandshakeKind,
        script: &Script,
        at: Milestones,
    ) -> Self {
        Self {
            socket,
            session,
            wanted,
            unexpected: None,
            step: Step::Connect,
            deadline: at.started + script.deadline(Step::Connect),
            at,
            facts: None,
            handshake_bytes: (0, 0),
            requests_done: 0,
            requests_begun: 0,
            place: 0,
            request_taken: 0,
            request_sent: false,
            thinks_until: None,
            response: script.reader(),
            fault: None,
            http2: None,
            reads: 0,
        }
    }

    /// Goes as far as the socket and the length of a turn allow.
    pub fn advance<C: Clock>(&mut self, context: &mut Context<'_, C>) -> Turn {
        self.reads = READS;
        loop {
            let next = match self.step {
                Step::Connect => self.connect(context),
                Step::Handshake => self.handshake(context),
                _ if self.http2.is_some() => self.exchange(context),
                Step::FirstByte if self.thinks_until.is_some() => self.think(context),
                Step::FirstByte if !self.request_sent => self.request(context),
                Step::FirstByte if context.script.handshake_only => self.verdict(context),
                Step::FirstByte | Step::Body => self.response(context),
            };
            match next {
                Ok(Next::Go) => {}
                Ok(Next::Stop(Turn::Ended(outcome))) => return self.end(outcome, context),
                Ok(Next::Stop(turn)) => return turn,
                Err(failure) => {
                    self.send_reason(failure);
                    return self.end(Outcome::Failed(failure), context);
                }
            }
        }
    }

    /// Ends the connection if its step has taken too long.
    pub fn expire<C: Clock>(&mut self, now: Nanos, context: &mut Context<'_, C>) -> Option<Turn> {
        if now < self.deadline {
            return None;
        }
        let step = self.overdue_step(now, context.script)?;
        Some(self.end(Outcome::Failed(Failure::TimedOut(step)), context))
    }

    /// The session, for what a person wants to know of a single connection.
    pub fn session(&self) -> &S {
        &self.session
    }

    /// What was negotiated, once the handshake is done.
    pub fn facts(&self) -> Option<Negotiated> {
        self.facts
    }

    /// Requests that were answered in full.
    pub fn requests_done(&self) -> u32 {
        self.requests_done
    }

    /// Gives up the room that only a connection at work needs.
    pub fn rest(&mut self) {
        self.session.rest();
    }

    /// Ends the time between two requests.
    pub fn go_on(&mut self) {
        self.thinks_until = self.thinks_until.and(Some(0));
    }

    /// What the last response said; with HTTP/2, only where the script is to learn from it.
    pub fn last_response(&self) -> Seen {
        match &self.http2 {
            Some(client) => client.seen().clone(),
            None => self.response.seen(),
        }
    }

    /// What has come of the message that the connection waits for; of its first response, if any.
    pub fn wait(&self) -> Wait {
        let came = self.since_handshake();
        match self.step {
            Step::Connect => Wait::Start,
            Step::Handshake if self.socket.received == 0 => Wait::Start,
            Step::FirstByte if came == 0 => Wait::Start,
            Step::FirstByte => Wait::Tickets(came),
            Step::Handshake | Step::Body => Wait::Rest,
        }
    }

    /// Bytes received since the handshake was done.
    pub fn since_handshake(&self) -> u64 {
        self.socket.received - self.handshake_bytes.1
    }

    /// The bytes that the server's part of the handshake had, if it was one flight.
    pub fn flight(&self) -> Option<u64> {
        self.facts.filter(|facts| !facts.hello_retry_request).map(|_| self.handshake_bytes.1)
    }

    /// Whether it has waited so long for its TCP connection that its SYN was sent again.
    pub fn connects_slowly(&self, now: Nanos) -> bool {
        let until = if self.at.established == 0 { now } else { self.at.established };
        until.saturating_sub(self.at.started) >= SLOW_CONNECT
    }

    /// The step that the connection is in.
    pub fn step(&self) -> Step {
        self.step
    }

    /// When it was begun.
    pub fn started(&self) -> Nanos {
        self.at.started
    }

    /// The instants of the connection; it ended at `ended`, or is still under way (0).
    pub fn traced(&self, ended: Nanos, outcome: Option<Outcome>) -> TracedConnection {
        TracedConnection {
            local_port: self.socket.local_port(),
            intended: self.at.intended,
            started: self.at.started,
            established: self.at.established,
            secured: self.at.secured,
            answered: self.at.first_answered,
            ended,
            outcome,
        }
    }

    /// Closes in order. The server has answered: whether it reads the close_notify changes no outcome.
    fn close(&mut self, scratch: &mut [u8]) {
        let _ = self.session.send_close_notify(&mut self.socket);
        self.socket.end_with_fin(scratch);
    }

    fn enter<C: Clock>(&mut self, step: Step, now: Nanos, context: &Context<'_, C>) {
        self.step = step;
        self.deadline = now + context.script.deadline(step);
    }

    fn connect<C: Clock>(&mut self, context: &mut Context<'_, C>) -> Result<Next, Failure> {
        if self.at.established == 0 {
            if !self.socket.is_established() {
                return match self.socket.connect_error() {
                    Some(failure) => Err(failure),
                    None => Ok(Next::Stop(Turn::Write)),
                };
            }
            self.at.established = context.clock.now();
        }
        self.enter(Step::Handshake, self.at.established, context);
        if context.script.early_data && self.wanted == HandshakeKind::Resumed {
            self.request_taken = self.session.send_early(self.next_request(context.script))?;
            self.at.requested = self.at.established;
        }
        Ok(Next::Go)
    }

    fn handshake<C: Clock>(&mut self, context: &mut Context<'_, C>) -> Result<Next, Failure> {
        let urgent = || context.clock.now() >= context.urgent_at;
        let urgent = (context.urgent_at < Nanos::MAX).then_some(&urgent as &dyn Fn() -> bool);
        match self.session.handshake(&mut self.socket, urgent)? {
            Progress::Done(_) => {}
            Progress::WantRead => return Ok(Next::Stop(Turn::Read)),
            Progress::WantWrite => return Ok(Next::Stop(Turn::Write)),
            Progress::Closed | Progress::Cut => return Err(Failure::Closed(Step::Handshake)),
        }
        self.at.secured = context.clock.now();
        if context.script.finished == Finished::Separate {
            // What does not fit into the socket now leaves with the request.
            self.session.flush(&mut self.socket)?;
        }
        let sent = self.socket.sent + self.session.unsent() as u64;
        self.handshake_bytes = (sent, self.socket.received);
        let facts = self.session.facts();
        self.facts = Some(facts);
        self.unexpected = context.script.expectation.mismatch(self.wanted, &facts);
        if let Some(mismatch) = self.unexpected
            && !self.may_bring_tickets(&facts)
        {
            return Ok(Next::Stop(Turn::Ended(Outcome::Unexpected(mismatch))));
        }
        self.settle_early_data(facts.early_data, context.script);
        self.enter(Step::FirstByte, self.at.secured, context);
        if context.script.http2.is_some() && !context.script.handshake_only {
            let Script { body, statuses, messages, .. } = context.script;
            let client = h2::Client::expecting(*body, *statuses, messages.content())?;
            self.http2 = Some(Box::new(client));
        }
        Ok(Next::Go)
    }

    /// A full handshake in place of one that was to resume is not what was asked for, yet it is where
    /// the next session to resume comes from.
    fn may_bring_tickets(&self, facts: &Negotiated) -> bool {
        self.wanted == HandshakeKind::Resumed && facts.kind == HandshakeKind::Full
    }

    /// A request that went as early data is under way since then; one that the server rejected is
    /// sent again (RFC 8446, section 4.2.10; RFC 8470, section 3).
    fn settle_early_data(&mut self, early_data: EarlyData, script: &Script) {
        match early_data {
            EarlyData::None => self.at.requested = self.at.secured,
            EarlyData::Accepted => {}
            EarlyData::Rejected => self.request_taken = 0,
        }
        self.request_sent =
            self.request_taken > 0 && self.request_taken == self.next_request(script).len();
    }

    /// Whether the server judges the client's certificate only after the client is done with the
    /// handshake, as in TLS 1.3.
    fn is_to_be_judged(&self) -> bool {
        self.facts
            .is_some_and(|facts| facts.client_authenticated && facts.version == TlsVersion::Tls13)
    }

    /// Waits for the server's answer to the end of the stream: an alert, if it does not take the
    /// client's certificate, else an end of its own.
    fn verdict<C: Clock>(&mut self, context: &mut Context<'_, C>) -> Result<Next, Failure> {
        Ok(match self.session.read(&mut self.socket, context.plaintext)? {
            Progress::Done(_) | Progress::Closed | Progress::Cut => {
                Next::Stop(Turn::Ended(self.outcome()))
            }
            Progress::WantRead => Next::Stop(Turn::Read),
            Progress::WantWrite => Next::Stop(Turn::Write),
        })
    }

    /// How a connection that did all it had to do has ended.
    fn outcome(&self) -> Outcome {
        self.unexpected.map_or(Outcome::Completed, Outcome::Unexpected)
    }

    /// Sends the server the reason why the connection ends, as far as that goes without waiting: by an alert
    /// (RFC 8446, section 6.2) or by HTTP/2 (RFC 9113, section 5.4). Whether it arrives changes
    /// nothing for us.
    fn send_reason(&mut self, failure: Failure) {
        if failure == Failure::HttpProtocol {
            let _ = self.send_requests();
        }
        if self.session.unsent() > 0 {
            let _ = self.session.flush(&mut self.socket);
        }
    }

    /// Why it ended as it did, where more is known than its class says.
    pub fn reason(&self, outcome: Outcome) -> Option<Reason> {
        match outcome {
            // What an alert means its class says.
            Outcome::Completed | Outcome::Failed(Failure::Alert(_)) => None,
            Outcome::Failed(failure) if failure.is_of_http() => match &self.http2 {
                Some(client) => client.reason(),
                None => self.fault.clone(),
            },
            _ => self.session.reason(),
        }
    }

    fn end<C: Clock>(&mut self, outcome: Outcome, context: &mut Context<'_, C>) -> Turn {
        if context.script.close == Close::Fin && outcome == Outcome::Completed {
            self.close(context.plaintext);
        }
        if let Some(recorder) = &mut context.recorder {
            recorder.names.count(self.session.asked_name(), outcome);
            if let Some(reason) = self.reason(outcome) {
                recorder.reasons.note(outcome, &reason, self.socket.local_port());
            }
            let now = context.clock.now();
            if recorder.trace.is_wanted() {
                recorder.trace.keep(self.traced(now, Some(outcome)));
            }
            recorder.slow_connects += u64::from(self.connects_slowly(now));
            if outcome != Outcome::Completed {
                recorder.flight.troubled += u128::from(now.saturating_sub(self.at.started));
            }
            match (outcome, self.facts) {
                (Outcome::Completed, Some(facts)) => {
                    let bytes = Bytes {
                        handshake_sent: self.handshake_bytes.0,
                        handshake_received: self.handshake_bytes.1,
                        sent: self.socket.sent,
                        received: self.socket.received,
                        ..Bytes::default()
                    };
                    recorder.completed(&self.at, now, facts, &bytes);
                }
                (Outcome::Unexpected(_), facts) => recorder.troubled(outcome, facts),
                _ => recorder.troubled(outcome, None),
            }
        }
        Turn::Ended(outcome)
    }
}

#[cfg(test)]
pub(crate) mod tests;
