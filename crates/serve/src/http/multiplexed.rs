//! HTTP/2: the requests of one connection, answered as they come, several at once.

use std::collections::VecDeque;

use super::content::Body;
use super::request::{Answer, HEAD_LIMIT, Status, answer};
use super::response::{Responder, SERVER};
use crate::stats::Stats;
use tlslab_system::clock::Nanos;
use tlslab_wire::http::h2::session::{Broken, Events, FrameHead, GoAway, Kind, Session};

/// Requests that a client may have under way at once; nginx allows as many.
const STREAM_LIMIT: u32 = 128;

/// The flow-control window of clients: the least that HTTP/2 allows, since requests have no bodies.
const WINDOW: i32 = 65_535;

/// Frames without a request that a client may send between two requests: window updates for a large
/// body, mostly, which come with every few KiB of it.
const IDLE_LIMIT: u32 = 1 << 20;

/// One connection's HTTP/2.
pub struct Multiplexed {
    session: Session<Exchanges>,
    exchanges: Exchanges,
    reported: bool,
}

/// The requests under way.
#[derive(Debug, Default)]
struct Exchanges {
    open: Vec<Exchange>,
    /// Streams whose request has arrived and waits for its answer, with the instant of that.
    asked: VecDeque<(Nanos, i32)>,
    /// When the requests that arrive now are to be answered.
    due: Nanos,
    idle: u32,
}

/// A request, and what of its answer is still to be sent.
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
    /// A server's session that has sent nothing; `None` without memory.
    pub fn new() -> Option<Self> {
        let mut session = Session::server()?;
        let settings = [
            (libnghttp2_sys::NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAM_LIMIT),
            (libnghttp2_sys::NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEAD_LIMIT as u32),
        ];
        session.settings(&settings, WINDOW).ok()?;
        Some(Self { session, exchanges: Exchanges::default(), reported: false })
    }

    /// Takes plaintext; what it asks is to be answered at an instant, never an earlier one than that
    /// of the call before.
    pub fn take(&mut self, received: &[u8], due: Nanos) -> Result<(), Broken> {
        self.exchanges.due = due;
        self.session.receive(&mut self.exchanges, received)
    }

    /// Answers what is due; how many requests that were.
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

    /// When the next request that has arrived is to be answered.
    pub fn next_due(&self) -> Option<Nanos> {
        self.exchanges.asked.front().map(|(due, _)| *due)
    }

    fn answer(
        &mut self,
        stream: i32,
        responder: &mut Responder,
        stats: impl Fn() -> Stats,
    ) -> Result<bool, Broken> {
        // The client may have taken its request back.
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

    /// Appends plaintext that is to be sent: all there is, or a frame more than N bytes.
    pub fn make(&mut self, plaintext: &mut Vec<u8>, limit: usize) -> Result<(), Broken> {
        self.session.send(&mut self.exchanges, plaintext, limit)
    }

    /// Asks the client, once, to send no more requests.
    pub fn go_away(&mut self) {
        if !self.reported {
            // Without memory for the frame, the end of the connection has the same effect.
            self.reported = self.session.go_away().is_ok();
        }
    }

    /// Whether no request is under way.
    pub fn is_idle(&self) -> bool {
        self.exchanges.open.is_empty()
    }

    /// Whether nothing more is to be read or sent: the session has ended by an error.
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

    /// Fields are passed on only of streams that the session has let in: they are bounded in number.
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

    /// Discards the content of a request; the answer says whether the request may have content.
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

    /// The session answers by itself: the stream or the connection is ended.
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
