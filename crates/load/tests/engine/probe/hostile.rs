//! Peers that are no TLS server, or a malicious one: the probe still gives a result, in time.

use std::time::{Duration, Instant};

use tlslab_probe::{ProbeError, ProbeLimits, ProbeRecord, ProbeSpec, Topic};
use tlslab_system::guard::GuardError;
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::script::Act::{Drip, Fin, Flood, Receive, Reset, Send, Wait};
use tlslab_testkit::peers::{Fault, Peer, bare, first_flight, hello_retry, nowhere};
use tlslab_testkit::tls_server::Settings;
use tlslab_wire::outcome::Failure;

use super::{probed, spec, try_probe};

/// The time limits of a connection, and of all connections.
const EACH_MS: u32 = 200;
const ALL_MS: u32 = 5_000;

/// A probe of a peer that handles every connection by this function. The probe must end in time.
fn outcome(fault: Fault) -> Result<ProbeRecord, ProbeError> {
    let peer = Peer::start(&Settings::default(), 0, fault);
    let limits = ProbeLimits { connection_ms: EACH_MS, all_ms: ALL_MS, ..ProbeLimits::default() };
    let began = Instant::now();
    let result = try_probe(ProbeSpec { limits, ..spec(peer.address(), &[]) });
    let longest = Duration::from_millis(u64::from(ALL_MS)) + Duration::from_secs(1);
    assert!(began.elapsed() <= longest, "{:?}", began.elapsed());
    result
}

fn no_tls(fault: Fault) -> String {
    match outcome(fault) {
        Err(error @ ProbeError::NoTls { .. }) => {
            assert_eq!(error.class(), "no_tls");
            let words = error.to_string();
            let (known, said) = words.split_once(": it ").unwrap();
            let silent = said.ends_with(" at every offer");
            assert_eq!(known.starts_with("cannot say whether"), silent, "{words}");
            said.to_owned()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_speaks_no_tls_is_named_by_what_it_does() {
    let http = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec();
    let nonsense = b"\x1b[2J\xe2\x80\xaeSSH-2.0 ".to_vec();
    let slow = Duration::from_millis(50);
    let cases: [(&str, Fault); 9] = [
        ("answers in plain HTTP", bare(vec![Receive, Send(http), Wait])),
        (
            "answers with what is no TLS: '\u{fffd}[2J\u{fffd}SSH-2.0 '",
            bare(vec![Send(nonsense), Wait]),
        ),
        ("gave no answer in 200 ms, nor in 600 ms at every offer", bare(vec![Wait])),
        (
            "gave no answer in 200 ms, nor in 600 ms at every offer",
            bare(vec![Drip(vec![22, 3, 3, 0x3f, 0xff, 2, 0, 0x3f], slow)]),
        ),
        ("reset the connection at every offer", bare(vec![Receive, Reset])),
        ("closed the connection at every offer", bare(vec![Receive, Fin])),
        ("sent more than any handshake needs", bare(vec![Flood(vec![22, 3, 3, 0, 0])])),
        ("sent more than any handshake needs", bare(vec![Flood(vec![21, 3, 3, 0, 2, 1, 112])])),
        (
            "announced a message beyond all limits",
            bare(vec![Flood(vec![22, 3, 3, 0, 4, 11, 255, 0, 0])]),
        ),
    ];
    for (words, fault) in cases {
        assert_eq!(no_tls(fault), words);
    }
}

#[test]
fn a_server_that_refuses_everything_speaks_tls_and_has_nothing() {
    let record = outcome(bare(vec![Receive, Send(vec![21, 3, 3, 0, 2, 2, 40]), Wait])).unwrap();
    assert!(record.versions.iter().all(|version| version.accepted == Some(false)));
    assert_eq!(record.suites, []);
    assert_eq!(record.alpn, None);
}

#[test]
fn a_server_that_only_ever_asks_again_ends_as_one_that_asks_again() {
    let record = outcome(hello_retry::forever()).unwrap();
    assert_eq!(record.versions[0].accepted, Some(true));
    assert_eq!(record.protections.unwrap().hello_retry_request, Some(true));
}

#[test]
fn a_server_that_dies_in_every_real_handshake_is_known_by_its_first_flights() {
    let authority = Authority::new("tlslab test");
    let settings = Settings { identities: vec![authority.issue(Key::P256)], ..Settings::default() };
    let record = outcome(first_flight(&settings, vec![Fin])).unwrap();
    assert!(record.versions[..2].iter().all(|version| version.accepted == Some(true)));
    assert!(!record.suites.is_empty() && !record.groups.is_empty());
    // A TLS 1.3 client has completed after that flight, and cannot tell why no ticket comes.
    let resumption = record.resumption.unwrap();
    assert_eq!((resumption.session_id, resumption.psk, resumption.tickets), (None, None, None));
}

#[test]
fn names_in_a_certificate_cannot_drive_a_terminal() {
    let identity = Authority::new("tlslab test").issue_named(Key::P256, "a\u{1b}[2Jb\u{202e}c");
    let server = Peer::honest(&Settings { identities: vec![identity], ..Settings::default() });
    let record = probed(server.address(), &[Topic::Certificates]);
    let subject = &record.certificates[0].certificate.subject;
    assert!(subject.contains("a\u{fffd}[2Jb\u{fffd}c"), "{subject}");
}

#[test]
fn a_certificate_with_many_names_keeps_some_and_counts_all() {
    let many: Vec<String> = (0..1_000).map(|number| format!("host-{number}.example")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let identity = Authority::new("tlslab test").issue_for(Key::P256, &many);
    let server = Peer::honest(&Settings { identities: vec![identity], ..Settings::default() });
    let record = probed(server.address(), &[Topic::Certificates]);
    let chain = &record.certificates[0];
    assert_eq!((chain.names_count, chain.names.len(), chain.name_matches), (1_000, 20, false));
}

#[test]
fn where_nothing_listens_and_where_nothing_may_be_asked() {
    match try_probe(spec(nowhere(), &[])) {
        Err(ProbeError::Connect { failure: Failure::Refused, .. }) => {}
        other => panic!("{other:?}"),
    }
    match try_probe(ProbeSpec::of("192.0.2.7".to_owned())) {
        Err(ProbeError::Guard(GuardError::NotAllowed { .. })) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn limits_end_a_probe_that_keeps_what_it_has() {
    let identity = Authority::new("tlslab test").issue(Key::P256);
    let server = Peer::honest(&Settings { identities: vec![identity], ..Settings::default() });
    let limits = ProbeLimits { connections: 12, rate: Some(50), ..ProbeLimits::default() };
    let began = Instant::now();
    let record = try_probe(ProbeSpec { limits, ..spec(server.address(), &[]) }).unwrap();
    assert_eq!(record.incomplete.as_deref(), Some("the limit of 12 connections was reached"));
    assert_eq!((record.connections, server.accepted()), (12, 12));
    assert!(began.elapsed() >= Duration::from_millis(11 * 20), "50 a second are not more");
    assert_eq!(record.versions[0].accepted, Some(true));
}
