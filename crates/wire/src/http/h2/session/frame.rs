//! Frame headers (RFC 9113, section 4.1), read off the bytes of a connection.

use libnghttp2_sys as sys;

/// The length of a frame header.
pub const HEAD: usize = 9;

/// The type of a frame (RFC 9113, section 11.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the registry's own names")]
pub enum Kind {
    Data,
    Headers,
    Priority,
    ResetStream,
    Settings,
    PushPromise,
    GoAway,
    WindowUpdate,
    Continuation,
    /// PING or an extension.
    Other,
}

impl Kind {
    fn of(number: u8) -> Self {
        match u32::from(number) {
            sys::NGHTTP2_DATA => Self::Data,
            sys::NGHTTP2_HEADERS => Self::Headers,
            sys::NGHTTP2_PRIORITY => Self::Priority,
            sys::NGHTTP2_RST_STREAM => Self::ResetStream,
            sys::NGHTTP2_SETTINGS => Self::Settings,
            sys::NGHTTP2_PUSH_PROMISE => Self::PushPromise,
            sys::NGHTTP2_GOAWAY => Self::GoAway,
            sys::NGHTTP2_WINDOW_UPDATE => Self::WindowUpdate,
            sys::NGHTTP2_CONTINUATION => Self::Continuation,
            _ => Self::Other,
        }
    }
}

/// A frame header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHead {
    /// The type of the frame.
    pub kind: Kind,
    /// The stream of the frame; 0: the connection.
    pub stream: i32,
    /// The length of the payload in bytes.
    pub length: usize,
    flags: u8,
}

impl FrameHead {
    pub(super) fn of(head: &sys::nghttp2_frame_hd) -> Self {
        let kind = Kind::of(head.type_);
        Self { kind, stream: head.stream_id, length: head.length, flags: head.flags }
    }

    /// The header in these bytes.
    pub fn read([high, middle, low, kind, flags, stream @ ..]: [u8; HEAD]) -> Self {
        // The first bit of the stream is reserved.
        let stream = i32::from_be_bytes(stream) & i32::MAX;
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        Self { kind: Kind::of(kind), stream, length, flags }
    }

    /// For DATA and HEADERS frames: true if the peer sends nothing more on this stream.
    pub fn ends_stream(&self) -> bool {
        u32::from(self.flags) & sys::NGHTTP2_FLAG_END_STREAM != 0
    }

    /// For SETTINGS frames: true for an acknowledgement.
    pub fn is_acknowledgement(&self) -> bool {
        u32::from(self.flags) & sys::NGHTTP2_FLAG_ACK != 0
    }
}

/// The peer is ending the connection (RFC 9113, section 6.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoAway {
    /// No stream above this one was or will be processed.
    pub last_stream: i32,
    /// The error code (RFC 9113, section 7).
    pub code: u32,
}

/// Finds the frame headers in bytes that arrive in pieces.
#[derive(Debug)]
pub(super) struct Heads {
    /// The first bytes of the next header.
    head: [u8; HEAD],
    /// Their number.
    arrived: usize,
    /// Bytes in front of the next header.
    skip: usize,
}

impl Heads {
    /// The frames behind N bytes.
    pub fn behind(skip: usize) -> Self {
        Self { head: [0; HEAD], arrived: 0, skip }
    }

    /// The next header in `bytes` from `at` on; moves `at` behind the header, or to the end.
    pub fn next(&mut self, bytes: &[u8], at: &mut usize) -> Option<FrameHead> {
        let skipped = self.skip.min(bytes.len() - *at);
        self.skip -= skipped;
        *at += skipped;
        if self.arrived == 0
            && let Some((head, _)) = bytes[*at..].split_first_chunk()
        {
            let head = FrameHead::read(*head);
            self.skip = head.length;
            *at += HEAD;
            return Some(head);
        }
        // The header arrives in pieces.
        let taken = (HEAD - self.arrived).min(bytes.len() - *at);
        self.head[self.arrived..][..taken].copy_from_slice(&bytes[*at..][..taken]);
        self.arrived += taken;
        *at += taken;
        if self.arrived < HEAD {
            return None;
        }
        let head = FrameHead::read(self.head);
        (self.arrived, self.skip) = (0, head.length);
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_found_however_their_bytes_arrive() {
        let frames = [
            &[7; 5][..],
            &[0, 0, 3, 0, 1, 0x80, 0, 0, 1, 0xff, 0xff, 0xff],
            &[0, 0, 0, 4, 1, 0, 0, 0, 0],
            &[0, 0, 1, 1, 4, 0, 0, 1, 2, 0x88],
        ]
        .concat();
        for size in 1..=frames.len() {
            let mut heads = Heads::behind(5);
            let mut found = Vec::new();
            for piece in frames.chunks(size) {
                let mut at = 0;
                while let Some(head) = heads.next(piece, &mut at) {
                    found.push((head.kind, head.stream, head.length));
                }
                assert_eq!(at, piece.len());
            }
            let all = [(Kind::Data, 1, 3), (Kind::Settings, 0, 0), (Kind::Headers, 258, 1)];
            assert_eq!(found, all, "{size}");
        }
    }
}
