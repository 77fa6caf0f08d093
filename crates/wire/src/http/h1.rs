//! The HTTP/1.1 client side: a reader for responses (RFC 9112). [`message`](super::message) builds
//! the requests.

use super::body::{BodyMeter, BodyRule};
use super::{HEAD_LIMIT, INTERIM_LIMIT, Seen, decimal, server_name};

/// The highest number of header fields in a response.
const FIELD_LIMIT: usize = 128;

/// The highest length of a chunk-size line in bytes, including extensions.
const CHUNK_LINE_LIMIT: usize = 4 * 1024;

/// The highest length of the trailer fields after a chunked body, in bytes.
const TRAILER_LIMIT: usize = 16 * 1024;

/// How a response violated HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages are the documentation")]
pub enum HttpError {
    #[error("the response's head is not HTTP/1.1")]
    Head,
    #[error(
        "the response's head is longer than {HEAD_LIMIT} bytes or has over {FIELD_LIMIT} fields"
    )]
    HeadTooLarge,
    #[error("the response states its length twice, in ways that differ, or not as a number")]
    Length,
    #[error("the response's transfer coding is another than chunked, and none was asked for")]
    Coding,
    #[error("the server switches protocols (101), and was not asked to")]
    Switched,
    #[error("the response's chunks are malformed")]
    Chunk,
    #[error("the response's trailer fields are malformed")]
    Trailer,
    #[error("there are bytes after the end of the response")]
    Surplus,
    #[error("there were more than {INTERIM_LIMIT} interim responses")]
    TooManyInterim,
}

/// The expected part of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    /// N more bytes of the body.
    Length(u64),
    /// A chunk-size line.
    ChunkSize,
    /// N more bytes of a chunk, then CR LF.
    Chunk(u64),
    /// The CR LF after a chunk, of which N bytes are missing.
    ChunkEnd(u8),
    /// Trailer fields until an empty line; N bytes of them have arrived.
    Trailer(usize),
    /// The body until the connection closes.
    UntilClose,
    Done,
}

/// Reads one response.
#[derive(Debug)]
pub struct ResponseReader {
    state: State,
    /// The received part of a head or line.
    line: Vec<u8>,
    interim: u32,
    status: u16,
    keep_alive: bool,
    /// Whether the request was HEAD: no body follows, whatever the head says (RFC 9112, section
    /// 6.3).
    head_only: bool,
    server: Option<String>,
    /// Bytes of the head, including interim responses.
    pub head_bytes: u64,
    /// The body, without chunk framing.
    pub body: BodyMeter,
}

impl Default for ResponseReader {
    fn default() -> Self {
        Self::new(BodyRule::Count)
    }
}

impl ResponseReader {
    /// A reader with this rule for the body.
    pub fn new(rule: BodyRule) -> Self {
        Self {
            state: State::Head,
            line: Vec::new(),
            interim: 0,
            status: 0,
            keep_alive: true,
            head_only: false,
            server: None,
            head_bytes: 0,
            body: BodyMeter::new(rule),
        }
    }

    /// The same reader. With `head_only`, for the response to a HEAD request.
    pub fn to_head(self, head_only: bool) -> Self {
        Self { head_only, ..self }
    }

    /// Processes bytes as they arrive. `Ok(true)` if the response is complete.
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<bool, HttpError> {
        while !bytes.is_empty() {
            if self.state == State::Done {
                return Err(HttpError::Surplus);
            }
            let used = self.step(bytes)?;
            bytes = &bytes[used..];
        }
        Ok(self.state == State::Done)
    }

    /// Notes the end of the connection. True if that completes the response.
    pub fn end(&mut self) -> bool {
        if self.state == State::UntilClose {
            self.state = State::Done;
        }
        self.state == State::Done
    }

    /// The status code, once the head has arrived.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// True if any byte has arrived, be it of an interim response.
    pub fn has_any(&self) -> bool {
        self.head_bytes > 0 || self.has_begun()
    }

    /// True if a byte has arrived that is of no interim response. A head that arrives in pieces may
    /// still turn out to be that of one.
    pub fn has_begun(&self) -> bool {
        self.state != State::Head || !self.line.is_empty()
    }

    /// True if the server keeps the connection open for another request.
    pub fn keeps_alive(&self) -> bool {
        self.keep_alive
    }

