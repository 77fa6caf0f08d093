//! The HTTP/2 client side (RFC 9113): concurrent requests on one connection.
//!
//! [`Client`] consumes and produces plaintext; [`session`] wraps nghttp2 in a safe interface;
//! [`streams`] holds the state of each request.

mod farewell;
pub mod session;
pub mod streams;

use std::sync::Arc;

use farewell::{last_error, protocol_reason};
use session::{Broken, Field, Session};
use streams::{Done, ENHANCE_YOUR_CALM, Overdue, Streams};

use super::body::BodyRule;
use super::{Seen, StatusSet};
use crate::outcome::{Failure, Step};
use crate::reason::Reason;
use crate::time::Nanos;

/// The highest number of concurrent streams on a connection; servers allow 100 to 256.
pub const STREAMS_LIMIT: u32 = 1000;

/// The flow-control window of a stream and of the connection, in bytes. Bodies are not stored, so
/// there is no reason to slow a server down. Browsers allow 6 to 12 MiB.
const WINDOW: i32 = 16 << 20;

/// The size of the server's header table: the protocol's default, which browsers also send. A
/// server without a table (nginx) announces that only if the client has sent a size. Otherwise the
/// client would enter each of the server's fields in the table and evict it again.
const HEADER_TABLE: u32 = 4096;

/// The highest number of bytes of plaintext prepared for sending: requests have some 40 bytes each.
const OUTGOING_LIMIT: usize = 16 * 1024;

/// The fields of a request.
#[derive(Debug, Clone)]
pub struct Request {
    fields: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Request {
    /// A request with the fields of HTTP/1.1: names become lower case, Host becomes `:authority`
    /// (RFC 9113, section 8.3.1).
    pub fn new(scheme: &str, method: &str, path: &str, fields: &[(String, String)]) -> Self {
        let is_host = |name: &str| name.eq_ignore_ascii_case("host");
        let host = fields.iter().find(|(name, _)| is_host(name));
        let authority = host.map_or("", |(_, value)| value);
        let pseudo =
            [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path)];
        let others = fields.iter().filter(|(name, _)| !is_host(name));
        let others = others.map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        let pseudo = pseudo.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let bytes = |(name, value): (String, String)| (name.into_bytes(), value.into_bytes());
        Self { fields: pseudo.into_iter().chain(others).map(bytes).collect() }
    }

    fn fields(&self) -> impl ExactSizeIterator<Item = Field<'_>> {
        self.fields.iter().map(|(name, value)| (&**name, &**value))
    }
}

/// The HTTP/2 client of one connection.
#[derive(Debug)]
pub struct Client {
    session: Session<Streams>,
    streams: Streams,
    /// Number of concurrent streams that the server allows.
    allowed: u32,
    /// Prepared plaintext, and how much of it was sent.
    outgoing: Vec<u8>,
    sent: usize,
    /// Whether the session may have more to send than is prepared.
    to_make: bool,
    /// The reason why the connection failed, if it has.
    reason: Option<Reason>,
}

impl Client {
    /// A client that has sent nothing yet. `rule` applies to all bodies, and every 2xx status
    /// counts as success.
    pub fn new(rule: BodyRule) -> Result<Self, Failure> {
        Self::expecting(rule, StatusSet::default(), None)
    }

    /// The same client with these success statuses, and this body for every request.
    pub fn expecting(
        rule: BodyRule,
        statuses: StatusSet,
        content: Option<Arc<[u8]>>,
    ) -> Result<Self, Failure> {
        let mut session = Session::client().ok_or(Failure::System(libc::ENOMEM))?;
        let settings = [
            (libnghttp2_sys::NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, HEADER_TABLE),
            (libnghttp2_sys::NGHTTP2_SETTINGS_ENABLE_PUSH, 0),
            (libnghttp2_sys::NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW.unsigned_abs()),
            (libnghttp2_sys::NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, super::HEAD_LIMIT as u32),
        ];
        session.settings(&settings, WINDOW).map_err(refused)?;
        let streams = Streams::new(rule).expecting(statuses, content);
        Ok(Self {
            session,
            streams,
            allowed: 1,
            outgoing: Vec::new(),
            sent: 0,
            to_make: true,
            reason: None,
        })
    }

    /// The number of requests that may start now, if N are to be in flight. One until the server's
    /// SETTINGS arrive, because a server may reject requests above its limit.
    pub fn room(&self, wanted: u32) -> u32 {
        let allowed = if self.streams.ends() { 0 } else { self.allowed.min(wanted) };
        allowed.saturating_sub(self.streams.under_way())
    }

    /// Starts a request for the page with this index.
    pub fn begin(&mut self, request: &Request, page: u16, now: Nanos) -> Result<(), Failure> {
        let stream =
            self.session.request(request.fields(), self.streams.has_content()).map_err(refused)?;
        self.streams.begin(stream, page, now);
        self.to_make = true;
        Ok(())
    }

    /// The plaintext waiting to be sent.
    pub fn outgoing(&mut self) -> Result<&[u8], Failure> {
        if self.sent == self.outgoing.len() {
            self.outgoing.clear();
            self.sent = 0;
            if self.to_make {
                let limit = OUTGOING_LIMIT;
                self.session.send(&mut self.streams, &mut self.outgoing, limit).map_err(refused)?;
                self.to_make = self.outgoing.len() >= limit;
            }
        }
        Ok(&self.outgoing[self.sent..])
    }

    /// Notes that N bytes of [`Client::outgoing`] were sent.
    pub fn sent(&mut self, length: usize) {
        self.sent += length;
    }

