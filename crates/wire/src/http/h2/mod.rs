//! HTTP/2 as a client (RFC 9113): several requests at once on one connection.
//!
//! [`Client`] is fed with plaintext and makes plaintext; [`session`] is nghttp2 behind a safe
//! interface, [`streams`] is what is kept of each request under way.

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

/// The most streams that a connection may be asked to have open at once; servers allow 100 to 256.
pub const STREAMS_LIMIT: u32 = 1000;

/// The flow-control window of a stream and of the connection: bodies are not kept, so there is no reason
/// to slow a server down. Browsers allow 6 to 12 MiB.
const WINDOW: i32 = 16 << 20;

/// The size of the server's table of header fields: the protocol's default, which browsers send as well.
/// A server that uses no table (nginx) says so only if the client has sent a size; otherwise the client
/// would enter each of its fields in the table and evict it again.
const HEADER_TABLE: u32 = 4096;

/// Plaintext that is made before it is sent: requests of some 40 bytes each.
const OUTGOING_LIMIT: usize = 16 * 1024;

/// The fields of a request.
#[derive(Debug, Clone)]
pub struct Request {
    fields: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Request {
    /// A request with the fields of HTTP/1.1: names become lower case, Host becomes `:authority`
    /// (RFC 9113, section 8.3.1).
    pub fn new(method: &str, path: &str, fields: &[(String, String)]) -> Self {
        let is_host = |name: &str| name.eq_ignore_ascii_case("host");
        let host = fields.iter().find(|(name, _)| is_host(name));
        let authority = host.map_or("", |(_, value)| value);
        let pseudo =
            [(":method", method), (":scheme", "https"), (":authority", authority), (":path", path)];
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

/// One connection's HTTP/2.
#[derive(Debug)]
pub struct Client {
    session: Session<Streams>,
    streams: Streams,
    /// Streams that the server lets be open at once.
    allowed: u32,
    /// Plaintext that is made, and how much of it was sent.
    outgoing: Vec<u8>,
    sent: usize,
    /// The session may have something to send that is not made yet.
    to_make: bool,
    /// The failure that ends the connection, if one does.
    reason: Option<Reason>,
}

impl Client {
    /// A client that has sent nothing yet; `rule` is for all bodies, and every 2xx status counts as
    /// success.
    pub fn new(rule: BodyRule) -> Result<Self, Failure> {
        Self::expecting(rule, StatusSet::default(), None)
    }

    /// The same client with the statuses that count as success, and the body of every request.
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

    /// How many requests may be begun now, when N are to be under way at once. Until the
    /// server's SETTINGS have arrived, one: a server may refuse what is above its limit.
    pub fn room(&self, wanted: u32) -> u32 {
        let allowed = if self.streams.ends() { 0 } else { self.allowed.min(wanted) };
        allowed.saturating_sub(self.streams.under_way())
    }

    /// Begins a request.
    pub fn begin(&mut self, request: &Request, now: Nanos) -> Result<(), Failure> {
        let stream =
            self.session.request(request.fields(), self.streams.has_content()).map_err(refused)?;
        self.streams.begin(stream, now);
        self.to_make = true;
        Ok(())
    }

    /// The plaintext that waits to be sent.
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

    /// Takes plaintext that arrived at an instant. What it completes is in [`Client::next_done`].
    ///
    /// # Errors
    /// The server broke the protocol, reset a stream, answered with another status or
    /// another body than expected, or ended the connection with an error. The first failed request
    /// ends the connection, as in HTTP/1.1. Where the server has broken the protocol,
    /// [`Client::outgoing`] then says so, and nothing comes behind.
    pub fn take(&mut self, bytes: &[u8], now: Nanos) -> Result<(), Failure> {
        self.streams.at(now);
        let taken = self.session.receive(&mut self.streams, bytes).map_err(refused);
        let done = self.streams.trouble().and(taken).and_then(|()| self.answer());
        if let Err(failure) = done {
            self.part(failure);
        }
        done
    }

    /// Makes the session's answer to what has arrived.
    fn answer(&mut self) -> Result<(), Failure> {
        if !self.session.wants_to_send() {
            return Ok(());
        }
        self.to_make = true;
        // What the session itself refuses it reports when it makes its answer.
        let answered = self.outgoing().map(|_| ());
        self.streams.trouble().and(answered)?;
        if self.streams.has_settings() {
            self.allowed = self.session.peer_streams();
        }
        let goes_on = self.session.wants_to_read() || self.streams.ends();
        if goes_on { Ok(()) } else { Err(Failure::HttpProtocol) }
    }

    /// Makes the last frame to the server, and keeps the reason. An error of the connection is sent in a
    /// GOAWAY, an error of a stream in a RST_STREAM. The session makes the frames of the errors that it
    /// has found; for those found by the client, the client sends the code.
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
        let ours = self.streams.fault().map(|fault| &*fault.reason.name);
        self.reason = Some(protocol_reason(&self.outgoing, ours));
    }

    fn make_rest(&mut self) {
        let limit = self.outgoing.len() + OUTGOING_LIMIT;
        // A session that can send nothing more stays silent.
        let _ = self.session.send(&mut self.streams, &mut self.outgoing, limit);
    }

    /// The next completed request that was not asked for yet.
    pub fn next_done(&mut self) -> Option<Done> {
        self.streams.next_done()
    }

    /// When the first byte of the first response arrived.
    pub fn first_answered(&self) -> Option<Nanos> {
        self.streams.first_answered()
    }

    /// Whether no request is under way.
    pub fn is_idle(&self) -> bool {
        self.streams.under_way() == 0
    }

    /// Whether the server has said that it ends the connection, and nothing is under way any more.
    pub fn has_ended(&self) -> bool {
        self.streams.ends() && self.is_idle()
    }

    /// Looks for a request that takes too long, with the times allowed for its first byte and for its
    /// body; else when to look again. `since`: when a request could have begun last.
    pub fn overdue(&self, now: Nanos, since: Nanos, first_byte: Nanos, body: Nanos) -> Overdue {
        self.streams.overdue(now, since, first_byte, body)
    }

    /// The step that the requests are in, for a connection that ends too early: a response has begun,
    /// or none.
    pub fn step(&self) -> Step {
        self.streams.step()
    }

    /// Why the connection has failed, if it has.
    pub fn reason(&self) -> Option<Reason> {
        self.reason.clone()
    }

    /// The response that was completed last, or failed.
    pub fn seen(&self) -> &Seen {
        self.streams.seen()
    }
}

/// The library breaks a session off for want of memory or on what the peer has sent.
fn refused(_: Broken) -> Failure {
    Failure::HttpProtocol
}

/// Feeds bytes, as if a server had sent them, to a client with requests under way; the way in for
/// tests that make bytes up. The first byte says in what pieces the others arrive. What comes out is
/// a failure or nothing: it must always return.
pub fn feed(bytes: &[u8]) -> Result<(), Failure> {
    let Some((piece, bytes)) = bytes.split_first() else { return Ok(()) };
    let mut client = Client::new(BodyRule::Learn { hash: true })?;
    let request = Request::new("GET", "/", &[("Host".to_owned(), "localhost".to_owned())]);
    for (now, part) in (0..).zip(bytes.chunks(1 + usize::from(*piece))) {
        for _ in 0..client.room(4) {
            client.begin(&request, now)?;
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