    /// Status, length, digest and Server field of the response.
    pub fn seen(&self) -> Seen {
        Seen {
            status: self.status,
            body_bytes: self.body.bytes,
            digest: self.body.digest(),
            server: self.server.clone(),
        }
    }

    fn step(&mut self, bytes: &[u8]) -> Result<usize, HttpError> {
        match self.state {
            State::Head => self.take_head(bytes),
            State::Length(left) => {
                let used = self.take_body(bytes, left);
                let left = left - used as u64;
                self.state = if left == 0 { State::Done } else { State::Length(left) };
                Ok(used)
            }
            State::UntilClose => Ok(self.take_body(bytes, u64::MAX)),
            State::ChunkSize => self.take_chunk_size(bytes),
            State::Chunk(left) => {
                let used = self.take_body(bytes, left);
                let left = left - used as u64;
                self.state = if left == 0 { State::ChunkEnd(2) } else { State::Chunk(left) };
                Ok(used)
            }
            State::ChunkEnd(left) => {
                if bytes[0] != if left == 2 { b'\r' } else { b'\n' } {
                    return Err(HttpError::Chunk);
                }
                self.state = if left == 2 { State::ChunkEnd(1) } else { State::ChunkSize };
                Ok(1)
            }
            State::Trailer(taken) => self.take_trailer(bytes, taken),
            State::Done => Err(HttpError::Surplus),
        }
    }

    fn take_body(&mut self, bytes: &[u8], left: u64) -> usize {
        let used = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        self.body.take(&bytes[..used]);
        used
    }

    /// Parses the head. If `bytes` contain the complete head, as nearly always, nothing is copied.
    fn take_head(&mut self, bytes: &[u8]) -> Result<usize, HttpError> {
        if self.line.is_empty() {
            if let Some(length) = self.parse_head(bytes)? {
                return Ok(length);
            }
            if bytes.len() > HEAD_LIMIT {
                return Err(HttpError::HeadTooLarge);
            }
            self.line.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        let kept = self.line.len();
        self.line.extend_from_slice(bytes);
        let line = std::mem::take(&mut self.line);
        match self.parse_head(&line)? {
            Some(length) => Ok(length - kept),
            None if line.len() > HEAD_LIMIT => Err(HttpError::HeadTooLarge),
            None => {
                self.line = line;
                Ok(bytes.len())
            }
        }
    }

    fn parse_head(&mut self, bytes: &[u8]) -> Result<Option<usize>, HttpError> {
        let mut fields = [const { std::mem::MaybeUninit::uninit() }; FIELD_LIMIT];
        let mut response = httparse::Response::new(&mut []);
        let length = match httparse::ParserConfig::default().parse_response_with_uninit_headers(
            &mut response,
            bytes,
            &mut fields,
        ) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(HttpError::HeadTooLarge),
            Err(_) => return Err(HttpError::Head),
        };
        if length > HEAD_LIMIT {
            return Err(HttpError::HeadTooLarge);
        }
        self.head_bytes += length as u64;
        self.status = response.code.ok_or(HttpError::Head)?;
        if (100..200).contains(&self.status) {
            self.interim += 1;
            return match self.status {
                101 => Err(HttpError::Switched),
                _ if self.interim > INTERIM_LIMIT => Err(HttpError::TooManyInterim),
                _ => Ok(Some(length)),
            };
        }
        let framing = Framing::of(response.headers, response.version == Some(1))?;
        self.keep_alive = framing.keep_alive;
        if self.body.rule().learns() {
            self.server = framing.server.and_then(server_name);
        }
        if let Some(digest) = framing.digest {
            self.body.state(digest);
        }
        self.state = match framing.length {
            _ if self.head_only || matches!(self.status, 204 | 304) => State::Done,
            _ if framing.chunked => State::ChunkSize,
            Some(0) => State::Done,
            Some(left) => State::Length(left),
            None => State::UntilClose,
        };
        // The end of the connection is the end of such a body (RFC 9112, section 9.3).
        self.keep_alive &= self.state != State::UntilClose;
        Ok(Some(length))
    }

