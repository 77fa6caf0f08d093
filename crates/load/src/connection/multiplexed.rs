//! HTTP/2 requests of a connection: several concurrent streams.

use super::link::Link;
use super::{Context, Next, Script, Turn};
use crate::recorder::{Answer, Milestones};
use tlslab_system::clock::{Clock, Nanos};
use tlslab_tls::{Progress, Session};
use tlslab_wire::http::Seen;
use tlslab_wire::http::h2;
use tlslab_wire::http::h2::streams::{Done, Overdue};
use tlslab_wire::outcome::{Failure, Step};
use tlslab_wire::reason::Reason;

/// The concurrent requests of a connection.
pub struct Multiplexed {
    client: h2::Client,
    /// Requests started.
    begun: u32,
    /// Whether what had arrived before the first request was read.
    has_looked: bool,
}

impl Multiplexed {
    /// The state before the first request.
    pub fn new(script: &Script) -> Result<Self, Failure> {
        let Script { body, statuses, messages, .. } = script;
        let client = h2::Client::expecting(*body, *statuses, messages.content())?;
        Ok(Self { client, begun: 0, has_looked: false })
    }

    /// The properties of the last response that a preflight records.
    pub fn seen(&self) -> Seen {
        self.client.seen().clone()
    }

    /// The reason of the connection's failure, if any.
    pub fn reason(&self) -> Option<Reason> {
        self.client.reason()
    }

    /// The page whose request ended the connection, if any was in flight.
    pub fn failed_page(&self) -> Option<u16> {
        self.client.failed_page()
    }

    /// The number of concurrent streams that the server allows, once it has said so.
    pub fn allowed(&self) -> Option<u32> {
        self.client.allowed()
    }

    /// Starts requests up to the limits, sends pending bytes, and reads once.
    pub fn exchange<S: Session, C: Clock>(
        &mut self,
        link: &mut Link<S>,
        context: &mut Context<'_, C>,
    ) -> Result<Next, Failure> {
        let is_thinking = is_thinking(link, context);
        // A response that arrived before its request is one to a stream that nobody has opened.
        let is_early = !std::mem::replace(&mut self.has_looked, true) && link.has_arrived()?;
        if !(is_early || is_thinking || context.draining && context.script.requests.is_none()) {
            self.begin_requests(link, context.script)?;
        }
        if let Some(turn) = self.send_requests(link)? {
            return Ok(Next::Stop(turn));
        }
        if !link.may_read() {
            return Ok(Next::Stop(Turn::Write));
        }
        let length = match link.session.read(&mut link.socket, context.plaintext) {
            Ok(Progress::Done(length)) => length,
            Ok(Progress::WantRead) if is_early => return Ok(Next::Go),
            Ok(Progress::WantRead) => return Ok(Next::Stop(Turn::Read)),
            Ok(Progress::WantWrite) => return Ok(Next::Stop(Turn::Write)),
            Ok(Progress::Closed | Progress::Cut) => {
                return self.lost(Failure::Closed(self.client.step()), link);
            }
            Err(failure) => return self.lost(failure, link),
        };
        let now = context.clock.now();
        let taken = self.client.take(&context.plaintext[..length], now);
        link.at.first_answered = self.client.first_answered().unwrap_or_default();
        let mut answered = false;
        while let Some(done) = self.client.next_done() {
            note_done(&done, link, context);
            answered = true;
        }
        taken?;
        let next = self.ending(link, context)?;
        if matches!(next, Next::Go) && answered && context.script.think > 0 {
            return Ok(Next::Stop(link.start_to_think(now, context)));
        }
        if !is_thinking {
            // The start of the next requests.
            link.at.requested = now;
            link.deadline = link.deadline.min(now + least_patience(context.script));
        }
        Ok(next)
    }

    /// The end of a connection that the server ended. With a request in flight this is a failure,
    /// since a server announces the end by a GOAWAY (RFC 9113, section 6.8).
    fn lost<S: Session>(&self, failure: Failure, link: &mut Link<S>) -> Result<Next, Failure> {
        let is_end = matches!(failure, Failure::Closed(_) | Failure::Reset);
        if is_end && self.client.is_idle() && link.requests_done > 0 {
            return Ok(link.close_idle());
        }
        Err(failure)
    }

