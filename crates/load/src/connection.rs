//! One connection, from TCP connect to last byte: a state machine with one function per state. Over
//! the connection's [`link`], HTTP/1.1 requests are [`sequential`], and HTTP/2 requests are
//! [`multiplexed`].

mod link;
mod multiplexed;
mod script;
mod sequential;
mod turn;

use self::link::Link;
use self::multiplexed::Multiplexed;
pub use self::script::Script;
use self::sequential::Sequential;
use self::turn::Next;
pub use self::turn::{Context, Turn, Wait};
use crate::recorder::{Attempt, Milestones, SLOW_CONNECT};
use crate::trace::TracedConnection;
use tlslab_contract::record::{Bytes, Confirmation};
use tlslab_contract::spec::{Close, Finished};
use tlslab_system::clock::{Clock, Nanos, SECOND};
use tlslab_system::socket::Socket;
use tlslab_tls::{EarlyData, HandshakeKind, Negotiated, Progress, Session};
use tlslab_wire::http::Seen;
use tlslab_wire::names::TlsVersion;
use tlslab_wire::outcome::{Failure, Mismatch, Outcome, Step};
use tlslab_wire::reason::Reason;

/// The highest number of reads of a connection in one turn: a MiB at most. If a peer sends as fast
/// as it is read, this limit leaves time for other connections, deadlines and the end of the run.
const READS: u32 = 64;

/// How long a connection without a request waits for the server's close_notify once a session
/// ticket has confirmed the handshake. Both answer the client's last flight, so that they arrive
/// together; a server that never answers a close_notify costs this time per connection.
const AFTER_TICKET: Nanos = SECOND;

/// The reason of a connection without a request that ended without a confirmation.
const UNCONFIRMED: &str = "not confirmed: neither close_notify nor ticket came; without \
                           --handshake-only, a response confirms the handshake";
const AFTER_ITS_TICKET: &str = "after a ticket, and without a close_notify";

/// The parameters of a connection's start.
#[derive(Debug)]
pub struct Start {
    /// The connection's number among those of its worker, from 0.
    pub number: u64,
    /// The requested kind of handshake.
    pub wanted: HandshakeKind,
    /// The user's attempt in an open loop; [`Attempt::NONE`] otherwise.
    pub attempt: Attempt,
    /// The socket of an ended connection, to be used again; `None` for a new socket.
    pub socket: Option<Socket>,
}

impl Start {
    /// The start of a single connection: a full handshake, at once, on a new socket.
    pub fn full(number: u64) -> Self {
        Self { number, wanted: HandshakeKind::Full, attempt: Attempt::NONE, socket: None }
    }
}

/// One connection.
pub struct Connection<S> {
    /// The connection's socket and session, with the state that its requests share.
    pub link: Link<S>,
    attempt: Attempt,
    /// Bytes sent and received up to the end of the handshake.
    handshake_bytes: (u64, u64),
    /// Round trips to the first byte of the first response or, without a request, to what confirms
    /// the handshake: those that the connection has needed or certainly will need.
    round_trips: u8,
    /// Whether the connection has sent its close_notify and waits for the server's answer.
    waits_for_answer: bool,
    /// Whether the server has resumed a session of TLS 1.2, and so has accepted the client.
    is_resumed_by_server: bool,
    /// What shows that the server accepted a handshake without a request.
    confirmed_by: Option<Confirmation>,
    /// The state of HTTP/1.1 requests.
    sequential: Sequential,
    /// The state of HTTP/2 requests, used instead of `sequential` with HTTP/2.
    multiplexed: Option<Box<Multiplexed>>,
}

impl<S: Session> Connection<S> {
    /// Starts to connect. The session is made while the network is at work, so that making it
    /// delays no connection.
    pub fn start<C: Clock>(
        make_session: impl FnOnce() -> Result<S, Failure>,
        script: &Script,
        clock: &C,
        start: Start,
    ) -> Result<Self, Failure> {
        let intended = start.attempt.arrived;
        let mut at = Milestones { intended, started: clock.now(), ..Milestones::default() };
        let socket = match start.socket {
            Some(socket) => socket.connect_again(script.address)?,
            None => Socket::connect_from(script.source(start.number), script.address)?,
        };
        if socket.is_established() {
            at.established = clock.now();
        }
        let mut connection = Self::new(socket, make_session()?, start.wanted, script, at);
        connection.link.place = script.place(start.number);
        connection.attempt = start.attempt;
        Ok(connection)
    }

