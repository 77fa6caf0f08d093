//! Resumption, early data and HelloRetryRequest: the record must agree with the server's counts.

mod collecting;
mod early_data;
mod hello_retry;

use std::net::SocketAddr;

use crate::harness::{BACKENDS, lean, measured, spec, trust, try_run, with_minimal_client};
use openssl::x509::X509;
use tlslab_contract::record::{RunRecord, VerdictCode};
use tlslab_contract::spec::{Authenticate, BackendChoice, KeyShare, Resume, RunSpec, Stop};
use tlslab_serve::{Resumption, ServeSpec, Server, ServerBackend, Stats};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::{Peer, forgetting, in_turn};
use tlslab_testkit::tls_server::{Settings, Version};
use tlslab_tls::TrustAnchors;
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::KeyKind;

const SERVERS: [ServerBackend; 2] = [ServerBackend::Openssl, ServerBackend::Rustls];

/// Every way to resume.
const ALL: Resumption = Resumption { id: true, ticket: true, psk: true, tickets: 2, early_data: 0 };

/// The reference server with an ECDSA certificate, and the authority to trust.
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

/// Asserts that all connections were as requested, and that N of them resumed.
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

/// Asserts that the server saw these connections, the preflight's two by each client of a run, and
/// those that primed the pools.
fn assert_counted(stats: &Stats, records: &[RunRecord]) {
    let sum = |of: fn(&RunRecord) -> u64| records.iter().map(of).sum::<u64>();
    let preflights = sum(|record| 1 + u64::from(record.minimal_client > 0));
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
fn the_minimal_client_resumes_all_but_the_first_connection_of_each_worker() {
    for server_backend in SERVERS {
        let (server, trust) = reference(server_backend, ALL);
        let mut records = Vec::new();
        for change in [with_minimal_client, lean] {
            for threads in [1, 2] {
                let spec = resuming(server.address(), BackendChoice::Rustls, Resume::Psk, 41);
                let record = measured(RunSpec { threads, ..change(spec) }, trust.clone());
                assert_eq!((record.kinds.resumed, record.kinds.full), (41, 0));
                assert_eq!(record.outcomes.completed, 41, "{:?}", record.outcomes);
                assert_eq!(record.minimal_client, 41 - u64::from(threads));
                records.push(record);
            }
        }
        assert_counted(&server.stop().unwrap(), &records);
    }
}

#[test]
fn the_library_samples_to_the_end_whatever_the_server_issues() {
    for server_backend in SERVERS {
        for tickets in [1, 2, 4] {
            let (server, trust) = reference(server_backend, Resumption { tickets, ..ALL });
            let spec = resuming(server.address(), BackendChoice::Rustls, Resume::Psk, 600);
            let record = measured(with_minimal_client(spec), trust);
            assert_resumed(&record, 600, 0);
            let by_library = 600 - record.minimal_client;
            // One in 128, more with a server that issues several tickets on each resumption: rustls.
            assert!((5..=20).contains(&by_library), "{tickets}: {by_library}");
        }
    }
}

#[test]
fn the_minimal_client_resumes_the_share_that_was_asked_for() {
    let (server, trust) = reference(ServerBackend::Openssl, ALL);
    let spec = resuming(server.address(), BackendChoice::Rustls, Resume::Psk, 50);
    let mut spec = with_minimal_client(spec);
    spec.tls.resume_ratio = Some(0.6);
    let record = measured(spec, trust);
    assert_resumed(&record, 30, 20);
    // The library samples both kinds.
    assert!((47..50).contains(&record.minimal_client), "{}", record.minimal_client);
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
    assert!(error.to_string().contains("resumed by psk, in 8 tries)"), "{error}");
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
    // With early data a server accepts each ticket once: a shared ticket would fail.
    let resumption = Resumption { early_data: 4096, ..ALL };
    for server_backend in SERVERS {
        // rustls keeps sessions only as long as it encrypts none into tickets.
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

/// A peer of this version with settings that a test may change, and the authority to trust.
fn settings(version: Version) -> (Settings, TrustAnchors) {
    let authority = Authority::new("tlslab test");
    let identities = vec![authority.issue(Key::P256)];
    let (version, body_length) = (Some(version), 100);
    (Settings { identities, version, body_length, ..Settings::default() }, trust(&authority))
}

#[test]
fn a_server_that_gives_nothing_to_resume_by_is_found_before_the_load() {
    for server_backend in SERVERS {
        let (server, trust) = reference(server_backend, Resumption { tickets: 0, ..ALL });
        for backend in BACKENDS {
            let spec = resuming(server.address(), backend, Resume::Psk, 20);
            let error = try_run(spec, trust.clone()).unwrap_err();
            assert_eq!(error.class(), "unexpected_kind");
            assert!(error.to_string().contains("nothing to resume by, in 8 tries"), "{error}");
        }
    }
}

#[test]
fn a_server_that_forgets_its_tickets_gives_unexpected_kinds_and_no_samples() {
    for (version, resume) in [(Version::Tls13, Resume::Psk), (Version::Tls12, Resume::Ticket)] {
        for backend in BACKENDS {
            let (settings, trust) = settings(version);
            // The two connections of the preflight; at most nine prime one ticket each.
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

/// Like two processes on one port without common ticket keys.
#[test]
fn one_session_that_is_not_resumed_is_no_reason_against_a_run() {
    for backend in BACKENDS {
        let (settings, trust) = settings(Version::Tls13);
        let peer = Peer::start(&settings, 0, in_turn(&settings));
        let record = measured(resuming(peer.address(), backend, Resume::Psk, 20), trust);
        let of_tries = |note: &String| note.starts_with("only the last of 2 tries resumed");
        assert!(record.notes.iter().any(of_tries), "{backend:?} {:?}", record.notes);
        let unexpected = record.outcomes.unexpected.get("kind").unwrap_or(&0);
        assert_eq!(record.kinds.resumed + unexpected, 20, "{:?}", record.outcomes);
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
