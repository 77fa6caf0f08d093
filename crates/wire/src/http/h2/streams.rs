//! The state of the requests of one HTTP/2 connection.

use std::collections::VecDeque;
use std::sync::Arc;

use super::session::{BEHIND_END, Broken, Events, FrameHead, GoAway, Kind};
use crate::http::body::{BodyMeter, BodyRule};
use crate::http::{HEAD_LIMIT, INTERIM_LIMIT, Seen, StatusSet, server_name};
use crate::outcome::{Failure, Step, http2_error_name};
use crate::reason::Reason;
use crate::time::Nanos;

/// The highest number of consecutive frames without a part of a response: SETTINGS, PING,
/// RST_STREAM of closed streams, empty DATA. Ordinary servers send a few.
const IDLE_LIMIT: u32 = 256;

/// The size of a field in a header list beyond its own bytes (RFC 9113, section 6.5.2).
const FIELD_OVERHEAD: usize = 32;

/// Error codes (RFC 9113, section 7).
const PROTOCOL_ERROR: u32 = libnghttp2_sys::NGHTTP2_PROTOCOL_ERROR;
const STREAM_CLOSED: u32 = libnghttp2_sys::NGHTTP2_STREAM_CLOSED;
/// The code for a server that sends too many frames without content.
pub const ENHANCE_YOUR_CALM: u32 = libnghttp2_sys::NGHTTP2_ENHANCE_YOUR_CALM;

/// A completed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Start of the request.
    pub requested: Nanos,
    /// Arrival of the first byte of the response.
    pub answered: Nanos,
    /// Arrival of the last byte of the response.
    pub ended: Nanos,
    /// Bytes of the response's header blocks, as compressed.
    pub head_bytes: u64,
    /// Bytes of the response's body.
    pub body_bytes: u64,
    /// The response's status.
    pub status: u16,
    /// The index of the requested page.
    pub page: u16,
}

/// Whether a request exceeds its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overdue {
    /// A request has exceeded the deadline of this step.
    Now(Step),
    /// No request exceeds its deadline before this instant.
    Until(Nanos),
}

/// The details of a failure.
#[derive(Debug)]
pub struct Fault {
    /// The error code that ends the connection (RFC 9113, section 5.4.1); `None` if the session
    /// itself ends it.
    pub code: Option<u32>,
    /// The reason.
    pub reason: Reason,
}

impl Fault {
    fn with_reason(reason: Reason) -> Self {
        Self { code: None, reason }
    }
}

/// The name of an error code, or its number.
pub fn error_name(code: u32) -> String {
    http2_error_name(code).map_or_else(|| code.to_string(), str::to_owned)
}

/// A request in flight.
#[derive(Debug)]
struct Stream {
    id: i32,
    page: u16,
    requested: Nanos,
    answered: Option<Nanos>,
    status: u16,
    interim: u32,
    head_bytes: u64,
    body: BodyMeter,
    server: Option<String>,
    /// Bytes of the request's body that the session has taken.
    sent: usize,
    /// Whether the head of the final response is complete.
    has_head: bool,
    /// Whether the response is complete.
    complete: bool,
    /// Whether the server reset the stream before that.
    reset: bool,
}

impl Stream {
    fn take_field(&mut self, name: &[u8], value: &[u8]) -> Result<(), &'static str> {
        match name {
            b"server" => self.server = server_name(value),
            b"repr-digest" => self.body.state(value),
            _ => {
                let number = str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.status = number.ok_or("a status that is no number")?;
                self.interim += u32::from((100..200).contains(&self.status));
                if self.interim > INTERIM_LIMIT {
                    return Err("too many interim responses");
                }
            }
        }
        Ok(())
    }
}

/// True for a byte that the name of a field may have (RFC 9113, section 8.2.1).
fn is_of_name(byte: u8) -> bool {
    byte > b' ' && byte < 0x7f && byte != b':' && !byte.is_ascii_uppercase()
}

