//! Parses requests.

use super::content::BODY_LIMIT;

/// The highest length of a request's head in bytes.
pub(super) const HEAD_LIMIT: usize = 16 * 1024;

/// The highest number of header fields in a request; a browser sends some 20.
const HEADER_LIMIT: usize = 100;

/// The result of parsing the bytes received so far.
#[derive(Debug, PartialEq, Eq)]
pub enum Parsed {
    /// The head is not complete yet.
    Incomplete,
    /// A request whose head has N bytes.
    Request(Request, usize),
    /// An invalid request. Nothing more can be read from the connection.
    Bad(Status),
}

/// The properties of a request that its answer depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The requested resource.
    pub answer: Answer,
    /// Whether only the head of the answer is requested.
    pub head_only: bool,
    /// Whether the connection ends after the answer.
    pub close: bool,
    /// Whether the peer uses HTTP/1.0, which keeps a connection only with a header field.
    pub http10: bool,
}

/// A requested resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The first N bytes of the sequence.
    Bytes(u64),
    /// The server's counts.
    Stats,
    /// The page that lists the resources.
    Index,
    /// A 302 redirect to the page that lists the resources.
    Redirect,
    /// 401 for every client.
    Unauthorized,
    /// An error.
    Error(Status),
}

/// The statuses of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the registry's own names")]
pub enum Status {
    BadRequest,
    NotFound,
    MethodNotAllowed,
    HeadTooLarge,
    NotImplemented,
}

/// Parses a request at the start of the received bytes.
pub fn parse(received: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; HEADER_LIMIT];
    let mut head = httparse::Request::new(&mut headers);
    match head.parse(received) {
        Ok(httparse::Status::Complete(length)) if length <= HEAD_LIMIT => match understand(&head) {
            Ok(request) => Parsed::Request(request, length),
            Err(status) => Parsed::Bad(status),
        },
        Ok(httparse::Status::Partial) if received.len() <= HEAD_LIMIT => Parsed::Incomplete,
        Ok(_) | Err(httparse::Error::TooManyHeaders) => Parsed::Bad(Status::HeadTooLarge),
        Err(_) => Parsed::Bad(Status::BadRequest),
    }
}

fn understand(head: &httparse::Request<'_, '_>) -> Result<Request, Status> {
    let http10 = head.version == Some(0);
    let framing = Framing::read(head.headers)?;
    if !http10 && framing.hosts != 1 {
        return Err(Status::BadRequest);
    }
    let method = head.method.unwrap_or_default();
    let answer = answer(method, head.path.unwrap_or_default());
    // The body is not read, so the connection ends: a body could be mistaken for the next request.
    let close = framing.has_body || framing.close || (http10 && !framing.keep_alive);
    Ok(Request { answer, head_only: method == "HEAD", close, http10 })
}

