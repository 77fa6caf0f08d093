mod responses;

use super::*;

/// Whether the response is complete, its status, and the length of its body.
type Read = (bool, u16, u64);

fn read(bytes: &[u8]) -> Result<Read, HttpError> {
    let mut reader = ResponseReader::default();
    let done = reader.take(bytes)?;
    Ok((done, reader.status(), reader.body.bytes))
}

/// The same, one byte at a time: the split must not change the result.
fn read_slowly(bytes: &[u8]) -> Result<Read, HttpError> {
    let mut reader = ResponseReader::default();
    let mut done = false;
    for byte in bytes {
        done = reader.take(&[*byte])?;
    }
    Ok((done, reader.status(), reader.body.bytes))
}

/// A chunked response with this text behind its head.
macro_rules! chunks {
    ($text:literal) => {
        concat!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", $text).as_bytes()
    };
}

#[test]
fn an_interim_response_does_not_start_the_response() {
    let mut reader = ResponseReader::default();
    let mut begun = |bytes: &[u8]| {
        reader.take(bytes).unwrap();
        (reader.has_any(), reader.has_begun())
    };
    assert_eq!(begun(b"HTTP/1.1 103"), (true, true), "it may be the final one");
    assert_eq!(begun(b" Early Hints\r\nLink: x\r\n\r\n"), (true, false));
    assert_eq!(begun(b"HTTP/1.1 200 OK\r\n\r\n"), (true, true));
    assert!(!reader.keeps_alive(), "the end of the connection is that of the body");
}

#[test]
fn framings_are_read_whole_and_in_pieces() {
    let cases: [(&[u8], Read); 6] = [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", (true, 200, 5)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", (false, 200, 3)),
        (b"HTTP/1.1 204 No Content\r\n\r\n", (true, 204, 0)),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", (true, 404, 0)),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
              3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: v\r\n\r\n",
            (true, 200, 13),
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nabc", (false, 200, 3)),
    ];
    for (bytes, expected) in cases {
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(read(bytes), Ok(expected), "{text}");
        assert_eq!(read_slowly(bytes), Ok(expected), "{text}");
    }
}

#[test]
fn a_body_without_length_ends_with_the_connection() {
    let mut reader = ResponseReader::default();
    assert_eq!(reader.take(b"HTTP/1.0 200 OK\r\n\r\nabc"), Ok(false));
    assert!(reader.end());
    assert!(!reader.keeps_alive());
    let mut cut = ResponseReader::default();
    assert_eq!(cut.take(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), Ok(false));
    assert!(!cut.end());
}

#[test]
fn hostile_responses_are_refused() {
    let cases: [(&[u8], HttpError); 16] = [
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", HttpError::Head),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", HttpError::Length),
        (b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n", HttpError::Length),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            HttpError::Length,
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", HttpError::Surplus),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
            HttpError::Chunk,
        ),
        (b"HTTP/1.1 200 OK\r\nA: \0\r\n\r\n", HttpError::Head),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", HttpError::Switched),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", HttpError::Coding),
        (chunks!("\r\n\r\n"), HttpError::Chunk),
        (chunks!(" \r\n\r\n"), HttpError::Chunk),
        (chunks!(";a\r\n\r\n"), HttpError::Chunk),
        (chunks!("0;a=\0\r\n\r\n"), HttpError::Chunk),
        (chunks!("0\r\nT v\r\n\r\n"), HttpError::Trailer),
        (chunks!("0\r\nT: \0\r\n\r\n"), HttpError::Trailer),
        (chunks!("0\r\nT: v\r\n w\r\n\r\n"), HttpError::Trailer),
    ];
    for (bytes, expected) in cases {
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(read(bytes), Err(expected), "{text}");
        assert_eq!(read_slowly(bytes), Err(expected), "{text}");
    }
}

#[test]
fn floods_end_at_their_limits() {
    let head = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'a'; HEAD_LIMIT]].concat();
    assert_eq!(read(&head), Err(HttpError::HeadTooLarge));
    let interim = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(9);
    assert_eq!(read(&interim), Err(HttpError::TooManyInterim));
    let chunk = [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;".to_vec(),
        vec![b'x'; CHUNK_LINE_LIMIT],
    ]
    .concat();
    assert_eq!(read(&chunk), Err(HttpError::Chunk));
}

#[test]
fn the_answer_to_head_has_no_body_whatever_it_says() {
    for framing in ["Content-Length: 5", "Transfer-Encoding: chunked", "X: y"] {
        let head = format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n");
        let mut reader = ResponseReader::default().to_head(true);
        assert_eq!(reader.take(head.as_bytes()), Ok(true), "{framing}");
        assert_eq!(reader.body.bytes, 0);
        assert!(ResponseReader::default().take(head.as_bytes()) != Ok(true), "{framing}");
    }
}
