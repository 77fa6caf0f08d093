//! HTTP/2 servers that violate the protocol, flood, stall or close, under load by both back ends:
//! each failure has its class, the accounting balances, nothing hangs, and memory is bounded.

use crate::alone::measured_alone;
use crate::harness::{BACKENDS, impatient, trust, try_run};
use tlslab_contract::record::RunRecord;
use tlslab_contract::spec::{BackendChoice, HttpVersion, RequestsPerConnection, Stop};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::h2::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE,
    MAX_CONCURRENT_STREAMS, PING, PUSH_PROMISE, SETTINGS, STATUS_200, WINDOW_UPDATE, field, frame,
    goaway, reset, response, settings as settings_frame,
};
use tlslab_testkit::peers::script::Act::{self, Fin, Flood, Receive, Reset, Send, Wait};
use tlslab_testkit::peers::{Fault, Peer, secured};
use tlslab_testkit::tls_server::{Settings, Version};

/// The number of connections of each run.
const CONNECTIONS: u64 = 4;

/// Error codes (RFC 9113, section 7).
const NO_ERROR: u32 = 0;
const REFUSED_STREAM: u32 = 7;
const ENHANCE_YOUR_CALM: u32 = 11;
const INADEQUATE_SECURITY: u32 = 12;

fn settings(authority: &Authority) -> Settings {
    Settings {
        identities: vec![authority.issue(Key::P256)],
        version: Some(Version::Tls13),
        body_length: 100,
        alpn: "h2".to_owned(),
        ..Settings::default()
    }
}

/// A run over HTTP/2 whose preflight succeeded and whose connections all meet the fault.
fn met(
    authority: &Authority,
    fault: Fault,
    backend: BackendChoice,
    requests: RequestsPerConnection,
    streams: u32,
) -> RunRecord {
    let peer = Peer::start(&settings(authority), 1, fault);
    let mut spec = impatient(peer.address(), backend);
    spec.http.version = HttpVersion::Http2;
    spec.http.streams = streams;
    spec.requests_per_connection = requests;
    if requests == RequestsPerConnection::Unlimited {
        spec.stop = Stop::DurationMs(200);
    }
    measured_alone(spec, authority)
}

/// Every connection meets these acts after its handshake, and fails with this class.
fn fails(authority: &Authority, cases: &[(&str, &str, Vec<Act>)]) {
    for (name, class, acts) in cases {
        for backend in BACKENDS {
            let fault = secured(&settings(authority), acts.clone());
            let record = met(authority, fault, backend, RequestsPerConnection::Count(1), 1);
            let failed = [((*class).to_owned(), CONNECTIONS)].into();
            assert_eq!(record.outcomes.failed, failed, "{name}, {backend:?}");
            assert_eq!((record.outcomes.completed, record.requests), (0, 0), "{name}");
        }
    }
}

/// Reads the request, sends SETTINGS and these bytes, and waits for the client to close.
fn says(bytes: &[u8]) -> Vec<Act> {
    vec![Receive, Send([&settings_frame(&[])[..], bytes].concat()), Wait]
}

/// The same, and then these bytes again and again.
fn floods(first: &[u8], bytes: Vec<u8>) -> Vec<Act> {
    vec![Receive, Send([&settings_frame(&[])[..], first].concat()), Flood(bytes)]
}

/// The head of a response on the first stream.
fn head(fields: &[(&str, &str)]) -> Vec<u8> {
    let more = fields.iter().flat_map(|(name, value)| field(name, value));
    frame(HEADERS, END_HEADERS, 1, &STATUS_200.iter().copied().chain(more).collect::<Vec<u8>>())
}

#[test]
fn floods_of_frames_that_carry_nothing_are_cut_off() {
    let authority = Authority::new("tlslab test");
    let begun = frame(HEADERS, 0, 1, STATUS_200);
    let answered = head(&[]);
    let cases = [
        ("CONTINUATION", floods(&begun, frame(CONTINUATION, 0, 1, &field("a", "b")))),
        ("empty CONTINUATION", floods(&begun, frame(CONTINUATION, 0, 1, &[]))),
        ("SETTINGS", floods(&[], settings_frame(&[(INITIAL_WINDOW_SIZE, 65_535)]))),
        ("PING", floods(&[], frame(PING, 0, 0, &[7; 8]))),
        ("PING of the connection in an answer", floods(&answered, frame(PING, 0, 0, &[7; 8]))),
        ("window updates", floods(&[], frame(WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes()))),
        ("empty DATA", floods(&answered, frame(DATA, 0, 1, &[]))),
        ("frames of no known type", floods(&[], frame(0x42, 0, 0, b"?"))),
        (
            "interim responses",
            floods(&[], frame(HEADERS, END_HEADERS, 1, &field(":status", "103"))),
        ),
    ];
    fails(&authority, &cases.map(|(name, acts)| (name, "http_protocol", acts)));
}