    /// Starts requests up to the limit of streams and the number of requests left.
    fn begin_requests<S>(&mut self, link: &Link<S>, script: &Script) -> Result<(), Failure> {
        let streams = script.http2.unwrap_or_default();
        let left = script.requests.map_or(u32::MAX, |requests| requests - self.begun);
        for _ in 0..self.client.room(streams).min(left) {
            let place = link.place.wrapping_add(self.begun);
            let (message, page) = (script.messages.at(place), script.messages.page(place));
            self.client.begin(&message.http2, page, link.at.requested)?;
            self.begun = self.begun.wrapping_add(1);
        }
        Ok(())
    }

    /// Sends pending bytes. Returns the event to wait for if the socket takes no more.
    pub fn send_requests<S: Session>(
        &mut self,
        link: &mut Link<S>,
    ) -> Result<Option<Turn>, Failure> {
        loop {
            let plaintext = self.client.outgoing()?;
            if plaintext.is_empty() {
                break;
            }
            match link.session.write(&mut link.socket, plaintext)? {
                Progress::Done(taken) => self.client.sent(taken),
                Progress::WantRead => return Ok(Some(Turn::Read)),
                Progress::WantWrite => return Ok(Some(Turn::Write)),
                Progress::Closed | Progress::Cut => {
                    return Err(Failure::Closed(self.client.step()));
                }
            }
        }
        let waits = link.session.unsent() > 0
            && link.session.flush(&mut link.socket)? == Progress::WantWrite;
        Ok(waits.then_some(Turn::Write))
    }

    /// The end of the connection, if reached: all requests are done, or the server closed in an
    /// orderly way. Requests that a GOAWAY left unprocessed are no failures; a connection that
    /// carried none is one.
    fn ending<S: Session, C>(
        &self,
        link: &mut Link<S>,
        context: &Context<'_, C>,
    ) -> Result<Next, Failure> {
        let has_ended = self.client.has_ended();
        let is_done = match context.script.requests {
            Some(requests) => link.requests_done == requests,
            None => context.draining && self.client.is_idle(),
        };
        match link.requests_done {
            _ if is_done => Ok(Next::Stop(Turn::Ended(link.outcome()))),
            0 if has_ended => Err(Failure::Closed(Step::FirstByte)),
            _ if has_ended => Ok(link.close_idle()),
            _ => Ok(Next::Go),
        }
    }

    /// The instant since which the oldest request has waited for its first byte or its end. Without
    /// a request in flight, `since`.
    pub fn waits_since(&self, since: Nanos) -> Nanos {
        match self.client.overdue(0, since, 0, 0) {
            Overdue::Until(instant) => instant,
            Overdue::Now(_) => since,
        }
    }

    /// The step that exceeded its deadline, if any. With concurrent requests the stored deadline is
    /// a lower bound; this function computes the exact one only when the bound is reached.
    pub fn overdue_step<S>(&self, link: &mut Link<S>, now: Nanos, script: &Script) -> Option<Step> {
        let (first_byte, body) = (script.deadline(Step::FirstByte), script.deadline(Step::Body));
        match self.client.overdue(now, link.at.requested, first_byte, body) {
            Overdue::Now(step) => Some(step),
            Overdue::Until(deadline) => {
                link.deadline = deadline;
                None
            }
        }
    }
}

/// True during the think time between two requests; ends think time when it is over. The server's
/// frames are read meanwhile, and no deadline applies.
fn is_thinking<S, C: Clock>(link: &mut Link<S>, context: &Context<'_, C>) -> bool {
    let Some(until) = link.thinks_until else { return false };
    let now = context.clock.now();
    if now < until {
        return true;
    }
    link.thinks_until = None;
    link.at.requested = now;
    link.deadline = now + least_patience(context.script);
    false
}

fn note_done<S: Session, C: Clock>(done: &Done, link: &mut Link<S>, context: &mut Context<'_, C>) {
    link.requests_done = link.requests_done.wrapping_add(1);
    if let Some(recorder) = &mut context.recorder
        && link.unexpected.is_none()
    {
        let (requested, answered) = (done.requested, done.answered);
        let at = Milestones { requested, answered, ..link.at };
        let Done { page, status, head_bytes, body_bytes, .. } = *done;
        let answer = Answer { page, status, head_bytes, body_bytes };
        recorder.request(&at, done.ended, link.is_minimal(), answer);
    }
}

/// The shorter of the two request deadlines: no request started or answered now is overdue earlier.
fn least_patience(script: &Script) -> Nanos {
    script.deadline(Step::FirstByte).min(script.deadline(Step::Body))
}
