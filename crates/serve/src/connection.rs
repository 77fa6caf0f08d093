//! The states of a connection: handshake, request, response, close.

mod pause;

use std::io::{self, ErrorKind};

use mio::event::Event;
use mio::net::TcpStream;

use self::pause::Pause;
use super::context::Context;
use super::edge_socket::EdgeSocket;
use super::http::{Asked, Body, Multiplexed, Request, read};
use super::stats::WorkerCounts;
use super::tls::{Inbound, RECORD, Session, TlsFailure};
use tlslab_system::clock::{Nanos, SECOND};

/// The longest time for a peer's handshake, for its first request, and between two signs that the
/// peer receives data.
const PATIENCE: Nanos = 30 * SECOND;

/// The longest time from the server's close to the peer's.
const LINGER: Nanos = 2 * SECOND;

/// Plaintext that is encrypted before it is sent: enough for few system calls, and little enough
/// that a peer that does not read costs little memory.
const QUANTUM: usize = 4 * RECORD;

/// Quanta of one response before other connections get a turn.
const TURN: u32 = 16;

/// The next event of a connection after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// The connection waits for its socket.
    Waits,
    /// The connection continues at once, after the turns of others.
    Continues,
    /// The connection continues at an instant, whatever its socket reports.
    Pauses(Nanos),
    /// The connection is over; its socket is to be closed.
    Over,
}

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Handshake,
    /// Between requests, or within the head of a request.
    Request,
    /// The rest of a body is not encrypted yet.
    Response(Body),
    /// HTTP/2, from the end of the handshake to the end of the connection.
    Multiplexed,
    /// Encrypted bytes are not sent yet; the sending side is closed after them.
    Closing,
    /// The sending side is closed. Arriving bytes are read and discarded: a socket closed with
    /// unread bytes resets the connection, and a reset destroys data that the peer has not read.
    Lingering,
}

/// A connection to a client.
pub(super) struct Connection<S> {
    socket: EdgeSocket,
    session: S,
    state: State,
    deadline: Nanos,
    /// Received plaintext that is not parsed yet.
    request: Vec<u8>,
    /// The pause before the next answer.
    pause: Pause,
    /// Whether the peer has ended its side of the session and will send no more requests.
    ended: bool,
    /// Whether the connection ends after the response.
    close: bool,
    /// Whether any byte of a handshake has arrived.
    begun: bool,
    /// Whether more than one request was answered.
    kept_alive: bool,
    /// Whether at least one request was answered.
    answered: bool,
    /// The HTTP/2 streams; `None` with HTTP/1.1.
    http2: Option<Box<Multiplexed>>,
}

impl<S: Session> Connection<S> {
    pub fn new(socket: TcpStream, session: S, now: Nanos) -> Self {
        Self {
            socket: EdgeSocket::new(socket),
            session,
            state: if S::HAS_HANDSHAKE { State::Handshake } else { State::Request },
            deadline: now + PATIENCE,
            request: Vec::new(),
            pause: Pause::default(),
            ended: false,
            close: false,
            begun: false,
            kept_alive: false,
            answered: false,
            http2: None,
        }
    }

    /// The socket, for the poller.
    pub fn socket(&mut self) -> &mut TcpStream {
        self.socket.socket()
    }

    /// Serves the connection as far as its socket allows.
    pub fn serve(&mut self, event: &Event, context: &mut Context<'_>) -> Fate {
        self.socket.notice(event);
        self.go_on(context)
    }

    /// Continues to serve the connection.
    pub fn go_on(&mut self, context: &mut Context<'_>) -> Fate {
        let advanced = self.advance(context);
        if self.request.is_empty() && self.request.capacity() > 0 {
            *context.spare = std::mem::take(&mut self.request);
        }
        match advanced {
            Ok(fate) => fate,
            // The peer reset the connection, closed it early, or violated TLS.
            Err(_) => {
                self.count_failed_handshake(context.counts);
                Fate::Over
            }
        }
    }

    /// Ends the connection if its deadline has passed.
    pub fn expire(&mut self, context: &mut Context<'_>) -> Fate {
        match self.state {
            _ if self.deadline > context.now => Fate::Waits,
            State::Request if self.request.is_empty() => {
                self.end(context.now);
                self.go_on(context)
            }
            State::Multiplexed if self.is_idle() => {
                self.close = true;
                self.go_on(context)
            }
            _ => {
                self.count_failed_handshake(context.counts);
                Fate::Over
            }
        }
    }

