//! The reference server and clients that violate HTTP/2 (RFC 9113, section 5.4), or nearly do.

use std::io::{Read, Write};

use super::client::{Client, context, serve};
use tlslab_serve::{Server, ServerBackend};
use tlslab_testkit::h2::{
    self, ACKNOWLEDGEMENT, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING,
    PRIORITY, SETTINGS, Said, WINDOW_UPDATE, field, frame, settings,
};
use tlslab_wire::names::KeyKind;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// `GET /bytes/10` by the static table of RFC 7541, appendix A.
fn request() -> Vec<u8> {
    [vec![0x82, 0x87, 0x01, 0x01, b'h'], vec![0x04, 9], b"/bytes/10".to_vec()].concat()
}

/// The server's frames to a client that sends these bytes and then, if that is allowed, closes
/// properly.
fn answers(server: &Server, trusted: &[openssl::x509::X509], bytes: &[u8]) -> Vec<Said> {
    let mut offer = context(trusted);
    offer.set_alpn_protos(b"\x02h2").unwrap();
    let mut client = Client::try_connect(server, &offer.build()).unwrap().0;
    let end = frame(GOAWAY, 0, 0, &[0; 8]);
    client.write_all(&[PREFACE, &settings(&[]), bytes, &end].concat()).unwrap();
    // A close_notify ends the data that the client sends, not the data that it receives.
    let _ = client.shutdown();
    let mut said = vec![0; PREFACE.len()];
    let _ = client.read_to_end(&mut said);
    h2::said(&said)
}

/// The highest increment of a window (section 6.9.1). No window has room for it.
const WINDOW_LIMIT: u32 = 0x7fff_ffff;

/// A WINDOW_UPDATE.
fn window(stream: u32, increment: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

/// What each server answers to these bytes.
fn assert_answered<'n>(cases: impl IntoIterator<Item = (&'n str, Vec<u8>, Vec<Said>)>) {
    let servers = [ServerBackend::Rustls, ServerBackend::Openssl]
        .map(|backend| (backend, serve(backend, &[KeyKind::EcdsaP256])));
    for (name, bytes, said) in cases {
        for (backend, (server, trusted)) in &servers {
            assert_eq!(answers(server, trusted, &bytes), said, "{name}, {backend:?}");
        }
    }
}

#[test]
fn connection_errors_of_http2_are_reported_with_their_code() {
    let open = frame(HEADERS, END_HEADERS, 1, &request());
    let goes = |code| vec![Said::GoAway(code)];
    assert_answered([
        ("a PING of 7 bytes", frame(PING, 0, 0, &[7; 7]), goes(6)),
        ("the connection's window", window(0, WINDOW_LIMIT), goes(3)),
        ("an update of the connection's window by 0", window(0, 0), goes(1)),
        ("an update of an idle stream's window", window(1, 0), goes(1)),
        ("PRIORITY of stream 0", frame(PRIORITY, 0, 0, &[0; 5]), goes(1)),
        ("PRIORITY of 4 bytes of an idle stream", frame(PRIORITY, 0, 1, &[0; 4]), goes(6)),
        ("a block that does not unpack", frame(HEADERS, END_HEADERS, 1, &[0xff; 16]), goes(9)),
        (
            "trailers of 16,385 bytes",
            [open, frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0; 16_385])].concat(),
            goes(6),
        ),
    ]);
}

#[test]
fn stream_errors_of_http2_name_the_stream() {
    let open = |more: &[u8]| frame(HEADERS, END_HEADERS, 1, &[&request(), more].concat());
    let asks = |stream| frame(HEADERS, END_HEADERS | END_STREAM, stream, &request());
    let both = |bytes: Vec<u8>| [open(&[]), bytes].concat();
    let resets = |stream, code| vec![Said::Reset(stream, code), Said::GoAway(code)];
    let body = |bytes: &[u8]| frame(DATA, END_STREAM, 1, bytes);
    let of_two = open(&field("content-length", "2"));
    let acknowledged = frame(SETTINGS, ACKNOWLEDGEMENT, 0, &[]);
    let many = (0..129).flat_map(|place| asks(1 + 2 * place)).collect();
    assert_answered([
        ("a stream's window", both(window(1, WINDOW_LIMIT)), resets(1, 3)),
        ("an update of a stream's window by 0", both(window(1, 0)), resets(1, 1)),
        ("PRIORITY of 4 bytes", both(frame(PRIORITY, 0, 1, &[0; 4])), resets(1, 6)),
        ("DATA of 16,385 bytes", both(frame(DATA, 0, 1, &[0; 16_385])), resets(1, 6)),
        ("DATA behind the end", [asks(1), body(b"abc")].concat(), resets(1, 5)),
        ("HEADERS behind the end", asks(1).repeat(2), resets(1, 5)),
        ("a field in upper case", open(&field("Host", "a")), resets(1, 1)),
        ("a second path", open(&[0x84]), resets(1, 1)),
        ("a field of the connection", open(&field("connection", "close")), resets(1, 1)),
        ("no path", frame(HEADERS, END_HEADERS | END_STREAM, 1, &request()[..5]), resets(1, 1)),
        ("a longer body than its length", [of_two.clone(), body(b"abc")].concat(), resets(1, 1)),
        ("a shorter body than its length", [of_two, body(b"a")].concat(), resets(1, 1)),
        ("129 requests at once", [acknowledged, many].concat(), resets(257, 1)),
    ]);
}

#[test]
fn what_http2_allows_is_answered() {
    let asks = frame(HEADERS, END_HEADERS | END_STREAM, 1, &request());
    let open = frame(HEADERS, END_HEADERS, 1, &request());
    let body = frame(DATA, END_STREAM, 1, &[b'x'; 16_384]);
    let ping = frame(PING, 0, 0, &[7; 8]);
    let (start, rest) = (frame(HEADERS, END_STREAM, 1, &request()[..3]), &request()[3..]);
    let parts = [start, frame(CONTINUATION, END_HEADERS, 1, rest)].concat();
    let more = [request(), field("a", "b")].concat();
    for backend in [ServerBackend::Rustls, ServerBackend::Openssl] {
        let (server, trusted) = serve(backend, &[KeyKind::EcdsaP256]);
        for (name, bytes) in [
            ("DATA of 16,384 bytes", [open.clone(), body.clone(), ping.clone()].concat()),
            ("PING behind CONTINUATION", [parts.clone(), ping.clone()].concat()),
            (
                "PING behind HEADERS",
                [frame(HEADERS, END_HEADERS | END_STREAM, 1, &more), ping.clone()].concat(),
            ),
            ("a PING and a request", [ping.clone(), asks.clone()].concat()),
        ] {
            let reported = answers(&server, &trusted, &bytes);
            assert!(reported.contains(&Said::Pong), "{name}, {backend:?}: {reported:?}");
            let is_error = |said: &Said| matches!(said, Said::GoAway(1..) | Said::Reset(_, 1..));
            assert!(!reported.iter().any(is_error), "{name}, {backend:?}: {reported:?}");
        }
    }
}
