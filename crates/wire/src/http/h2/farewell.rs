//! Reads the connection error in the last frames of a client (RFC 9113, section 5.4).

use std::borrow::Cow;

use super::streams::error_name;
use crate::reason::Reason;

/// The client connection preface (section 3.4), and the length of a frame header (section 4.1).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD: usize = 9;

/// Frame types, and the offsets of the error code and of the debug data in a GOAWAY (section 6.8).
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;
const GOAWAY_CODE: usize = 4;
const GOAWAY_WORDS: usize = 8;

/// An error that the client sends to the server.
pub struct LastError<'f> {
    pub code: u32,
    /// The session's message about the error; only in a GOAWAY.
    words: Option<Cow<'f, str>>,
}

/// The first error in these complete frames.
pub fn last_error(frames: &[u8]) -> Option<LastError<'_>> {
    let mut rest = frames.strip_prefix(PREFACE).unwrap_or(frames);
    while let Some(&[high, middle, low, kind, ..]) = rest.first_chunk::<HEAD>() {
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        let (payload, behind) = rest[HEAD..].split_at_checked(length)?;
        let code = |at: usize| payload.get(at..)?.first_chunk().map(|c| u32::from_be_bytes(*c));
        match kind {
            RST_STREAM => return Some(LastError { code: code(0)?, words: None }),
            GOAWAY => {
                let words = payload.get(GOAWAY_WORDS..).map(String::from_utf8_lossy);
                return Some(LastError { code: code(GOAWAY_CODE)?, words });
            }
            _ => rest = behind,
        }
    }
    None
}

/// The reason: the error code that these frames send to the server, with the session's message or
/// with `ours`.
pub fn protocol_reason(frames: &[u8], ours: Option<&str>) -> Reason {
    let Some(LastError { code, words }) = last_error(frames) else {
        return Reason::named(ours.unwrap_or("unknown").to_owned());
    };
    match (words, ours) {
        (Some(words), _) if !words.is_empty() => Reason::alerted(&error_name(code), &words),
        (_, Some(ours)) => Reason::alerted(&error_name(code), ours),
        _ => Reason::named(error_name(code)),
    }
}
