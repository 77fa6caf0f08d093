//! Invariants of the request reader, for any input.

use crate::http::request::{HEAD_LIMIT, parse, path};

/// The reader has the same result for any split of the input, never consumes more than has arrived,
/// and leaves no query in a path.
///
/// Panics on a violation.
pub fn hold(bytes: &[u8], piece: usize) {
    let whole = parse(bytes);
    if let Ok(Some((head, length))) = whole {
        assert!(length <= bytes.len().min(HEAD_LIMIT));
        assert_eq!(parse(&bytes[..length]), Ok(Some((head, length))));
        assert!(!path(head.target).contains('?'), "{head:?}");
    }
    // The server parses whenever bytes have arrived, and acts on the first result.
    let arrivals = (piece.max(1)..bytes.len()).step_by(piece.max(1)).chain([bytes.len()]);
    let first = arrivals.map(|length| parse(&bytes[..length])).find(|p| *p != Ok(None));
    match (whole, first.unwrap_or(Ok(None))) {
        // With several faults, the split may decide which is found first.
        (Err(_), Err(_)) => {}
        (whole, first) => assert_eq!(whole, first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Parts of requests, valid and invalid ones.
    const PARTS: [&[u8]; 24] = [
        b"GET /bytes/1 HTTP/1.1\r\n",
        b"GET /bytes/99999999999999999999 HTTP/1.1\r\n",
        b"HEAD /stats HTTP/1.0\r\n",
        b"POST / HTTP/1.1\r\n",
        b"GET http:// HTTP/1.1\r\n",
        b"GET https://a?b HTTP/1.1\r\n",
        b"PRI * HTTP/2.0\r\n",
        b"\r\n",
        b"\n",
        b"\r",
        b"\0",
        b"Host: a\r\n",
        b"host:\r\n",
        b"Connection: close, keep-alive\r\n",
        b"Connection: ,,\r\n",
        b"Content-Length: 3\r\n",
        b"Content-Length: -3\r\n",
        b"Content-Length: 99999999999999999999\r\n",
        b"Content-Length:\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b" folded\r\n",
        b"X: \xff\r\n",
        b"abc",
        b"GET ",
    ];

    fn request() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            8 => prop::sample::select(&PARTS[..]).prop_map(<[u8]>::to_vec),
            1 => prop::collection::vec(any::<u8>(), 0..8),
        ];
        prop::collection::vec(part, 0..10).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(4096)
        })]

        #[test]
        fn no_cut_changes_what_is_asked(bytes in request(), piece in 1..40_usize) {
            hold(&bytes, piece);
        }
    }
}
