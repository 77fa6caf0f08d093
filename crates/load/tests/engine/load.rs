//! Whole runs against servers that are correct, and against some that do not do as requested: the
//! record must agree with the server's counts.

use std::net::SocketAddr;

use crate::harness::{BACKENDS, measured, spec, trust, try_run};
use openssl::x509::X509;
use tlslab_contract::record::{RunRecord, VerdictCode};
use tlslab_contract::spec::{Authenticate, BackendChoice, RequestsPerConnection, RunSpec, Stop};
use tlslab_serve::{ServeSpec, Server, ServerBackend};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::script::Act::{Reset, Wait};
use tlslab_testkit::peers::{Peer, secured};
use tlslab_testkit::tls_server::{Settings, Version};
use tlslab_tls::self_signed::self_signed;
use tlslab_tls::{ClientSettings, SAMPLING_PERIOD, TrustAnchors};
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{Group, TlsVersion};

const DOCUMENT: u64 = 4_788;

/// The reference server with an ECDSA certificate, and the authority to trust.
fn reference(backend: ServerBackend) -> (Server, TrustAnchors) {
    let made = self_signed(KeyKind::EcdsaP256).unwrap();
    let server = Server::start(&ServeSpec::loopback(backend, vec![made.identity])).unwrap();
    let authority = X509::from_pem(made.authority.as_bytes()).unwrap().to_der().unwrap();
    (server, TrustAnchors::Certificates(vec![authority]))
}

/// Every combination of back end and version.
fn every_client(address: SocketAddr) -> impl Iterator<Item = RunSpec> {
    BACKENDS.into_iter().flat_map(move |backend| {
        TlsVersion::CURRENT.into_iter().map(move |version| {
            let mut spec = RunSpec { connections: 4, ..spec(address, backend) };
            spec.tls.versions = vec![version];
            spec
        })
    })
}

/// Asserts that all connections were alike, completed, and authenticated.
fn assert_flawless(record: &RunRecord) {
    let outcomes = &record.outcomes;
    assert_eq!(outcomes.ended(), outcomes.completed, "{outcomes:?}");
    assert!(outcomes.completed > 0);
    assert_eq!(record.facts.len(), 1, "{:?}", record.facts);
    assert_eq!(record.facts[0].facts, record.preflight.facts);
    assert_eq!(record.facts[0].facts.kind, "full");
    assert_eq!(record.authenticated, outcomes.completed);
}

#[test]
fn a_handshake_only_run_agrees_with_the_servers_own_count() {
    for server_backend in [ServerBackend::Openssl, ServerBackend::Rustls] {
        let (server, trust) = reference(server_backend);
        let mut handshakes = 0;
        for spec in every_client(server.address()) {
            for threads in [1, 2] {
                let stop = Stop::Count(41);
                let spec = RunSpec { stop, threads, handshake_only: true, ..spec.clone() };
                let record = measured(spec, trust.clone());
                assert_flawless(&record);
                assert_eq!((record.outcomes.completed, record.requests), (41, 0));
                let confirmed = &record.confirmed_by;
                let is_tls13 = record.spec.tls.versions == [TlsVersion::Tls13];
                let by = if is_tls13 { confirmed.close_notify } else { confirmed.server_finished };
                assert_eq!(by, 41, "{confirmed:?}");
                assert_eq!(record.workers.len(), threads as usize);
                handshakes += 41 + 1;
            }
        }
        let counted = server.stop().unwrap().handshakes;
        assert_eq!((counted.full, counted.resumed, counted.failed), (handshakes, 0, 0));
    }
}

#[test]
fn a_run_with_requests_agrees_with_the_servers_own_count() {
    let (server, trust) = reference(ServerBackend::Openssl);
    let (mut connections, mut requests) = (0, 0);
    for (spec, each) in every_client(server.address()).zip([1, 5, 1, 5]) {
        for threads in [1, 2] {
            let stop = Stop::Count(20);
            let requests_per_connection = RequestsPerConnection::Count(each);
            let spec = RunSpec { stop, threads, requests_per_connection, ..spec.clone() };
            let record = measured(spec, trust.clone());
            assert_flawless(&record);
            assert_eq!((record.outcomes.attempts, record.requests), (20, 20 * u64::from(each)));
            assert_eq!(record.bytes.body, DOCUMENT * record.requests);
            connections += 20 + 1;
            requests += record.requests + 1;
        }
    }
    let stats = server.stop().unwrap();
    assert_eq!((stats.handshakes.full, stats.requests), (connections, requests));
}

