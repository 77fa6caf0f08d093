//! The reference server and clients that violate HTTP/2 (RFC 9113, section 5.4), or nearly do.

use std::io::{Read, Write};

use super::client::{Client, context, serve};
use tlslab_serve::{Server, ServerBackend};
use tlslab_testkit::h2::{
    self, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PRIORITY, Said,
    WINDOW_UPDATE, field, frame, settings,
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

#[test]
fn errors_of_http2_are_reported_with_their_code() {
    let window = |stream| frame(WINDOW_UPDATE, 0, stream, &0x7fff_ffff_u32.to_be_bytes());
    let asks = frame(HEADERS, END_HEADERS | END_STREAM, 1, &request());
    let open = frame(HEADERS, END_HEADERS, 1, &request());
    for backend in [ServerBackend::Rustls, ServerBackend::Openssl] {
        let (server, trusted) = serve(backend, &[KeyKind::EcdsaP256]);
        for (name, bytes, code) in [
            ("a PING of 7 bytes", frame(PING, 0, 0, &[7; 7]), 6),
            ("the connection's window", window(0), 3),
            ("PRIORITY of stream 0", frame(PRIORITY, 0, 0, &[0; 5]), 1),
            ("a block that does not unpack", frame(HEADERS, END_HEADERS, 1, &[0xff; 16]), 9),
            ("16,385 bytes", [open.clone(), frame(DATA, 0, 1, &[0; 16_385])].concat(), 6),
        ] {
            let reported = answers(&server, &trusted, &bytes);
            assert_eq!(reported, [Said::GoAway(code)], "{name}, {backend:?}");
        }
        let body = frame(DATA, END_STREAM, 1, &[b'x'; 16_384]);
        let ping = frame(PING, 0, 0, &[7; 8]);
        let (start, rest) = (frame(HEADERS, END_STREAM, 1, &request()[..3]), &request()[3..]);
        let parts = [start, frame(CONTINUATION, END_HEADERS, 1, rest)].concat();
        let more = [request(), field("a", "b")].concat();
        for (name, bytes) in [
            ("DATA of 16,384 bytes", [open.clone(), body, ping.clone()].concat()),
            ("PING behind CONTINUATION", [parts, ping.clone()].concat()),
            (
                "PING behind HEADERS",
                [frame(HEADERS, END_HEADERS | END_STREAM, 1, &more), ping.clone()].concat(),
            ),
            ("a PING and a request", [ping, asks.clone()].concat()),
        ] {
            let reported = answers(&server, &trusted, &bytes);
            assert!(reported.contains(&Said::Pong), "{name}, {backend:?}: {reported:?}");
            let is_error = |said: &Said| matches!(said, Said::GoAway(1..) | Said::Reset(_, 1..));
            assert!(!reported.iter().any(is_error), "{name}, {backend:?}: {reported:?}");
        }
    }
}