/// The requests of a connection.
#[derive(Debug)]
pub struct Streams {
    rule: BodyRule,
    /// The statuses of a successful response.
    statuses: StatusSet,
    /// The body of every request.
    content: Option<Arc<[u8]>>,
    now: Nanos,
    /// Arrival of the first byte of the first response.
    first_answered: Option<Nanos>,
    under_way: Vec<Stream>,
    /// The last stream that was begun.
    last_begun: i32,
    /// The frame being received; of a header block, its HEADERS frame.
    current: Option<FrameHead>,
    done: VecDeque<Done>,
    seen: Seen,
    /// The size of the header list being received.
    list: usize,
    /// Frames since the last part of a response.
    idle: u32,
    has_settings: bool,
    notice: Option<GoAway>,
    trouble: Option<(Failure, Fault)>,
    /// The page of the response that failed the connection, if one did.
    failed_page: Option<u16>,
}

impl Streams {
    /// A connection without requests. `rule` applies to all bodies.
    pub fn new(rule: BodyRule) -> Self {
        Self {
            rule,
            statuses: StatusSet::default(),
            content: None,
            now: 0,
            first_answered: None,
            under_way: Vec::new(),
            last_begun: 0,
            current: None,
            done: VecDeque::new(),
            seen: Seen::default(),
            list: 0,
            idle: 0,
            has_settings: false,
            notice: None,
            trouble: None,
            failed_page: None,
        }
    }

    /// The same with these success statuses, and this body for every request.
    pub fn expecting(self, statuses: StatusSet, content: Option<Arc<[u8]>>) -> Self {
        Self { statuses, content, ..self }
    }

    /// True if requests have a body.
    pub fn has_content(&self) -> bool {
        self.content.is_some()
    }

    /// Sets the arrival time of the next bytes.
    pub fn at(&mut self, now: Nanos) {
        self.now = now;
    }

    /// Registers a request for a page that was started on a stream.
    pub fn begin(&mut self, id: i32, page: u16, now: Nanos) {
        self.last_begun = id;
        self.under_way.push(Stream {
            id,
            page,
            requested: now,
            answered: None,
            status: 0,
            interim: 0,
            head_bytes: 0,
            body: BodyMeter::new(self.rule),
            server: None,
            sent: 0,
            has_head: false,
            complete: false,
            reset: false,
        });
    }

    /// The number of requests in flight.
    pub fn under_way(&self) -> u32 {
        self.under_way.len() as u32
    }

    /// The next completed request.
    pub fn next_done(&mut self) -> Option<Done> {
        self.done.pop_front()
    }

    /// True if the server's SETTINGS have arrived.
    pub fn has_settings(&self) -> bool {
        self.has_settings
    }

    /// True if the server has announced the end of the connection.
    pub fn ends(&self) -> bool {
        self.notice.is_some()
    }

    /// Arrival of the first byte of the first response.
    pub fn first_answered(&self) -> Option<Nanos> {
        self.first_answered
    }

    /// The first failure, if any.
    pub fn trouble(&self) -> Result<(), Failure> {
        self.trouble.as_ref().map_or(Ok(()), |(failure, _)| Err(*failure))
    }

    /// The details of the first failure, if any.
    pub fn fault(&self) -> Option<&Fault> {
        self.trouble.as_ref().map(|(_, fault)| fault)
    }

    /// The properties of the last completed or failed response.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// The page whose request ended the connection: of the response that failed, otherwise of the
    /// oldest request in flight.
    pub fn failed_page(&self) -> Option<u16> {
        let oldest = || self.under_way.iter().min_by_key(|stream| stream.requested);
        self.failed_page.or_else(|| oldest().map(|stream| stream.page))
    }

    /// The step of the requests, for a connection that ends now.
    pub fn step(&self) -> Step {
        let begun = self.under_way.iter().any(|stream| stream.answered.is_some());
        if begun { Step::Body } else { Step::FirstByte }
    }

    /// Finds a request that exceeds its deadline. If no request is in flight, because the server
    /// allows none, the wait for the next one counts from `since`.
    pub fn overdue(&self, now: Nanos, since: Nanos, first_byte: Nanos, body: Nanos) -> Overdue {
        let deadlines = self.under_way.iter().map(|stream| match stream.answered {
            Some(answered) => (answered + body, Step::Body),
            None => (stream.requested + first_byte, Step::FirstByte),
        });
        let (deadline, step) = deadlines.min().unwrap_or((since + first_byte, Step::FirstByte));
        if deadline > now { Overdue::Until(deadline) } else { Overdue::Now(step) }
    }

    fn find(&mut self, id: i32) -> Option<&mut Stream> {
        self.under_way.iter_mut().find(|stream| stream.id == id)
    }

