//! One connection, from its TCP connect to its last byte: a state machine with a function per state.

use std::net::SocketAddr;

use crate::clock::{Clock, Nanos};
use crate::http::h1::ResponseReader;
use crate::names::TlsVersion;
use crate::outcome::{Failure, Outcome, Step};
use crate::record::Bytes;
use crate::recorder::{Milestones, Recorder};
use crate::socket::{self, Socket};
use crate::tls::expectation::Expectation;
use crate::tls::{Negotiated, Progress, Session};

/// How often a connection may read in one turn: a MiB at most. A peer that sends as fast as it is
/// read leaves time for other connections, deadlines and the end of the run this way.
const READS: u32 = 64;

/// What every connection of a run does.
#[derive(Debug)]
pub struct Script {
    /// Where to connect.
    pub address: SocketAddr,
    /// A request that more will follow.
    pub request: Vec<u8>,
    /// The last request of a connection.
    pub last_request: Vec<u8>,
    /// Requests on a connection; `None`: as many as fit into the run.
    pub requests: Option<u32>,
    /// Whether to close as soon as the handshake is done.
    pub handshake_only: bool,
    /// The time that each step may take, in the order of [`Step`].
    pub deadlines: [Nanos; 4],
    /// What the handshake must have negotiated.
    pub expectation: Expectation,
}

impl Script {
    fn deadline(&self, step: Step) -> Nanos {
        self.deadlines[step as usize]
    }
}

/// What a connection is waiting for, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// For the socket to become readable.
    Read,
    /// For the socket to become writable; or, where it is, for its next turn.
    Write,
    /// For nothing any more.
    Ended(Outcome),
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
}

/// One connection.
pub struct Connection<S> {
    /// Its socket, for the poller.
    pub socket: Socket,
    session: S,
    step: Step,
    at: Milestones,
    deadline: Nanos,
    facts: Option<Negotiated>,
    handshake_bytes: (u64, u64),
    requests_done: u32,
    /// Bytes of the current request that the session has taken.
    request_taken: usize,
    request_sent: bool,
    response: ResponseReader,
    /// Reads left in this turn.
    reads: u32,
}

/// The outcome of one state's function: go on in the next state, or stop here.
enum Next {
    Go,
    Stop(Turn),
}

impl<S: Session> Connection<S> {
    /// Begins to connect.
    pub fn start(session: S, script: &Script, now: Nanos) -> Result<Self, Failure> {
        Ok(Self {
            socket: Socket::connect(script.address)?,
            session,
            step: Step::Connect,
            at: Milestones { started: now, ..Milestones::default() },
            deadline: now + script.deadline(Step::Connect),
            facts: None,
            handshake_bytes: (0, 0),
            requests_done: 0,
            request_taken: 0,
            request_sent: false,
            response: ResponseReader::default(),
            reads: 0,
        })
    }

    /// Goes as far as the socket and the length of a turn allow.
    pub fn advance<C: Clock>(&mut self, context: &mut Context<'_, C>) -> Turn {
        self.reads = READS;
        loop {
            let next = match self.step {
                Step::Connect => self.connect(context),
                Step::Handshake => self.handshake(context),
                Step::FirstByte if !self.request_sent => self.request(context),
                Step::FirstByte if context.script.handshake_only => self.verdict(context),
                Step::FirstByte | Step::Body => self.response(context),
            };
            match next {
                Ok(Next::Go) => {}
                Ok(Next::Stop(Turn::Ended(outcome))) => return self.end(outcome, context),
                Ok(Next::Stop(turn)) => return turn,
                Err(failure) => return self.end(Outcome::Failed(failure), context),
            }
        }
    }

    /// Ends the connection if its step has taken too long.
    pub fn expire<C: Clock>(&mut self, now: Nanos, context: &mut Context<'_, C>) -> Option<Turn> {
        (now >= self.deadline)
            .then(|| self.end(Outcome::Failed(Failure::TimedOut(self.step)), context))
    }

    /// The session, for what a person wants to know of a single connection.
    pub fn session(&self) -> &S {
        &self.session
    }

    /// What was negotiated, once the handshake is done.
    pub fn facts(&self) -> Option<Negotiated> {
        self.facts
    }

