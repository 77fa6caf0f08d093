//! Peers that end a connection too early, and peers that never end it.

use std::time::{Duration, Instant};

use tlslab_contract::accounting::Outcomes;
use tlslab_contract::record::VerdictCode;
use tlslab_contract::spec::load::Rate;
use tlslab_contract::spec::{RequestBody, RequestsPerConnection, RunSpec, Stop};
use tlslab_testkit::certificates::Authority;
use tlslab_testkit::peers::script::Act::{
    self, CloseNotify, Drip, Fin, Flood, Receive, Reset, Send, Sleep, Wait,
};
use tlslab_testkit::peers::{Fault, Peer, answering, bare, except, first_flight, secured};
use tlslab_wire::names::TlsVersion;

use super::{
    ALL, CONNECTIONS, Client, LIBRARIES, accounting_of, completes, fail, fails, head, settings,
    settings_of_old,
};
use crate::harness::{BACKENDS, SLACK, impatient, measured, spec, trust, try_run};

/// A close_notify in its own record, unencrypted.
const CLOSE_NOTIFY: [u8; 7] = [21, 3, 3, 0, 2, 1, 0];

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
fn connections_that_the_peer_ends_are_reported_apart_by_how_and_when() {
    let authority = Authority::new("tlslab test");
    let settings = settings(&authority);
    let old = settings_of_old(&authority);
    let body = Send([head("Content-Length: 100"), vec![b'x'; 50]].concat());
    let close_notify = Send(CLOSE_NOTIFY.to_vec());
    let cases: [(&str, &str, Fault); 13] = [
        ("RST at once", "reset", bare(vec![Reset])),
        ("FIN at once", "closed_handshake", bare(vec![Fin])),
        ("RST after ClientHello", "reset", bare(vec![Receive, Reset])),
        ("FIN after ClientHello", "closed_handshake", bare(vec![Receive, Fin])),
        (
            "close_notify and FIN after ClientHello",
            "closed_handshake",
            bare(vec![Receive, close_notify, Fin]),
        ),
        ("RST after the first flight", "reset", first_flight(&settings, vec![Reset])),
        ("FIN after the first flight", "closed_first_byte", first_flight(&settings, vec![Fin])),
        ("RST after the handshake", "reset", secured(&settings, vec![Reset])),
        ("FIN after the handshake", "closed_first_byte", secured(&settings, vec![Fin])),
        (
            "close_notify in place of an answer",
            "closed_first_byte",
            secured(&settings, vec![CloseNotify, Wait]),
        ),
        ("RST in the body", "reset", secured(&settings, vec![Receive, body.clone(), Reset])),
        ("FIN in the body", "closed_body", secured(&settings, vec![Receive, body.clone(), Fin])),
        (
            "close_notify in the body",
            "closed_body",
            secured(&settings, vec![Receive, body, CloseNotify, Wait]),
        ),
    ];
    for (name, class, fault) in &cases {
        fails(&authority, name, class, fault);
    }
    let cases: [(&str, &str, Fault); 3] = [
        ("RST after TLS 1.2's first flight", "reset", first_flight(&old, vec![Reset])),
        ("FIN after TLS 1.2's first flight", "closed_handshake", first_flight(&old, vec![Fin])),
        ("FIN after TLS 1.2's handshake", "closed_first_byte", secured(&old, vec![Fin])),
    ];
    for (name, class, fault) in &cases {
        fail(&LIBRARIES, &authority, name, class, fault);
    }
}

#[test]
fn alerts_before_the_server_hello_end_the_session_whatever_their_level() {
    let authority = Authority::new("tlslab test");
    for (alert, class) in
        [(0, "closed_handshake"), (40, "alert_handshake_failure"), (112, "alert_unrecognized_name")]
    {
        for level in [1, 2] {
            let alert = Send(vec![21, 3, 3, 0, 2, level, alert]);
            let fault = bare(vec![Receive, alert, Wait]);
            for client in ALL {
                let only_tls13 = |mut spec: RunSpec| {
                    spec.tls.versions = vec![TlsVersion::Tls13];
                    spec
                };
                let outcomes = accounting_of(&authority, fault.clone(), client, only_tls13);
                let failed = [(class.to_owned(), CONNECTIONS)].into();
                assert_eq!(outcomes.failed, failed, "{client:?}, level {level}");
            }
        }
    }
}