#[test]
fn a_run_by_time_keeps_its_accounting() {
    let (server, trust) = reference(ServerBackend::Openssl);
    for spec in every_client(server.address()) {
        for (threads, handshake_only) in [(1, false), (2, true)] {
            let stop = Stop::DurationMs(250);
            let spec = RunSpec { stop, threads, handshake_only, warmup_ms: 50, ..spec.clone() };
            let record = measured(spec, trust.clone());
            assert_flawless(&record);
            assert!(record.seconds > 0.0);
            assert!(record.outcomes.in_flight_at_stop <= 4);
        }
    }
}

#[test]
fn connections_without_end_carry_requests_until_the_run_ends() {
    let (server, trust) = reference(ServerBackend::Openssl);
    for spec in every_client(server.address()) {
        let requests_per_connection = RequestsPerConnection::Unlimited;
        let stop = Stop::DurationMs(250);
        let spec = RunSpec { stop, requests_per_connection, threads: 2, ..spec };
        let record = measured(spec, trust.clone());
        let outcomes = &record.outcomes;
        assert_eq!((outcomes.attempts, outcomes.in_flight_at_stop), (4, 4), "{outcomes:?}");
        assert!(record.requests > 4);
        assert_eq!(record.bytes.body, DOCUMENT * record.requests);
        let nothing = VerdictCode::NothingCompleted;
        assert!(record.verdicts.iter().all(|v| v.code != nothing), "{:?}", record.verdicts);
    }
}

#[test]
fn sampling_authenticates_the_first_connection_of_a_worker_and_one_in_a_period() {
    let (server, trust) = reference(ServerBackend::Openssl);
    for backend in BACKENDS {
        for threads in [1, 2] {
            let count = 300;
            let mut spec = RunSpec {
                threads,
                connections: 4,
                handshake_only: true,
                stop: Stop::Count(count),
                ..spec(server.address(), backend)
            };
            spec.tls.authenticate = Authenticate::Sampled;
            let record = measured(spec, trust.clone());
            let share = count / u64::from(threads);
            let expected = u64::from(threads) * share.div_ceil(u64::from(SAMPLING_PERIOD));
            assert_eq!(record.authenticated, expected, "{backend:?}, {threads} threads");
        }
    }
}

/// An ECDSA P-256 server of this version, with OpenSSL's own defaults: it offers session tickets.
fn settings(authority: &Authority, version: Version) -> Settings {
    Settings {
        identities: vec![authority.issue(Key::P256)],
        version: Some(version),
        body_length: DOCUMENT as usize,
        ..Settings::default()
    }
}

#[test]
fn a_server_that_offers_tickets_sees_no_resumption() {
    let authority = Authority::new("tlslab test");
    for version in [Version::Tls12, Version::Tls13] {
        for backend in BACKENDS {
            let peer = Peer::honest(&settings(&authority, version));
            let spec = RunSpec { connections: 2, ..spec(peer.address(), backend) };
            let record = measured(RunSpec { stop: Stop::Count(20), ..spec }, trust(&authority));
            assert_flawless(&record);
            assert_eq!(peer.handshakes(), (21, 0), "{version:?}, {backend:?}");
        }
    }
}

