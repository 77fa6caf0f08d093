//! HTTP/1.1 requests of a connection: one after the other.

use super::link::Link;
use super::{Context, Next, Script, Turn};
use tlslab_system::clock::Clock;
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
    /// The fault of the response, if any.
    fault: Option<Reason>,
}

impl Sequential {
    /// The state before the first request.
    pub fn new(script: &Script) -> Self {
        Self { taken: 0, is_sent: false, response: script.reader(), fault: None }
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
        let request = next_request(link, context.script);
        match link.session.write(&mut link.socket, &request[self.taken..])? {
            Progress::Done(taken) => self.taken += taken,
            Progress::WantRead => return Ok(Next::Stop(Turn::Read)),
            Progress::WantWrite => return Ok(Next::Stop(Turn::Write)),
            Progress::Closed | Progress::Cut => return Err(Failure::Closed(Step::FirstByte)),
        }
        self.is_sent = self.taken == request.len();
        Ok(Next::Go)
    }

    /// Reads once from the response.
    pub fn response<S: Session, C: Clock>(
        &mut self,
        link: &mut Link<S>,
        context: &mut Context<'_, C>,
    ) -> Result<Next, Failure> {
        if link.session.unsent() > 0 && link.session.flush(&mut link.socket)? == Progress::WantWrite
        {
            return Ok(Next::Stop(Turn::Write));
        }
        if !link.may_read() {
            return Ok(Next::Stop(Turn::Write));
        }
        let complete = match link.session.read(&mut link.socket, context.plaintext)? {
            Progress::Done(length) => {
                if link.step == Step::FirstByte {
                    link.at.answered = context.clock.now();
                    if link.requests_done == 0 {
                        link.at.first_answered = link.at.answered;
                    }
                    link.enter(Step::Body, link.at.answered, context);
                }
                let taken = self.response.take(&context.plaintext[..length]);
                taken.map_err(|error| {
                    self.found(Failure::HttpProtocol, Reason::named(error.to_string()))
                })?
            }
            Progress::WantRead => return Ok(Next::Stop(Turn::Read)),
            Progress::WantWrite => return Ok(Next::Stop(Turn::Write)),
            end @ (Progress::Closed | Progress::Cut) => match (self.response.end(), end) {
                (true, Progress::Closed) => true,
                // Anyone on the path can end a TCP stream. A body that is delimited only by the end
                // of the stream is complete only after a close_notify (RFC 9112, sections 8 and
                // 9.8).
                (true, _) => return Err(Failure::Truncated),
                (false, _) => return Err(Failure::Closed(link.step)),
            },
        };
        if complete { self.finish_request(link, context) } else { Ok(Next::Go) }
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
        if !self.response.body.holds() {
            return Err(self.found(Failure::Body, self.response.body.fault()));
        }
        let now = context.clock.now();
        if let Some(recorder) = &mut context.recorder
            && link.unexpected.is_none()
        {
            let (head, body) = (self.response.head_bytes, self.response.body.bytes);
            recorder.request(&link.at, now, link.is_minimal(), head, body);
        }
        link.requests_done += 1;
        let open = self.response.keeps_alive();
        match context.script.requests {
            Some(requests) if link.requests_done == requests => {}
            None if !open || context.draining => {}
            Some(_) if !open => return Err(Failure::Closed(Step::FirstByte)),
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
        match link.session.read(&mut link.socket, context.plaintext)? {
            Progress::WantRead | Progress::WantWrite => {}
            Progress::Done(_) => {
                let words = "a response that nothing was asked for";
                return Err(self.found(Failure::HttpProtocol, Reason::named(words)));
            }
            Progress::Closed | Progress::Cut => return Err(Failure::Closed(Step::FirstByte)),
        }
        link.thinks_until = None;
        link.at.requested = now;
        link.enter(Step::FirstByte, now, context);
        Ok(Next::Go)
    }
}

/// The bytes of the next request.
fn next_request<'s, S>(link: &Link<S>, script: &'s Script) -> &'s [u8] {
    let last = script.requests == Some(link.requests_done + 1);
    let message = script.messages.at(link.place.wrapping_add(link.requests_done));
    if last { &message.last_request } else { &message.request }
}