    /// Ends the connection: at once between two requests, otherwise after the current exchange.
    pub fn stop(&mut self, context: &mut Context<'_>) -> Fate {
        self.close = true;
        // Bytes that have arrived by now still count.
        self.socket.look_again();
        let fate = self.go_on(context);
        match self.state {
            _ if fate != Fate::Waits => fate,
            State::Handshake if !self.begun => Fate::Over,
            State::Request if self.request.is_empty() => {
                self.end(context.now);
                self.go_on(context)
            }
            _ => fate,
        }
    }

    /// True if the connection's current work belongs to its handshake, its first exchange, or the
    /// close after a single exchange; with HTTP/2, to its handshake.
    pub fn is_new(&self) -> bool {
        !self.kept_alive && self.state != State::Multiplexed
    }

    /// True if the connection waits only for the peer's close.
    pub fn is_lingering(&self) -> bool {
        self.state == State::Lingering
    }

    fn advance(&mut self, context: &mut Context<'_>) -> io::Result<Fate> {
        for _ in 0..TURN {
            let fate = match self.state {
                State::Handshake | State::Request => self.take_request(context)?,
                State::Response(body) => self.send_response(body, context)?,
                State::Multiplexed => self.multiplex(context)?,
                State::Closing => self.send_rest(context.now)?,
                State::Lingering => self.linger(context)?,
            };
            if let Some(fate) = fate {
                return Ok(fate);
            }
        }
        Ok(Fate::Continues)
    }

    /// Processes received bytes and sends a quantum of waiting bytes, or else receives more.
    fn multiplex(&mut self, context: &mut Context<'_>) -> io::Result<Option<Fate>> {
        let Some(http2) = &mut self.http2 else { return Err(ErrorKind::InvalidData.into()) };
        let mut broken = false;
        if !self.request.is_empty() {
            broken = http2.take(&self.request, context.now + context.timing.pause).is_err();
            self.request.clear();
            self.deadline = context.now + patience(http2, context);
        }
        let answered = http2.answer_due(context.now, context.responder, || context.shared.stats());
        broken |= answered.is_err();
        for _ in 0..answered.unwrap_or_default() {
            context.counts.requests.count();
        }
        if !self.session.send(self.socket.socket())? {
            return Ok(Some(Fate::Waits));
        }
        if self.close {
            http2.go_away();
        }
        context.plaintext.clear();
        broken |= http2.make(context.plaintext, QUANTUM).is_err();
        if !context.plaintext.is_empty() {
            self.session.write(context.plaintext)?;
            self.deadline = context.now + patience(http2, context);
        } else if broken || http2.is_over() || (http2.is_idle() && (self.ended || self.close)) {
            self.end(context.now);
        } else if self.ended && http2.next_due().is_none() {
            // The remaining bytes need a flow-control window that the client will not open.
            return Err(ErrorKind::UnexpectedEof.into());
        } else {
            let due = http2.next_due();
            let fate = if self.ended { Some(Fate::Waits) } else { self.receive(context)? };
            return Ok(match (fate, due) {
                (Some(Fate::Waits), Some(due)) => Some(self.pause.wait_until(due)),
                (fate, _) => fate,
            });
        }
        Ok(None)
    }

    /// Answers a complete request, or else receives more.
    fn take_request(&mut self, context: &mut Context<'_>) -> io::Result<Option<Fate>> {
        if self.state == State::Request {
            if let Some(asked) = read(&self.request) {
                let pause = self.pause.before_answer(context.now, context.timing.pause);
                if let Some(Fate::Pauses(due)) = pause {
                    self.deadline = due + PATIENCE;
                }
                if pause.is_some() {
                    return Ok(pause);
                }
                return self.answer(asked, context).map(|()| None);
            }
            if self.ended {
                self.end(context.now);
                return Ok(None);
            }
        }
        // The handshake bytes so far must be sent before the client can answer them.
        if !self.session.send(self.socket.socket())? {
            return Ok(Some(Fate::Waits));
        }
        self.receive(context)
    }