    /// Notes a complete head. The first byte of a response is that of its final head.
    fn note_head(&mut self, id: i32) {
        let Some(stream) = self.find(id) else { return };
        if (100..200).contains(&stream.status) {
            stream.answered = None;
        } else {
            stream.has_head = true;
            let answered = stream.answered;
            self.first_answered = self.first_answered.or(answered);
        }
    }

    fn fail(&mut self, failure: Failure, fault: Fault) {
        self.trouble.get_or_insert((failure, fault));
    }

    /// The fault of the current frame, if the session has ended the connection within it and has
    /// not said why: a malformed response (RFC 9113, section 8.1.1).
    pub fn suspected(&self) -> Option<&'static str> {
        let frame = self.current?;
        let stream = self.under_way.iter().find(|stream| stream.id == frame.stream)?;
        Some(match (frame.kind, stream.status) {
            (Kind::Headers, 0) => "a response without :status",
            (Kind::Headers, 100..200) => "an interim response that ends its stream",
            (Kind::Headers, _) if !frame.ends_stream() => {
                "a second head, or trailer fields that do not end the stream"
            }
            (Kind::Data, _) if !stream.has_head => "DATA before the head of the response",
            _ => "a body of another length than its content-length",
        })
    }

    /// Records a rule violation that the session does not check.
    fn refuse<T>(&mut self, code: u32, words: &'static str) -> Result<T, Broken> {
        self.fail(Failure::HttpProtocol, Fault { code: Some(code), reason: Reason::named(words) });
        Err(Broken)
    }

    /// Checks a complete response.
    fn check(&mut self, stream: &Stream) {
        let done = Done {
            requested: stream.requested,
            answered: stream.answered.unwrap_or(self.now),
            ended: self.now,
            head_bytes: stream.head_bytes,
            body_bytes: stream.body.bytes,
            status: stream.status,
            page: stream.page,
        };
        match stream.status {
            status if !self.statuses.contains(status) => self
                .fail(Failure::HttpStatus, Fault::with_reason(Reason::named(status.to_string()))),
            _ if stream.body.holds() => self.done.push_back(done),
            _ => self.fail(Failure::Body, Fault::with_reason(stream.body.fault())),
        }
        if self.rule.learns() {
            self.seen = Seen {
                status: stream.status,
                body_bytes: stream.body.bytes,
                digest: stream.body.digest(),
                server: stream.server.clone(),
            };
        }
    }
}

impl Events for Streams {
    fn begin(&mut self, frame: &FrameHead) -> Result<(), Broken> {
        let now = self.now;
        if frame.kind != Kind::Continuation {
            self.current = Some(*frame);
        }
        // The session ignores HEADERS behind the end of a stream (RFC 9113, section 5.1).
        let is_begun = frame.stream % 2 == 1 && frame.stream <= self.last_begun;
        if frame.kind == Kind::Headers && is_begun && self.find(frame.stream).is_none() {
            return self.refuse(STREAM_CLOSED, BEHIND_END);
        }
        let carries = match frame.kind {
            // Server push is disabled (RFC 9113, section 8.4).
            Kind::PushPromise => return self.refuse(PROTOCOL_ERROR, "a push, which is off"),
            Kind::Headers | Kind::Continuation => {
                if frame.kind == Kind::Headers {
                    self.list = 0;
                }
                let stream = self.find(frame.stream);
                if let Some(stream) = stream {
                    if !stream.has_head && frame.kind == Kind::Headers {
                        (stream.answered, stream.status) = (Some(now), 0);
                    }
                    stream.head_bytes += frame.length as u64;
                }
                frame.kind == Kind::Headers
            }
            Kind::Data => frame.length > 0 || frame.ends_stream(),
            _ => false,
        };
        self.idle = if carries { 0 } else { self.idle + 1 };
        if self.idle > IDLE_LIMIT {
            return self.refuse(ENHANCE_YOUR_CALM, "a flood of frames that carry nothing");
        }
        Ok(())
    }

    fn field(&mut self, id: i32, name: &[u8], value: &[u8]) -> Result<(), Broken> {
        self.list += name.len() + value.len() + FIELD_OVERHEAD;
        if self.list > HEAD_LIMIT {
            return self.refuse(ENHANCE_YOUR_CALM, "a header list of more than 64 KiB");
        }
        let wanted = match name {
            b":status" => true,
            b"server" | b"repr-digest" => self.rule != BodyRule::Count,
            _ => false,
        };
        if !wanted {
            return Ok(());
        }
        let taken = self.find(id).map_or(Ok(()), |stream| stream.take_field(name, value));
        taken.or_else(|words| self.refuse(PROTOCOL_ERROR, words))
    }

