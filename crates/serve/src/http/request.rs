//! Finds the resource that a request asks for.

use super::content::BODY_LIMIT;
use tlslab_wire::http::decimal;
use tlslab_wire::http::request::{Head, HeadError, parse, path};

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

impl From<HeadError> for Status {
    fn from(error: HeadError) -> Self {
        match error {
            HeadError::Malformed => Self::BadRequest,
            HeadError::TooLarge => Self::HeadTooLarge,
        }
    }
}

impl From<Head<'_>> for Request {
    fn from(head: Head<'_>) -> Self {
        // The body is not read, so the connection ends: a body could be mistaken for the next
        // request.
        Self {
            answer: answer(head.method, head.target),
            head_only: head.method == "HEAD",
            close: head.has_body || !head.persistent,
            http10: head.http10,
        }
    }
}

/// A request with the length of its head, or the status that refuses it: nothing more can be read
/// from the connection then.
pub type Asked = Result<(Request, usize), Status>;

/// The request at the start of the received bytes; `None` if its head is not complete yet.
pub fn read(received: &[u8]) -> Option<Asked> {
    let head = parse(received).transpose()?;
    Some(head.map(|(head, length)| (head.into(), length)).map_err(Status::from))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Request {
        match read(text.as_bytes()) {
            Some(Ok((request, length))) => {
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
    fn methods_are_reported_apart() {
        let of = |method: &str| request(&format!("{method} /stats HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(of("HEAD").head_only && !of("GET").head_only);
        assert_eq!(of("POST").answer, Answer::Error(Status::MethodNotAllowed));
        assert_eq!(of("BREW").answer, Answer::Error(Status::NotImplemented));
    }

    #[test]
    fn the_connection_ends_after_a_body_and_where_the_client_ends_it() {
        let close = |field: &str| request(&format!("GET / HTTP/1.1\r\nHost: a\r\n{field}\r\n"));
        assert!(!close("").close && !close("Content-Length: 0\r\n").close);
        assert!(close("Content-Length: 1\r\n").close);
        assert!(close("Connection: close\r\n").close);
    }

    #[test]
    fn errors_of_the_head_have_their_status() {
        assert_eq!(read(b"GET / HTTP/1.1\r\nHost: a\r\n"), None);
        assert_eq!(read(b"GET\r\n\r\n"), Some(Err(Status::BadRequest)));
        assert_eq!(read(&[b'x'; 20_000]), Some(Err(Status::HeadTooLarge)));
    }
}
