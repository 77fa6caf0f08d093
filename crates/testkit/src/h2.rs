//! HTTP/2 frames built byte by byte, so that they can be as invalid as a test requires (RFC 9113,
//! sections 4 and 6).

use std::io::{self, Read, Write};

/// Frame types.
pub const DATA: u8 = 0;
/// See [`DATA`].
pub const HEADERS: u8 = 1;
/// See [`DATA`].
pub const PRIORITY: u8 = 2;
/// See [`DATA`].
pub const RST_STREAM: u8 = 3;
/// See [`DATA`].
pub const SETTINGS: u8 = 4;
/// See [`DATA`].
pub const PUSH_PROMISE: u8 = 5;
/// See [`DATA`].
pub const PING: u8 = 6;
/// See [`DATA`].
pub const GOAWAY: u8 = 7;
/// See [`DATA`].
pub const WINDOW_UPDATE: u8 = 8;
/// See [`DATA`].
pub const CONTINUATION: u8 = 9;

/// Flag: the stream ends with this frame.
pub const END_STREAM: u8 = 1;
/// Flag of SETTINGS and PING: an acknowledgement.
pub const ACKNOWLEDGEMENT: u8 = 1;
/// Flag: the header block ends with this frame.
pub const END_HEADERS: u8 = 4;

/// SETTINGS_MAX_CONCURRENT_STREAMS.
pub const MAX_CONCURRENT_STREAMS: u16 = 3;
/// SETTINGS_INITIAL_WINDOW_SIZE.
pub const INITIAL_WINDOW_SIZE: u16 = 4;

/// `:status: 200`, as a header block (RFC 7541, appendix A: entry 8 of the static table).
pub const STATUS_200: &[u8] = &[0x88];

/// The length of the client connection preface.
const PREFACE: usize = 24;

/// The length of a frame header.
const HEAD: usize = 9;

/// A frame with the correct length of its payload.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let stream = stream.to_be_bytes();
    [&length[1..], &[kind, flags], &stream, payload].concat()
}

/// A SETTINGS frame.
pub fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    let pair = |(id, value): &(u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
    frame(SETTINGS, 0, 0, &values.iter().flat_map(pair).collect::<Vec<u8>>())
}

/// A GOAWAY frame.
pub fn goaway(last_stream: u32, code: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last_stream.to_be_bytes(), code.to_be_bytes()].concat())
}

/// A RST_STREAM frame.
pub fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

/// An error or an answer that a client has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// A GOAWAY with this code.
    GoAway(u32),
    /// A RST_STREAM: the stream and the error code.
    Reset(u32, u32),
    /// An answer to a PING.
    Pong,
}

/// These frames in a client's plaintext, in order. The plaintext starts with the preface.
pub fn said(plaintext: &[u8]) -> Vec<Said> {
    let number = |bytes: &[u8]| u32::from_be_bytes(*bytes.first_chunk().unwrap());
    let mut rest = plaintext.get(PREFACE..).unwrap_or_default();
    let mut all = Vec::new();
    while let Some(head) = rest.first_chunk::<HEAD>() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let Some((payload, behind)) = rest[HEAD..].split_at_checked(length) else { break };
        match (head[3], head[4]) {
            (GOAWAY, _) => all.push(Said::GoAway(number(&payload[4..]))),
            (RST_STREAM, _) => all.push(Said::Reset(number(&head[5..]), number(payload))),
            (PING, 1) => all.push(Said::Pong),
            _ => {}
        }
        rest = behind;
    }
    all
}

/// A header field without compression that is not added to the table. The value has up to 126
/// bytes.
pub fn field(name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Vec<u8> {
    let text = |text: &[u8]| [&[u8::try_from(text.len()).unwrap()], text].concat();
    [vec![0], text(name.as_ref()), text(value.as_ref())].concat()
}

/// A complete response with status 200: HEADERS with these fields, and DATA with this body.
pub fn response(stream: u32, fields: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let more = fields.iter().flat_map(|(name, value)| field(name, value));
    let block: Vec<u8> = STATUS_200.iter().copied().chain(more).collect();
    let headers = frame(HEADERS, END_HEADERS, stream, &block);
    let parts: Vec<&[u8]> = body.chunks(16 * 1024).collect();
    let last = parts.len().saturating_sub(1);
    let flags = |index| if index == last { END_STREAM } else { 0 };
    let data = parts.iter().enumerate().map(|(i, part)| frame(DATA, flags(i), stream, part));
    let end = if body.is_empty() { frame(DATA, END_STREAM, stream, &[]) } else { Vec::new() };
    [headers, data.flatten().collect(), end].concat()
}

/// Answers every request with the same body, until the client closes.
pub(crate) fn serve(stream: &mut (impl Read + Write), body: &[u8]) -> io::Result<()> {
    stream.read_exact(&mut [0; PREFACE])?;
    stream.write_all(&settings(&[(MAX_CONCURRENT_STREAMS, 100)]))?;
    let length = body.len().to_string();
    loop {
        let mut head = [0; HEAD];
        stream.read_exact(&mut head)?;
        let (kind, flags) = (head[3], head[4]);
        let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let payload = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        stream.read_exact(&mut vec![0; payload])?;
        match kind {
            HEADERS => stream.write_all(&response(id, &[("content-length", &length)], body))?,
            SETTINGS if flags == 0 => stream.write_all(&frame(SETTINGS, 1, 0, &[]))?,
            _ => {}
        }
    }
}
