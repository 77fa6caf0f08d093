//! What a connection does with HTTP/1.1: one request after the other.

use super::{Connection, Context, Next, Script, Turn};
use tlslab_system::clock::{Clock, Nanos};
use tlslab_system::socket;
use tlslab_tls::{Progress, Session};
use tlslab_wire::outcome::{Failure, Step};
use tlslab_wire::reason::Reason;

impl<S: Session> Connection<S> {
    pub(super) fn next_request<'s>(&self, script: &'s Script) -> &'s [u8] {
        let last = script.requests == Some(self.requests_done + 1);
        let message = script.messages.at(self.place.wrapping_add(self.requests_done));
        if last { &message.last_request } else { &message.request }
    }

    pub(super) fn request<C: Clock>(
        &mut self,
        context: &mut Context<'_, C>,
    ) -> Result<Next, Failure> {
        if context.script.handshake_only {
            return Ok(match self.session.flush(&mut self.socket)? {
                Progress::WantWrite => Next::Stop(Turn::Write),
                _ if self.is_to_be_judged() => {
                    let ended = self.socket.finish_sending();
                    ended.map_err(|e| socket::failure(&e, self.step))?;
                    self.request_sent = true;
                    Next::Go
                }
                _ => Next::Stop(Turn::Ended(self.outcome())),
            });
        }
        let request = self.next_request(context.script);
        match self.session.write(&mut self.socket, &request[self.request_taken..])? {
            Progress::Done(taken) => self.request_taken += taken,
            Progress::WantRead => return Ok(Next::Stop(Turn::Read)),
            Progress::WantWrite => return Ok(Next::Stop(Turn::Write)),
            Progress::Closed | Progress::Cut => return Err(Failure::Closed(Step::FirstByte)),
        }
        self.request_sent = self.request_taken == request.len();
        Ok(Next::Go)
    }

    pub(super) fn response<C: Clock>(
        &mut self,
        context: &mut Context<'_, C>,
    ) -> Result<Next, Failure> {
        if self.session.unsent() > 0 && self.session.flush(&mut self.socket)? == Progress::WantWrite
        {
            return Ok(Next::Stop(Turn::Write));
        }
        if self.reads == 0 {
            return Ok(Next::Stop(Turn::Write));
        }
        self.reads -= 1;
        let complete = match self.session.read(&mut self.socket, context.plaintext)? {
            Progress::Done(length) => {
                if self.step == Step::FirstByte {
                    self.at.answered = context.clock.now();
                    if self.requests_done == 0 {
                        self.at.first_answered = self.at.answered;
                    }
                    self.enter(Step::Body, self.at.answered, context);
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
                // Anybody on the way can end a TCP stream: where only its end says that the body is
                // whole, it is whole only with a close_notify (RFC 9112, sections 8 and 9.8).
                (true, _) => return Err(Failure::Truncated),
                (false, _) => return Err(Failure::Closed(self.step)),
            },
        };
        if complete { self.finish_request(context) } else { Ok(Next::Go) }
    }

    /// Keeps why a response is no good.
    fn found(&mut self, failure: Failure, reason: Reason) -> Failure {
        self.fault = Some(reason);
        failure
    }

    fn finish_request<C: Clock>(&mut self, context: &mut Context<'_, C>) -> Result<Next, Failure> {
        if !context.script.statuses.contains(self.response.status()) {
            let status = self.response.status().to_string();
            return Err(self.found(Failure::HttpStatus, Reason::named(status)));
        }
        if !self.response.body.holds() {
            return Err(self.found(Failure::Body, self.response.body.fault()));
        }
        let now = context.clock.now();
        if let Some(recorder) = &mut context.recorder
            && self.unexpected.is_none()
        {
            let (head, body) = (self.response.head_bytes, self.response.body.bytes);
            let minimal = self.facts.is_some_and(|facts| facts.minimal_client);
            recorder.request(&self.at, now, minimal, head, body);
        }
        self.requests_done += 1;
        let open = self.response.keeps_alive();
        match context.script.requests {
            Some(requests) if self.requests_done == requests => {}
            None if !open || context.draining => {}
            Some(_) if !open => return Err(Failure::Closed(Step::FirstByte)),
            _ => {
                self.response = context.script.reader();
                self.request_taken = 0;
                self.request_sent = false;
                if context.script.think > 0 {
                    return Ok(Next::Stop(self.begin_to_think(now, context)));
                }
                self.at.requested = now;
                self.enter(Step::FirstByte, now, context);
                return Ok(Next::Go);
            }
        }
        Ok(Next::Stop(Turn::Ended(self.outcome())))
    }

    /// No deadline holds while the client itself is what is waited for.
    pub(super) fn begin_to_think<C: Clock>(
        &mut self,
        now: Nanos,
        context: &Context<'_, C>,
    ) -> Turn {
        let until = now + context.script.think;
        self.thinks_until = Some(until);
        self.step = Step::FirstByte;
        self.deadline = Nanos::MAX;
        Turn::Think(until)
    }

    /// Goes on after think time. What came meanwhile is looked at first: nothing was asked for.
    pub(super) fn think<C: Clock>(
        &mut self,
        context: &mut Context<'_, C>,
    ) -> Result<Next, Failure> {
        let now = context.clock.now();
        if self.thinks_until.is_some_and(|until| now < until) {
            return Ok(Next::Stop(Turn::Read));
        }
        match self.session.read(&mut self.socket, context.plaintext)? {
            Progress::WantRead | Progress::WantWrite => {}
            Progress::Done(_) => {
                let words = "a response that nothing was asked for";
                return Err(self.found(Failure::HttpProtocol, Reason::named(words)));
            }
            Progress::Closed | Progress::Cut => return Err(Failure::Closed(Step::FirstByte)),
        }
        self.thinks_until = None;
        self.at.requested = now;
        self.enter(Step::FirstByte, now, context);
        Ok(Next::Go)
    }
}
