//! HTTP/2: concurrent requests of one connection, answered in order of arrival.

use std::collections::VecDeque;

use super::content::Body;
use super::request::{Answer, Status, answer};
use super::response::{Responder, SERVER};
use crate::stats::Stats;
use tlslab_system::clock::Nanos;
use tlslab_wire::http::h2::session::{Broken, Events, FrameHead, GoAway, Kind, Session};
use tlslab_wire::http::request::HEAD_LIMIT;

/// The highest number of concurrent requests of a client; nginx has the same limit.
const STREAM_LIMIT: u32 = 128;

/// The flow-control window of clients: the HTTP/2 default, because requests have no bodies.
const WINDOW: i32 = 65_535;

/// The highest number of frames between two requests. Most are window updates for a large body, one
/// for every few KiB.
const IDLE_LIMIT: u32 = 1 << 20;

/// The HTTP/2 state of one connection.
pub struct Multiplexed {
    session: Session<Exchanges>,
    exchanges: Exchanges,
    reported: bool,
}

/// The requests in progress.
#[derive(Debug, Default)]
struct Exchanges {
    open: Vec<Exchange>,
    /// Streams with a complete request, each with the instant of its answer.
    asked: VecDeque<(Nanos, i32)>,
    /// The instant at which requests that arrive now are to be answered.
    due: Nanos,
    idle: u32,
}

/// A request, and the rest of its answer.
#[derive(Debug)]
struct Exchange {
    stream: i32,
    method: String,
    target: String,
    head: usize,
    answered: bool,
    text: Vec<u8>,
    body: Body,
}

impl Multiplexed {
    /// A server session that has sent nothing. `None` if memory is exhausted.
    pub fn new() -> Option<Self> {
        let mut session = Session::server()?;
        let settings = [
            (libnghttp2_sys::NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAM_LIMIT),
            (libnghttp2_sys::NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEAD_LIMIT as u32),
        ];
        session.settings(&settings, WINDOW).ok()?;
        Some(Self { session, exchanges: Exchanges::default(), reported: false })
    }

    /// Processes plaintext. Its requests are to be answered at `due`, which never decreases from
    /// call to call.
    pub fn take(&mut self, received: &[u8], due: Nanos) -> Result<(), Broken> {
        self.exchanges.due = due;
        self.session.receive(&mut self.exchanges, received)
    }

    /// Starts the answers that are due; returns their number.
    pub fn answer_due(
        &mut self,
        now: Nanos,
        responder: &mut Responder,
        stats: impl Fn() -> Stats,
    ) -> Result<u64, Broken> {
        let mut answered = 0;
        while self.next_due().is_some_and(|due| due <= now) {
            let Some((_, stream)) = self.exchanges.asked.pop_front() else { break };
            answered += u64::from(self.answer(stream, responder, &stats)?);
        }
        Ok(answered)
    }

    /// The instant of the next answer.
    pub fn next_due(&self) -> Option<Nanos> {
        self.exchanges.asked.front().map(|(due, _)| *due)
    }

    fn answer(
        &mut self,
        stream: i32,
        responder: &mut Responder,
        stats: impl Fn() -> Stats,
    ) -> Result<bool, Broken> {
        // The client may have cancelled its request.
        let Some(exchange) = self.exchanges.find(stream) else { return Ok(false) };
        let asked = match exchange.head {
            0..=HEAD_LIMIT => answer(&exchange.method, &exchange.target),
            _ => Answer::Error(Status::HeadTooLarge),
        };
        let reply = responder.reply(asked, stats);
        if exchange.method != "HEAD" {
            exchange.text = reply.text.into_bytes();
            exchange.body = reply.body;
        }
        exchange.answered = true;
        let has_content = !exchange.is_sent();
        let length = reply.length.to_string();
        let code = reply.status.split(' ').next().unwrap_or_default();
        let name = reply.more.map(|(name, _)| name.to_ascii_lowercase()).unwrap_or_default();
        let fields: [(&[u8], &[u8]); 6] = [
            (b":status", code.as_bytes()),
            (b"server", SERVER.as_bytes()),
            (b"date", reply.date.as_bytes()),
            (b"content-type", reply.content_type.as_bytes()),
            (b"content-length", length.as_bytes()),
            (name.as_bytes(), reply.more.map_or(b"", |(_, value)| value.as_bytes())),
        ];
        let count = fields.len() - usize::from(reply.more.is_none());
        self.session.respond(stream, &fields[..count], has_content)?;
        Ok(true)
    }