#[test]
fn a_header_list_that_unpacks_to_megabytes_is_refused() {
    let authority = Authority::new("tlslab test");
    // A field of 4,000 bytes enters the dynamic table. Its entry is then referenced again and
    // again, by one byte each: 48 MB from 16 KiB (RFC 7541, sections 6.1 and 6.2.1).
    let value = [&[0x7f, 0xa1, 0x1e][..], &[b'x'; 4_000]].concat();
    let block = |times| [STATUS_200, &[0x40, 1, b'a'], &value, &vec![0xbe; times]].concat();
    let bomb = frame(HEADERS, END_HEADERS, 1, &block(12_000));
    fails(&authority, &[("HPACK bomb", "http_protocol", says(&bomb))]);
    // With a few repetitions this is a large head and no fault.
    let large = frame(HEADERS, END_HEADERS | END_STREAM, 1, &block(10));
    for backend in BACKENDS {
        let fault = secured(&settings(&authority), says(&large));
        let record = met(&authority, fault, backend, RequestsPerConnection::Count(1), 1);
        assert_eq!(record.outcomes.completed, CONNECTIONS);
        assert_eq!(record.bytes.head, CONNECTIONS * block(10).len() as u64);
    }
}

#[test]
fn streams_that_are_reset_are_failures_of_their_own() {
    let authority = Authority::new("tlslab test");
    let early = [head(&[]), reset(1, NO_ERROR)].concat();
    fails(
        &authority,
        &[
            ("refused", "stream_reset", says(&reset(1, REFUSED_STREAM))),
            ("in the middle", "stream_reset", says(&early)),
            ("a storm", "stream_reset", floods(&[], reset(1, ENHANCE_YOUR_CALM))),
            ("a stream that nobody opened", "http_protocol", floods(&[], reset(9, NO_ERROR))),
        ],
    );
}

#[test]
fn responses_that_break_http2_are_refused() {
    let authority = Authority::new("tlslab test");
    let pushed = [&2_u32.to_be_bytes()[..], &[0x82, 0x84, 0x87]].concat();
    let upper = [STATUS_200, &field("Server", "a")].concat();
    let oversized = [&[0, 0x40, 1, DATA, 0, 0, 0, 0, 1][..], &[0; 0x4001]].concat();
    let headers = |block: &[u8]| frame(HEADERS, END_HEADERS, 1, block);
    let cases = [
        ("HTTP/1.1", vec![Receive, Send(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()), Wait]),
        ("no SETTINGS first", vec![Receive, Send(response(1, &[], b"abc")), Wait]),
        ("a push", says(&frame(PUSH_PROMISE, END_HEADERS, 1, &pushed))),
        ("no status", says(&headers(&field("server", "a")))),
        ("a status of letters", says(&headers(&field(":status", "abc")))),
        ("a field in upper case", says(&headers(&upper))),
        ("a block that does not unpack", says(&headers(&[0xff; 16]))),
        ("DATA before HEADERS", says(&frame(DATA, END_STREAM, 1, b"abc"))),
        ("another stream", says(&response(3, &[], b"abc"))),
        ("an oversized frame", says(&[head(&[]), oversized].concat())),
        ("a longer body", says(&response(1, &[("content-length", "2")], b"abc"))),
        ("a shorter body", says(&response(1, &[("content-length", "4")], b"abc"))),
        (
            "two lengths",
            says(&response(1, &[("content-length", "3"), ("content-length", "3")], b"abc")),
        ),
        ("a window beyond all size", says(&settings_frame(&[(INITIAL_WINDOW_SIZE, u32::MAX)]))),
        ("SETTINGS on a stream", says(&frame(SETTINGS, 0, 1, &[]))),
    ];
    fails(&authority, &cases.map(|(name, acts)| (name, "http_protocol", acts)));
}

#[test]
fn a_status_other_than_2xx_is_a_failure() {
    let authority = Authority::new("tlslab test");
    let not_found = frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0x8d]);
    fails(&authority, &[("404", "http_status", says(&not_found))]);
}

#[test]
fn what_stalls_ends_with_the_deadline_of_its_step() {
    let authority = Authority::new("tlslab test");
    let endless = frame(DATA, 0, 1, &[0; 16 * 1024]);
    let zero = settings_frame(&[(INITIAL_WINDOW_SIZE, 0), (MAX_CONCURRENT_STREAMS, 0)]);
    fails(
        &authority,
        &[
            ("no answer", "timeout_first_byte", says(&[])),
            ("no window for ever", "timeout_first_byte", vec![Receive, Send(zero), Wait]),
            ("a head only", "timeout_body", says(&head(&[]))),
            ("a body without end", "timeout_body", floods(&head(&[]), endless)),
        ],
    );
}

