//! The HTTP/1.1 server side: a reader for the heads of requests (RFC 9112).

use super::decimal;

/// The highest length of a request's head in bytes.
pub const HEAD_LIMIT: usize = 16 * 1024;

/// The highest number of header fields in a request; a browser sends some 20.
const FIELD_LIMIT: usize = 100;

/// The head of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head<'b> {
    /// The method, as sent.
    pub method: &'b str,
    /// The request target, as sent.
    pub target: &'b str,
    /// Whether the peer uses HTTP/1.0.
    pub http10: bool,
    /// Whether the peer keeps the connection open after the response (section 9.3).
    pub persistent: bool,
    /// Whether a body follows.
    pub has_body: bool,
}

/// Why the start of the received bytes is no head of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadError {
    /// It violates HTTP/1.
    Malformed,
    /// It is longer than [`HEAD_LIMIT`], or has too many fields.
    TooLarge,
}

/// Parses a head at the start of the received bytes. Returns the head and its length; `None` if the
/// head is not complete yet.
pub fn parse(received: &[u8]) -> Result<Option<(Head<'_>, usize)>, HeadError> {
    let mut fields = [httparse::EMPTY_HEADER; FIELD_LIMIT];
    let mut head = httparse::Request::new(&mut fields);
    match head.parse(received) {
        Ok(httparse::Status::Complete(length)) if length <= HEAD_LIMIT => {
            understand(&head).map(|head| Some((head, length)))
        }
        Ok(httparse::Status::Partial) if received.len() <= HEAD_LIMIT => Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => Err(HeadError::TooLarge),
        Err(_) => Err(HeadError::Malformed),
    }
}

fn understand<'b>(head: &httparse::Request<'_, 'b>) -> Result<Head<'b>, HeadError> {
    let http10 = head.version == Some(0);
    let framing = Framing::read(head.headers)?;
    if !http10 && framing.hosts != 1 {
        return Err(HeadError::Malformed);
    }
    Ok(Head {
        method: head.method.unwrap_or_default(),
        target: head.path.unwrap_or_default(),
        http10,
        persistent: !framing.close && (!http10 || framing.keep_alive),
        has_body: framing.has_body,
    })
}

/// The path of a request target in origin form or absolute form, without the query.
pub fn path(target: &str) -> &str {
    let after_scheme = target.strip_prefix("https://").or_else(|| target.strip_prefix("http://"));
    let path = match after_scheme {
        Some(rest) => rest.find('/').map_or("/", |slash| &rest[slash..]),
        None => target,
    };
    path.split('?').next().unwrap_or_default()
}

/// Header fields that concern the connection and the body.
#[derive(Debug, Default)]
struct Framing {
    hosts: usize,
    has_body: bool,
    close: bool,
    keep_alive: bool,
}

impl Framing {
    fn read(fields: &[httparse::Header<'_>]) -> Result<Self, HeadError> {
        let mut framing = Self::default();
        for field in fields {
            let is = |name: &str| field.name.eq_ignore_ascii_case(name);
            if is("host") {
                framing.hosts += 1;
            } else if is("connection") {
                framing.close |= lists(field.value, b"close");
                framing.keep_alive |= lists(field.value, b"keep-alive");
            } else if is("transfer-encoding") {
                framing.has_body = true;
            } else if is("content-length") {
                framing.has_body |= decimal(field.value).ok_or(HeadError::Malformed)? > 0;
            }
        }
        Ok(framing)
    }
}

/// True if a comma-separated list contains an element, ignoring case.
fn lists(value: &[u8], element: &[u8]) -> bool {
    value.split(|byte| *byte == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(element))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Head<'_> {
        match parse(text.as_bytes()) {
            Ok(Some((head, length))) => {
                assert_eq!(length, text.len());
                head
            }
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn a_head_says_what_is_asked_and_of_which_version() {
        let text = "HEAD /bytes/1?x HTTP/1.0\r\n\r\n";
        let Head { method, target, http10, .. } = head(text);
        assert_eq!((method, target, http10), ("HEAD", "/bytes/1?x", true));
        assert!(!head("GET / HTTP/1.1\r\nHost: a\r\n\r\n").http10);
    }

    #[test]
    fn a_path_has_no_origin_and_no_query() {
        for target in ["/a/b", "/a/b?c/d?e", "https://h:1/a/b", "http://h/a/b?x"] {
            assert_eq!(path(target), "/a/b", "{target}");
        }
        for root in ["/", "/?x", "https://a", "http://a/"] {
            assert_eq!(path(root), "/", "{root}");
        }
    }

    #[test]
    fn a_head_may_come_in_any_pieces() {
        let text = b"GET /bytes/1 HTTP/1.1\r\nHost: a\r\n\r\n";
        for length in 0..text.len() {
            assert_eq!(parse(&text[..length]), Ok(None));
        }
        let mut two = text.to_vec();
        two.extend_from_slice(b"GET /b");
        assert!(matches!(parse(&two), Ok(Some((_, length))) if length == text.len()));
    }

    #[test]
    fn a_connection_persists_unless_the_client_ends_it() {
        let persistent = |lines: &str| head(&format!("GET / {lines}\r\n\r\n")).persistent;
        assert!(persistent("HTTP/1.1\r\nHost: a"));
        assert!(!persistent("HTTP/1.1\r\nHost: a\r\nConnection: x, Close"));
        assert!(!persistent("HTTP/1.0"));
        assert!(persistent("HTTP/1.0\r\nConnection: Keep-Alive"));
        assert!(!persistent("HTTP/1.0\r\nConnection: close, keep-alive"));
    }

    #[test]
    fn a_body_is_announced_by_its_length_or_its_coding() {
        let has_body = |field: &str| head(&format!("GET / HTTP/1.0\r\n{field}\r\n\r\n")).has_body;
        assert!(has_body("Content-Length: 1"));
        assert!(!has_body("Content-Length: 0"));
        assert!(has_body("Transfer-Encoding: chunked"));
        assert!(!has_body("X: y"));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for text in [
            "\x16\x03\x01\x02\x00\x01",
            "GET\r\n\r\n",
            "GET / HTTP/2.0\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n",
        ] {
            assert_eq!(parse(text.as_bytes()), Err(HeadError::Malformed), "{text:?}");
        }
    }

    #[test]
    fn heads_are_bounded() {
        let too_large = Err(HeadError::TooLarge);
        let long = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(HEAD_LIMIT));
        assert_eq!(parse(long.as_bytes()), too_large);
        assert_eq!(parse(format!("{long}\r\n\r\n").as_bytes()), too_large);
        let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(FIELD_LIMIT));
        assert_eq!(parse(many.as_bytes()), too_large);
    }
}
