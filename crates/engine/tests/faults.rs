//! Servers that fail in every way that is known, under load, by both back ends: each failure has
//! its class, the books balance, nothing hangs and nothing grows.

mod harness;

use std::time::{Duration, Instant};

use harness::{BACKENDS, SLACK, impatient, measured, peak_memory_mib, trust, try_run};
use tlslab_engine::outcome::Outcomes;
use tlslab_engine::spec::BackendChoice;
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::forge::{Forgery, flood};
use tlslab_testkit::peers::script::Act::{self, Drip, Fin, Flood, Receive, Reset, Send, Wait};
use tlslab_testkit::peers::{Fault, Peer, answering, bare, first_flight, hello_retry, secured};
use tlslab_testkit::tls_server::{Settings, Version};

/// What this process, its peers and their threads included, may take in memory at most. A single
/// unbounded buffer would exceed it: floods go up to a GiB.
const MEMORY_LIMIT_MIB: u64 = 256;

/// The connections of each run.
const CONNECTIONS: u64 = 4;

/// A flood of zero bytes: neither a record nor anything else.
const ZEROS: [u8; 64] = [0; 64];

/// What the peer behind `authority` is: one certificate, TLS 1.3.
fn settings(authority: &Authority) -> Settings {
    Settings {
        identities: vec![authority.issue(Key::P256)],
        version: Some(Version::Tls13),
        body_length: 100,
        ..Settings::default()
    }
}

/// The books of a run whose preflight went well and whose connections all met the fault.
fn books(authority: &Authority, fault: Fault, backend: BackendChoice) -> Outcomes {
    let peer = Peer::start(&settings(authority), 1, fault);
    let record = measured(impatient(peer.address(), backend), trust(authority));
    assert_eq!((record.outcomes.completed, record.requests), (0, 0));
    assert_eq!(record.outcomes.attempts, CONNECTIONS);
    let peak = peak_memory_mib();
    assert!(peak < MEMORY_LIMIT_MIB, "{peak} MiB");
    record.outcomes
}

/// Every connection fails, and as what.
fn fails(authority: &Authority, name: &str, class: &str, fault: &Fault) {
    for backend in BACKENDS {
        let outcomes = books(authority, fault.clone(), backend);
        let failed = [(class.to_owned(), CONNECTIONS)].into();
        assert_eq!(outcomes.failed, failed, "{name}, {backend:?}");
    }
}

/// A response's head with this field.
fn head(field: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n").into_bytes()
}

#[test]
fn silence_ends_with_the_deadline_of_its_step() {
    let authority = Authority::new("tlslab test");
    let settings = settings(&authority);
    let slow = Duration::from_millis(100);
    let some = [head("Content-Length: 100"), vec![b'x'; 50]].concat();
    let begun = vec![22, 3, 3, 0x3f, 0xff, 2, 0, 0x3f, 0xfb];
    let cases: [(&str, &str, Fault); 7] = [
        ("says nothing", "timeout_handshake", bare(vec![Wait])),
        ("a byte now and then", "timeout_handshake", bare(vec![Receive, Drip(begun, slow)])),
        ("half a handshake", "timeout_first_byte", first_flight(&settings, vec![Wait])),
        ("no answer", "timeout_first_byte", secured(&settings, vec![Wait])),
        (
            "a slow head",
            "timeout_body",
            secured(&settings, vec![Receive, Drip(some.clone(), slow)]),
        ),
        ("half a body", "timeout_body", answering(&settings, some)),
        ("a longer body", "timeout_body", answering(&settings, head("Content-Length: 1"))),
    ];
    for (name, class, fault) in &cases {
        fails(&authority, name, class, fault);
    }
}

#[test]
fn connections_that_the_peer_ends_are_told_apart_by_how_and_when() {
    let authority = Authority::new("tlslab test");
    let settings = settings(&authority);
    let body = Send([head("Content-Length: 100"), vec![b'x'; 50]].concat());
    let cases: [(&str, &str, Fault); 9] = [
        ("RST at once", "reset", bare(vec![Reset])),
        ("FIN at once", "closed_handshake", bare(vec![Fin])),
        ("RST after ClientHello", "reset", bare(vec![Receive, Reset])),
        ("FIN after ClientHello", "closed_handshake", bare(vec![Receive, Fin])),
        ("RST after the first flight", "reset", first_flight(&settings, vec![Reset])),
        ("FIN after the first flight", "closed_first_byte", first_flight(&settings, vec![Fin])),
        ("FIN after the handshake", "closed_first_byte", secured(&settings, vec![Fin])),
        ("RST in the body", "reset", secured(&settings, vec![Receive, body.clone(), Reset])),
        ("FIN in the body", "closed_body", secured(&settings, vec![Receive, body, Fin])),
    ];
    for (name, class, fault) in &cases {
        fails(&authority, name, class, fault);
    }
}

