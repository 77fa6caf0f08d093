//! Resumption, early data and HelloRetryRequest: what the record says must be what the server counted.

use std::net::SocketAddr;

use crate::harness::{BACKENDS, measured, spec, trust, try_run};
use openssl::x509::X509;
use tlslab_contract::record::{RunRecord, VerdictCode};
use tlslab_contract::spec::{
    Authenticate, BackendChoice, HelloRetry, KeyShare, RequestsPerConnection, Resume, RunSpec, Stop,
};
use tlslab_serve::{Resumption, ServeSpec, Server, ServerBackend, Stats};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::script::Act;
use tlslab_testkit::peers::{Peer, bare, forgetting};
use tlslab_testkit::tls_server::{Settings, Version};
use tlslab_tls::TrustAnchors;
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::Group;
use tlslab_wire::names::KeyKind;
use tlslab_wire::wording::counted;

const SERVERS: [ServerBackend; 2] = [ServerBackend::Openssl, ServerBackend::Rustls];

/// Everything that can be resumed.
const ALL: Resumption = Resumption { id: true, ticket: true, psk: true, tickets: 2, early_data: 0 };

/// The reference server with an ECDSA certificate, and whom to trust for it.
fn reference(backend: ServerBackend, resumption: Resumption) -> (Server, TrustAnchors) {
    let made = self_signed(KeyKind::EcdsaP256).unwrap();
    let spec = ServeSpec { resumption, ..ServeSpec::loopback(backend, vec![made.identity]) };
    let authority = X509::from_pem(made.authority.as_bytes()).unwrap().to_der().unwrap();
    (Server::start(&spec).unwrap(), TrustAnchors::Certificates(vec![authority]))
}

/// A run of N connections, four at once, that resumes in this way.
fn resuming(address: SocketAddr, backend: BackendChoice, resume: Resume, count: u64) -> RunSpec {
    let mut spec = spec(address, backend);
    spec.tls.resume = resume;
    RunSpec { connections: 4, stop: Stop::Count(count), ..spec }
}

/// All connections did as asked; N of them resumed.
fn assert_resumed(record: &RunRecord, resumed: u64, full: u64) {
    let kinds = &record.kinds;
    assert_eq!(record.outcomes.completed, resumed + full, "{:?}", record.outcomes);
    assert_eq!((kinds.resumed, kinds.full), (resumed, full));
    assert_eq!(record.summaries["handshake_resumed"].n, resumed);
    assert_eq!(record.summaries["handshake_full"].n, full);
    for counted in &record.facts {
        let facts = &counted.facts;
        let by_kind = if facts.kind == "resumed" { resumed } else { full };
        assert_eq!(counted.count, by_kind, "{facts:?}");
        let by = if facts.kind == "resumed" { record.spec.tls.resume.name() } else { "none" };
        assert_eq!(facts.resumed_by, by);
    }
    assert!(kinds.primed_sessions >= u64::from(record.spec.connections));
    assert_eq!(record.authenticated, record.outcomes.completed);
    let ratio = VerdictCode::ResumeRatio;
    assert!(record.verdicts.iter().all(|v| v.code != ratio), "{:?}", record.verdicts);
}

/// The server saw these connections, the preflight's two, and those that primed the pools.
fn assert_counted(stats: &Stats, records: &[RunRecord]) {
    let sum = |of: fn(&RunRecord) -> u64| records.iter().map(of).sum::<u64>();
    let preflights = records.len() as u64;
    let full = preflights + sum(|r| r.kinds.full + r.kinds.primed_connections);
    let resumed = preflights + sum(|r| r.kinds.resumed);
    let counted = &stats.handshakes;
    assert_eq!((counted.full, counted.resumed, counted.failed), (full, resumed, 0));
}

#[test]
fn every_kind_is_what_it_is_called_by_the_servers_own_count() {
    for server_backend in SERVERS {
        let (server, trust) = reference(server_backend, ALL);
        let mut records = Vec::new();
        for backend in BACKENDS {
            for resume in [Resume::Id, Resume::Ticket, Resume::Psk] {
                for threads in [1, 2] {
                    let spec = resuming(server.address(), backend, resume, 41);
                    let record = measured(RunSpec { threads, ..spec }, trust.clone());
                    assert_resumed(&record, 41, 0);
                    records.push(record);
                }
            }
        }
        assert_counted(&server.stop().unwrap(), &records);
    }
}

