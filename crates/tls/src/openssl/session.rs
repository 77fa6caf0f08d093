//! One connection's OpenSSL session.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use ::openssl::ssl::{self, ErrorCode, ShutdownState, Ssl, SslStream};

use crate::pool::Pool;
use crate::{FLOOD, FRUITLESS_LIMIT, Negotiated, Progress, Session, Urgent, staple};
use tlslab_contract::spec::Resume;
use tlslab_system::socket::{self, Socket};
use tlslab_wire::outcome::{Failure, Step};
use tlslab_wire::reason::Reason;
use tlslab_wire::rule::Rule;

use super::bio_buffer::{BioBuffer, UNSENT_LIMIT};
use super::ffi::messages;
use super::tickets::{self, Ticket};
use super::{dh_prime, facts, failure};

/// One connection's OpenSSL session.
#[derive(Debug)]
pub struct OpensslSession {
    stream: SslStream<BioBuffer>,
    /// Whether this session verifies the server's certificate.
    authenticated: bool,
    /// The index of this session's server name in the settings.
    asked_name: usize,
    /// The pool for the sessions that the server issues.
    pool: Option<Pool<Ticket>>,
    /// The number of sessions added to the pool.
    gained: u32,
    /// The current step of the connection, for the class of a failure.
    step: Step,
    /// Bytes received since the session last made progress.
    fruitless: usize,
    explanation: String,
    /// Whether the explanation describes a kind of fault that several connections can share.
    is_fault: bool,
}

impl OpensslSession {
    /// A client's session, before its handshake.
    pub(super) fn new(
        mut ssl: Ssl,
        authenticated: bool,
        asked_name: usize,
    ) -> Result<Self, Failure> {
        ssl.set_connect_state();
        Ok(Self {
            stream: SslStream::new(ssl, BioBuffer::new()).map_err(|_| super::OUT_OF_MEMORY)?,
            authenticated,
            asked_name,
            pool: None,
            gained: 0,
            step: Step::Handshake,
            fruitless: 0,
            explanation: String::new(),
            is_fault: false,
        })
    }

    /// Adds the sessions that the server issues to this pool.
    pub(super) fn keep_tickets(&mut self, pool: Pool<Ticket>) {
        self.pool = Some(pool);
    }

    /// Returns a TLS 1.2 session to the pool: it can be resumed again, and OpenSSL does not deliver
    /// it again.
    fn give_back(&mut self) {
        let (Some(pool), Some(session)) = (&self.pool, self.stream.ssl().session()) else { return };
        let facts = facts::negotiated(self.stream.ssl(), self.authenticated);
        if matches!(facts.resumed_by, Resume::Id | Resume::Ticket) {
            pool.put(Ticket { session: session.to_owned(), authenticated: self.authenticated });
            self.gained += 1;
        }
    }

    /// Checks a stapled response, as the other clients do. OpenSSL only checks that it is one.
    fn check_staple(&mut self) -> Result<(), Failure> {
        let ssl = self.stream.ssl();
        let Some(response) = ssl.ocsp_status() else { return Ok(()) };
        let own = ssl.peer_certificate().filter(|_| self.authenticated);
        let checked = match own.and_then(|certificate| certificate.to_der().ok()) {
            Some(certificate) => staple::check(response, &certificate, unix_time()),
            None => staple::check_form(response),
        };
        checked.map_err(|refused| {
            self.explanation = refused.to_string();
            self.is_fault = true;
            Failure::Certificate
        })
    }

    /// Creates a ClientHello without sending it. The error is the library's message.
    pub(super) fn rehearse(&mut self) -> Result<(), String> {
        match self.stream.do_handshake() {
            Err(e) if e.code() != ErrorCode::WANT_READ => Err(self.fail(&e).1),
            _ => Ok(()),
        }
    }

