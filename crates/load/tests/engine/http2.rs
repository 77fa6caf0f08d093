//! HTTP/2 against the reference server: every client with every server, one stream and many; and
//! wrong bodies, in both versions of HTTP.

use std::net::SocketAddr;

use crate::harness::{BACKENDS, impatient, measured, spec, trust, try_run};
use openssl::x509::X509;
use tlslab_contract::spec::{
    BackendChoice, BodyCheck, HttpVersion, RequestsPerConnection, RunSpec, Stop,
};
use tlslab_serve::{ServeSpec, Server, ServerBackend};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::h2::{response, settings as settings_frame};
use tlslab_testkit::peers::script::Act::{Receive, Send, Wait};
use tlslab_testkit::peers::{Peer, answering, secured};
use tlslab_testkit::tls_server::{Settings, Version};
use tlslab_tls::TrustAnchors;
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{CipherSuite, ServerAuthentication, TlsVersion};

const DOCUMENT: u64 = 4_788;

/// Longer than the initial windows of HTTP/2, so that window updates are necessary.
const LARGE: u64 = 40 << 20;

fn reference(backend: ServerBackend, key: KeyKind) -> (Server, TrustAnchors) {
    let made = self_signed(key).unwrap();
    let server = Server::start(&ServeSpec::loopback(backend, vec![made.identity])).unwrap();
    let authority = X509::from_pem(made.authority.as_bytes()).unwrap().to_der().unwrap();
    (server, TrustAnchors::Certificates(vec![authority]))
}

fn over_http2(address: SocketAddr, backend: BackendChoice, requests: u32, streams: u32) -> RunSpec {
    let mut spec = RunSpec { connections: 4, stop: Stop::Count(9), ..spec(address, backend) };
    spec.http.version = HttpVersion::Http2;
    spec.http.streams = streams;
    spec.http.check_body = BodyCheck::Hash;
    spec.requests_per_connection = RequestsPerConnection::Count(requests);
    spec
}

#[test]
fn requests_agree_with_the_servers_own_count() {
    for server_backend in [ServerBackend::Openssl, ServerBackend::Rustls] {
        let (server, trust) = reference(server_backend, KeyKind::EcdsaP256);
        let mut requests = 0;
        for backend in BACKENDS {
            for (each, streams) in [(1, 1), (30, 1), (30, 7), (300, 200)] {
                let mut spec = over_http2(server.address(), backend, each, streams);
                spec.tls.versions = TlsVersion::CURRENT.to_vec();
                let record = measured(spec, trust.clone());
                assert_eq!((record.outcomes.completed, record.outcomes.ended()), (9, 9));
                assert_eq!(record.requests, 9 * u64::from(each));
                assert_eq!(record.facts.len(), 1);
                assert_eq!(record.facts[0].facts.alpn, "h2");
                assert_eq!(record.bytes.body, DOCUMENT * record.requests);
                assert!(record.bytes.head > 0);
                assert!(record.bytes.received > record.bytes.body + record.bytes.head);
                // The preflight makes one.
                requests += record.requests + 1;
            }
        }
        assert_eq!(server.stats().requests, requests);
        server.stop().unwrap();
    }
}

#[test]
fn more_streams_than_the_server_allows_are_not_opened() {
    let (server, trust) = reference(ServerBackend::Rustls, KeyKind::EcdsaP256);
    // A server rejects streams above its limit of 128, which would be a failure.
    let record = measured(over_http2(server.address(), BackendChoice::Rustls, 1000, 1000), trust);
    assert_eq!((record.outcomes.completed, record.requests), (9, 9_000));
    assert_eq!(record.preflight.streams, Some(128));
    let note = "the server allows 128 concurrent streams on a connection";
    assert!(record.notes.iter().any(|line| line.starts_with(note)), "{:?}", record.notes);
}

#[test]
fn a_large_body_comes_through_the_windows() {
    let (server, trust) = reference(ServerBackend::Openssl, KeyKind::EcdsaP256);
    for backend in BACKENDS {
        let mut spec = over_http2(server.address(), backend, 2, 2);
        spec.url = format!("https://{}/bytes/{LARGE}", server.address());
        (spec.connections, spec.stop) = (1, Stop::Count(1));
        let record = measured(spec, trust.clone());
        assert_eq!((record.requests, record.bytes.body), (2, 2 * LARGE), "{backend:?}");
    }
}

#[test]
fn an_endless_connection_ends_with_the_run() {
    let (server, trust) = reference(ServerBackend::Openssl, KeyKind::EcdsaP256);
    for version in [HttpVersion::Http11, HttpVersion::Http2] {
        let mut spec = over_http2(server.address(), BackendChoice::Rustls, 1, 1);
        spec.http.version = version;
        spec.requests_per_connection = RequestsPerConnection::Unlimited;
        spec.stop = Stop::DurationMs(200);
        let record = measured(spec, trust.clone());
        assert!(record.requests > 0);
        let outcomes = &record.outcomes;
        assert_eq!(
            (outcomes.completed, outcomes.in_flight_at_stop, outcomes.failures()),
            (0, 4, 0)
        );
    }
}