#[test]
fn connections_that_end_by_a_reset_after_the_handshake_leave_their_sessions_whole() {
    for server_backend in SERVERS {
        let (server, trust) = reference(server_backend, ALL);
        let mut records = Vec::new();
        for backend in BACKENDS {
            for resume in [Resume::Id, Resume::Ticket] {
                let spec = resuming(server.address(), backend, resume, 30);
                let record = measured(RunSpec { handshake_only: true, ..spec }, trust.clone());
                assert_resumed(&record, 30, 0);
                records.push(record);
            }
        }
        assert_counted(&server.stop().unwrap(), &records);
    }
}

#[test]
fn a_key_alone_resumes_without_a_key_exchange() {
    let (server, trust) = reference(ServerBackend::Openssl, ALL);
    let spec = resuming(server.address(), BackendChoice::Auto, Resume::PskOnly, 20);
    let record = measured(spec, trust);
    assert_eq!(
        (record.backend.as_str(), record.facts[0].facts.group.as_str()),
        ("openssl", "none")
    );
    assert_resumed(&record, 20, 0);
    assert_counted(&server.stop().unwrap(), &[record]);
}

#[test]
fn a_server_that_insists_on_a_key_exchange_is_distinguished_from_one_that_does_not() {
    let (server, trust) = reference(ServerBackend::Rustls, ALL);
    let spec = resuming(server.address(), BackendChoice::Openssl, Resume::PskOnly, 20);
    let error = try_run(spec, trust).unwrap_err();
    assert_eq!(error.class(), "unexpected_kind", "{error}");
    assert!(error.to_string().contains("resumed by psk)"), "{error}");
}

#[test]
fn the_share_that_was_asked_for_resumes_exactly() {
    for server_backend in SERVERS {
        let (server, trust) = reference(server_backend, ALL);
        let mut records = Vec::new();
        for backend in BACKENDS {
            for (resume, ratio, resumed) in
                [(Resume::Ticket, 0.6, 30), (Resume::Psk, 0.6, 30), (Resume::Psk, 0.02, 1)]
            {
                let mut spec = resuming(server.address(), backend, resume, 50);
                spec.tls.resume_ratio = Some(ratio);
                let record = measured(spec, trust.clone());
                assert_resumed(&record, resumed, 50 - resumed);
                records.push(record);
            }
        }
        assert_counted(&server.stop().unwrap(), &records);
    }
}

#[test]
fn nothing_is_resumed_unless_it_is_asked_for_even_where_everything_could_be() {
    for server_backend in SERVERS {
        let (server, trust) = reference(server_backend, ALL);
        let mut handshakes = 0;
        for backend in BACKENDS {
            for version in tlslab_wire::names::TlsVersion::CURRENT {
                let mut spec = resuming(server.address(), backend, Resume::None, 50);
                spec.tls.versions = vec![version];
                let record = measured(spec, trust.clone());
                assert_eq!((record.kinds.full, record.kinds.resumed), (50, 0));
                handshakes += 50 + 1;
            }
        }
        let counted = server.stop().unwrap().handshakes;
        assert_eq!((counted.full, counted.resumed), (handshakes, 0));
    }
}

#[test]
fn sixty_four_connections_at_once_find_a_ticket_of_their_own_each() {
    // With early data a server takes each ticket once: what two connections shared would fail.
    let resumption = Resumption { early_data: 4096, ..ALL };
    for server_backend in SERVERS {
        // rustls keeps sessions only as long as it seals none.
        let ticket = server_backend == ServerBackend::Openssl;
        let (server, trust) = reference(server_backend, Resumption { ticket, ..resumption });
        let mut records = Vec::new();
        for backend in BACKENDS {
            let spec = resuming(server.address(), backend, Resume::Psk, 300);
            let record = measured(RunSpec { connections: 64, ..spec }, trust.clone());
            assert_resumed(&record, 300, 0);
            assert_eq!(record.kinds.resumed_share(), 1.0);
            records.push(record);
        }
        assert_counted(&server.stop().unwrap(), &records);
    }
}

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