    fn answer(&mut self, asked: Asked, context: &mut Context<'_>) -> io::Result<()> {
        context.plaintext.clear();
        let mut body = match asked {
            Ok((request, length)) => {
                self.request.drain(..length);
                self.close |= request.close;
                let request = Request { close: self.close, ..request };
                context.responder.respond(request, || context.shared.stats(), context.plaintext)
            }
            Err(status) => {
                self.close = true;
                context.responder.refuse(status, context.plaintext);
                Body::default()
            }
        };
        // The head and the first bytes of the body share a record.
        let room = RECORD.saturating_sub(context.plaintext.len());
        context.plaintext.extend_from_slice(body.take(room));
        self.session.write(context.plaintext)?;
        context.counts.requests.count();
        self.kept_alive = self.answered;
        self.answered = true;
        self.state = State::Response(body);
        self.deadline = context.now + PATIENCE;
        Ok(())
    }

    fn send_response(&mut self, mut body: Body, context: &Context<'_>) -> io::Result<Option<Fate>> {
        if body.is_empty() && self.close {
            // The alert is sent together with the end of the body.
            self.end(context.now);
            return Ok(None);
        }
        if !self.session.send(self.socket.socket())? {
            return Ok(Some(Fate::Waits));
        }
        self.deadline = context.now + PATIENCE;
        if body.is_empty() {
            self.state = State::Request;
            self.deadline = context.now + context.timing.idle;
        } else {
            self.session.write(body.take(QUANTUM))?;
            self.state = State::Response(body);
        }
        Ok(None)
    }

    fn is_idle(&self) -> bool {
        self.http2.as_ref().is_none_or(|http2| http2.is_idle())
    }

    /// Ends the session with close_notify.
    fn end(&mut self, now: Nanos) {
        self.session.close();
        self.state = State::Closing;
        self.deadline = now + PATIENCE;
    }

    fn send_rest(&mut self, now: Nanos) -> io::Result<Option<Fate>> {
        if !self.session.send(self.socket.socket())? {
            return Ok(Some(Fate::Waits));
        }
        self.socket.finish()?;
        self.state = State::Lingering;
        self.deadline = now + LINGER;
        Ok(None)
    }

    fn linger(&mut self, context: &mut Context<'_>) -> io::Result<Option<Fate>> {
        match self.socket.read(context.received)? {
            None => Ok(Some(Fate::Waits)),
            Some(0) => Ok(Some(Fate::Over)),
            Some(_) => Ok(None),
        }
    }

    /// Receives once and passes the bytes to the session.
    fn receive(&mut self, context: &mut Context<'_>) -> io::Result<Option<Fate>> {
        let length = match self.socket.read(context.received)? {
            None => return Ok(Some(Fate::Waits)),
            Some(0) if matches!(self.state, State::Request | State::Multiplexed) => {
                self.ended = true;
                return Ok(None);
            }
            Some(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Some(length) => length,
        };
        self.begun = true;
        if self.request.capacity() == 0 {
            self.request = std::mem::take(context.spare);
        }
        match self.session.receive(&context.received[..length], &mut self.request) {
            Ok(Inbound::Open) => {}
            Ok(Inbound::Ended) => self.ended = true,
            Err(TlsFailure) => {
                // The alert with the reason should still be sent.
                self.count_failed_handshake(context.counts);
                self.state = State::Closing;
                self.deadline = context.now + LINGER;
                return Ok(None);
            }
        }
        if self.state == State::Handshake
            && let Some(kind) = self.session.handshake()
        {
            context.counts.completed(kind).count();
            if self.session.accepted_early_data() {
                context.counts.early_data.count();
            }
            if self.session.has_client_certificate() {
                context.counts.mutual.count();
            }
            self.state = State::Request;
            if self.session.speaks_http2() {
                self.http2 = Some(Box::new(Multiplexed::new().ok_or(ErrorKind::OutOfMemory)?));
                self.state = State::Multiplexed;
            }
            self.deadline = context.now + PATIENCE;
        }
        if self.ended && self.state == State::Handshake {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(None)
    }

    fn count_failed_handshake(&mut self, counts: &WorkerCounts) {
        if self.state == State::Handshake && self.begun {
            counts.failed.count();
        }
    }
}

/// The longest silence of a connection with HTTP/2.
fn patience(http2: &Multiplexed, context: &Context<'_>) -> Nanos {
    if http2.is_idle() { context.timing.idle } else { context.timing.pause + PATIENCE }
}

#[cfg(test)]
mod tests;