    /// The response read last.
    pub fn last_response(&self) -> &ResponseReader {
        &self.response
    }

    /// The step that the connection is in.
    pub fn step(&self) -> Step {
        self.step
    }

    fn enter<C: Clock>(&mut self, step: Step, now: Nanos, context: &Context<'_, C>) {
        self.step = step;
        self.deadline = now + context.script.deadline(step);
    }

    fn connect<C: Clock>(&mut self, context: &mut Context<'_, C>) -> Result<Next, Failure> {
        if !self.socket.is_established() {
            return match self.socket.connect_error() {
                Some(failure) => Err(failure),
                None => Ok(Next::Stop(Turn::Write)),
            };
        }
        self.at.established = context.clock.now();
        self.enter(Step::Handshake, self.at.established, context);
        Ok(Next::Go)
    }

    fn handshake<C: Clock>(&mut self, context: &mut Context<'_, C>) -> Result<Next, Failure> {
        match self.session.handshake(&mut self.socket)? {
            Progress::Done(_) => {}
            Progress::WantRead => return Ok(Next::Stop(Turn::Read)),
            Progress::WantWrite => return Ok(Next::Stop(Turn::Write)),
            Progress::Closed => return Err(Failure::Closed(Step::Handshake)),
        }
        self.at.secured = context.clock.now();
        let sent = self.socket.sent + self.session.unsent() as u64;
        self.handshake_bytes = (sent, self.socket.received);
        let facts = self.session.facts();
        self.facts = Some(facts);
        if let Some(mismatch) = context.script.expectation.mismatch(&facts) {
            return Ok(Next::Stop(Turn::Ended(Outcome::Unexpected(mismatch))));
        }
        self.at.requested = self.at.secured;
        self.enter(Step::FirstByte, self.at.requested, context);
        Ok(Next::Go)
    }