#[test]
fn what_is_not_tls_breaks_the_protocol() {
    let authority = Authority::new("tlslab test");
    let says = |bytes: &[u8]| bare(vec![Receive, Send(bytes.to_vec()), Wait]);
    let floods = |bytes: &[u8]| bare(vec![Receive, Flood(bytes.to_vec())]);
    let cases: [(&str, &str, Fault); 9] = [
        ("HTTP", "tls_protocol", says(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")),
        ("SSH", "tls_protocol", says(b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n")),
        ("garbage", "tls_protocol", says(&[22, 3, 3, 0, 8, 9, 9, 9, 9, 9, 9, 9, 9])),
        ("zeros", "tls_protocol", floods(&ZEROS)),
        ("an oversized record", "tls_protocol", floods(&[22, 3, 3, 0xff, 0xff])),
        ("empty records", "tls_protocol", floods(&[22, 3, 3, 0, 0])),
        ("alerts that warn", "tls_protocol", floods(&[21, 3, 3, 0, 2, 1, 112])),
        ("fatal alerts", "alert_handshake_failure", floods(&[21, 3, 3, 0, 2, 2, 40])),
        ("HelloRetryRequests", "tls_protocol", hello_retry::forever()),
    ];
    for (name, class, fault) in &cases {
        fails(&authority, name, class, fault);
    }
}

#[test]
fn floods_behind_the_handshake_end_the_connection() {
    let authority = Authority::new("tlslab test");
    let settings = settings(&authority);
    let forgeries = [
        Forgery::Empty,
        Forgery::KeyUpdates,
        Forgery::Tickets,
        Forgery::Falsified,
        Forgery::Untyped,
    ];
    for forgery in forgeries {
        let name = format!("{forgery:?}");
        fails(&authority, &name, "tls_protocol", &flood(&settings, forgery));
    }
}

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
    let cases: [(&str, &str, Fault); 10] = [
        ("interim responses", "http_protocol", floods(b"", b"HTTP/1.1 100 Continue\r\n\r\n")),
        ("a head of a GiB", "http_protocol", floods(b"HTTP/1.1 200 OK\r\nX: ", b"x")),
        ("fields without end", "http_protocol", floods(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n")),
        ("a chunk of no size", "http_protocol", says(chunked("xyz\r\n"))),
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
fn a_body_that_never_ends_ends_with_its_deadline() {
    let authority = Authority::new("tlslab test");
    let settings = settings(&authority);
    for field in ["Content-Length: 1099511627776", "Server: endless"] {
        let acts = vec![Receive, Send(head(field)), Flood(vec![b'x'; 16 * 1024])];
        fails(&authority, field, "timeout_body", &secured(&settings, acts));
    }
}

#[test]
fn handshakes_that_must_not_succeed_do_not() {
    let authority = Authority::new("tlslab test");
    let good = settings(&authority);
    let with = |change: fn(&mut Settings, &Authority)| -> Fault {
        let mut settings = good.clone();
        change(&mut settings, &authority);
        secured(&settings, vec![Wait])
    };
    let cases: [(&str, &str, Fault); 6] = [
        ("expired", "certificate", with(|s, a| s.identities = vec![a.issue_expired(Key::P256)])),
        (
            "wrong name",
            "certificate",
            with(|s, a| {
                s.identities = vec![a.issue_for(Key::P256, &["example.com", "127.0.0.2"])];
            }),
        ),
        (
            "unknown authority",
            "certificate",
            with(|s, _| {
                s.identities = vec![Authority::new("another").issue(Key::P256)];
            }),
        ),
        (
            "a chain of 15 MiB",
            "tls_protocol",
            with(|s, a| {
                s.chain = vec![a.issue_bloated(1 << 20).certificate; 15];
            }),
        ),
        (
            "no common group",
            "alert_handshake_failure",
            with(|s, _| {
                s.groups = "ffdhe8192".to_owned();
            }),
        ),
        (
            "certificate demanded",
            "alert_certificate_required",
            with(|s, _| {
                s.demands_certificate = true;
            }),
        ),
    ];
    for (name, class, fault) in &cases {
        fails(&authority, name, class, fault);
    }
}

#[test]
fn a_version_that_was_not_asked_for_is_an_alert() {
    let authority = Authority::new("tlslab test");
    let other = Settings { version: Some(Version::Tls12), ..settings(&authority) };
    for backend in BACKENDS {
        let peer = Peer::start(&settings(&authority), 1, secured(&other, vec![Wait]));
        let mut spec = impatient(peer.address(), backend);
        spec.tls.versions = vec!["1.3".parse().unwrap()];
        let record = measured(spec, trust(&authority));
        let failed = [("alert_protocol_version".to_owned(), CONNECTIONS)].into();
        assert_eq!(record.outcomes.failed, failed, "{backend:?}");
    }
}

#[test]
fn a_silent_server_is_waited_for_once_before_the_run() {
    let authority = Authority::new("tlslab test");
    let peer = Peer::start(&settings(&authority), 0, bare(vec![Wait]));
    for backend in BACKENDS {
        // With a group forced in TLS 1.2 there are two connections before the load.
        let mut spec = impatient(peer.address(), backend);
        spec.deadlines.handshake_ms = 1_500;
        spec.tls.versions = vec!["1.2".parse().unwrap()];
        spec.tls.groups = vec!["X25519".parse().unwrap()];
        let began = Instant::now();
        let error = try_run(spec, trust(&authority)).unwrap_err();
        assert_eq!(error.class(), "timeout_handshake", "{error}");
        assert!(began.elapsed() < Duration::from_millis(1_500) + SLACK, "{backend:?}");
    }
}

#[test]
fn a_run_by_time_ends_in_time_whatever_its_connections_do() {
    let authority = Authority::new("tlslab test");
    let settings = settings(&authority);
    let endless: Vec<Act> =
        vec![Receive, Send(head("Content-Length: 1099511627776")), Flood(vec![b'x'; 16 * 1024])];
    for fault in [bare(vec![Wait]), bare(vec![Reset]), secured(&settings, endless)] {
        for backend in BACKENDS {
            let peer = Peer::start(&settings, 1, fault.clone());
            let mut spec = impatient(peer.address(), backend);
            spec.stop = tlslab_engine::spec::Stop::DurationMs(300);
            // Longer than the run: what is under way has to be broken off.
            spec.deadlines.handshake_ms = 60_000;
            spec.deadlines.body_ms = 60_000;
            let record = measured(spec, trust(&authority));
            assert_eq!(record.outcomes.completed, 0, "{backend:?}");
        }
    }
}
