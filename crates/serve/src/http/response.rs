//! Builds responses.

use std::fmt::{self, Display};
use std::io::Write;

use super::content::Body;
use super::date::HttpDate;
use super::digests::Digests;
use super::request::{Answer, Request, Status};
use crate::stats::Stats;

/// The Server field of every response.
pub const SERVER: &str = "tlslab";

/// The page that lists the resources.
const INDEX: &str = "\
tlslab-serve, the reference server of tlslab

  /bytes/N  the first N bytes of a fixed sequence, up to 1 GiB, with their SHA-256 digest:
            /bytes/0, /bytes/100, /bytes/16384, /bytes/1048576
  /stats    counts of handshakes, connections and requests, and processor time, as JSON
  /redirect 302 Found, to this page
  /login    401 Unauthorized, whoever asks
  /         this page

GET and HEAD, over HTTP/1.1 and HTTP/2.
";

/// A response, in either version of HTTP.
#[derive(Debug)]
pub struct Reply<'r> {
    /// The status code and its phrase: `200 OK`.
    pub status: &'static str,
    /// The Date field.
    pub date: &'r str,
    /// The Content-Type field.
    pub content_type: &'static str,
    /// The Content-Length field.
    pub length: u64,
    /// An additional field of this kind of response.
    pub more: Option<(&'static str, &'r str)>,
    /// The content, if it is a short text.
    pub text: String,
    /// The content, if it consists of bytes of the sequence.
    pub body: Body,
}

/// Builds the responses of one worker.
pub struct Responder {
    digests: Digests,
    date: HttpDate,
}

impl Responder {
    pub fn new() -> Self {
        Self { digests: Digests::new(), date: HttpDate::default() }
    }

    /// Builds the response, including its content even if only the head is requested.
    pub fn reply(&mut self, answer: Answer, stats: impl FnOnce() -> Stats) -> Reply<'_> {
        let date = self.date.now();
        match answer {
            Answer::Bytes(length) => Reply {
                status: "200 OK",
                date,
                content_type: "application/octet-stream",
                length,
                more: Some(("Repr-Digest", self.digests.of(length))),
                text: String::new(),
                body: Body::new(length),
            },
            Answer::Stats => {
                let text = serde_json::to_string(&stats()).unwrap_or_default();
                let more = Some(("Cache-Control", "no-store"));
                Reply { more, ..short("200 OK", date, "application/json", text) }
            }
            Answer::Index => {
                let text = INDEX.to_owned();
                short("200 OK", date, "text/plain; charset=utf-8", text)
            }
            Answer::Redirect => {
                let more = Some(("Location", "/"));
                Reply { more, ..short("302 Found", date, "text/plain", "302 Found\n".to_owned()) }
            }
            Answer::Unauthorized => {
                let more = Some(("WWW-Authenticate", "Basic realm=\"tlslab\""));
                let text = "401 Unauthorized\n".to_owned();
                Reply { more, ..short("401 Unauthorized", date, "text/plain", text) }
            }
            Answer::Error(status) => {
                let more = matches!(status, Status::MethodNotAllowed);
                let more = more.then_some(("Allow", "GET, HEAD"));
                let text = format!("{status}\n");
                Reply { more, ..short(status.phrase(), date, "text/plain", text) }
            }
        }
    }

    /// Appends an HTTP/1.1 response to the buffer, including a short content. Returns the body that
    /// must be sent after it.
    pub fn respond(
        &mut self,
        request: Request,
        stats: impl FnOnce() -> Stats,
        buffer: &mut Vec<u8>,
    ) -> Body {
        let reply = self.reply(request.answer, stats);
        head(buffer, &reply, request);
        if request.head_only {
            return Body::default();
        }
        buffer.extend_from_slice(reply.text.as_bytes());
        reply.body
    }

    /// Appends the response to an invalid request; the connection ends after it.
    pub fn refuse(&mut self, status: Status, buffer: &mut Vec<u8>) {
        let answer = Answer::Error(status);
        let request = Request { answer, head_only: false, close: true, http10: false };
        self.respond(request, Stats::default, buffer);
    }
}

/// A reply whose content is a short text.
fn short<'r>(
    status: &'static str,
    date: &'r str,
    content_type: &'static str,
    text: String,
) -> Reply<'r> {
    let (length, body) = (text.len() as u64, Body::default());
    Reply { status, date, content_type, length, more: None, text, body }
}