    fn request<C: Clock>(&mut self, context: &mut Context<'_, C>) -> Result<Next, Failure> {
        if context.script.handshake_only {
            return Ok(match self.session.flush(&mut self.socket)? {
                Progress::WantWrite => Next::Stop(Turn::Write),
                _ if self.is_to_be_judged() => {
                    let ended = self.socket.finish_sending();
                    ended.map_err(|e| socket::failure(&e, self.step))?;
                    self.request_sent = true;
                    Next::Go
                }
                _ => Next::Stop(Turn::Ended(Outcome::Completed)),
            });
        }
        let last = context.script.requests == Some(self.requests_done + 1);
        let script = context.script;
        let request = if last { &script.last_request } else { &script.request };
        match self.session.write(&mut self.socket, &request[self.request_taken..])? {
            Progress::Done(taken) => self.request_taken += taken,
            Progress::WantRead => return Ok(Next::Stop(Turn::Read)),
            Progress::WantWrite => return Ok(Next::Stop(Turn::Write)),
            Progress::Closed => return Err(Failure::Closed(Step::FirstByte)),
        }
        self.request_sent = self.request_taken == request.len();
        Ok(Next::Go)
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
            Progress::Done(_) | Progress::Closed => Next::Stop(Turn::Ended(Outcome::Completed)),
            Progress::WantRead => Next::Stop(Turn::Read),
            Progress::WantWrite => Next::Stop(Turn::Write),
        })
    }

    fn response<C: Clock>(&mut self, context: &mut Context<'_, C>) -> Result<Next, Failure> {
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
                    self.enter(Step::Body, self.at.answered, context);
                }
                self.response
                    .take(&context.plaintext[..length])
                    .map_err(|_| Failure::HttpProtocol)?
            }
            Progress::WantRead => return Ok(Next::Stop(Turn::Read)),
            Progress::WantWrite => return Ok(Next::Stop(Turn::Write)),
            Progress::Closed if self.response.end() => true,
            Progress::Closed => return Err(Failure::Closed(self.step)),
        };
        if complete { self.finish_request(context) } else { Ok(Next::Go) }
    }

    fn finish_request<C: Clock>(&mut self, context: &mut Context<'_, C>) -> Result<Next, Failure> {
        if !(200..300).contains(&self.response.status()) {
            return Err(Failure::HttpStatus);
        }
        let now = context.clock.now();
        if let Some(recorder) = &mut context.recorder {
            let (head, body) = (self.response.head_bytes, self.response.body_bytes);
            recorder.request(&self.at, now, head, body);
        }
        self.requests_done += 1;
        let open = self.response.keeps_alive();
        match context.script.requests {
            Some(requests) if self.requests_done == requests => {}
            None if !open => {}
            Some(_) if !open => return Err(Failure::Closed(Step::FirstByte)),
            _ => {
                self.response = ResponseReader::default();
                self.request_taken = 0;
                self.request_sent = false;
                self.at.requested = now;
                self.enter(Step::FirstByte, now, context);
                return Ok(Next::Go);
            }
        }
        Ok(Next::Stop(Turn::Ended(Outcome::Completed)))
    }

    fn end<C: Clock>(&mut self, outcome: Outcome, context: &mut Context<'_, C>) -> Turn {
        if let Some(recorder) = &mut context.recorder {
            recorder.count_name(self.session.asked_name(), outcome);
            match (outcome, self.facts) {
                (Outcome::Completed, Some(facts)) => {
                    let bytes = Bytes {
                        handshake_sent: self.handshake_bytes.0,
                        handshake_received: self.handshake_bytes.1,
                        sent: self.socket.sent,
                        received: self.socket.received,
                        ..Bytes::default()
                    };
                    recorder.completed(&self.at, context.clock.now(), facts, &bytes);
                }
                (Outcome::Unexpected(_), facts) => recorder.troubled(outcome, facts),
                _ => recorder.troubled(outcome, None),
            }
        }
        Turn::Ended(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::names::CipherSuite;
    use crate::tls::HandshakeKind;
    use std::net::TcpListener;

    /// A session whose peer sends without a pause.
    struct Endless(&'static [u8]);

    impl Session for Endless {
        fn unsent(&self) -> usize {
            0
        }

        fn handshake(&mut self, _: &mut Socket) -> Result<Progress, Failure> {
            Ok(Progress::Done(0))
        }

        fn facts(&self) -> Negotiated {
            Negotiated {
                version: TlsVersion::Tls13,
                suite: CipherSuite::from_code_point(0x1301),
                group: None,
                signature_scheme: Some("ed25519".parse().unwrap()),
                kind: HandshakeKind::Full,
                hello_retry_request: false,
                alpn: None,
                client_authenticated: false,
                authenticated: true,
            }
        }

        fn write(&mut self, _: &mut Socket, plaintext: &[u8]) -> Result<Progress, Failure> {
            Ok(Progress::Done(plaintext.len()))
        }

        fn flush(&mut self, _: &mut Socket) -> Result<Progress, Failure> {
            Ok(Progress::Done(0))
        }

        fn read(&mut self, _: &mut Socket, plaintext: &mut [u8]) -> Result<Progress, Failure> {
            let bytes = std::mem::replace(&mut self.0, b"x");
            plaintext[..bytes.len()].copy_from_slice(bytes);
            Ok(Progress::Done(bytes.len()))
        }

        fn peer_certificates(&self) -> Vec<Vec<u8>> {
            Vec::new()
        }
    }

    #[test]
    fn a_peer_that_never_pauses_leaves_time_for_others() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let script = Script {
            address: listener.local_addr().unwrap(),
            request: Vec::new(),
            last_request: Vec::new(),
            requests: Some(1),
            handshake_only: false,
            deadlines: [1; 4],
            expectation: Expectation::default(),
        };
        let session = Endless(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
        let mut connection = Connection::start(session, &script, 0).unwrap();
        let clock = ManualClock::default();
        let mut plaintext = [0; 64];
        let mut context =
            Context { script: &script, clock: &clock, recorder: None, plaintext: &mut plaintext };
        let _accepted = listener.accept().unwrap();
        for turn in 1..=3 {
            assert_eq!(connection.advance(&mut context), Turn::Write);
            assert_eq!(connection.last_response().body_bytes, u64::from(turn * READS - 1));
        }
        let late = Turn::Ended(Outcome::Failed(Failure::TimedOut(Step::Body)));
        assert_eq!(connection.expire(1, &mut context), Some(late));
    }
}
