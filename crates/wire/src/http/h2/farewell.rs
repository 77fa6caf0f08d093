//! Reads the connection error in the last frames of a client (RFC 9113, section 5.4.1).

use std::borrow::Cow;

use super::session::{FrameHead, HEAD, Kind};
use super::streams::error_name;
use crate::reason::Reason;

/// The client connection preface (section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The offsets of the error code and of the debug data in a GOAWAY (section 6.8).
const GOAWAY_CODE: usize = 4;
const GOAWAY_WORDS: usize = 8;

/// An error that the client sends to the server.
pub struct LastError<'f> {
    code: u32,
    /// The session's message about the error.
    words: Cow<'f, str>,
}

/// The error of the GOAWAY in these complete frames.
pub fn last_error(frames: &[u8]) -> Option<LastError<'_>> {
    let mut rest = frames.strip_prefix(PREFACE).unwrap_or(frames);
    while let Some((head, behind)) = rest.split_first_chunk::<HEAD>() {
        let head = FrameHead::read(*head);
        let (payload, next) = behind.split_at_checked(head.length)?;
        if head.kind == Kind::GoAway {
            let code = u32::from_be_bytes(*payload.get(GOAWAY_CODE..)?.first_chunk()?);
            let words = String::from_utf8_lossy(payload.get(GOAWAY_WORDS..)?);
            return Some(LastError { code, words });
        }
        rest = next;
    }
    None
}

/// The reason: the error code that these frames send to the server, with the session's message or
/// with `ours`; otherwise, for a malformed response, with what is `suspected`.
pub fn protocol_reason(frames: &[u8], ours: Option<&Reason>, suspected: Option<&str>) -> Reason {
    let details = ours.map_or("".into(), |reason| reason.words.clone());
    let ours = ours.map(|reason| &*reason.name);
    let Some(LastError { code, words }) = last_error(frames) else {
        return Reason::named(ours.unwrap_or("unknown").to_owned()).with(details);
    };
    let suspected = suspected.filter(|_| code == libnghttp2_sys::NGHTTP2_PROTOCOL_ERROR);
    let reason = match ours.or(suspected) {
        _ if !words.is_empty() => Reason::alerted(&error_name(code), &words),
        Some(ours) => Reason::alerted(&error_name(code), ours),
        None => Reason::named(error_name(code)),
    };
    reason.with(details)
}
