//! How sessions are collected before a load, and during one on a server that renews no tickets.

use super::{ALL, SERVERS, assert_resumed, reference, resuming, settings};
use crate::harness::{BACKENDS, measured};
use tlslab_contract::record::{RunRecord, VerdictCode};
use tlslab_contract::spec::{Resume, RunSpec};
use tlslab_serve::ServerBackend;
use tlslab_testkit::peers::script::Act;
use tlslab_testkit::peers::{Peer, bare};
use tlslab_testkit::tls_server::{Settings, Version};
use tlslab_tls::TrustAnchors;
use tlslab_wire::wording::counted;

#[test]
fn sessions_of_tls12_are_collected_for_any_number_of_connections_and_a_long_response() {
    for server_backend in SERVERS {
        let (server, trust) = reference(server_backend, ALL);
        for backend in BACKENDS {
            for resume in [Resume::Id, Resume::Ticket] {
                for connections in [1, 40, 100] {
                    let count = 2 * u64::from(connections);
                    let spec = resuming(server.address(), backend, resume, count);
                    let url = format!("https://{}/bytes/20000", server.address());
                    let record = measured(RunSpec { connections, url, ..spec }, trust.clone());
                    assert_resumed(&record, count, 0);
                }
            }
        }
    }
}

#[test]
fn a_thousand_connections_resume_in_tls12() {
    let (server, trust) = reference(ServerBackend::Openssl, ALL);
    for backend in BACKENDS {
        let spec = resuming(server.address(), backend, Resume::Ticket, 1000);
        let url = format!("https://{}/bytes/20000", server.address());
        let record = measured(RunSpec { connections: 1000, url, ..spec }, trust.clone());
        assert_resumed(&record, 1000, 0);
    }
}

/// A TLS 1.3 peer that sends a ticket with each full handshake, and none with a resumed one.
fn unrenewing() -> (Settings, TrustAnchors) {
    let (settings, trust) = settings(Version::Tls13);
    (Settings { renews_no_ticket: true, ..settings }, trust)
}

/// Asserts that full handshakes, which are in no count, kept the pool full, and that a note states
/// this.
fn assert_refilled(record: &RunRecord) {
    let given = record.preflight.sessions.unwrap();
    assert_eq!((given.full, given.resumed), (1, 0));
    assert_eq!(record.outcomes.unexpected.len(), 0, "{:?}", record.outcomes);
    assert!(record.kinds.refill_connections > 0, "{:?}", record.kinds);
    let made = counted(record.kinds.refill_connections, "full handshake");
    let note = format!("{made} beside the load");
    assert!(record.notes.iter().any(|reported| reported.contains(&note)), "{:?}", record.notes);
    let blamed = [VerdictCode::Unexpected, VerdictCode::ResumeRatio, VerdictCode::LittlesLaw];
    assert!(record.verdicts.iter().all(|v| !blamed.contains(&v.code)), "{:?}", record.verdicts);
}

#[test]
fn a_server_that_renews_no_ticket_is_resumed_all_the_same() {
    let (settings, trust) = unrenewing();
    for backend in BACKENDS {
        for ratio in [1.0, 0.5] {
            let peer = Peer::honest(&settings);
            let mut spec = resuming(peer.address(), backend, Resume::Psk, 200);
            spec.tls.resume_ratio = Some(ratio);
            let record = measured(spec, trust.clone());
            let resumed = (200.0 * ratio) as u64;
            assert_resumed(&record, resumed, 200 - resumed);
            assert_refilled(&record);
            // The last of the collecting connections may have ended uncounted.
            let kinds = record.kinds;
            let full = 1 + kinds.full + kinds.primed_connections + kinds.refill_connections;
            let counted = peer.handshakes();
            assert_eq!(counted.1, 1 + resumed);
            assert!((full..=full + 16).contains(&counted.0), "{counted:?} {kinds:?}");
        }
    }
}

#[test]
fn an_open_loop_finds_sessions_on_a_server_that_renews_none() {
    let (settings, trust) = unrenewing();
    let peer = Peer::honest(&settings);
    for backend in BACKENDS {
        let mut spec = resuming(peer.address(), backend, Resume::Psk, 100);
        spec.load.rate = serde_json::from_str(r#"{"constant":200}"#).unwrap();
        let record = measured(RunSpec { connections: 16, ..spec }, trust.clone());
        assert_resumed(&record, 100, 0);
        assert_refilled(&record);
    }
}

#[test]
fn a_server_that_renews_tickets_is_not_asked_for_more() {
    let (settings, trust) = settings(Version::Tls13);
    let peer = Peer::honest(&settings);
    for backend in BACKENDS {
        let record = measured(resuming(peer.address(), backend, Resume::Psk, 50), trust.clone());
        let given = record.preflight.sessions.unwrap();
        assert_eq!((given.full, given.resumed), (2, 1));
        assert_eq!((record.kinds.refill_connections, record.notes.len()), (0, 0));
    }
}

#[test]
fn a_run_ends_where_the_server_has_no_more_sessions_to_give() {
    let (settings, trust) = unrenewing();
    for backend in BACKENDS {
        // The preflight's two connections, nine that prime, and some of the load.
        let peer = Peer::start(&settings, 2 + 9 + 20, bare(vec![Act::Reset]));
        let record = measured(resuming(peer.address(), backend, Resume::Psk, 60), trust.clone());
        let outcomes = &record.outcomes;
        assert!((1..=20).contains(&outcomes.completed), "{outcomes:?}");
        assert_eq!(outcomes.ended(), 60, "{outcomes:?}");
    }
}