    /// Calls the library until it is done or has to wait. Sends the library's output before each
    /// wait.
    fn advance(
        &mut self,
        socket: &mut Socket,
        mut call: impl FnMut(&mut SslStream<BioBuffer>) -> Result<usize, ssl::Error>,
    ) -> Result<Progress, Failure> {
        self.receive(socket)?;
        loop {
            let called = call(&mut self.stream);
            if let Some(pool) = &self.pool {
                tickets::delivered(self.authenticated, |ticket| {
                    pool.put(ticket);
                    self.gained += 1;
                });
            }
            // What OpenSSL refuses itself, it refuses by an alert.
            let is_refused = matches!(&called, Err(error) if error.code() == ErrorCode::SSL);
            if let Some(rule) = messages::broken(self.stream.ssl()).filter(|_| !is_refused) {
                return Err(self.broken(rule));
            }
            let error = match called {
                Ok(length) => {
                    self.fruitless = 0;
                    messages::got_on(self.stream.ssl());
                    return Ok(Progress::Done(length));
                }
                Err(error) => error,
            };
            match error.code() {
                ErrorCode::WANT_READ => {
                    if self.receive(socket)?.is_none() {
                        return self.wait_to_read(socket);
                    }
                }
                ErrorCode::WANT_WRITE => {
                    if !self.send(socket)? {
                        return Ok(Progress::WantWrite);
                    }
                }
                ErrorCode::ZERO_RETURN if messages::is_flooded(self.stream.ssl()) => {
                    return Err(self.flooded());
                }
                ErrorCode::ZERO_RETURN => return Ok(Progress::Closed),
                _ => return Err(self.end(&error, socket)),
            }
            if self.fruitless > FRUITLESS_LIMIT {
                return Err(self.flooded());
            }
        }
    }

    /// The event to wait for after sending. During a handshake the whole flight must be sent before
    /// the peer can answer.
    fn wait_to_read(&mut self, socket: &mut Socket) -> Result<Progress, Failure> {
        let all_sent = self.send(socket)?;
        let must_send = self.step == Step::Handshake && !all_sent;
        Ok(if must_send { Progress::WantWrite } else { Progress::WantRead })
    }

    fn receive(&mut self, socket: &mut Socket) -> Result<Option<usize>, Failure> {
        let received = self.stream.get_mut().receive(socket).map_err(|e| self.lose(&e))?;
        if let Some(failure) = self.stream.get_ref().broken() {
            // Sends the alert about the error. The connection is lost, whether or not the alert
            // arrives.
            let _ = self.stream.get_mut().send(socket);
            return Err(match failure {
                Failure::Rule(rule) => self.broken(rule),
                other => other,
            });
        }
        self.fruitless += received.unwrap_or(0);
        Ok(received)
    }

    fn broken(&mut self, rule: Rule) -> Failure {
        rule.explain().clone_into(&mut self.explanation);
        self.is_fault = true;
        Failure::Rule(rule)
    }

    fn flooded(&mut self) -> Failure {
        FLOOD.clone_into(&mut self.explanation);
        self.is_fault = true;
        Failure::TlsProtocol
    }

    fn send(&mut self, socket: &mut Socket) -> Result<bool, Failure> {
        self.stream.get_mut().send(socket).map_err(|e| self.lose(&e))
    }

    fn lose(&mut self, error: &io::Error) -> Failure {
        self.explanation = error.to_string();
        socket::failure(error, self.step)
    }

    /// Ends the session after an error of the library.
    fn end(&mut self, error: &ssl::Error, socket: &mut Socket) -> Failure {
        let (class, explanation) = self.fail(error);
        self.explanation = explanation;
        self.is_fault = failure::says_more(class);
        // Sends the alert with the reason. The connection has failed, whether or not the alert
        // arrives.
        let _ = self.stream.get_mut().send(socket);
        class
    }

    fn fail(&self, error: &ssl::Error) -> (Failure, String) {
        failure::classify(error, self.stream.ssl().verify_result(), self.step)
    }
}

/// The seconds since 1970.
fn unix_time() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

impl Session for OpensslSession {
    fn unsent(&self) -> usize {
        self.stream.get_ref().unsent()
    }

    fn send_early(&mut self, plaintext: &[u8]) -> Result<usize, Failure> {
        let session = self.stream.ssl().session();
        let limit = session.map_or(0, |session| session.max_early_data() as usize);
        let plaintext = &plaintext[..plaintext.len().min(limit)];
        if plaintext.is_empty() {
            return Ok(0);
        }
        self.stream.write_early_data(plaintext).map_err(|error| {
            let (class, explanation) = self.fail(&error);
            self.explanation = explanation;
            self.is_fault = failure::says_more(class);
            class
        })
    }