#[test]
fn a_handshake_without_a_request_counts_if_the_server_has_confirmed_it() {
    let authority = Authority::new("tlslab test");
    let (settings, old) = (settings(&authority), settings_of_old(&authority));
    let handshake_only = |spec: RunSpec| RunSpec { handshake_only: true, ..spec };
    // A peer that makes the handshake sends tickets.
    let cases: [(&str, &[Client], Fault); 11] = [
        ("", &ALL, secured(&settings, vec![CloseNotify, Wait])),
        ("", &ALL, secured(&settings, vec![Receive])),
        ("", &LIBRARIES, secured(&old, vec![Reset])),
        ("", &LIBRARIES, secured(&old, vec![Fin])),
        ("reset", &ALL, secured(&settings, vec![Reset])),
        ("reset", &ALL, first_flight(&settings, vec![Reset])),
        ("closed_first_byte", &ALL, first_flight(&settings, vec![Fin])),
        ("timeout_first_byte", &ALL, first_flight(&settings, vec![Wait])),
        ("reset", &LIBRARIES, first_flight(&old, vec![Reset])),
        ("closed_handshake", &LIBRARIES, first_flight(&old, vec![Fin])),
        ("timeout_handshake", &LIBRARIES, first_flight(&old, vec![Wait])),
    ];
    for (number, (class, clients, fault)) in cases.iter().enumerate() {
        for client in *clients {
            let outcomes = accounting_of(&authority, fault.clone(), *client, handshake_only);
            let ended = match *class {
                "" => outcomes.completed,
                class => outcomes.failed.get(class).copied().unwrap_or_default(),
            };
            assert_eq!(ended, CONNECTIONS, "case {number}, {client:?}: {outcomes:?}");
        }
    }
}

