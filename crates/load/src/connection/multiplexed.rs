//! What a connection does with HTTP/2: several requests under way, none of which waits for another.

use super::{Connection, Context, Milestones, Next, Script, Turn};
use tlslab_system::clock::{Clock, Nanos};
use tlslab_tls::{Progress, Session};
use tlslab_wire::http::h2::streams::{Done, Overdue};
use tlslab_wire::outcome::{Failure, Step};

impl<S: Session> Connection<S> {
    /// Begins what requests it may, sends what is to be sent, and takes what has arrived once.
    pub(super) fn exchange<C: Clock>(
        &mut self,
        context: &mut Context<'_, C>,
    ) -> Result<Next, Failure> {
        let is_thinking = self.is_thinking(context);
        if !(is_thinking || context.draining && context.script.requests.is_none()) {
            self.begin_requests(context.script)?;
        }
        if let Some(turn) = self.send_requests()? {
            return Ok(Next::Stop(turn));
        }
        if self.reads == 0 {
            return Ok(Next::Stop(Turn::Write));
        }
        self.reads -= 1;
        let length = match self.session.read(&mut self.socket, context.plaintext)? {
            Progress::Done(length) => length,
            Progress::WantRead => return Ok(Next::Stop(Turn::Read)),
            Progress::WantWrite => return Ok(Next::Stop(Turn::Write)),
            Progress::Closed | Progress::Cut => {
                return Err(Failure::Closed(self.step_of_requests()));
            }
        };
        let now = context.clock.now();
        let Some(client) = &mut self.http2 else { return Ok(Next::Go) };
        let taken = client.take(&context.plaintext[..length], now);
        self.at.first_answered = client.first_answered().unwrap_or_default();
        let mut answered = false;
        while let Some(done) = self.http2.as_mut().and_then(|client| client.next_done()) {
            self.note_done(&done, context);
            answered = true;
        }
        taken?;
        let next = self.ending(context)?;
        if matches!(next, Next::Go) && answered && context.script.think > 0 {
            return Ok(Next::Stop(self.begin_to_think(now, context)));
        }
        if !is_thinking {
            // The instant at which the next requests begin.
            self.at.requested = now;
            self.deadline = self.deadline.min(now + least_patience(context.script));
        }
        Ok(next)
    }

    /// Whether the next request has to wait; ends the time between two requests when it is over. What
    /// the server says meanwhile is heard, and no deadline holds.
    fn is_thinking<C: Clock>(&mut self, context: &Context<'_, C>) -> bool {
        let Some(until) = self.thinks_until else { return false };
        let now = context.clock.now();
        if now < until {
            return true;
        }
        self.thinks_until = None;
        self.at.requested = now;
        self.deadline = now + least_patience(context.script);
        false
    }

    /// Begins as many requests as are wanted, allowed, and left to do.
    fn begin_requests(&mut self, script: &Script) -> Result<(), Failure> {
        let (Some(client), Some(streams)) = (&mut self.http2, script.http2) else {
            return Ok(());
        };
        let left = script.requests.map_or(u32::MAX, |requests| requests - self.requests_begun);
        for _ in 0..client.room(streams).min(left) {
            let message = script.messages.at(self.place.wrapping_add(self.requests_begun));
            client.begin(&message.http2, self.at.requested)?;
            self.requests_begun = self.requests_begun.wrapping_add(1);
        }
        Ok(())
    }

    /// Sends what is to be sent; what to wait for if that is not possible now.
    pub(super) fn send_requests(&mut self) -> Result<Option<Turn>, Failure> {
        while let Some(client) = &mut self.http2 {
            let plaintext = client.outgoing()?;
            if plaintext.is_empty() {
                break;
            }
            match self.session.write(&mut self.socket, plaintext)? {
                Progress::Done(taken) => client.sent(taken),
                Progress::WantRead => return Ok(Some(Turn::Read)),
                Progress::WantWrite => return Ok(Some(Turn::Write)),
                Progress::Closed | Progress::Cut => {
                    return Err(Failure::Closed(self.step_of_requests()));
                }
            }
        }
        let waits = self.session.unsent() > 0
            && self.session.flush(&mut self.socket)? == Progress::WantWrite;
        Ok(waits.then_some(Turn::Write))
    }

    fn note_done<C: Clock>(&mut self, done: &Done, context: &mut Context<'_, C>) {
        self.requests_done = self.requests_done.wrapping_add(1);
        if let Some(recorder) = &mut context.recorder
            && self.unexpected.is_none()
        {
            let (requested, answered) = (done.requested, done.answered);
            let at = Milestones { requested, answered, ..self.at };
            let minimal = self.facts.is_some_and(|facts| facts.minimal_client);
            recorder.request(&at, done.ended, minimal, done.head_bytes, done.body_bytes);
        }
    }

    /// Whether the connection is over: all is done, or the server has ended it in peace. Requests that
    /// a GOAWAY has left unprocessed are no failures, but a connection that was to carry them is.
    fn ending<C>(&self, context: &Context<'_, C>) -> Result<Next, Failure> {
        let completed = Ok(Next::Stop(Turn::Ended(self.outcome())));
        let Some(client) = &self.http2 else { return completed };
        let has_ended = client.has_ended();
        match context.script.requests {
            Some(requests) if self.requests_done == requests => completed,
            None if has_ended && self.requests_done > 0 => completed,
            None if context.draining && client.is_idle() => completed,
            _ if has_ended => Err(Failure::Closed(Step::FirstByte)),
            _ => Ok(Next::Go),
        }
    }

    fn step_of_requests(&self) -> Step {
        self.http2.as_ref().map_or(self.step, |client| client.step())
    }

    /// The step that has taken too long, if one really has: with several requests under way the
    /// deadline is a bound that is made exact only when it is reached.
    pub(super) fn overdue_step(&mut self, now: Nanos, script: &Script) -> Option<Step> {
        let Some(client) = &self.http2 else { return Some(self.step) };
        let (first_byte, body) = (script.deadline(Step::FirstByte), script.deadline(Step::Body));
        match client.overdue(now, self.at.requested, first_byte, body) {
            Overdue::Now(step) => Some(step),
            Overdue::Until(deadline) => {
                self.deadline = deadline;
                None
            }
        }
    }
}

/// No request that begins or is answered now is overdue before so much time has passed.
fn least_patience(script: &Script) -> Nanos {
    script.deadline(Step::FirstByte).min(script.deadline(Step::Body))
}