    /// Processes plaintext that arrived at an instant. [`Client::next_done`] returns the requests
    /// that it completes.
    ///
    /// # Errors
    /// The server violated the protocol, reset a stream, answered with another status or body than
    /// expected, or ended the connection with an error. The first failed request ends the
    /// connection, as in HTTP/1.1. After a protocol violation, [`Client::outgoing`] contains the
    /// error frames for the server, and nothing follows them.
    pub fn take(&mut self, bytes: &[u8], now: Nanos) -> Result<(), Failure> {
        self.streams.at(now);
        let taken = self.session.receive(&mut self.streams, bytes).map_err(refused);
        let done = self.streams.trouble().and(taken).and_then(|()| self.answer());
        if let Err(failure) = done {
            self.part(failure);
        }
        done
    }

    /// Prepares the session's answer to the received bytes.
    fn answer(&mut self) -> Result<(), Failure> {
        if !self.session.wants_to_send() {
            return Ok(());
        }
        self.to_make = true;
        // The session reports its own rejections when it prepares its answer.
        let answered = self.outgoing().map(|_| ());
        self.streams.trouble().and(answered)?;
        if self.streams.has_settings() {
            self.allowed = self.session.peer_streams();
        }
        let goes_on = self.session.wants_to_read() || self.streams.ends();
        if goes_on { Ok(()) } else { Err(Failure::HttpProtocol) }
    }

    /// Prepares the last frames to the server, and stores the reason. The error is sent in a GOAWAY,
    /// behind a RST_STREAM if it is one of a stream. The session prepares the frames for errors that
    /// it has found; for errors found by the client, the client sends the code.
    fn part(&mut self, failure: Failure) {
        if failure != Failure::HttpProtocol {
            self.to_make = false;
            self.reason = self.streams.fault().map(|fault| fault.reason.clone());
            return;
        }
        self.make_rest();
        if last_error(&self.outgoing).is_none() {
            // Without a code the session has ended because too many of its answers were waiting.
            let code = self.streams.fault().map_or(Some(ENHANCE_YOUR_CALM), |fault| fault.code);
            if let Some(code) = code
                && self.session.terminate(code).is_ok()
            {
                self.make_rest();
            }
        }
        self.to_make = false;
        let ours = self.streams.fault().map(|fault| &fault.reason);
        let suspected = self.streams.suspected();
        self.reason = Some(protocol_reason(&self.outgoing, ours, suspected));
    }

    fn make_rest(&mut self) {
        let limit = self.outgoing.len() + OUTGOING_LIMIT;
        // If the session cannot send any more, the server gets no frame.
        let _ = self.session.send(&mut self.streams, &mut self.outgoing, limit);
    }

    /// The next completed request that was not returned yet.
    pub fn next_done(&mut self) -> Option<Done> {
        self.streams.next_done()
    }

    /// Arrival of the first byte of the first response.
    pub fn first_answered(&self) -> Option<Nanos> {
        self.streams.first_answered()
    }

    /// The number of concurrent streams that the server allows, once it has said so.
    pub fn allowed(&self) -> Option<u32> {
        self.streams.has_settings().then_some(self.allowed)
    }

    /// True if no request is in flight.
    pub fn is_idle(&self) -> bool {
        self.streams.under_way() == 0
    }

    /// True if the server has announced the end of the connection and no request is in flight.
    pub fn has_ended(&self) -> bool {
        self.streams.ends() && self.is_idle()
    }

    /// Finds a request that exceeds its deadline for the first byte or for the body; otherwise
    /// returns when to check again. `since`: the latest instant at which a request could have
    /// started.
    pub fn overdue(&self, now: Nanos, since: Nanos, first_byte: Nanos, body: Nanos) -> Overdue {
        self.streams.overdue(now, since, first_byte, body)
    }

    /// The page whose request ended the connection: of the response that failed, otherwise of the
    /// oldest request in flight. `None` without either.
    pub fn failed_page(&self) -> Option<u16> {
        self.streams.failed_page()
    }

    /// The step of the requests, for a connection that ends early: waiting for a first byte, or
    /// within a body.
    pub fn step(&self) -> Step {
        self.streams.step()
    }

    /// The reason why the connection failed, if it has.
    pub fn reason(&self) -> Option<Reason> {
        self.reason.clone()
    }

    /// The properties of the last completed or failed response.
    pub fn seen(&self) -> &Seen {
        self.streams.seen()
    }
}

/// The library breaks a session if memory is exhausted, or because of the peer's input.
fn refused(_: Broken) -> Failure {
    Failure::HttpProtocol
}

/// Processes bytes as if a server had sent them to a client with requests in flight; the entry
/// point for tests with generated bytes. The first byte determines how the others are split. The
/// result is a failure or success; the call must always return.
pub fn feed(bytes: &[u8]) -> Result<(), Failure> {
    let Some((piece, bytes)) = bytes.split_first() else { return Ok(()) };
    let mut client = Client::new(BodyRule::Learn { hash: true })?;
    let request = Request::new("https", "GET", "/", &[("Host".to_owned(), "localhost".to_owned())]);
    for (now, part) in (0..).zip(bytes.chunks(1 + usize::from(*piece))) {
        for _ in 0..client.room(4) {
            client.begin(&request, 0, now)?;
        }
        let length = client.outgoing()?.len();
        client.sent(length);
        client.take(part, now)?;
        while client.next_done().is_some() {}
    }
    Ok(())
}

#[cfg(test)]
mod tests;
