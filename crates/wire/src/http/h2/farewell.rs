//! How a connection ends that the server has broken: the client says why (RFC 9113, section 5.4).

use std::borrow::Cow;

use super::streams::{ENHANCE_YOUR_CALM, error_name};
use super::{Client, OUTGOING_LIMIT};
use crate::outcome::Failure;
use crate::reason::Reason;

/// What a client says first (section 3.4), and the length of a frame's header (section 4.1).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD: usize = 9;

/// Types of frames, and where in a GOAWAY its code lies, and the words behind it (section 6.8).
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;
const GOAWAY_CODE: usize = 4;
const GOAWAY_WORDS: usize = 8;

impl Client {
    /// Makes the last that the server hears, and keeps why. An error of the connection ends it with a
    /// GOAWAY, one of a stream with a RST_STREAM: those that the session has found it has made, or
    /// does now; for those that we have found the client sends the code.
    pub(super) fn part(&mut self, failure: Failure) {
        if failure != Failure::HttpProtocol {
            self.to_make = false;
            self.reason = self.streams.fault().map(|fault| fault.reason.clone());
            return;
        }
        self.make_rest();
        if last_error(&self.outgoing).is_none() {
            // Where nobody has a code, the session has had enough of what it had to answer.
            let code = self.streams.fault().map_or(Some(ENHANCE_YOUR_CALM), |fault| fault.code);
            if let Some(code) = code
                && self.session.terminate(code).is_ok()
            {
                self.make_rest();
            }
        }
        self.to_make = false;
        self.reason = Some(self.protocol_reason());
    }

    fn make_rest(&mut self) {
        let limit = self.outgoing.len() + OUTGOING_LIMIT;
        // A session that can say nothing any more says nothing.
        let _ = self.session.send(&mut self.streams, &mut self.outgoing, limit);
    }

    /// The code that the server is sent, with the session's words on it, or ours.
    fn protocol_reason(&self) -> Reason {
        let ours = self.streams.fault().map(|fault| &*fault.reason.name);
        let Some(LastError { code, words }) = last_error(&self.outgoing) else {
            return Reason::named(ours.unwrap_or("unknown").to_owned());
        };
        match (words, ours) {
            (Some(words), _) if !words.is_empty() => Reason::alerted(&error_name(code), &words),
            (_, Some(ours)) => Reason::alerted(&error_name(code), ours),
            _ => Reason::named(error_name(code)),
        }
    }
}

/// An error that is told to the server.
struct LastError<'f> {
    code: u32,
    /// The session's words on it; with GOAWAY only.
    words: Option<Cow<'f, str>>,
}

/// The first error among these whole frames.
fn last_error(frames: &[u8]) -> Option<LastError<'_>> {
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
