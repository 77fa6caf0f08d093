//! The reasons of failures in a record, and the messages that servers get before the end: alerts
//! and HTTP/2 errors, read by the peer that has violated a rule.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::harness::{BACKENDS, impatient, lean, measured, trust, try_run, with_minimal_client};
use tlslab_contract::accounting::Outcomes;
use tlslab_contract::spec::{BackendChoice, HttpVersion, RunSpec};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::h2::{
    self, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PRIORITY, PUSH_PROMISE,
    STATUS_200, Said, WINDOW_UPDATE, field, frame, settings as settings_frame,
};
use tlslab_testkit::peers::forge::{Forgery, flood};
use tlslab_testkit::peers::script::Act::{Receive, Send, Wait};
use tlslab_testkit::peers::{Fault, Notes, Peer, alerted, heard, secured};
use tlslab_testkit::tls_server::{Settings, Version};
use tlslab_wire::reason::EXAMPLES_LIMIT;

/// The number of connections of each run.
const CONNECTIONS: u64 = 4;

/// The highest increment of a window (RFC 9113, section 6.9.1). No window has room for it.
const WINDOW_LIMIT: u32 = 0x7fff_ffff;

/// Longer than a peer takes to record what it has received.
const PATIENCE: Duration = Duration::from_secs(5);

fn settings(authority: &Authority) -> Settings {
    Settings {
        identities: vec![authority.issue(Key::P256)],
        version: Some(Version::Tls13),
        body_length: 100,
        ..Settings::default()
    }
}

/// Every client.
const CLIENTS: [&str; 4] = ["rustls", "openssl", "minimal", "lean"];

fn spec_of(client: &str, address: SocketAddr) -> RunSpec {
    match client {
        "openssl" => impatient(address, BackendChoice::Openssl),
        "minimal" => with_minimal_client(impatient(address, BackendChoice::Rustls)),
        "lean" => lean(impatient(address, BackendChoice::Rustls)),
        _ => impatient(address, BackendChoice::Rustls),
    }
}

/// The outcomes of a client's connections. All met the fault, except those of the preflight: one by
/// each client of the run.
fn met(client: &str, authority: &Authority, fault: &Fault) -> Outcomes {
    let preflights = if matches!(client, "minimal" | "lean") { 2 } else { 1 };
    let peer = Peer::start(&settings(authority), preflights, Arc::clone(fault));
    measured(spec_of(client, peer.address()), trust(authority)).outcomes
}

/// The messages that peers have recorded on N connections, if they arrive in time.
fn noted<T>(notes: &Notes<T>, count: usize) -> Vec<T> {
    let deadline = Instant::now() + PATIENCE;
    while notes.lock().unwrap().len() < count && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::mem::take(&mut *notes.lock().unwrap())
}

#[test]
fn reasons_are_counted_with_the_first_connections_as_examples() {
    let authority = Authority::new("tlslab test");
    let fault = flood(&settings(&authority), Forgery::Falsified);
    for client in CLIENTS {
        let outcomes = met(client, &authority, &fault);
        assert_eq!(outcomes.failed, [("tls_protocol".to_owned(), CONNECTIONS)].into(), "{client}");
        let [counted] = &outcomes.reasons[..] else { panic!("{client}: {outcomes:?}") };
        assert_eq!((&*counted.class, counted.count), ("tls_protocol", CONNECTIONS));
        let words = match client {
            "openssl" => "decryption failed or bad record mac",
            _ => "bad_record_mac (a record that is not authentic)",
        };
        assert_eq!(counted.reason, words, "{client}");
        assert_eq!(counted.examples.len(), EXAMPLES_LIMIT);
        assert!(counted.examples.iter().all(|example| example.local_port > 0));
    }
}