    fn malformed(&mut self, name: &[u8], value: &[u8]) -> Result<(), Broken> {
        let fault = if name.is_empty() {
            "a field without a name"
        } else if name.iter().all(|byte| is_of_name(*byte)) {
            "a field with a value that none may have"
        } else {
            "a field with a name that none may have"
        };
        let field = [name, b": ", value].concat();
        let words = format!("{:?}", String::from_utf8_lossy(&field));
        let fault = Fault { code: Some(PROTOCOL_ERROR), reason: Reason::named(fault).with(words) };
        self.fail(Failure::HttpProtocol, fault);
        Err(Broken)
    }

    fn misplaced(&mut self, name: &[u8]) {
        let shown = String::from_utf8_lossy(name);
        let reason = match name {
            _ if name.iter().any(u8::is_ascii_uppercase) => {
                Reason::named("a field name in upper case").with(shown.into_owned())
            }
            b":status" | b"content-length" => {
                Reason::named(format!("{shown}: no number, repeated, or out of place"))
            }
            _ => Reason::named("a field that no response has").with(shown.into_owned()),
        };
        self.fail(Failure::HttpProtocol, Fault::with_reason(reason));
    }

    fn data(&mut self, id: i32, bytes: &[u8]) -> Result<(), Broken> {
        if let Some(stream) = self.find(id) {
            stream.body.take(bytes);
        }
        Ok(())
    }

    fn frame(&mut self, frame: &FrameHead) -> Result<(), Broken> {
        let id = frame.stream;
        if frame.kind == Kind::Headers {
            self.note_head(id);
        }
        match frame.kind {
            Kind::Data | Kind::Headers if frame.ends_stream() => {
                self.find(id).into_iter().for_each(|stream| stream.complete = true);
            }
            Kind::ResetStream if self.find(id).is_some_and(|stream| !stream.complete) => {
                self.find(id).into_iter().for_each(|stream| stream.reset = true);
            }
            Kind::Settings if !frame.is_acknowledgement() => self.has_settings = true,
            _ => {}
        }
        Ok(())
    }

    /// Without an error code the connection ends in an orderly way: streams above the last one were
    /// not processed, and count neither as completed nor as failed (RFC 9113, section 6.8).
    fn go_away(&mut self, notice: GoAway) -> Result<(), Broken> {
        if notice.code != libnghttp2_sys::NGHTTP2_NO_ERROR {
            let fault = Fault::with_reason(Reason::named(error_name(notice.code)));
            self.fail(Failure::GoAway(notice.code), fault);
        }
        self.under_way.retain(|stream| stream.id <= notice.last_stream);
        self.notice = Some(notice);
        Ok(())
    }

    fn violation(&mut self, words: &'static str) {
        self.fail(Failure::HttpProtocol, Fault::with_reason(Reason::named(words)));
    }

    fn closed(&mut self, id: i32, code: u32) {
        let suspected = self.suspected().filter(|_| self.current.is_some_and(|f| f.stream == id));
        let words = suspected.unwrap_or("a stream that breaks the protocol");
        let Some(index) = self.under_way.iter().position(|stream| stream.id == id) else { return };
        let stream = self.under_way.swap_remove(index);
        let was_good = self.trouble.is_none();
        if stream.complete {
            self.check(&stream);
        } else if stream.reset {
            self.fail(Failure::StreamReset, Fault::with_reason(Reason::named(error_name(code))));
        } else {
            // The session has rejected the stream. A RST_STREAM from the server was already
            // recorded.
            let fault = Fault::with_reason(Reason::named(words));
            self.fail(Failure::HttpProtocol, fault);
        }
        if was_good && self.trouble.is_some() {
            self.failed_page = Some(stream.page);
        }
    }

    fn fill(&mut self, id: i32, room: &mut [u8]) -> (usize, bool) {
        let Some(content) = self.content.clone() else { return (0, true) };
        let Some(stream) = self.find(id) else { return (0, true) };
        let rest = &content[stream.sent..];
        let length = rest.len().min(room.len());
        room[..length].copy_from_slice(&rest[..length]);
        stream.sent += length;
        (length, length == rest.len())
    }
}