#[test]
fn a_hello_retry_request_is_unexpected_and_never_a_sample() {
    let authority = Authority::new("tlslab test");
    let good = settings(&authority, Version::Tls13);
    let retrying = Settings { groups: "P-384".to_owned(), ..good.clone() };
    for backend in BACKENDS {
        let peer = Peer::start(&good, 1, secured(&retrying, vec![Wait]));
        let mut spec = RunSpec { connections: 2, ..spec(peer.address(), backend) };
        spec.tls.versions = vec![TlsVersion::Tls13];
        spec.tls.groups = vec![Group::X25519, Group::P384];
        let record = measured(spec, trust(&authority));
        let unexpected = [("hello_retry_request".to_owned(), 4)].into();
        assert_eq!(record.outcomes.unexpected, unexpected, "{backend:?}");
        assert_eq!((record.outcomes.completed, record.summaries["handshake"].n), (0, 0));
        assert!(record.facts.iter().all(|counted| counted.facts.hello_retry_request));
        assert!(record.verdicts.iter().any(|v| v.code == VerdictCode::Unexpected));
    }
}

#[test]
fn a_server_that_turns_away_after_the_clients_finished_completes_nothing() {
    let authority = Authority::new("tlslab test");
    let good = settings(&authority, Version::Tls13);
    let demanding = Settings { demands_certificate: true, ..good.clone() };
    for backend in BACKENDS {
        let peer = Peer::start(&good, 1, secured(&demanding, vec![Wait]));
        let spec = RunSpec { connections: 2, ..spec(peer.address(), backend) };
        let record = measured(spec, trust(&authority));
        let failed = [("alert_certificate_required".to_owned(), 4)].into();
        assert_eq!(record.outcomes.failed, failed, "{backend:?}");
        assert_eq!(record.outcomes.completed, 0);
    }
}

#[test]
fn a_server_that_resets_after_the_clients_finished_completes_nothing() {
    let authority = Authority::new("tlslab test");
    let good = settings(&authority, Version::Tls13);
    for backend in BACKENDS {
        let peer = Peer::start(&good, 1, secured(&good, vec![Reset]));
        let spec = RunSpec { connections: 2, ..spec(peer.address(), backend) };
        let record = measured(spec, trust(&authority));
        assert_eq!(record.outcomes.failed, [("reset".to_owned(), 4)].into(), "{backend:?}");
        assert_eq!((record.outcomes.completed, record.summaries["handshake"].n), (0, 0));
    }
}

/// X25519 forced in TLS 1.2.
fn forced(address: SocketAddr, backend: BackendChoice) -> RunSpec {
    let mut spec = RunSpec { connections: 2, ..spec(address, backend) };
    spec.tls.versions = vec![TlsVersion::Tls12];
    spec.tls.groups = vec![Group::X25519];
    spec
}

#[test]
fn a_forced_group_works_though_the_server_insists_on_its_certificates_curve() {
    let authority = Authority::new("tlslab test");
    let peer = Peer::honest(&settings(&authority, Version::Tls12));
    let groups = vec![Group::X25519];
    let alone =
        ClientSettings { groups, ..crate::support::settings_of(TlsVersion::Tls12, &authority) };
    let refused = crate::support::connect(&alone, peer.address()).err().unwrap().0;
    assert_eq!(refused.to_string(), "alert_handshake_failure", "the server does not insist");
    for backend in BACKENDS {
        let record = measured(forced(peer.address(), backend), trust(&authority));
        assert_flawless(&record);
        assert_eq!(record.facts[0].facts.group, "X25519");
        assert_eq!(record.spec.tls.groups, [Group::X25519]);
    }
}

#[test]
fn a_server_that_prefers_another_group_is_reported() {
    let authority = Authority::new("tlslab test");
    let good = settings(&authority, Version::Tls12);
    let preferring =
        Settings { prefers_its_own: true, groups: "P-256:X25519".to_owned(), ..good.clone() };
    for backend in BACKENDS {
        let peer = Peer::honest(&preferring);
        let error = try_run(forced(peer.address(), backend), trust(&authority)).unwrap_err();
        assert_eq!(error.class(), "unexpected_group", "{error}");
        assert!(error.to_string().contains("group P-256"), "{error}");

        let turncoat = Peer::start(&good, 2, secured(&preferring, vec![Wait]));
        let record = measured(forced(turncoat.address(), backend), trust(&authority));
        let unexpected = [("group".to_owned(), 4)].into();
        assert_eq!(record.outcomes.unexpected, unexpected, "{backend:?}");
        assert_eq!(record.summaries["service"].n, 0);
    }
}