    /// Collects a line up to its LF; `None` until it is complete.
    fn take_line(&mut self, bytes: &[u8]) -> Result<(usize, Option<Vec<u8>>), HttpError> {
        let end = bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let used = end.unwrap_or(bytes.len());
        if self.line.len() + used > CHUNK_LINE_LIMIT {
            return Err(HttpError::Chunk);
        }
        self.line.extend_from_slice(&bytes[..used]);
        Ok((used, end.map(|_| std::mem::take(&mut self.line))))
    }

    fn take_chunk_size(&mut self, bytes: &[u8]) -> Result<usize, HttpError> {
        let (used, line) = self.take_line(bytes)?;
        if let Some(line) = line {
            // httparse takes a line without digits for size 0, and any byte in an extension.
            let is_digit = line.first().is_some_and(u8::is_ascii_hexdigit);
            let text = line.strip_suffix(b"\r\n").unwrap_or(&line);
            if !is_digit || text.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
                return Err(HttpError::Chunk);
            }
            self.state = match httparse::parse_chunk_size(&line) {
                Ok(httparse::Status::Complete((_, 0))) => State::Trailer(0),
                Ok(httparse::Status::Complete((_, size))) => State::Chunk(size),
                _ => return Err(HttpError::Chunk),
            };
        }
        Ok(used)
    }

    fn take_trailer(&mut self, bytes: &[u8], taken: usize) -> Result<usize, HttpError> {
        let (used, line) = self.take_line(bytes)?;
        self.state = State::Trailer(taken + used);
        if taken + used > TRAILER_LIMIT {
            return Err(HttpError::Trailer);
        }
        match line {
            Some(line) if matches!(&line[..], b"\r\n" | b"\n") => self.state = State::Done,
            Some(line) => check_field(line)?,
            None => {}
        }
        Ok(used)
    }
}

/// Checks a line of a trailer section, which has the form of a header field (RFC 9112, section
/// 7.1.2).
fn check_field(mut line: Vec<u8>) -> Result<(), HttpError> {
    line.extend_from_slice(b"\r\n");
    match httparse::parse_headers(&line, &mut [httparse::EMPTY_HEADER; 1]) {
        Ok(httparse::Status::Complete(_)) => Ok(()),
        _ => Err(HttpError::Trailer),
    }
}

/// The framing of the body, from the header fields (RFC 9112, section 6.3).
struct Framing<'h> {
    length: Option<u64>,
    chunked: bool,
    keep_alive: bool,
    server: Option<&'h [u8]>,
    digest: Option<&'h [u8]>,
}

impl<'h> Framing<'h> {
    fn of(fields: &[httparse::Header<'h>], persistent: bool) -> Result<Self, HttpError> {
        let mut framing = Self {
            length: None,
            chunked: false,
            keep_alive: persistent,
            server: None,
            digest: None,
        };
        let mut closes = false;
        for field in fields {
            let is = |name: &str| field.name.eq_ignore_ascii_case(name);
            if is("content-length") {
                let length = decimal(field.value).ok_or(HttpError::Length)?;
                if framing.length.is_some_and(|stated| stated != length) {
                    return Err(HttpError::Length);
                }
                framing.length = Some(length);
            } else if is("transfer-encoding") {
                // `chunked` must not be applied twice (RFC 9112, section 6.1).
                let again = framing.chunked;
                framing.chunked = field.value.eq_ignore_ascii_case(b"chunked");
                if !framing.chunked {
                    return Err(HttpError::Coding);
                }
                if again {
                    return Err(HttpError::Length);
                }
            } else if is("connection") {
                // A list, in one field or several. "close" overrides "keep-alive" (RFC 9112,
                // section 9.3).
                for option in field.value.split(|byte| *byte == b',') {
                    let option = option.trim_ascii();
                    closes |= option.eq_ignore_ascii_case(b"close");
                    framing.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            } else if is("server") {
                framing.server = Some(field.value);
            } else if is("repr-digest") {
                framing.digest = Some(field.value);
            }
        }
        // A chunked HTTP/1.0 response is faulty: the connection must be closed after it (section
        // 6.1).
        framing.keep_alive &= !closes && (persistent || !framing.chunked);
        // Both fields together are a sign of request smuggling (RFC 9112, section 6.1).
        if framing.chunked && framing.length.is_some() {
            return Err(HttpError::Length);
        }
        Ok(framing)
    }
}

#[cfg(test)]
mod tests;
