//! Responses that break HTTP/1.1.

use tlslab_contract::spec::HttpVersion;
use tlslab_testkit::certificates::Authority;
use tlslab_testkit::h2;
use tlslab_testkit::peers::script::Act::{Flood, Receive, Send};
use tlslab_testkit::peers::{Fault, Peer, answering, secured, unasked};
use tlslab_testkit::tls_server::Settings;

use super::{ALL, CONNECTIONS, LIBRARIES, completes, fail, fails, head, settings, settings_of_old};
use crate::alone::measured_alone;
use crate::harness::{BACKENDS, impatient};

#[test]
fn responses_that_break_http_are_refused() {
    let authority = Authority::new("tlslab test");
    let settings = settings(&authority);
    let floods = |first: &[u8], bytes: &[u8]| {
        secured(&settings, vec![Receive, Send(first.to_vec()), Flood(bytes.to_vec())])
    };
    let chunked = |body: &str| {
        head("Transfer-Encoding: chunked").into_iter().chain(body.bytes()).collect::<Vec<u8>>()
    };
    let says = |bytes: Vec<u8>| answering(&settings, bytes);
    let long_chunk = chunked("1;");
    let cases: [(&str, &str, Fault); 23] = [
        ("interim responses", "http_protocol", floods(b"", b"HTTP/1.1 100 Continue\r\n\r\n")),
        ("a head of a GiB", "http_protocol", floods(b"HTTP/1.1 200 OK\r\nX: ", b"x")),
        ("fields without end", "http_protocol", floods(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n")),
        ("a chunk of no size", "http_protocol", says(chunked("xyz\r\n"))),
        ("an empty chunk-size line", "http_protocol", says(chunked("\r\n"))),
        ("a chunk of an extension only", "http_protocol", says(chunked(";a=b\r\n\r\n"))),
        ("a zero byte in an extension", "http_protocol", says(chunked("0;a=\0\r\n\r\n"))),
        ("a trailer without a colon", "http_protocol", says(chunked("0\r\nx\r\n\r\n"))),
        ("a zero byte in a trailer", "http_protocol", says(chunked("0\r\nX: \0\r\n\r\n"))),
        ("a chunk beyond all size", "http_protocol", says(chunked("fffffffffffffffff\r\n"))),
        ("an endless chunk extension", "http_protocol", floods(&long_chunk, b"x")),
        (
            "more than its length",
            "http_protocol",
            says([head("Content-Length: 2"), b"abc".to_vec()].concat()),
        ),
        (
            "two framings",
            "http_protocol",
            says(head("Content-Length: 2\r\nTransfer-Encoding: chunked")),
        ),
        ("a zero byte", "http_protocol", says(head("X: a\0b\r\nContent-Length: 0"))),
        ("a lone CR", "http_protocol", says(head("X: a\rb\r\nContent-Length: 0"))),
        ("a zero byte in a name", "http_protocol", says(head("X\0: a\r\nContent-Length: 0"))),
        ("a folded field", "http_protocol", says(head("X: a\r\n b\r\nContent-Length: 0"))),
        ("two lengths", "http_protocol", says(head("Content-Length: 2\r\nContent-Length: 3"))),
        (
            "a length beyond all size",
            "http_protocol",
            says(head("Content-Length: 18446744073709551616")),
        ),
        (
            "another protocol",
            "http_protocol",
            says(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n".to_vec()),
        ),
        ("HTTP/2", "http_protocol", says(b"\0\0\x12\x04\0\0\0\0\0".to_vec())),
        ("trailers without end", "http_protocol", floods(&chunked("0\r\n"), b"X: y\r\n")),
        (
            "404",
            "http_status",
            says(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec()),
        ),
    ];
    for (name, class, fault) in &cases {
        fails(&authority, name, class, fault);
    }
}

#[test]
fn a_response_that_arrives_before_its_request_answers_nothing() {
    let authority = Authority::new("tlslab test");
    let old = settings_of_old(&authority);
    let response = [head("Content-Length: 1"), b"x".to_vec()].concat();
    fail(&LIBRARIES, &authority, "HTTP/1.1", "http_protocol", &unasked(&old, response));
    let frames = [h2::settings(&[]), h2::response(1, &[], b"x")].concat();
    let h2 = Settings { alpn: "h2".to_owned(), ..old };
    for backend in BACKENDS {
        let peer = Peer::start(&h2, 1, unasked(&h2, frames.clone()));
        let mut spec = impatient(peer.address(), backend);
        spec.http.version = HttpVersion::Http2;
        let outcomes = measured_alone(spec, &authority).outcomes;
        assert_eq!(outcomes.failed, [("http_protocol".to_owned(), CONNECTIONS)].into());
    }
}

#[test]
fn what_is_no_text_in_a_field_does_no_harm() {
    let authority = Authority::new("tlslab test");
    let response = b"HTTP/1.1 200 OK\r\nServer: \xff\xfe\xc0\r\nContent-Length: 1\r\n\r\nx";
    completes(&ALL, &authority, "invalid UTF-8", &answering(&settings(&authority), response));
}