/// Appends an HTTP/1.1 head.
fn head(buffer: &mut Vec<u8>, reply: &Reply<'_>, request: Request) {
    let Reply { status, date, content_type, length, .. } = reply;
    let connection = match (request.close, request.http10) {
        (true, _) => "Connection: close\r\n",
        (false, true) => "Connection: keep-alive\r\n",
        (false, false) => "",
    };
    let mut write = |text: fmt::Arguments<'_>| {
        buffer.write_fmt(text).expect("a vector takes all that is written to it");
    };
    write(format_args!("HTTP/1.1 {status}\r\nServer: {SERVER}\r\nDate: {date}\r\n"));
    write(format_args!("Content-Type: {content_type}\r\nContent-Length: {length}\r\n"));
    if let Some((name, value)) = reply.more {
        write(format_args!("{name}: {value}\r\n"));
    }
    write(format_args!("{connection}\r\n"));
}

impl Status {
    /// The status code and its phrase.
    fn phrase(self) -> &'static str {
        match self {
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::HeadTooLarge => "431 Request Header Fields Too Large",
            Self::NotImplemented => "501 Not Implemented",
        }
    }
}

impl Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.phrase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn respond(answer: Answer, change: fn(&mut Request)) -> (String, Body) {
        let mut request = Request { answer, head_only: false, close: false, http10: false };
        change(&mut request);
        let mut buffer = Vec::new();
        let body = Responder::new().respond(request, Stats::default, &mut buffer);
        (String::from_utf8(buffer).unwrap(), body)
    }

    #[test]
    fn bytes_come_with_their_length_and_digest() {
        let (head, body) = respond(Answer::Bytes(3), |_| {});
        assert!(head.starts_with("HTTP/1.1 200 OK\r\nServer: tlslab\r\nDate: "), "{head}");
        assert!(head.contains("\r\nContent-Length: 3\r\n"));
        // printf '\0\1\2' | openssl dgst -sha256 -binary | base64
        let digest = "sha-256=:rksygOVuL6+D9BSm49q+nV++GJdlRMBf7RIazLhbU/w=:";
        assert!(head.contains(&format!("\r\nRepr-Digest: {digest}\r\n")), "{head}");
        assert!(head.ends_with("\r\n\r\n") && !head.contains("Connection"));
        assert_eq!(body, Body::new(3));
    }

    #[test]
    fn a_head_request_has_the_same_fields_and_no_content() {
        let (of_get, _) = respond(Answer::Bytes(9), |_| {});
        let (of_head, body) = respond(Answer::Bytes(9), |r| r.head_only = true);
        let without_date = |head: &str| {
            head.lines().filter(|l| !l.starts_with("Date")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(without_date(&of_head), without_date(&of_get));
        assert!(body.is_empty());
        let (stats, _) = respond(Answer::Stats, |r| r.head_only = true);
        assert!(stats.ends_with("\r\n\r\n"), "{stats}");
    }

    #[test]
    fn whether_the_connection_stays_is_said_where_it_must_be() {
        let (head, _) = respond(Answer::Bytes(0), |r| r.close = true);
        assert!(head.contains("\r\nConnection: close\r\n"));
        let (head, _) = respond(Answer::Bytes(0), |r| r.http10 = true);
        assert!(head.contains("\r\nConnection: keep-alive\r\n"));
    }

    #[test]
    fn the_root_lists_what_there_is() {
        let (text, _) = respond(Answer::Index, |_| {});
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        for page in ["/bytes/100", "/stats", "/redirect", "/login"] {
            assert!(text.contains(page), "{page}");
            assert!(!matches!(super::super::request::answer("GET", page), Answer::Error(_)));
        }
    }

    #[test]
    fn a_redirect_and_a_login_have_the_field_that_goes_with_their_status() {
        let (text, _) = respond(Answer::Redirect, |_| {});
        assert!(text.starts_with("HTTP/1.1 302 Found\r\n"), "{text}");
        assert!(text.contains("\r\nLocation: /\r\n"), "{text}");
        let (text, _) = respond(Answer::Unauthorized, |_| {});
        assert!(text.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{text}");
        assert!(text.contains("\r\nWWW-Authenticate: Basic realm=\"tlslab\"\r\n"), "{text}");
        assert!(text.ends_with("\r\n\r\n401 Unauthorized\n"), "{text}");
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let (text, _) = respond(Answer::Error(Status::MethodNotAllowed), |_| {});
        assert!(text.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"));
        assert!(text.contains("\r\nAllow: GET, HEAD\r\n"));
        assert!(text.contains("\r\nContent-Length: 23\r\n"));
        assert!(text.ends_with("\r\n\r\n405 Method Not Allowed\n"));
    }
}
