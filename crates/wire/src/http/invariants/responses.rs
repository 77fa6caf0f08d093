//! Invariants of the response reader, for any input.

use crate::http::Seen;
use crate::http::body::BodyRule;
use crate::http::h1::{HttpError, ResponseReader};

/// The complete output of a reader for a response.
type Reading = (bool, bool, Seen, u64);

/// The reader has the same result for any split of the bytes, counts no byte twice, and returns
/// texts without control characters.
///
/// Panics on a violation.
pub fn hold(bytes: &[u8], piece: usize) {
    let whole = read(bytes.chunks(bytes.len().max(1)));
    let pieces = read(bytes.chunks(piece.max(1)));
    // With several faults, the split may decide which is found first.
    assert_eq!(whole.as_ref().ok(), pieces.as_ref().ok(), "{whole:?} is not {pieces:?}");
    let Ok((_, _, seen, head)) = whole else { return };
    assert!(head + seen.body_bytes <= bytes.len() as u64);
    let server = seen.server.unwrap_or_default();
    assert!(server.chars().count() <= 128 && !server.contains(char::is_control), "{server:?}");
}

fn read<'b>(pieces: impl Iterator<Item = &'b [u8]>) -> Result<Reading, HttpError> {
    let mut reader = ResponseReader::new(BodyRule::Learn { hash: true });
    let mut done = false;
    for piece in pieces {
        done = reader.take(piece)?;
    }
    Ok((done, reader.keeps_alive(), reader.seen(), reader.head_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sha2::{Digest as _, Sha256};

    /// Parts of responses, valid and invalid ones.
    const PARTS: [&[u8]; 32] = [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.0 200 OK\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n",
        b"HTTP/1.1 204 No Content\r\n",
        b"HTTP/1.1 304\r\n",
        b"HTTP/1.1 404 Not Found\n",
        b"Content-Length: 5\r\n",
        b"Content-Length: 0\r\n",
        b"content-length: 18446744073709551615\r\n",
        b"Content-Length: 18446744073709551616\r\n",
        b"Content-Length: -1\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: gzip\r\n",
        b"Connection: close\r\n",
        b"Connection: keep-alive\r\n",
        b"Server: \x1b[2J\xff\xfe\r\n",
        b"Server: nginx\r\n",
        b": \r\n",
        b" folded\r\n",
        b"\r\n",
        b"\n",
        b"\r",
        b"\0",
        b"hello",
        b"5\r\nhello\r\n",
        b"0\r\n",
        b"1;x=y\r\n",
        b"fffffffffffffffff\r\n",
        b"ffffffffffffffff\r\n",
        b"X: y\r\n",
        b"HTTP/",
    ];

    fn response() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            8 => prop::sample::select(&PARTS[..]).prop_map(<[u8]>::to_vec),
            1 => prop::collection::vec(any::<u8>(), 0..8),
        ];
        prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(4096)
        })]

        #[test]
        fn no_cut_changes_what_is_read(bytes in response(), piece in 1..40_usize) {
            hold(&bytes, piece);
        }

        #[test]
        fn counts_are_exact(
            body in prop::collection::vec(any::<u8>(), 0..200),
            sizes in prop::collection::vec(1..50_usize, 0..8),
            piece in 1..64_usize,
        ) {
            let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            let mut bytes = head.to_vec();
            let mut rest = &body[..];
            for size in sizes.into_iter().chain([body.len()]) {
                let (chunk, behind) = rest.split_at(size.min(rest.len()));
                rest = behind;
                if !chunk.is_empty() {
                    bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
                    bytes.extend([chunk, b"\r\n"].concat());
                }
            }
            bytes.extend(b"0\r\n\r\n");
            let (done, _, seen, heads) = read(bytes.chunks(piece)).unwrap();
            prop_assert_eq!((done, seen.status), (true, 200));
            prop_assert_eq!((heads, seen.body_bytes), (head.len() as u64, body.len() as u64));
            prop_assert_eq!(seen.digest, Some(Sha256::digest(&body).into()));
        }
    }
}