#[test]
fn a_body_that_only_the_end_of_the_session_completes_needs_a_close_notify() {
    let authority = Authority::new("tlslab test");
    for (settings, clients) in
        [(settings(&authority), &ALL[..]), (settings_of_old(&authority), &LIBRARIES)]
    {
        let start = || vec![Receive, Send([head("Server: endless"), vec![b'x'; 50]].concat())];
        let ending = |acts: &[Act]| secured(&settings, [start(), acts.to_vec()].concat());
        completes(clients, &authority, "close_notify", &ending(&[CloseNotify, Wait]));
        completes(clients, &authority, "close_notify and FIN", &ending(&[CloseNotify, Fin]));
        fail(clients, &authority, "FIN", "truncated", &ending(&[Fin]));
        fail(clients, &authority, "RST", "reset", &ending(&[Reset]));
        // A length completes the body: nobody can shorten it unseen.
        let whole = vec![Receive, Send(head("Content-Length: 0")), Fin];
        completes(clients, &authority, "FIN after a length", &secured(&settings, whole));
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
fn a_silent_server_is_waited_for_once_before_the_run() {
    let authority = Authority::new("tlslab test");
    let peer = Peer::start(&settings(&authority), 0, bare(vec![Wait]));
    for backend in BACKENDS {
        // With a forced group in TLS 1.2 there are two connections before the load.
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
        for client in ALL {
            let peer = Peer::start(&settings, client.preflights(), fault.clone());
            let mut spec = client.spec(peer.address());
            spec.stop = Stop::DurationMs(300);
            // Longer than the run: connections in flight must be aborted.
            spec.deadlines.handshake_ms = 60_000;
            spec.deadlines.body_ms = 60_000;
            let record = measured(spec, trust(&authority));
            assert_eq!(record.outcomes.completed, 0, "{client:?}");
        }
    }
}

/// The outcomes of a run with five requests on each connection, of which the peer answers one.
fn after_one_answer(authority: &Authority, client: Client, acts: Vec<Act>) -> Outcomes {
    let peer =
        Peer::start(&settings(authority), client.preflights(), secured(&settings(authority), acts));
    let mut spec = client.spec(peer.address());
    spec.requests_per_connection = RequestsPerConnection::Count(5);
    let record = measured(spec, trust(authority));
    let first_of_all = u64::from(record.requests > 0) * CONNECTIONS;
    assert_eq!(record.requests, first_of_all, "{client:?}");
    record.outcomes
}

#[test]
fn a_connection_that_the_server_ends_between_requests_has_not_failed() {
    let authority = Authority::new("tlslab test");
    let answer = |field: &str| Send([head(field), b"x".to_vec()].concat());
    let open = answer("Content-Length: 1");
    let closing = answer("Content-Length: 1\r\nConnection: close");
    let old = Send(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx".to_vec());
    let whole = Send(b"HTTP/1.1 200 OK\r\n\r\nx".to_vec());
    let cases = [
        ("Connection: close", vec![Receive, closing, Fin]),
        ("HTTP/1.0", vec![Receive, old, Fin]),
        ("a body until the end", vec![Receive, whole, CloseNotify, Wait]),
        ("close_notify", vec![Receive, open.clone(), CloseNotify, Wait]),
        ("close_notify after the request", vec![Receive, open, Receive, CloseNotify, Wait]),
    ];
    for (name, acts) in cases {
        for client in ALL {
            let outcomes = after_one_answer(&authority, client, acts.clone());
            let counted = (outcomes.completed, outcomes.closed_idle, outcomes.failures());
            assert_eq!(counted, (CONNECTIONS, CONNECTIONS, 0), "{name}, {client:?}: {outcomes:?}");
        }
    }
}

#[test]
fn an_answer_that_is_cut_or_a_server_that_crashes_is_a_failure_of_any_request() {
    let authority = Authority::new("tlslab test");
    let open = Send([head("Content-Length: 1"), b"x".to_vec()].concat());
    let half = Send(b"HTTP/1.1 200 OK\r\n".to_vec());
    let again = |rest: &[Act]| [&[Receive, open.clone(), Receive], rest].concat();
    let cases = [
        ("FIN without close_notify", "closed_first_byte", again(&[Fin])),
        ("RST", "reset", again(&[Reset])),
        ("half an answer", "closed_body", again(&[half, CloseNotify, Wait])),
    ];
    for (name, class, acts) in cases {
        for client in ALL {
            let outcomes = after_one_answer(&authority, client, acts.clone());
            let failed = [(class.to_owned(), CONNECTIONS)].into();
            assert_eq!((outcomes.failed, outcomes.closed_idle), (failed, 0), "{name}, {client:?}");
        }
    }
}

#[test]
fn a_request_that_may_not_be_repeated_and_has_no_answer_has_failed() {
    let authority = Authority::new("tlslab test");
    let open = Send([head("Content-Length: 1"), b"x".to_vec()].concat());
    let acts = vec![Receive, open, Receive, CloseNotify, Wait];
    for backend in BACKENDS {
        let settings = settings(&authority);
        let peer = Peer::start(&settings, 1, secured(&settings, acts.clone()));
        let mut spec = impatient(peer.address(), backend);
        spec.http.method = "POST".to_owned();
        spec.requests_per_connection = RequestsPerConnection::Count(5);
        let outcomes = measured(spec, trust(&authority)).outcomes;
        assert_eq!(outcomes.failed, [("closed_first_byte".to_owned(), CONNECTIONS)].into());
    }
}

#[test]
fn the_first_byte_is_that_of_the_final_response() {
    let authority = Authority::new("tlslab test");
    let pause = Duration::from_millis(20);
    let hints = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".to_vec();
    let last = [head("Content-Length: 1"), b"x".to_vec()].concat();
    let acts = vec![Receive, Send(hints), Sleep(pause), Send(last), Wait];
    for backend in BACKENDS {
        let settings = settings(&authority);
        let peer = Peer::start(&settings, 1, secured(&settings, acts.clone()));
        let record = measured(impatient(peer.address(), backend), trust(&authority));
        assert_eq!(record.outcomes.completed, CONNECTIONS);
        assert!(record.summaries["first_byte"].min_ms >= 20.0, "{backend:?}");
    }
}

#[test]
fn a_server_that_refuses_a_body_early_is_understood() {
    let authority = Authority::new("tlslab test");
    let refusal =
        b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    // The server closes while the body is still being sent, so that the connection is reset.
    let acts = vec![Send(refusal.to_vec()), CloseNotify];
    for backend in BACKENDS {
        let settings = settings(&authority);
        let peer = Peer::start(&settings, 1, secured(&settings, acts.clone()));
        let mut spec = impatient(peer.address(), backend);
        spec.http.method = "POST".to_owned();
        spec.http.body = Some(RequestBody::Text("x".repeat(1 << 20)));
        let outcomes = measured(spec, trust(&authority)).outcomes;
        let failed = [("http_status".to_owned(), CONNECTIONS)].into();
        assert_eq!(outcomes.failed, failed, "{backend:?}: {outcomes:?}");
    }
}

/// The first connections of the load hang in the handshake to its end, and all others are answered.
#[test]
fn connections_that_hang_beside_answered_ones_are_against_the_result() {
    const HANGING: u64 = 3;
    let authority = Authority::new("tlslab test");
    let settings = settings(&authority);
    let stalled = |backend| {
        let hang = except(&settings, |_| true, HANGING, vec![Wait]);
        let peer = Peer::start(&settings, 1, hang);
        let mut spec = RunSpec { stop: Stop::DurationMs(4_000), ..spec(peer.address(), backend) };
        // So few that three of them are more than one in a thousand.
        (spec.connections, spec.load.rate) = (6, Some(Rate::Constant(100.0)));
        let record = measured(spec, trust(&authority));
        assert!(record.outcomes.completed > 0 && record.outcomes.failed.is_empty());
        record.verdicts.into_iter().find(|found| found.code == VerdictCode::Stalled)
    };
    for backend in BACKENDS {
        let found = stalled(backend).expect("a verdict");
        assert!(found.message.starts_with("the server left 3 of "), "{}", found.message);
    }
}
