//! Users of an open loop who give up and come back. Every run's accounting is asserted in
//! `harness::assert_accounting`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::harness::{BACKENDS, measured, spec, trust, with_minimal_client};
use crate::open_loop::pausing;
use tlslab_contract::record::{RunRecord, Users};
use tlslab_contract::spec::load::{LoadSpec, Rate};
use tlslab_contract::spec::{HttpVersion, RunSpec, Stop};
use tlslab_system::clock::{MILLISECOND, SECOND};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::script::Act::{Receive, Reset, Send, Wait};
use tlslab_testkit::peers::{Fault, Peer, bare, secured};
use tlslab_testkit::tls_server::Settings;

/// A run of N milliseconds at 50 arrivals a second, with two workers of 32 slots.
fn patient(spec: RunSpec, ms: u64, patience_ms: u64, retries: u32) -> RunSpec {
    let rate = Some(Rate::Constant(50.0));
    let load = LoadSpec { rate, patience_ms: Some(patience_ms), retries, ..LoadSpec::default() };
    RunSpec { stop: Stop::DurationMs(ms), load, connections: 64, threads: 2, ..spec }
}

fn users(record: &RunRecord) -> Users {
    record.open_loop.unwrap().users.unwrap()
}

#[test]
fn nobody_gives_up_on_a_server_that_answers() {
    let (server, trust) = pausing(0);
    for backend in BACKENDS {
        for version in [HttpVersion::Http11, HttpVersion::Http2] {
            let mut spec = patient(spec(server.address(), backend), 400, 60_000, 1);
            spec.http.version = version;
            let record = measured(spec, trust.clone());
            let fared = users(&record);
            assert!(fared.answered_at_first > 0, "{fared:?}");
            assert_eq!((fared.gave_up, fared.failed, fared.retries), (0, 0, 0), "{version:?}");
            assert!(record.notes.iter().any(|note| note.contains("nobody could")));
        }
    }
}

#[test]
fn an_answer_after_the_patience_is_none() {
    let (server, trust) = pausing(SECOND);
    for backend in BACKENDS {
        for version in [HttpVersion::Http11, HttpVersion::Http2] {
            for retries in [0, 2] {
                let mut spec = patient(spec(server.address(), backend), 700, 100, retries);
                spec.http.version = version;
                let record = measured(with_minimal_client(spec), trust.clone());
                let fared = users(&record);
                assert_eq!((fared.answered(), record.requests), (0, 0), "{fared:?}");
                assert!(fared.gave_up > 0 && record.outcomes.abandoned > 0, "{fared:?}");
                assert_eq!(fared.retries > 0, retries > 0, "{fared:?}");
                // A lower bound for each user, to the histogram's 0.1 %.
                let waited = record.summaries["response"].min_ms;
                assert!(waited >= 99.9 * f64::from(1 + retries), "{waited}");
                let first_byte = record.summaries["response_first_byte"];
                assert_eq!(first_byte.n, fared.gave_up);
            }
        }
    }
}

/// A server that answers every other connection.
fn second_attempt_served(settings: &Settings) -> Fault {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4788\r\n\r\n".to_vec();
    let body = vec![b'x'; 4788];
    let (silent, served) =
        (bare(vec![Wait]), secured(settings, vec![Receive, Send([answer, body].concat()), Wait]));
    let number = AtomicU64::new(0);
    Arc::new(move |socket| match number.fetch_add(1, Ordering::Relaxed) % 2 {
        0 => silent(socket),
        _ => served(socket),
    })
}

#[test]
fn a_user_may_be_answered_at_the_second_attempt() {
    let authority = Authority::new("second attempt");
    let settings = Settings {
        identities: vec![authority.issue(Key::P256)],
        body_length: 4_788,
        ..Settings::default()
    };
    for backend in BACKENDS {
        let peer = Peer::start(&settings, 1, second_attempt_served(&settings));
        // One slot, which a user who comes back keeps: attempts are first and second in turn.
        let spec = patient(spec(peer.address(), backend), 2_000, 200, 1);
        let record = measured(RunSpec { connections: 1, threads: 1, ..spec }, trust(&authority));
        let fared = users(&record);
        assert_eq!((fared.answered_at_first, fared.failed), (0, 0), "{fared:?}");
        assert!(fared.answered_after_retry > 0, "{fared:?}");
        // The time of an answer begins with the user, that of a connection with the connection.
        let [response, service] = ["response", "service"].map(|name| record.summaries[name]);
        assert!(response.min_ms >= 199.8 && service.min_ms < 200.0, "{response:?} {service:?}");
    }
}

#[test]
fn users_come_back_to_a_server_that_refuses_them() {
    let authority = Authority::new("refusing");
    let identities = vec![authority.issue(Key::P256)];
    let settings = Settings { identities, body_length: 4_788, ..Settings::default() };
    for backend in BACKENDS {
        let peer = Peer::start(&settings, 1, bare(vec![Reset]));
        let spec =
            RunSpec { warmup_ms: 0, ..patient(spec(peer.address(), backend), 500, 60_000, 3) };
        let record = measured(spec, trust(&authority));
        let fared = users(&record);
        assert!(fared.failed > 0 && record.outcomes.abandoned == 0, "{fared:?}");
        // Nobody was in flight at the start: each user who is gone came back three times.
        let most = 3 * (fared.failed + fared.unfinished);
        assert!((3 * fared.failed..=most).contains(&fared.retries), "{fared:?}");
    }
}

#[test]
fn patience_is_checked_more_often_if_it_is_short() {
    let (server, trust) = pausing(500 * MILLISECOND);
    // Far below the interval of the deadlines.
    let spec = patient(spec(server.address(), BACKENDS[0]), 300, 5, 0);
    let record = measured(spec, trust);
    let fared = users(&record);
    assert!(fared.gave_up > 0 && fared.answered() == 0, "{fared:?}");
}
