//! Errors of a single stream (RFC 9113, section 5.4.2). nghttp2 answers them by ending the whole
//! connection, as section 5.4.1 allows; its GOAWAY does not name the stream. A session that watches
//! for these errors sends a RST_STREAM with the stream and the code in front of that GOAWAY.
//!
//! | error | found |
//! |---|---|
//! | frame of a wrong size (4.2, 6.3); DATA on a half-closed or closed stream (5.1) | by the frame's header, before nghttp2 reads the frame |
//! | HEADERS on a half-closed stream (5.1); too many streams (5.1.2); window updates (6.9, 6.9.1) | as nghttp2 reports the frame |
//! | malformed message (8.1.1) | as nghttp2 ends the connection within the message, without words |

use std::ffi::c_int;

use libnghttp2_sys as sys;

use super::frame::{FrameHead, HEAD, Heads, Kind};

/// The largest payload of a frame: neither side raises the initial value (section 6.5.2).
const FRAME_LIMIT: usize = 16_384;

/// The length of a PRIORITY frame (section 6.3).
const PRIORITY_LENGTH: usize = 5;

/// The length of a RST_STREAM frame's payload (section 6.4).
const RESET_LENGTH: u8 = 4;

/// The offsets of the error code and of the debug data in a GOAWAY (section 6.8).
const GOAWAY_CODE: usize = 4;
const GOAWAY_WORDS: usize = 8;

/// A frame that belongs to no response any more: an error of the connection (section 5.1), which
/// nghttp2 ignores.
pub const BEHIND_END: &str = "DATA or HEADERS behind the end of a stream";

/// An error of a stream, by its error code (section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StreamError {
    stream: i32,
    code: u32,
}

/// The state of a stream that matters for these errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamState {
    /// Idle, or closed and begun by the peer: a RST_STREAM must not be sent, or has no effect.
    Absent,
    /// Begun by this side, and closed.
    Closed,
    /// The peer may send.
    Open,
    /// The peer has ended its side (half-closed).
    Ended,
}

/// Watches the peer's frames for errors of a stream.
#[derive(Debug)]
pub(super) struct Watch {
    heads: Heads,
    /// The stream of the message whose frame is being read.
    message: Option<i32>,
    error: Option<StreamError>,
}

impl Watch {
    /// A watch over a peer that sends N bytes before its first frame.
    pub fn new(preface: usize) -> Self {
        Self { heads: Heads::behind(preface), message: None, error: None }
    }

    /// The next frame in `bytes` from `at` on whose header may be an error of its stream; moves
    /// `at` behind that header.
    pub fn suspect(&mut self, bytes: &[u8], at: &mut usize) -> Option<FrameHead> {
        while let Some(head) = self.heads.next(bytes, at) {
            if head.kind == Kind::Data || breach(&head, StreamState::Open).is_some() {
                return Some(head);
            }
        }
        None
    }

    /// Notes the start of a frame that nghttp2 reads.
    pub fn begin(&mut self, head: &FrameHead) {
        let is_message = matches!(head.kind, Kind::Data | Kind::Headers | Kind::Continuation);
        self.message = is_message.then_some(head.stream);
    }

    /// Notes the end of a frame without an error.
    pub fn end(&mut self) {
        self.message = None;
    }

    /// Notes an error of a stream.
    pub fn fail(&mut self, stream: i32, code: u32) {
        self.error.get_or_insert(StreamError { stream, code });
    }

    /// The RST_STREAM to send in front of a frame: in front of the GOAWAY for an error of a stream.
    pub fn reset_before(&mut self, frame: &[u8]) -> Option<[u8; HEAD + RESET_LENGTH as usize]> {
        let (head, payload) = frame.split_first_chunk::<HEAD>()?;
        if FrameHead::read(*head).kind != Kind::GoAway {
            return None;
        }
        let code = u32::from_be_bytes(*payload.get(GOAWAY_CODE..)?.first_chunk()?);
        let is_malformed = code == sys::NGHTTP2_PROTOCOL_ERROR && payload.len() == GOAWAY_WORDS;
        let malformed = self.message.filter(|_| is_malformed);
        let error = self.error.take().filter(|error| error.code == code);
        let stream = error.map(|error| error.stream).or(malformed)?;
        self.message = None;
        let mut reset = [0; HEAD + RESET_LENGTH as usize];
        (reset[2], reset[3]) = (RESET_LENGTH, sys::NGHTTP2_RST_STREAM as u8);
        reset[5..HEAD].copy_from_slice(&stream.to_be_bytes());
        reset[HEAD..].copy_from_slice(&code.to_be_bytes());
        Some(reset)
    }
}

/// The error that a frame is by its header, on a stream in this state: the code, and words for it.
pub(super) fn breach(head: &FrameHead, state: StreamState) -> Option<(u32, &'static str)> {
    match (head.kind, state) {
        (Kind::Data, StreamState::Closed) => Some((sys::NGHTTP2_STREAM_CLOSED, BEHIND_END)),
        (_, StreamState::Absent | StreamState::Closed) => None,
        (Kind::Priority, _) if head.length != PRIORITY_LENGTH => {
            Some((sys::NGHTTP2_FRAME_SIZE_ERROR, "PRIORITY of another length than 5"))
        }
        (Kind::Data, _) if head.length > FRAME_LIMIT => {
            Some((sys::NGHTTP2_FRAME_SIZE_ERROR, "DATA of more than 16,384 bytes"))
        }
        (Kind::Data, StreamState::Ended) => {
            Some((sys::NGHTTP2_STREAM_CLOSED, "DATA behind the end of its stream"))
        }
        _ => None,
    }
}

/// The code of a frame that nghttp2 reports as an error of its own number, if it is one of a stream.
/// `serves`: whether this side is the server.
pub(super) fn reported(
    head: &FrameHead,
    state: StreamState,
    error: c_int,
    serves: bool,
) -> Option<u32> {
    let is_of_client = head.stream % 2 == 1;
    match (head.kind, state, error) {
        (Kind::WindowUpdate, StreamState::Absent | StreamState::Closed, _) => None,
        (Kind::WindowUpdate, _, sys::NGHTTP2_ERR_PROTO) => Some(sys::NGHTTP2_PROTOCOL_ERROR),
        (Kind::WindowUpdate, _, sys::NGHTTP2_ERR_FLOW_CONTROL) => {
            Some(sys::NGHTTP2_FLOW_CONTROL_ERROR)
        }
        (Kind::Headers, _, sys::NGHTTP2_ERR_STREAM_CLOSED) => Some(sys::NGHTTP2_STREAM_CLOSED),
        // A request above the limit of concurrent streams.
        (Kind::Headers, StreamState::Absent, sys::NGHTTP2_ERR_PROTO) if serves && is_of_client => {
            Some(sys::NGHTTP2_PROTOCOL_ERROR)
        }
        _ => None,
    }
}