#[test]
fn a_status_and_a_server_that_is_no_http_are_reasons() {
    let authority = Authority::new("tlslab test");
    for (bytes, class, reason) in [
        (&b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"[..], "http_status", "404"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "http_protocol", "the response's head is not HTTP/1.1"),
        (
            b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
            "http_protocol",
            "the server switches protocols (101), and was not asked to",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "http_protocol",
            "the response's transfer coding is another than chunked, and none was asked for",
        ),
    ] {
        let fault = secured(&settings(&authority), vec![Receive, Send(bytes.to_vec()), Wait]);
        for client in CLIENTS {
            let outcomes = met(client, &authority, &fault);
            let reasons: Vec<_> =
                outcomes.reasons.iter().map(|r| (&*r.class, &*r.reason, r.count)).collect();
            assert_eq!(reasons, [(class, reason, CONNECTIONS)], "{client}");
        }
    }
}

#[test]
fn every_client_sends_an_alert_before_it_leaves() {
    let authority = Authority::new("tlslab test");
    for (forgery, alert) in [
        (Forgery::Falsified, "bad record mac"),
        (Forgery::Untyped, "unexpected message"),
        (Forgery::Overlong, "record overflow"),
        (Forgery::Late, "unexpected message"),
        (Forgery::UnknownUpdate, "illegal parameter"),
        (Forgery::CutTicket, "decode error"),
    ] {
        let reported: Notes<String> = Notes::default();
        let fault = alerted(&settings(&authority), forgery, Arc::clone(&reported));
        for client in CLIENTS {
            let outcomes = met(client, &authority, &fault);
            let classes: Vec<_> = outcomes.failed.keys().map(String::as_str).collect();
            assert_eq!(classes, ["tls_protocol"], "{forgery:?}, {client}: found by us");
            // rustls itself closes without an alert if a record has no content type. rustls makes
            // the minimal client's first connection.
            let silent = match (forgery, client) {
                (Forgery::Untyped, "rustls") => CONNECTIONS,
                (Forgery::Untyped, "minimal" | "lean") => 1,
                _ => 0,
            };
            let all = (CONNECTIONS - silent) as usize;
            let reported = noted(&reported, all);
            let right = reported.iter().filter(|words| words.ends_with(alert)).count();
            assert_eq!((right, reported.len()), (all, all), "{forgery:?}, {client}: {reported:?}");
        }
    }
}

/// The HTTP/2 frames that these clients send to a server that sends this after its SETTINGS.
fn answers(authority: &Authority, bytes: &[u8]) -> Vec<(Vec<Said>, Outcomes)> {
    let settings = Settings { alpn: "h2".to_owned(), ..settings(authority) };
    let acts = vec![Send([&settings_frame(&[])[..], bytes].concat())];
    let runs = BACKENDS.into_iter().map(|backend| {
        let notes: Notes<Vec<u8>> = Notes::default();
        let fault = heard(&settings, acts.clone(), Arc::clone(&notes));
        let peer = Peer::start(&settings, 1, fault);
        let mut spec = impatient(peer.address(), backend);
        spec.http.version = HttpVersion::Http2;
        let outcomes = measured(spec, trust(authority)).outcomes;
        let notes = noted(&notes, CONNECTIONS as usize);
        assert_eq!(notes.len() as u64, CONNECTIONS, "{backend:?}");
        let reported: Vec<_> = notes.iter().map(|said| h2::said(said)).collect();
        assert!(reported.iter().all(|one| *one == reported[0]), "{backend:?}: {reported:?}");
        (reported[0].clone(), outcomes)
    });
    runs.collect()
}

/// The head of a response on the first stream, whose body follows.
fn head() -> Vec<u8> {
    frame(HEADERS, END_HEADERS, 1, STATUS_200)
}

/// An error of HTTP/2: its name, the server's bytes, what the client says, how the reason begins.
type H2Error<'n> = (&'n str, Vec<u8>, Vec<Said>, &'n str);

/// Every client says that before it ends the connection, and the record has the reason.
fn assert_reported<'n>(errors: impl IntoIterator<Item = H2Error<'n>>) {
    let authority = Authority::new("tlslab test");
    for (name, bytes, said, reason) in errors {
        for (reported, outcomes) in answers(&authority, &bytes) {
            assert_eq!(reported, said, "{name}: {outcomes:?}");
            let [counted] = &outcomes.reasons[..] else { panic!("{name}: {outcomes:?}") };
            assert_eq!((&*counted.class, counted.count), ("http_protocol", CONNECTIONS), "{name}");
            assert!(counted.reason.starts_with(reason), "{name}: {}", counted.reason);
        }
    }
}