    /// Appends waiting plaintext to send: all of it, or up to a frame more than N bytes.
    pub fn make(&mut self, plaintext: &mut Vec<u8>, limit: usize) -> Result<(), Broken> {
        self.session.send(&mut self.exchanges, plaintext, limit)
    }

    /// Sends GOAWAY, once: the client is to send no more requests.
    pub fn go_away(&mut self) {
        if !self.reported {
            // If memory is exhausted, the end of the connection has the same effect.
            self.reported = self.session.go_away().is_ok();
        }
    }

    /// True if no request is in progress.
    pub fn is_idle(&self) -> bool {
        self.exchanges.open.is_empty()
    }

    /// True if the session has ended with an error: nothing more is read or sent.
    pub fn is_over(&self) -> bool {
        !self.session.wants_to_read() && !self.session.wants_to_send()
    }
}

impl Exchange {
    fn is_sent(&self) -> bool {
        self.text.is_empty() && self.body.is_empty()
    }
}

impl Exchanges {
    fn find(&mut self, stream: i32) -> Option<&mut Exchange> {
        self.open.iter_mut().find(|exchange| exchange.stream == stream)
    }

    /// Called only for streams that the session has accepted, whose number is limited.
    fn find_or_open(&mut self, stream: i32) -> &mut Exchange {
        let known = self.open.iter().position(|exchange| exchange.stream == stream);
        let index = known.unwrap_or_else(|| {
            self.open.push(Exchange {
                stream,
                method: String::new(),
                target: String::new(),
                head: 0,
                answered: false,
                text: Vec::new(),
                body: Body::default(),
            });
            self.open.len() - 1
        });
        &mut self.open[index]
    }
}

impl Events for Exchanges {
    fn begin(&mut self, frame: &FrameHead) -> Result<(), Broken> {
        self.idle = if frame.kind == Kind::Headers { 0 } else { self.idle + 1 };
        if self.idle > IDLE_LIMIT { Err(Broken) } else { Ok(()) }
    }

    fn field(&mut self, stream: i32, name: &[u8], value: &[u8]) -> Result<(), Broken> {
        let exchange = self.find_or_open(stream);
        exchange.head += name.len() + value.len();
        if exchange.head > HEAD_LIMIT || exchange.answered {
            return Ok(());
        }
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            b":method" => exchange.method = text(),
            b":path" => exchange.target = text(),
            _ => {}
        }
        Ok(())
    }

    /// Discards the content of a request. The answer depends on whether content is allowed.
    fn data(&mut self, _: i32, _: &[u8]) -> Result<(), Broken> {
        Ok(())
    }

    fn frame(&mut self, frame: &FrameHead) -> Result<(), Broken> {
        let is_new = |exchange: &mut Exchange| !exchange.answered;
        if frame.kind == Kind::Headers && self.find(frame.stream).is_some_and(is_new) {
            self.asked.push_back((self.due, frame.stream));
        }
        Ok(())
    }

    fn go_away(&mut self, _: GoAway) -> Result<(), Broken> {
        Ok(())
    }

    /// Nothing to do: the session itself ends the stream or the connection.
    fn violation(&mut self, _: &'static str) {}

    fn closed(&mut self, stream: i32, _: u32) {
        self.open.retain(|exchange| exchange.stream != stream);
        self.asked.retain(|(_, asked)| *asked != stream);
    }

    fn fill(&mut self, stream: i32, room: &mut [u8]) -> (usize, bool) {
        let Some(exchange) = self.find(stream) else { return (0, true) };
        let next = match &*exchange.text {
            [] => exchange.body.take(room.len()),
            text => &text[..text.len().min(room.len())],
        };
        let length = next.len();
        room[..length].copy_from_slice(next);
        if !exchange.text.is_empty() {
            exchange.text.drain(..length);
        }
        (length, exchange.is_sent())
    }
}