/// The resource of a method and a request target.
pub fn answer(method: &str, target: &str) -> Answer {
    match method {
        "GET" | "HEAD" => route(path(target)),
        "POST" | "PUT" | "DELETE" | "PATCH" | "OPTIONS" | "TRACE" | "CONNECT" => {
            Answer::Error(Status::MethodNotAllowed)
        }
        _ => Answer::Error(Status::NotImplemented),
    }
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
    fn read(headers: &[httparse::Header<'_>]) -> Result<Self, Status> {
        let mut framing = Self::default();
        for header in headers {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            if is("host") {
                framing.hosts += 1;
            } else if is("connection") {
                framing.close |= lists(header.value, b"close");
                framing.keep_alive |= lists(header.value, b"keep-alive");
            } else if is("transfer-encoding") {
                framing.has_body = true;
            } else if is("content-length") {
                framing.has_body |= decimal(header.value).ok_or(Status::BadRequest)? > 0;
            }
        }
        Ok(framing)
    }
}

/// True if a comma-separated list contains an element, ignoring case.
fn lists(value: &[u8], element: &[u8]) -> bool {
    value.split(|byte| *byte == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(element))
}

/// The path of a request target in origin form or absolute form, without the query.
fn path(target: &str) -> &str {
    let after_scheme = target.strip_prefix("https://").or_else(|| target.strip_prefix("http://"));
    let path = match after_scheme {
        Some(rest) => rest.find('/').map_or("/", |slash| &rest[slash..]),
        None => target,
    };
    path.split('?').next().unwrap_or_default()
}

fn route(path: &str) -> Answer {
    let length = path.strip_prefix("/bytes/").and_then(|number| decimal(number.as_bytes()));
    match (length, path) {
        (Some(length), _) if length <= BODY_LIMIT => Answer::Bytes(length),
        (None, "/stats") => Answer::Stats,
        (None, "/") => Answer::Index,
        (None, "/redirect") => Answer::Redirect,
        (None, "/login") => Answer::Unauthorized,
        _ => Answer::Error(Status::NotFound),
    }
}

/// A number of decimal digits only.
fn decimal(text: &[u8]) -> Option<u64> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Request {
        match parse(text.as_bytes()) {
            Parsed::Request(request, length) => {
                assert_eq!(length, text.len());
                request
            }
            other => panic!("{text:?}: {other:?}"),
        }
    }

    fn answer_to(target: &str) -> Answer {
        request(&format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")).answer
    }

    #[test]
    fn targets_are_routed() {
        assert_eq!(answer_to("/bytes/4788"), Answer::Bytes(4788));
        assert_eq!(answer_to("/bytes/0?x=1"), Answer::Bytes(0));
        assert_eq!(answer_to("https://a:1/bytes/7"), Answer::Bytes(7));
        assert_eq!(answer_to("/bytes/1073741824"), Answer::Bytes(1 << 30));
        assert_eq!(answer_to("/stats"), Answer::Stats);
        assert_eq!(answer_to("/redirect"), Answer::Redirect);
        assert_eq!(answer_to("/login?x"), Answer::Unauthorized);
        for index in ["/", "/?x", "https://a", "https://a/"] {
            assert_eq!(answer_to(index), Answer::Index, "{index}");
        }
    }

    #[test]
    fn all_else_is_not_found() {
        let targets =
            ["/x", "/bytes", "/bytes/", "/bytes/-1", "/bytes/+1", "/bytes/1x", "/bytes/1/"];
        for target in targets.into_iter().chain(["/bytes/1073741825", "//"]) {
            assert_eq!(answer_to(target), Answer::Error(Status::NotFound), "{target}");
        }
        let endless = format!("/bytes/{}", "9".repeat(40));
        assert_eq!(answer_to(&endless), Answer::Error(Status::NotFound));
    }

    #[test]
    fn a_head_may_come_in_any_pieces() {
        let text = b"GET /bytes/1 HTTP/1.1\r\nHost: a\r\n\r\n";
        for length in 0..text.len() {
            assert_eq!(parse(&text[..length]), Parsed::Incomplete);
        }
        let mut two = text.to_vec();
        two.extend_from_slice(b"GET /b");
        assert!(matches!(parse(&two), Parsed::Request(_, length) if length == text.len()));
    }

    #[test]
    fn the_connection_ends_when_either_side_cannot_go_on() {
        let close = |lines: &str| request(&format!("GET / {lines}\r\n\r\n")).close;
        assert!(!close("HTTP/1.1\r\nHost: a"));
        assert!(close("HTTP/1.1\r\nHost: a\r\nConnection: x, Close"));
        assert!(close("HTTP/1.0"));
        assert!(!close("HTTP/1.0\r\nConnection: Keep-Alive"));
        assert!(close("HTTP/1.1\r\nHost: a\r\nContent-Length: 1"));
        assert!(!close("HTTP/1.1\r\nHost: a\r\nContent-Length: 0"));
        assert!(close("HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked"));
    }

    #[test]
    fn methods_are_reported_apart() {
        let of = |method: &str| request(&format!("{method} /stats HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(of("HEAD").head_only && !of("GET").head_only);
        assert_eq!(of("POST").answer, Answer::Error(Status::MethodNotAllowed));
        assert_eq!(of("BREW").answer, Answer::Error(Status::NotImplemented));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let bad = Parsed::Bad(Status::BadRequest);
        for text in [
            "\x16\x03\x01\x02\x00\x01",
            "GET\r\n\r\n",
            "GET / HTTP/2.0\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n",
        ] {
            assert_eq!(parse(text.as_bytes()), bad, "{text:?}");
        }
    }

    #[test]
    fn heads_are_bounded() {
        let too_large = Parsed::Bad(Status::HeadTooLarge);
        let long = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(HEAD_LIMIT));
        assert_eq!(parse(long.as_bytes()), too_large);
        assert_eq!(parse(format!("{long}\r\n\r\n").as_bytes()), too_large);
        let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(HEADER_LIMIT));
        assert_eq!(parse(many.as_bytes()), too_large);
    }
}