/// A WINDOW_UPDATE.
fn window(stream: u32, increment: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

#[test]
fn connection_errors_of_http2_are_reported_with_their_code_before_the_end() {
    let goes = |code| vec![Said::GoAway(code)];
    let lists = [STATUS_200.to_vec(), field("x", "y".repeat(100)).repeat(640)].concat();
    let pushed = [&2_u32.to_be_bytes()[..], &[0x82, 0x84, 0x87]].concat();
    let parts: Vec<u8> = [
        frame(HEADERS, 0, 1, &lists[..16_000]),
        lists[16_000..].chunks(16_000).flat_map(|part| frame(CONTINUATION, 0, 1, part)).collect(),
        frame(CONTINUATION, END_HEADERS, 1, &[]),
    ]
    .concat();
    assert_reported([
        ("a PING of 7 bytes", frame(PING, 0, 0, &[7; 7]), goes(6), "frame_size_error"),
        ("PING of a stream", frame(PING, 0, 1, &[7; 8]), goes(1), "protocol_error"),
        ("the connection's window", window(0, WINDOW_LIMIT), goes(3), "flow_control_error"),
        ("an update of the connection's window by 0", window(0, 0), goes(1), "protocol_error"),
        ("an update of an idle stream's window", window(9, 1), goes(1), "protocol_error"),
        ("PRIORITY of stream 0", frame(PRIORITY, 0, 0, &[0; 5]), goes(1), "protocol_error"),
        (
            "PRIORITY of 4 bytes of an idle stream",
            frame(PRIORITY, 0, 9, &[0; 4]),
            goes(6),
            "frame_size_error",
        ),
        (
            "HEADERS of 16,385 bytes",
            frame(HEADERS, END_HEADERS, 1, &[0; 16_385]),
            goes(6),
            "frame_size_error",
        ),
        (
            "a block that does not unpack",
            frame(HEADERS, END_HEADERS, 1, &[0xff; 16]),
            goes(9),
            "compression_error",
        ),
        ("a push", frame(PUSH_PROMISE, END_HEADERS, 1, &pushed), goes(1), "protocol_error (a push"),
        (
            "frames without end",
            frame(PING, 1, 0, &[7; 8]).repeat(300),
            goes(11),
            "enhance_your_calm (a flood",
        ),
        ("a list of 64 KiB", parts, goes(11), "enhance_your_calm (a header list"),
    ]);
}

#[test]
fn stream_errors_of_http2_name_the_stream_before_the_end() {
    let resets = |code| vec![Said::Reset(1, code), Said::GoAway(code)];
    let headers = |fields: &[u8]| frame(HEADERS, END_HEADERS, 1, &[STATUS_200, fields].concat());
    let body = |bytes: &[u8]| frame(DATA, END_STREAM, 1, bytes);
    let lengthy = headers(&field("content-length", "2"));
    let interim = frame(HEADERS, END_HEADERS, 1, &field(":status", "103"));
    let late = [&field("a", "b")[..], STATUS_200].concat();
    let trailers = frame(HEADERS, END_HEADERS, 1, &field("a", "b"));
    let last_interim = frame(HEADERS, END_HEADERS | END_STREAM, 1, &field(":status", "103"));
    let status = "protocol_error (:status: no number, repeated, or out of place)";
    let length = "protocol_error (a body of another length than its content-length)";
    let malformed = [
        ("Server", headers(&field("Server", "a")), "protocol_error (a field name in upper case)"),
        ("a second status", headers(STATUS_200), status),
        ("a status behind a field", frame(HEADERS, END_HEADERS, 1, &late), status),
        ("a status of letters", frame(HEADERS, END_HEADERS, 1, &field(":status", "abc")), status),
        ("101", frame(HEADERS, END_HEADERS, 1, &field(":status", "101")), status),
        (
            "no status",
            frame(HEADERS, END_HEADERS, 1, &field("server", "a")),
            "protocol_error (a response without :status)",
        ),
        (
            "a field of the connection",
            headers(&field("connection", "close")),
            "protocol_error (a field that no response has)",
        ),
        (
            "a field of a request",
            headers(&field(":path", "/")),
            "protocol_error (a field that no response has)",
        ),
        (
            "a length of letters",
            headers(&field("content-length", "x")),
            "protocol_error (content-length: no number, repeated, or out of place)",
        ),
        ("a longer body than its length", [lengthy.clone(), body(b"abc")].concat(), length),
        ("a shorter body than its length", [lengthy.clone(), body(b"a")].concat(), length),
        ("no body in spite of its length", [lengthy, body(b"")].concat(), length),
        (
            "trailers that do not end the stream",
            [head(), trailers].concat(),
            "protocol_error (a second head, or trailer fields that do not end the stream)",
        ),
        (
            "an interim response at the end",
            last_interim,
            "protocol_error (an interim response that ends its stream)",
        ),
        (
            "DATA behind an interim response",
            [interim.clone(), body(b"a")].concat(),
            "protocol_error (DATA before the head of the response)",
        ),
        (
            "interim responses without end",
            interim.repeat(200),
            "protocol_error (too many interim responses)",
        ),
    ];
    assert_reported(malformed.map(|(name, bytes, reason)| (name, bytes, resets(1), reason)));
    assert_reported([
        ("a stream's window", window(1, WINDOW_LIMIT), resets(3), "flow_control_error"),
        ("an update of a stream's window by 0", window(1, 0), resets(1), "protocol_error"),
        (
            "PRIORITY of 4 bytes",
            frame(PRIORITY, 0, 1, &[0; 4]),
            resets(6),
            "frame_size_error (PRIORITY of another length than 5)",
        ),
        (
            "DATA of 16,385 bytes",
            [head(), frame(DATA, 0, 1, &[0; 16_385])].concat(),
            resets(6),
            "frame_size_error (DATA of more than 16,384 bytes)",
        ),
    ]);
}

#[test]
fn fields_that_no_message_may_have_are_errors_of_their_stream() {
    let names: [&[u8]; 6] = [b"", b"a b", b"a:b", b"a\0b", b"a\xff", b"a\x7f"];
    let values: [&[u8]; 6] = [b"a\0b", b"a\rb", b"a\nb", b" a", b"a\t", b"a "];
    let name = |name: &[u8]| match name {
        [] => "protocol_error (a field without a name)",
        _ => "protocol_error (a field with a name that none may have)",
    };
    let value = "protocol_error (a field with a value that none may have)";
    let names = names.map(|bytes| (field(bytes, "b"), name(bytes)));
    let values = values.map(|bytes| (field("a", bytes), value));
    // In the head of a response, and in trailer fields.
    assert_reported(names.into_iter().chain(values).flat_map(|(field, reason)| {
        let reset = vec![Said::Reset(1, 1), Said::GoAway(1)];
        let first = frame(HEADERS, END_HEADERS, 1, &[STATUS_200, &field].concat());
        let last = [head(), frame(HEADERS, END_HEADERS | END_STREAM, 1, &field)].concat();
        [("in a head", first, reset.clone(), reason), ("in a trailer", last, reset, reason)]
    }));
}

#[test]
fn what_follows_the_end_of_a_stream_is_an_error_of_the_connection() {
    let whole = h2::response(1, &[], b"abc");
    let closed = "stream_closed (DATA or HEADERS behind the end of a stream)";
    let cases = [
        ("DATA", frame(DATA, 0, 1, b"abc")),
        ("the end again", frame(DATA, END_STREAM, 1, b"")),
        ("HEADERS", frame(HEADERS, END_HEADERS | END_STREAM, 1, &field("a", "b"))),
        ("a second response", whole.clone()),
    ];
    assert_reported(cases.map(|(name, bytes)| {
        (name, [whole.clone(), bytes].concat(), vec![Said::GoAway(5)], closed)
    }));
}

#[test]
fn what_http2_allows_is_taken_and_answered() {
    let authority = Authority::new("tlslab test");
    let body = frame(DATA, END_STREAM, 1, &[b'x'; 16_384]);
    let block = [STATUS_200.to_vec(), field("x", "y".repeat(100)).repeat(157)].concat();
    let padded = [block.clone(), field("z", "y".repeat(16_384 - block.len() - 4))].concat();
    assert_eq!(padded.len(), 16_384);
    let continued = [
        frame(HEADERS, 0, 1, STATUS_200),
        frame(CONTINUATION, 0, 1, &field("a", "b")),
        frame(CONTINUATION, END_HEADERS, 1, &field("c", "d")),
    ]
    .concat();
    // The end of the response is in a later read than the PING.
    let ping = [frame(PING, 0, 0, &[7; 8]), frame(DATA, 0, 1, &[b'x'; 16_384]).repeat(8)].concat();
    for (name, bytes, said) in [
        ("DATA of 16,384 bytes", [head(), body.clone()].concat(), vec![]),
        (
            "HEADERS of 16,384 bytes",
            [frame(HEADERS, END_HEADERS, 1, &padded), body.clone()].concat(),
            vec![],
        ),
        ("PING behind CONTINUATION", [continued, ping, body].concat(), vec![Said::Pong]),
    ] {
        for (reported, outcomes) in answers(&authority, &bytes) {
            assert_eq!(
                (reported, outcomes.completed),
                (said.clone(), CONNECTIONS),
                "{name}: {outcomes:?}"
            );
        }
    }
}

#[test]
fn what_the_peer_says_is_never_called_ours_nor_the_reverse() {
    let authority = Authority::new("tlslab test");
    for (bytes, class, reason) in [
        (h2::goaway(0, 11), "goaway_enhance_your_calm", "enhance_your_calm"),
        (h2::reset(1, 7), "stream_reset", "refused_stream"),
    ] {
        for (reported, outcomes) in answers(&authority, &bytes) {
            assert_eq!(reported, [], "nobody repeats to a peer what it has said");
            let [counted] = &outcomes.reasons[..] else { panic!("{outcomes:?}") };
            let found = (&*counted.class, &*counted.reason, counted.count);
            assert_eq!(found, (class, reason, CONNECTIONS));
        }
    }
}

#[test]
fn an_error_before_the_run_names_the_reason() {
    let authority = Authority::new("tlslab test");
    let h2 = Settings { alpn: "h2".to_owned(), ..settings(&authority) };
    let acts =
        vec![Receive, Send([settings_frame(&[]), frame(PING, 0, 0, &[7; 7])].concat()), Wait];
    for backend in BACKENDS {
        let peer = Peer::start(&h2, 0, secured(&h2, acts.clone()));
        let mut spec = impatient(peer.address(), backend);
        spec.http.version = HttpVersion::Http2;
        let error = try_run(spec, trust(&authority)).unwrap_err().to_string();
        assert!(error.contains("http_protocol (frame_size_error"), "{error}");
        let forged = alerted(&settings(&authority), Forgery::Falsified, Notes::default());
        let peer = Peer::start(&settings(&authority), 0, forged);
        let error = try_run(impatient(peer.address(), backend), trust(&authority)).unwrap_err();
        assert!(error.to_string().replace('_', " ").contains("bad record mac"), "{error}");
    }
}