    fn new(
        socket: Socket,
        session: S,
        wanted: HandshakeKind,
        script: &Script,
        at: Milestones,
    ) -> Self {
        let deadline = at.started + script.deadline(Step::Connect);
        Self {
            link: Link::new(socket, session, wanted, at, deadline),
            attempt: Attempt::NONE,
            handshake_bytes: (0, 0),
            // The TCP connect.
            round_trips: 1,
            waits_for_answer: false,
            is_resumed_by_server: false,
            confirmed_by: None,
            sequential: Sequential::new(script),
            multiplexed: None,
        }
    }

    /// Advances the connection as far as the socket and the length of a turn allow.
    pub fn advance<C: Clock>(&mut self, context: &mut Context<'_, C>) -> Turn {
        // The clock is read only for users with patience.
        let gives_up_at = self.attempt.gives_up_at;
        if gives_up_at < Nanos::MAX && context.clock.now() >= gives_up_at {
            return self.end(Outcome::Abandoned, context);
        }
        self.link.allow_reads(READS);
        loop {
            let link = &mut self.link;
            let next = match (link.step, &mut self.multiplexed) {
                (Step::Connect, _) => self.connect(context),
                (Step::Handshake, _) => self.handshake(context),
                (_, Some(multiplexed)) => multiplexed.exchange(link, context),
                _ if context.script.handshake_only => self.finish(context),
                _ if link.thinks_until.is_some() => self.sequential.think(link, context),
                _ if !self.sequential.is_sent() => self.sequential.request(link, context),
                _ => self.sequential.response(link, context),
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

    /// Ends the connection if its user's patience is over, or its step exceeded its deadline; `None`
    /// otherwise.
    pub fn expire<C: Clock>(&mut self, now: Nanos, context: &mut Context<'_, C>) -> Option<Turn> {
        if now >= self.attempt.gives_up_at {
            return Some(self.end(Outcome::Abandoned, context));
        }
        if now < self.link.deadline {
            return None;
        }
        if self.confirmed_by == Some(Confirmation::Ticket) {
            return Some(self.end(self.link.outcome(), context));
        }
        let step = match &self.multiplexed {
            Some(multiplexed) => multiplexed.overdue_step(&mut self.link, now, context.script)?,
            None => self.link.step,
        };
        Some(self.end(Outcome::Failed(Failure::TimedOut(step)), context))
    }

    /// The instant since which the connection has waited in its present step; `None` while it
    /// thinks.
    pub fn waits_since(&self) -> Option<Nanos> {
        let Link { at, step, thinks_until, .. } = &self.link;
        if thinks_until.is_some() {
            return None;
        }
        Some(match (step, &self.multiplexed) {
            (Step::Connect, _) => at.started,
            (Step::Handshake, _) => at.established,
            (_, Some(multiplexed)) => multiplexed.waits_since(at.requested),
            (Step::FirstByte, None) => at.requested.max(at.secured),
            (Step::Body, None) => at.answered,
        })
    }

    /// The session, for details of a single connection.
    pub fn session(&self) -> &S {
        &self.link.session
    }

    /// The negotiated facts; `None` before the handshake is done, and without TLS.
    pub fn facts(&self) -> Option<Negotiated> {
        self.link.facts
    }

    /// True if the handshake is done and, without TLS, the TCP connection is established.
    pub fn is_open(&self) -> bool {
        self.link.at.secured > 0
    }

    /// The user's attempt.
    pub fn attempt(&self) -> Attempt {
        self.attempt
    }

    /// Requests with a complete response.
    pub fn requests_done(&self) -> u32 {
        self.link.requests_done
    }

    /// Frees the buffers that only an active connection needs.
    pub fn rest(&mut self) {
        self.link.session.rest();
    }

    /// Ends the think time between two requests.
    pub fn go_on(&mut self) {
        self.link.thinks_until = self.link.thinks_until.and(Some(0));
    }

    /// The properties of the last response. With HTTP/2 they are kept only if the script is to
    /// learn from the response.
    pub fn last_response(&self) -> Seen {
        match &self.multiplexed {
            Some(multiplexed) => multiplexed.seen(),
            None => self.sequential.seen(),
        }
    }

    /// With HTTP/2: the number of concurrent streams that the server allows, once it has said so.
    pub fn allowed_streams(&self) -> Option<u32> {
        self.multiplexed.as_ref().and_then(|multiplexed| multiplexed.allowed())
    }

    /// How much has arrived of the message that the connection waits for. Of responses, only the
    /// first is covered.
    pub fn wait(&self) -> Wait {
        let came = self.since_handshake();
        match self.link.step {
            Step::Connect => Wait::Start,
            Step::Handshake if self.link.socket.received == 0 => Wait::Start,
            Step::FirstByte if came == 0 => Wait::Start,
            Step::FirstByte => Wait::Tickets(came),
            Step::Handshake | Step::Body => Wait::Rest,
        }
    }

    /// Bytes received since the handshake was done.
    pub fn since_handshake(&self) -> u64 {
        self.link.socket.received - self.handshake_bytes.1
    }

    /// The bytes of the server's part of the handshake, if that was one flight. `None` before the
    /// end of the handshake, and after a HelloRetryRequest.
    pub fn flight(&self) -> Option<u64> {
        self.link.facts.filter(|facts| !facts.hello_retry_request).map(|_| self.handshake_bytes.1)
    }

    /// True if the TCP connect has taken so long that the SYN was retransmitted.
    pub fn connects_slowly(&self, now: Nanos) -> bool {
        let until = if self.link.at.established == 0 { now } else { self.link.at.established };
        until.saturating_sub(self.link.at.started) >= SLOW_CONNECT
    }

    /// The current step of the connection.
    pub fn step(&self) -> Step {
        self.link.step
    }

    /// The instant at which the connection was started.
    pub fn started(&self) -> Nanos {
        self.link.at.started
    }

    /// The instants of the connection. `ended` is the instant of its end, or 0 if it is still in
    /// flight.
    pub fn traced(&self, ended: Nanos, outcome: Option<Outcome>) -> TracedConnection {
        TracedConnection {
            local_port: self.link.socket.local_port(),
            intended: self.link.at.intended,
            started: self.link.at.started,
            established: self.link.at.established,
            secured: self.link.at.secured,
            answered: self.link.at.first_answered,
            ended,
            outcome,
        }
    }

    /// Closes in an orderly way. The server has answered, so its reading of the close_notify does
    /// not change the outcome.
    fn close(&mut self, scratch: &mut [u8]) {
        if !self.waits_for_answer {
            let _ = self.link.session.send_close_notify(&mut self.link.socket);
        }
        self.link.socket.end_with_fin(scratch);
    }

    fn connect<C: Clock>(&mut self, context: &mut Context<'_, C>) -> Result<Next, Failure> {
        if self.link.at.established == 0 {
            if !self.link.socket.is_established() {
                return match self.link.socket.connect_error() {
                    Some(failure) => Err(failure),
                    None => Ok(Next::Stop(Turn::Write)),
                };
            }
            self.link.at.established = context.clock.now();
        }
        self.link.enter(Step::Handshake, self.link.at.established, context);
        if context.script.early_data && self.link.wanted == HandshakeKind::Resumed {
            self.sequential.send_early(&mut self.link, context.script)?;
        }
        Ok(Next::Go)
    }

    fn handshake<C: Clock>(&mut self, context: &mut Context<'_, C>) -> Result<Next, Failure> {
        let urgent = || context.clock.now() >= context.urgent_at;
        let urgent = (context.urgent_at < Nanos::MAX).then_some(&urgent as &dyn Fn() -> bool);
        match self.link.session.handshake(&mut self.link.socket, urgent)? {
            Progress::Done(_) => {}
            Progress::WantRead => return Ok(Next::Stop(Turn::Read)),
            Progress::WantWrite => return Ok(Next::Stop(Turn::Write)),
            Progress::Closed | Progress::Cut => return Err(Failure::Closed(Step::Handshake)),
        }
        self.link.at.secured = context.clock.now();
        let sent = self.link.socket.sent + self.link.session.unsent() as u64;
        self.handshake_bytes = (sent, self.link.socket.received);
        self.round_trips = self.round_trips.saturating_add(self.link.socket.answers);
        self.link.facts = self.link.session.facts();
        if let Some(facts) = self.link.facts
            && let Some(mismatch) = self.accept(&facts, context)?
        {
            return Ok(Next::Stop(Turn::Ended(Outcome::Unexpected(mismatch))));
        }
        let early_data = self.link.facts.map_or(EarlyData::None, |facts| facts.early_data);
        self.sequential.settle_early_data(early_data, &mut self.link, context.script);
        // A request that the server has taken as early data can be answered without another flight of
        // the client. A server that waits for the client's Finished all the same is not seen.
        let must_ask = !context.script.handshake_only && !self.sequential.is_sent();
        self.round_trips = self.round_trips.saturating_add(u8::from(must_ask));
        self.link.enter(Step::FirstByte, self.link.at.secured, context);
        if context.script.http2.is_some() && !context.script.handshake_only {
            self.multiplexed = Some(Box::new(Multiplexed::new(context.script)?));
        }
        Ok(Next::Go)
    }

    /// Compares the facts of the handshake with the specification. Returns the difference if it ends
    /// the connection.
    fn accept<C: Clock>(
        &mut self,
        facts: &Negotiated,
        context: &Context<'_, C>,
    ) -> Result<Option<Mismatch>, Failure> {
        if context.script.handshake_only {
            self.begin_to_confirm(facts)?;
        }
        if context.script.finished == Finished::Separate {
            // Bytes that do not fit into the socket now are sent with the request.
            self.link.session.flush(&mut self.link.socket)?;
        }
        self.link.unexpected = context.script.expectation.mismatch(self.link.wanted, facts);
        Ok(self.link.unexpected.filter(|_| !self.may_bring_tickets(facts)))
    }

    /// True if the handshake is full although resumption was requested. Such a handshake is
    /// unexpected, but the connection continues, because it brings the next session to resume.
    fn may_bring_tickets(&self, facts: &Negotiated) -> bool {
        self.link.wanted == HandshakeKind::Resumed && facts.kind == HandshakeKind::Full
    }

    /// The server's Finished confirms a full handshake of TLS 1.2, as its last message. In a resumed
    /// one the server has accepted the session by it, but must read the client's. In TLS 1.3 the
    /// client finishes first: whatever has arrived before its Finished is sent proves nothing, and
    /// is read here (some servers send tickets with their first flight).
    fn begin_to_confirm(&mut self, facts: &Negotiated) -> Result<(), Failure> {
        let is_older = facts.version < TlsVersion::Tls13;
        self.is_resumed_by_server = is_older && facts.kind == HandshakeKind::Resumed;
        if is_older && facts.kind == HandshakeKind::Full {
            self.confirmed_by = Some(Confirmation::ServerFinished);
            return Ok(());
        }
        match self.link.session.pass_over()? {
            Progress::Closed | Progress::Cut => Err(Failure::Closed(Step::FirstByte)),
            _ => Ok(()),
        }
    }

    /// Ends a connection that makes a handshake and no request, once the handshake is confirmed.
    /// One whose facts are unexpected needs no confirmation.
    fn finish<C: Clock>(&mut self, context: &mut Context<'_, C>) -> Result<Next, Failure> {
        let needs_answer = self.confirmed_by.is_none() && self.link.unexpected.is_none();
        if needs_answer && !self.waits_for_answer {
            self.waits_for_answer = true;
            self.round_trips = self.round_trips.saturating_add(1);
            self.link.session.send_close_notify(&mut self.link.socket)?;
        }
        let is_sent = self.link.session.flush(&mut self.link.socket)? != Progress::WantWrite;
        match (is_sent, self.waits_for_answer) {
            (false, _) => Ok(Next::Stop(Turn::Write)),
            (true, true) => self.answer(context),
            (true, false) => Ok(Next::Stop(Turn::Ended(self.link.outcome()))),
        }
    }

    /// Reads once from the server's answer to the client's Finished and close_notify. An alert that
    /// rejects the handshake is an error of the session. A close_notify confirms the handshake; a
    /// ticket does, too, unless the connection then ends by a reset. The end of the TCP stream
    /// alone is no evidence in TLS 1.3: a server that rejects the client may end so, too. One that
    /// has resumed a session of TLS 1.2 has accepted the client before.
    fn answer<C: Clock>(&mut self, context: &mut Context<'_, C>) -> Result<Next, Failure> {
        if !self.link.may_read() {
            return Ok(Next::Stop(Turn::Write));
        }
        let read = self.link.session.read(&mut self.link.socket, context.plaintext)?;
        if self.link.session.took_ticket() && self.confirmed_by.is_none() {
            self.confirmed_by = Some(Confirmation::Ticket);
            self.link.deadline = self.link.deadline.min(context.clock.now() + AFTER_TICKET);
        }
        match read {
            // Plaintext may be older than the client's Finished (RFC 8446, section 2).
            Progress::Done(_) => return Ok(Next::Go),
            Progress::WantRead => return Ok(Next::Stop(Turn::Read)),
            Progress::WantWrite => return Ok(Next::Stop(Turn::Write)),
            Progress::Closed => self.confirmed_by = Some(Confirmation::CloseNotify),
            Progress::Cut if self.is_resumed_by_server => {
                self.confirmed_by = Some(Confirmation::ServerFinished);
            }
            Progress::Cut if self.confirmed_by.is_none() => {
                return Err(Failure::Closed(Step::FirstByte));
            }
            Progress::Cut => {}
        }
        Ok(Next::Stop(Turn::Ended(self.link.outcome())))
    }

    /// Sends the server the reason why the connection ends, as far as possible without waiting: by
    /// an alert (RFC 8446, section 6.2) or by HTTP/2 (RFC 9113, section 5.4). The outcome does not
    /// depend on its arrival.
    fn send_reason(&mut self, failure: Failure) {
        if failure == Failure::HttpProtocol
            && let Some(multiplexed) = &mut self.multiplexed
        {
            let _ = multiplexed.send_requests(&mut self.link);
        }
        if self.link.session.unsent() > 0 {
            let _ = self.link.session.flush(&mut self.link.socket);
        }
    }

    /// The reason of the connection's failure; `None` if only the failure's class is known.
    pub fn reason(&self, outcome: Outcome) -> Option<Reason> {
        match outcome {
            // The class already names the alert.
            Outcome::Completed | Outcome::Abandoned | Outcome::Failed(Failure::Alert(_)) => None,
            Outcome::Failed(failure) if failure.is_of_http() => match &self.multiplexed {
                Some(multiplexed) => multiplexed.reason(),
                None => self.sequential.fault(),
            },
            Outcome::Failed(Failure::Reset | Failure::Closed(_) | Failure::TimedOut(_))
                if self.waits_for_answer =>
            {
                let words = match self.confirmed_by {
                    Some(_) => AFTER_ITS_TICKET,
                    None => UNCONFIRMED,
                };
                Some(Reason::named(words))
            }
            _ => self.link.session.reason(),
        }
    }

    /// The index of the page that is requested: of several in HTTP/2, the one that failed or the
    /// oldest. `None` if no request is in flight.
    fn requested_page(&self, script: &Script) -> Option<u16> {
        let is_before = matches!(self.link.step, Step::Connect | Step::Handshake);
        match &self.multiplexed {
            _ if is_before || script.handshake_only || self.link.thinks_until.is_some() => None,
            Some(multiplexed) => multiplexed.failed_page(),
            None => Some(script.messages.page(self.link.next_place())),
        }
    }

    fn end<C: Clock>(&mut self, outcome: Outcome, context: &mut Context<'_, C>) -> Turn {
        match outcome {
            Outcome::Completed if context.script.close == Close::Fin => {
                self.close(context.plaintext);
            }
            // As a browser does. A server that reads the request later still works for it; after a
            // reset, the server would find an error in its place.
            Outcome::Abandoned => self.link.socket.end_with_fin(context.plaintext),
            _ => {}
        }
        if let Some(recorder) = &mut context.recorder {
            recorder.names.count(self.link.session.asked_name(), outcome);
            if let Some(reason) = self.reason(outcome) {
                recorder.reasons.note(outcome, &reason, self.link.socket.local_port());
                if outcome == Outcome::Failed(Failure::HttpStatus) {
                    // The reason is the status.
                    recorder.statuses.count(reason.name.parse().unwrap_or(u16::MAX));
                }
            }
            if matches!(outcome, Outcome::Failed(_))
                && let Some(page) = self.requested_page(context.script)
            {
                recorder.pages.failed(page);
            }
            let now = context.clock.now();
            if recorder.trace.is_wanted() {
                recorder.trace.keep(self.traced(now, Some(outcome)));
            }
            recorder.slow_connects += u64::from(self.connects_slowly(now));
            if outcome != Outcome::Completed {
                recorder.flight.troubled += u128::from(now.saturating_sub(self.link.at.started));
            }
            match (outcome, self.link.facts) {
                (Outcome::Completed, facts) => {
                    let bytes = Bytes {
                        handshake_sent: self.handshake_bytes.0,
                        handshake_received: self.handshake_bytes.1,
                        sent: self.link.socket.sent,
                        received: self.link.socket.received,
                        ..Bytes::default()
                    };
                    recorder.completed(&self.link.at, now, facts, &bytes);
                    recorder.closed_idle += u64::from(self.link.closed_idle);
                    let by = self.confirmed_by.unwrap_or(Confirmation::Response);
                    recorder.confirmed_by.count(by);
                    let kind = facts.map_or(HandshakeKind::Full, |facts| facts.kind);
                    recorder.round_trips.note(kind, self.round_trips);
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