#[test]
fn every_suite_is_measured_over_http2_and_those_that_it_bars_with_a_note() {
    let (server, trust) = reference(ServerBackend::Openssl, KeyKind::Rsa2048);
    let rsa = |suite: &CipherSuite| suite.authentication() == ServerAuthentication::Rsa;
    let suites: Vec<_> = CipherSuite::all().filter(rsa).collect();
    // The 23 of the study that requested them are among these.
    assert!(suites.len() >= 23);
    for suite in suites {
        for version in [HttpVersion::Http2, HttpVersion::Http11] {
            let mut spec = over_http2(server.address(), BackendChoice::Auto, 1, 1);
            spec.http.version = version;
            spec.tls.suites = vec![suite];
            let record = measured(spec, trust.clone());
            assert_eq!((record.outcomes.completed, record.facts.len()), (9, 1), "{suite}");
            assert_eq!(record.facts[0].facts.suite, suite.to_string());
            let noted = version == HttpVersion::Http2 && suite.is_barred_from_http2();
            assert_eq!(record.notes.len(), usize::from(noted), "{suite}");
            assert!(record.notes.iter().all(|note| note.starts_with(&suite.to_string())));
        }
    }
}

/// The failures of a run whose preflight received 100 times `x`, and whose connections receive this
/// body in HTTP/1.1 and in HTTP/2, with a Repr-Digest field or without.
fn checked_by(check: BodyCheck, body: &[u8], digest: Option<&str>) -> Vec<(u64, Vec<String>)> {
    let authority = Authority::new("tlslab test");
    let settings = Settings {
        identities: vec![authority.issue(Key::P256)],
        version: Some(Version::Tls13),
        body_length: 100,
        alpn: "h2".to_owned(),
        ..Settings::default()
    };
    let field = digest.map(|value| format!("Repr-Digest: {value}\r\n")).unwrap_or_default();
    let old = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{field}\r\n", body.len());
    let fields: Vec<_> = digest.map(|value| ("repr-digest", value)).into_iter().collect();
    let new = [settings_frame(&[]), response(1, &fields, body)].concat();
    let faults = [
        (HttpVersion::Http11, answering(&settings, [old.as_bytes(), body].concat())),
        (HttpVersion::Http2, secured(&settings, vec![Receive, Send(new), Wait])),
    ];
    let run = |(version, fault)| {
        let peer = Peer::start(&settings, 1, fault);
        let mut spec = impatient(peer.address(), BackendChoice::Rustls);
        (spec.http.version, spec.http.check_body) = (version, check);
        let record = measured(spec, trust(&authority));
        (record.outcomes.completed, record.outcomes.failed.into_keys().collect())
    };
    faults.into_iter().map(run).collect()
}

#[test]
fn bodies_are_held_against_the_first_one_or_their_own_digest() {
    let good = vec![(4, vec![]); 2];
    let bad = vec![(0, vec!["body".to_owned()]); 2];
    let (same, other, short) = ([b'x'; 100], [b'y'; 100], [b'x'; 99]);
    assert_eq!(checked_by(BodyCheck::Off, &short, None), good);
    assert_eq!(checked_by(BodyCheck::Length, &other, None), good);
    assert_eq!(checked_by(BodyCheck::Length, &short, None), bad);
    assert_eq!(checked_by(BodyCheck::Hash, &same, None), good);
    assert_eq!(checked_by(BodyCheck::Hash, &other, None), bad);
    // printf abc | openssl dgst -sha256 -binary | base64
    let abc = "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:";
    assert_eq!(checked_by(BodyCheck::Hash, b"abc", Some(abc)), good);
    assert_eq!(checked_by(BodyCheck::Hash, &same, Some(abc)), bad);
    assert_eq!(checked_by(BodyCheck::Length, &same, Some(abc)), good);
}

#[test]
fn a_first_body_that_belies_its_own_digest_is_found_before_the_run() {
    let authority = Authority::new("tlslab test");
    let settings = Settings {
        identities: vec![authority.issue(Key::P256)],
        alpn: "h2".to_owned(),
        ..Settings::default()
    };
    let digest = ("repr-digest", "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:");
    let answer = [settings_frame(&[]), response(1, &[digest], b"abd")].concat();
    let peer = Peer::start(&settings, 0, secured(&settings, vec![Receive, Send(answer), Wait]));
    let mut spec = impatient(peer.address(), BackendChoice::Rustls);
    (spec.http.version, spec.http.check_body) = (HttpVersion::Http2, BodyCheck::Hash);
    let error = try_run(spec, trust(&authority)).unwrap_err();
    assert_eq!(error.class(), "body");
}
