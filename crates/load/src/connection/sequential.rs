//! HTTP/1.1 requests of a connection: one after the other.

use super::link::Link;
use super::{Context, Next, Script, Turn};
use crate::recorder::Answer;
use tlslab_system::clock::{Clock, Nanos};
use tlslab_tls::{EarlyData, Progress, Session};
use tlslab_wire::http::Seen;
use tlslab_wire::http::h1::ResponseReader;
use tlslab_wire::outcome::{Failure, Step};
use tlslab_wire::reason::Reason;

/// The current request and its response.
pub struct Sequential {
    /// Bytes of the current request that the session has accepted.
    taken: usize,
    is_sent: bool,
    response: ResponseReader,
    /// The failure to send the current request in full. The server may have answered before.
    broken: Option<Failure>,
    /// The fault of the response, if any.
    fault: Option<Reason>,
}

impl Sequential {
    /// The state before the first request.
    pub fn new(script: &Script) -> Self {
        Self { taken: 0, is_sent: false, response: script.reader(), broken: None, fault: None }
    }

    /// True if the current request was sent completely.
    pub fn is_sent(&self) -> bool {
        self.is_sent
    }

    /// The properties of the last response that a preflight records.
    pub fn seen(&self) -> Seen {
        self.response.seen()
    }

    /// The fault of the response, if any.
    pub fn fault(&self) -> Option<Reason> {
        self.fault.clone()
    }

    /// Sends the first request as early data, as far as the session accepts it.
    pub fn send_early<S: Session>(
        &mut self,
        link: &mut Link<S>,
        script: &Script,
    ) -> Result<(), Failure> {
        self.taken = link.session.send_early(next_request(link, script))?;
        link.at.requested = link.at.established;
        Ok(())
    }

    /// Applies the server's answer to early data: an accepted request counts from its sending; a
    /// rejected request is sent again (RFC 8446, section 4.2.10; RFC 8470, section 3).
    pub fn settle_early_data<S: Session>(
        &mut self,
        early_data: EarlyData,
        link: &mut Link<S>,
        script: &Script,
    ) {
        match early_data {
            EarlyData::None => link.at.requested = link.at.secured,
            EarlyData::Accepted => {}
            EarlyData::Rejected => self.taken = 0,
        }
        self.is_sent = self.taken > 0 && self.taken == next_request(link, script).len();
    }

    /// Sends the current request.
    pub fn request<S: Session, C: Clock>(
        &mut self,
        link: &mut Link<S>,
        context: &mut Context<'_, C>,
    ) -> Result<Next, Failure> {
        if self.taken == 0 && has_arrived(link)? {
            match self.look(link, context)? {
                Next::Go => {}
                end @ Next::Stop(_) => return Ok(end),
            }
        }
        let request = next_request(link, context.script);
        match link.session.write(&mut link.socket, &request[self.taken..]) {
            Ok(Progress::Done(taken)) => self.taken += taken,
            Ok(Progress::WantRead) => return Ok(Next::Stop(Turn::Read)),
            Ok(Progress::WantWrite) => return Ok(Next::Stop(Turn::Write)),
            Ok(Progress::Closed | Progress::Cut) => {
                self.broken = Some(Failure::Closed(Step::FirstByte));
            }
            Err(Failure::Reset) => self.broken = Some(Failure::Reset),
            Err(failure) => return Err(failure),
        }
        self.is_sent = self.taken == request.len() || self.broken.is_some();
        Ok(Next::Go)
    }

    /// Reads what has arrived while no request is outstanding: no response (RFC 9112, section 9.2),
    /// but perhaps the end of the connection.
    fn look<S: Session, C: Clock>(
        &mut self,
        link: &mut Link<S>,
        context: &mut Context<'_, C>,
    ) -> Result<Next, Failure> {
        match link.session.read(&mut link.socket, context.plaintext) {
            Ok(Progress::WantRead | Progress::WantWrite) => Ok(Next::Go),
            Ok(Progress::Done(_)) => {
                let words = "a response that nothing was asked for";
                Err(self.found(Failure::HttpProtocol, Reason::named(words)))
            }
            Ok(Progress::Closed | Progress::Cut) | Err(Failure::Reset)
                if link.requests_done > 0 =>
            {
                Ok(link.close_idle())
            }
            Ok(Progress::Closed | Progress::Cut) => Err(Failure::Closed(Step::FirstByte)),
            Err(failure) => Err(failure),
        }
    }

    /// Reads once from the response.
    pub fn response<S: Session, C: Clock>(
        &mut self,
        link: &mut Link<S>,
        context: &mut Context<'_, C>,
    ) -> Result<Next, Failure> {
        if self.broken.is_none() && link.session.unsent() > 0 {
            match link.session.flush(&mut link.socket) {
                Ok(Progress::WantWrite) => return Ok(Next::Stop(Turn::Write)),
                Err(Failure::Reset) => self.broken = Some(Failure::Reset),
                other => _ = other?,
            }
        }
        if !link.may_read() {
            return Ok(Next::Stop(Turn::Write));
        }
        if self.broken.is_some() {
            // What arrived before the failure raises no further event.
            link.socket.became_readable(true);
        }
        let complete = match link.session.read(&mut link.socket, context.plaintext) {
            Ok(Progress::Done(length)) => {
                let waits = link.step == Step::FirstByte;
                let now = if waits { context.clock.now() } else { 0 };
                let taken = self.response.take(&context.plaintext[..length]);
                self.note_begun(now, link, context);
                taken.map_err(|error| {
                    self.found(Failure::HttpProtocol, Reason::named(error.to_string()))
                })?
            }
            Ok(Progress::WantRead) => return Ok(Next::Stop(Turn::Read)),
            Ok(Progress::WantWrite) => return Ok(Next::Stop(Turn::Write)),
            Ok(end @ (Progress::Closed | Progress::Cut)) => match (self.response.end(), end) {
                (true, Progress::Closed) => true,
                // Anyone on the path can end a TCP stream. A body that is delimited only by the end
                // of the stream is complete only after a close_notify (RFC 9112, sections 8 and
                // 9.8).
                (true, _) => return Err(Failure::Truncated),
                (false, _) => {
                    // Without TLS, a crash ends the stream as a server in order does.
                    let orderly = end == Progress::Closed && link.facts.is_some();
                    return self.lost(Failure::Closed(link.step), orderly, link, context.script);
                }
            },
            Err(failure) => return self.lost(failure, false, link, context.script),
        };
        if complete { self.finish_request(link, context) } else { Ok(Next::Go) }
    }

