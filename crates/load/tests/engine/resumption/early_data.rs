//! Early data on resumed connections: taken, rejected, limited.

use super::{SERVERS, assert_counted, assert_resumed, reference, resuming, settings};
use crate::harness::{BACKENDS, measured, try_run};
use tlslab_contract::spec::{RequestsPerConnection, Resume};
use tlslab_serve::Resumption;
use tlslab_testkit::peers::{Peer, answers_early};
use tlslab_testkit::tls_server::{Settings, Version};

#[test]
fn early_data_is_taken_as_often_as_the_server_says() {
    for server_backend in SERVERS {
        let resumption = Resumption { psk: true, early_data: 4096, ..Resumption::default() };
        let (server, trust) = reference(server_backend, resumption);
        let mut records = Vec::new();
        for (backend, requests) in BACKENDS.into_iter().zip([1, 3]) {
            let mut spec = resuming(server.address(), backend, Resume::Psk, 40);
            spec.tls.early_data = true;
            spec.tls.resume_ratio = Some(0.5);
            spec.requests_per_connection = RequestsPerConnection::Count(requests);
            let record = measured(spec, trust.clone());
            assert_resumed(&record, 20, 20);
            let kinds = &record.kinds;
            assert_eq!((kinds.early_data_accepted, kinds.early_data_rejected), (20, 0));
            assert_eq!(record.requests, 40 * u64::from(requests));
            records.push(record);
        }
        let stats = server.stop().unwrap();
        assert_eq!(stats.handshakes.early_data, 2 * (20 + 1));
        assert_counted(&stats, &records);
    }
}

#[test]
fn a_request_longer_than_the_early_data_allowed_goes_on_after_the_handshake() {
    for server_backend in SERVERS {
        let resumption = Resumption { psk: true, early_data: 7, ..Resumption::default() };
        let (server, trust) = reference(server_backend, resumption);
        for backend in BACKENDS {
            let mut spec = resuming(server.address(), backend, Resume::Psk, 10);
            spec.tls.early_data = true;
            let record = measured(spec, trust.clone());
            assert_resumed(&record, 10, 0);
            assert_eq!((record.kinds.early_data_accepted, record.requests), (10, 10));
        }
    }
}

#[test]
fn rejected_early_data_is_counted_and_sent_again() {
    let (settings, trust) = settings(Version::Tls13);
    let peer = Peer::honest(&Settings { early_data: 4096, ..settings });
    for backend in BACKENDS {
        let mut spec = resuming(peer.address(), backend, Resume::Psk, 20);
        spec.tls.early_data = true;
        let record = measured(spec, trust.clone());
        assert_resumed(&record, 20, 0);
        let kinds = &record.kinds;
        assert_eq!((kinds.early_data_accepted, kinds.early_data_rejected), (0, 20));
        assert_eq!(record.requests, 20);
    }
}

#[test]
fn a_ticket_that_lets_no_early_data_be_sent_is_found_before_the_load() {
    let (settings, trust) = settings(Version::Tls13);
    let peer = Peer::honest(&settings);
    for backend in BACKENDS {
        let mut spec = resuming(peer.address(), backend, Resume::Psk, 20);
        spec.tls.early_data = true;
        let error = try_run(spec, trust.clone()).unwrap_err();
        assert_eq!(error.class(), "unexpected_early_data", "{error}");
    }
}

#[test]
fn early_data_that_is_answered_at_once_takes_two_round_trips() {
    let (settings, trust) = settings(Version::Tls13);
    let settings = Settings { early_data: 4096, ..settings };
    let peer = Peer::start(&settings, 0, answers_early(&settings));
    for backend in BACKENDS {
        let mut spec = resuming(peer.address(), backend, Resume::Psk, 10);
        spec.tls.early_data = true;
        let record = measured(spec, trust.clone());
        assert_resumed(&record, 10, 0);
        assert_eq!((record.kinds.early_data_accepted, record.requests), (10, 10));
        // That of TCP, and one for handshake and request.
        assert_eq!(record.round_trips.resumed.get("2"), Some(&10), "{backend:?}");
    }
}
