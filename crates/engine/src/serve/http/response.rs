//! Responses: from what is asked for to bytes.

use std::fmt::{self, Display};
use std::io::Write;

use super::content::Body;
use super::date::HttpDate;
use super::digests::Digests;
use super::request::{Answer, Request, Status};
use crate::serve::stats::Stats;

/// Makes the responses of one worker.
pub struct Responder {
    digests: Digests,
    date: HttpDate,
}

impl Responder {
    pub fn new() -> Self {
        Self { digests: Digests::new(), date: HttpDate::default() }
    }

    /// Appends a response's head to the buffer, and its content if it is short; what has to be sent
    /// behind it is returned.
    pub fn respond(
        &mut self,
        request: Request,
        stats: impl FnOnce() -> Stats,
        buffer: &mut Vec<u8>,
    ) -> Body {
        match request.answer {
            Answer::Bytes(length) => {
                let digest = self.digests.of(length);
                let fields = format_args!(
                    "Content-Type: application/octet-stream\r\nContent-Length: {length}\r\n\
                     Repr-Digest: sha-256=:{digest}:\r\n"
                );
                head(buffer, "200 OK", self.date.now(), request, fields);
                if request.head_only { Body::default() } else { Body::new(length) }
            }
            Answer::Stats => {
                let text = serde_json::to_string(&stats()).unwrap_or_default();
                let fields =
                    format_args!("Content-Type: application/json\r\nCache-Control: no-store\r\n");
                self.short(buffer, "200 OK", request, &fields, &text);
                Body::default()
            }
            Answer::Error(status) => {
                let allow = match status {
                    Status::MethodNotAllowed => "Allow: GET, HEAD\r\n",
                    _ => "",
                };
                let fields = format_args!("Content-Type: text/plain\r\n{allow}");
                self.short(buffer, &status.to_string(), request, &fields, &format!("{status}\n"));
                Body::default()
            }
        }
    }

    /// Appends the response to what is no request; the connection ends with it.
    pub fn refuse(&mut self, status: Status, buffer: &mut Vec<u8>) {
        let answer = Answer::Error(status);
        let request = Request { answer, head_only: false, close: true, http10: false };
        self.respond(request, Stats::default, buffer);
    }

    /// A response whose content is a short text.
    fn short(
        &mut self,
        buffer: &mut Vec<u8>,
        status: &str,
        request: Request,
        fields: &dyn Display,
        text: &str,
    ) {
        let fields = format_args!("{fields}Content-Length: {}\r\n", text.len());
        head(buffer, status, self.date.now(), request, fields);
        if !request.head_only {
            buffer.extend_from_slice(text.as_bytes());
        }
    }
}

/// Appends a head: the status, the fields of every response, the further fields, the empty line.
fn head(
    buffer: &mut Vec<u8>,
    status: &str,
    date: &str,
    request: Request,
    fields: fmt::Arguments<'_>,
) {
    let connection = match (request.close, request.http10) {
        (true, _) => "Connection: close\r\n",
        (false, true) => "Connection: keep-alive\r\n",
        (false, false) => "",
    };
    write!(
        buffer,
        "HTTP/1.1 {status}\r\nServer: tlslab\r\nDate: {date}\r\n{fields}{connection}\r\n"
    )
    .expect("a vector takes all that is written to it");
}

impl Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::HeadTooLarge => "431 Request Header Fields Too Large",
            Self::NotImplemented => "501 Not Implemented",
        })
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
    fn errors_say_what_is_wrong() {
        let (text, _) = respond(Answer::Error(Status::MethodNotAllowed), |_| {});
        assert!(text.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"));
        assert!(text.contains("\r\nAllow: GET, HEAD\r\n"));
        assert!(text.contains("\r\nContent-Length: 23\r\n"));
        assert!(text.ends_with("\r\n\r\n405 Method Not Allowed\n"));
    }
}