/// A peer of this version with settings that a test may change, and whom to trust for it.
fn settings(version: Version) -> (Settings, TrustAnchors) {
    let authority = Authority::new("tlslab test");
    let identities = vec![authority.issue(Key::P256)];
    let (version, body_length) = (Some(version), 100);
    (Settings { identities, version, body_length, ..Settings::default() }, trust(&authority))
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
fn a_server_that_gives_nothing_to_resume_by_is_found_before_the_load() {
    for server_backend in SERVERS {
        let (server, trust) = reference(server_backend, Resumption { tickets: 0, ..ALL });
        for backend in BACKENDS {
            let spec = resuming(server.address(), backend, Resume::Psk, 20);
            let error = try_run(spec, trust.clone()).unwrap_err();
            assert_eq!(error.class(), "unexpected_kind");
            assert!(error.to_string().contains("gave nothing to resume by"), "{error}");
        }
    }
}

#[test]
fn a_server_that_forgets_its_tickets_gives_unexpected_kinds_and_no_samples() {
    for (version, resume) in [(Version::Tls13, Resume::Psk), (Version::Tls12, Resume::Ticket)] {
        for backend in BACKENDS {
            let (settings, trust) = settings(version);
            // The two connections of the preflight; one ticket each primes at most nine.
            let primed = match version {
                Version::Tls12 => 9,
                Version::Tls13 => 5,
            };
            let peer = Peer::start(&settings, 2 + primed, forgetting(&settings));
            let mut spec = resuming(peer.address(), backend, resume, 30);
            spec.connections = 4;
            let record = measured(spec, trust);
            let outcomes = &record.outcomes;
            assert_eq!(outcomes.completed, 0, "{outcomes:?} {:?}", record.kinds);
            assert_eq!(outcomes.unexpected["kind"], 30, "{outcomes:?}");
            assert_eq!(record.requests, 0);
            assert!(record.verdicts.iter().any(|v| v.code == VerdictCode::Unexpected));
        }
    }
}

#[test]
fn a_lean_client_resumes_what_it_began_with_and_without_authentication() {
    let (server, trust) = reference(ServerBackend::Openssl, ALL);
    for resume in [Resume::Id, Resume::Ticket, Resume::Psk] {
        let mut spec = resuming(server.address(), BackendChoice::Rustls, resume, 60);
        spec.tls.authenticate = Authenticate::Sampled;
        spec.tls.key_share = KeyShare::Reused;
        spec.tls.resume_ratio = Some(0.5);
        let record = measured(spec, trust.clone());
        assert_eq!((record.kinds.full, record.kinds.resumed), (30, 30), "{:?}", record.outcomes);
        assert!(record.authenticated < 60);
    }
}

#[test]
fn a_hello_retry_request_is_forced_and_seen_on_every_connection() {
    for server_backend in SERVERS {
        let (server, trust) = reference(server_backend, Resumption::default());
        for backend in BACKENDS {
            for groups in [vec![], vec![Group::P256]] {
                let mut spec = resuming(server.address(), backend, Resume::None, 10);
                spec.tls.hello_retry = Some(HelloRetry::Decoy);
                spec.tls.groups = groups;
                let record = measured(spec, trust.clone());
                assert_eq!((record.outcomes.completed, record.facts.len()), (10, 1));
                assert!(record.facts[0].facts.hello_retry_request);
            }
        }
    }
}

#[test]
fn a_share_that_the_server_lacks_is_asked_to_be_replaced_and_one_that_it_has_is_not() {
    let (mut settings, trust) = settings(Version::Tls13);
    settings.groups = "X25519:P-256".to_owned();
    let peer = Peer::honest(&settings);
    for backend in BACKENDS {
        let mut spec = resuming(peer.address(), backend, Resume::None, 10);
        spec.tls.groups = vec![Group::P256];
        spec.tls.hello_retry = Some(HelloRetry::Share(Group::P384));
        let record = measured(spec.clone(), trust.clone());
        assert_eq!((record.outcomes.completed, record.facts.len()), (10, 1));
        assert!(record.facts[0].facts.hello_retry_request);
        assert_eq!(record.facts[0].facts.group, "P-256");
        spec.tls.hello_retry = Some(HelloRetry::Share(Group::X25519));
        let error = try_run(spec, trust.clone()).unwrap_err();
        assert_eq!(error.class(), "unexpected_hello_retry_request", "{error}");
    }
}

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

/// A peer of TLS 1.3 that gives a ticket with each full handshake, and none with a resumed one.
fn unrenewing() -> (Settings, TrustAnchors) {
    let (settings, trust) = settings(Version::Tls13);
    (Settings { renews_no_ticket: true, ..settings }, trust)
}

/// The pool was kept full by full handshakes that are in no count, and the record says so.
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