    fn handshake(&mut self, socket: &mut Socket, _: Urgent<'_>) -> Result<Progress, Failure> {
        let progress = self.advance(socket, |stream| stream.do_handshake().map(|()| 0))?;
        match progress {
            Progress::Done(_) => {
                self.step = Step::FirstByte;
                self.check_staple()?;
                self.give_back();
            }
            Progress::Closed => return Err(Failure::Closed(self.step)),
            Progress::Cut | Progress::WantRead | Progress::WantWrite => {}
        }
        Ok(progress)
    }

    fn facts(&self) -> Option<Negotiated> {
        Some(facts::negotiated(self.stream.ssl(), self.authenticated))
    }

    /// Sends waiting bytes first, so that OpenSSL never holds a record that it cannot pass on.
    fn write(&mut self, socket: &mut Socket, plaintext: &[u8]) -> Result<Progress, Failure> {
        if self.unsent() >= UNSENT_LIMIT && !self.send(socket)? {
            return Ok(Progress::WantWrite);
        }
        self.advance(socket, |stream| stream.ssl_write(plaintext))
    }

    fn flush(&mut self, socket: &mut Socket) -> Result<Progress, Failure> {
        Ok(if self.send(socket)? { Progress::Done(0) } else { Progress::WantWrite })
    }

    fn send_close_notify(&mut self, socket: &mut Socket) -> Result<(), Failure> {
        // The first call sends close_notify; a second one would wait for the server's
        // (SSL_shutdown(3)).
        if let Err(error) = self.stream.shutdown() {
            return Err(self.end(&error, socket));
        }
        self.send(socket).map(|_| ())
    }

    fn read(&mut self, socket: &mut Socket, plaintext: &mut [u8]) -> Result<Progress, Failure> {
        let progress = match self.advance(socket, |stream| stream.ssl_read(plaintext)) {
            Err(Failure::Closed(_)) => Progress::Cut,
            other => other?,
        };
        if let Progress::Done(_) = progress {
            self.step = Step::Body;
        }
        Ok(progress)
    }

    fn has_received(&self) -> bool {
        let received = self.stream.get_ref();
        self.stream.ssl().pending() > 0 || received.has_unread() || received.has_ended()
    }

    fn asked_name(&self) -> usize {
        self.asked_name
    }

    fn gained(&self) -> u32 {
        self.gained
    }

    fn weak_prime(&self) -> Option<&'static str> {
        dh_prime::weakness_of_peer(self.stream.ssl())
    }

    fn pass_over(&mut self) -> Result<Progress, Failure> {
        if !self.stream.get_ref().has_unread() {
            return Ok(Progress::WantRead);
        }
        let peeked = self.stream.ssl_peek(&mut [0]);
        self.took_ticket();
        match peeked {
            Err(error) if error.code() == ErrorCode::ZERO_RETURN => Ok(Progress::Closed),
            Err(error) if error.code() != ErrorCode::WANT_READ => {
                let (class, explanation) = self.fail(&error);
                self.explanation = explanation;
                Err(class)
            }
            _ => Ok(Progress::WantRead),
        }
    }

    fn took_ticket(&mut self) -> bool {
        messages::took_ticket(self.stream.ssl())
    }

    fn peer_certificates(&self) -> Vec<Vec<u8>> {
        let chain = self.stream.ssl().peer_cert_chain();
        chain.into_iter().flatten().filter_map(|certificate| certificate.to_der().ok()).collect()
    }

    fn reason(&self) -> Option<Reason> {
        self.is_fault.then(|| Reason::named(self.explanation.clone()))
    }

    fn explain(&self) -> String {
        self.explanation.clone()
    }
}

impl Drop for OpensslSession {
    /// Marks the connection as shut down. Otherwise OpenSSL considers the session broken and does
    /// not resume it (SSL_clear(3)). That this connection ends by a reset does not invalidate its
    /// tickets.
    fn drop(&mut self) {
        self.stream.set_shutdown(ShutdownState::SENT | ShutdownState::RECEIVED);
    }
}