    /// Notes the arrival of the first byte of the response. Interim responses are none.
    fn note_begun<S: Session, C: Clock>(
        &self,
        now: Nanos,
        link: &mut Link<S>,
        context: &Context<'_, C>,
    ) {
        match (link.step, self.response.has_begun()) {
            (Step::FirstByte, true) => {
                link.at.answered = now;
                if link.requests_done == 0 {
                    link.at.first_answered = now;
                }
                link.enter(Step::Body, now, context);
            }
            // A head that arrived in pieces was that of an interim response.
            (Step::Body, false) => link.enter(Step::FirstByte, link.at.requested, context),
            _ => {}
        }
    }

    /// The end of a connection that the server ended before a complete response. If no byte of the
    /// response has arrived, the server may have ended it before it saw the request: certainly if
    /// none of the request could be sent, and presumably after a close_notify. A client repeats
    /// such a request on another connection if it is idempotent (RFC 9112, section 9.3.1). Without
    /// a close_notify the server may as well have crashed.
    fn lost<S: Session>(
        &self,
        failure: Failure,
        orderly: bool,
        link: &mut Link<S>,
        script: &Script,
    ) -> Result<Next, Failure> {
        let is_unseen = self.taken == 0 || orderly && script.idempotent;
        if is_unseen && link.requests_done > 0 && !self.response.has_any() {
            return Ok(link.close_idle());
        }
        Err(self.broken.unwrap_or(failure))
    }

    /// Stores the fault of a response; returns the failure.
    fn found(&mut self, failure: Failure, reason: Reason) -> Failure {
        self.fault = Some(reason);
        failure
    }

    fn finish_request<S: Session, C: Clock>(
        &mut self,
        link: &mut Link<S>,
        context: &mut Context<'_, C>,
    ) -> Result<Next, Failure> {
        if !context.script.statuses.contains(self.response.status()) {
            let status = self.response.status().to_string();
            return Err(self.found(Failure::HttpStatus, Reason::named(status)));
        }
        if let Some(broken) = self.broken {
            return Err(broken);
        }
        if !self.response.body.holds() {
            return Err(self.found(Failure::Body, self.response.body.fault()));
        }
        let now = context.clock.now();
        if let Some(recorder) = &mut context.recorder
            && link.unexpected.is_none()
        {
            let answer = Answer {
                page: context.script.messages.page(link.next_place()),
                status: self.response.status(),
                head_bytes: self.response.head_bytes,
                body_bytes: self.response.body.bytes,
            };
            recorder.request(&link.at, now, link.is_minimal(), answer);
        }
        link.requests_done += 1;
        let open = self.response.keeps_alive();
        match context.script.requests {
            Some(requests) if link.requests_done == requests => {}
            None if context.draining => {}
            // The server has announced that it ends the connection (RFC 9112, section 9.6).
            _ if !open => return Ok(link.close_idle()),
            _ => {
                self.response = context.script.reader();
                self.taken = 0;
                self.is_sent = false;
                if context.script.think > 0 {
                    return Ok(Next::Stop(link.start_to_think(now, context)));
                }
                link.at.requested = now;
                link.enter(Step::FirstByte, now, context);
                return Ok(Next::Go);
            }
        }
        Ok(Next::Stop(Turn::Ended(link.outcome())))
    }

    /// Continues after think time. Data that arrived meanwhile is a fault: no request was
    /// outstanding.
    pub fn think<S: Session, C: Clock>(
        &mut self,
        link: &mut Link<S>,
        context: &mut Context<'_, C>,
    ) -> Result<Next, Failure> {
        let now = context.clock.now();
        if link.thinks_until.is_some_and(|until| now < until) {
            return Ok(Next::Stop(Turn::Read));
        }
        if let end @ Next::Stop(_) = self.look(link, context)? {
            return Ok(end);
        }
        link.thinks_until = None;
        link.at.requested = now;
        link.enter(Step::FirstByte, now, context);
        Ok(Next::Go)
    }
}

/// True if something may have arrived before a request is sent. Only before the first request does
/// this look at the socket itself: a server that answers unasked does so at once.
fn has_arrived<S: Session>(link: &mut Link<S>) -> Result<bool, Failure> {
    match link.requests_done {
        0 => link.has_arrived(),
        _ => Ok(link.session.has_received() || link.socket.may_have_more()),
    }
}

/// The bytes of the next request.
fn next_request<'s, S>(link: &Link<S>, script: &'s Script) -> &'s [u8] {
    let last = script.requests == Some(link.requests_done + 1);
    let message = script.messages.at(link.next_place());
    if last { &message.last_request } else { &message.request }
}