#[test]
fn a_server_that_lets_no_more_requests_begin_is_waited_for_once() {
    let authority = Authority::new("tlslab test");
    let closing = settings_frame(&[(MAX_CONCURRENT_STREAMS, 0)]);
    for backend in BACKENDS {
        let acts = says(&[closing.clone(), response(1, &[], b"abc")].concat());
        let fault = secured(&settings(&authority), acts);
        let record = met(&authority, fault, backend, RequestsPerConnection::Count(2), 1);
        let failed = [("timeout_first_byte".to_owned(), CONNECTIONS)].into();
        assert_eq!((record.outcomes.failed, record.requests), (failed, CONNECTIONS));
    }
}

#[test]
fn connections_that_the_peer_ends_are_reported_apart_by_how_and_when() {
    let authority = Authority::new("tlslab test");
    let some = [settings_frame(&[]), head(&[]), frame(DATA, 0, 1, b"abc")].concat();
    let leaves = |last, code| says(&goaway(last, code));
    let raised = [goaway(1, NO_ERROR), goaway(3, NO_ERROR)].concat();
    fails(
        &authority,
        &[
            ("FIN", "closed_first_byte", vec![Receive, Fin]),
            ("FIN in the body", "closed_body", vec![Receive, Send(some.clone()), Fin]),
            ("RST in the body", "reset", vec![Receive, Send(some), Reset]),
            ("GOAWAY before the request", "closed_first_byte", leaves(0, NO_ERROR)),
            ("GOAWAY in anger", "goaway_enhance_your_calm", leaves(0, ENHANCE_YOUR_CALM)),
            ("GOAWAY for the suite", "goaway_inadequate_security", leaves(1, INADEQUATE_SECURITY)),
            ("GOAWAY that takes back", "http_protocol", says(&raised)),
            (
                "GOAWAY, and no answer to what it promised",
                "timeout_first_byte",
                leaves(1, NO_ERROR),
            ),
        ],
    );
}

#[test]
fn requests_that_a_goaway_leaves_unprocessed_are_neither_answered_nor_failed() {
    let authority = Authority::new("tlslab test");
    // The first request shows the limit of streams. The second answer, to one of three requests in
    // flight, follows the notice that no higher stream was processed.
    let first = [settings_frame(&[]), response(1, &[], b"abc")].concat();
    let last = [goaway(3, NO_ERROR), response(3, &[], b"abc")].concat();
    let acts = vec![Receive, Send(first), Receive, Send(last), Wait];
    for backend in BACKENDS {
        let fault = secured(&settings(&authority), acts.clone());
        let record = met(&authority, fault, backend, RequestsPerConnection::Unlimited, 3);
        let outcomes = &record.outcomes;
        assert_eq!((outcomes.ended(), outcomes.failures()), (outcomes.completed, 0), "{backend:?}");
        assert!(outcomes.completed > 0, "{backend:?}");
        // Connections that were cut by the end of the run may have had their first response.
        let more = 2 * outcomes.in_flight_at_stop;
        let both = 2 * outcomes.completed;
        assert!((both..=both + more).contains(&record.requests), "{outcomes:?}");
    }
}

#[test]
fn a_server_that_leaves_at_once_is_no_success_even_without_a_count() {
    let authority = Authority::new("tlslab test");
    for backend in BACKENDS {
        let fault = secured(&settings(&authority), says(&goaway(0, NO_ERROR)));
        let record = met(&authority, fault, backend, RequestsPerConnection::Unlimited, 1);
        assert_eq!(record.outcomes.completed, 0, "{backend:?}");
        let classes: Vec<_> = record.outcomes.failed.keys().collect();
        assert_eq!(classes, ["closed_first_byte"], "{backend:?}");
    }
}

#[test]
fn a_server_without_http2_is_unexpected_before_the_run_and_in_it() {
    let authority = Authority::new("tlslab test");
    let old = Settings { alpn: String::new(), ..settings(&authority) };
    for backend in BACKENDS {
        let record =
            met(&authority, secured(&old, vec![Wait]), backend, RequestsPerConnection::Count(1), 1);
        assert_eq!(record.outcomes.unexpected, [("alpn".to_owned(), CONNECTIONS)].into());
        let peer = Peer::honest(&old);
        let mut spec = impatient(peer.address(), backend);
        spec.http.version = HttpVersion::Http2;
        let error = try_run(spec, trust(&authority)).unwrap_err();
        assert_eq!(error.class(), "unexpected_alpn");
    }
}
