//! HTTP/2 with every setting that changes the handshake or the arrivals: the result is the same as
//! over HTTP/1.1, also by the server's count.

use openssl::x509::X509;
use tlslab_contract::record::RunRecord;
use tlslab_contract::spec::load::{ArrivalProcess, LoadSpec, Rate};
use tlslab_contract::spec::{
    BackendChoice, ClientIdentity, HttpVersion, RequestsPerConnection, Resume, RunSpec, Secret,
    Stop,
};
use tlslab_serve::{ClientAuth, Resumption, ServeSpec, Server, ServerBackend};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_tls::TrustAnchors;
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::TlsVersion;

use crate::harness::{BACKENDS, measured, spec};

const SERVERS: [ServerBackend; 2] = [ServerBackend::Openssl, ServerBackend::Rustls];

/// Every way to resume.
const ALL: Resumption = Resumption { id: true, ticket: true, psk: true, tickets: 2, early_data: 0 };

/// The requests on each connection, of which N are in flight at once.
const REQUESTS: u32 = 6;
const STREAMS: u32 = 3;

/// The reference server, which requests certificates of this authority, if one is given.
fn reference(backend: ServerBackend, clients: Option<&Authority>) -> (Server, TrustAnchors) {
    let made = self_signed(KeyKind::EcdsaP256).unwrap();
    let client_auth =
        clients.map(|authority| ClientAuth::from_pem(&authority.pem(), true).unwrap());
    let spec = ServeSpec::loopback(backend, vec![made.identity]);
    let spec = ServeSpec { resumption: ALL, client_auth, ..spec };
    let authority = X509::from_pem(made.authority.as_bytes()).unwrap().to_der().unwrap();
    (Server::start(&spec).unwrap(), TrustAnchors::Certificates(vec![authority]))
}

/// A run of N connections over HTTP/2, four at once.
fn over_http2(server: &Server, backend: BackendChoice, count: u64) -> RunSpec {
    let spec = spec(server.address(), backend);
    let mut spec = RunSpec { connections: 4, stop: Stop::Count(count), ..spec };
    spec.http.version = HttpVersion::Http2;
    spec.http.streams = STREAMS;
    spec.requests_per_connection = RequestsPerConnection::Count(REQUESTS);
    spec
}

/// Asserts that all connections were as requested, over HTTP/2, and that N of them resumed.
fn assert_did(record: &RunRecord, resumed: u64, full: u64) {
    assert_eq!(record.outcomes.completed, resumed + full, "{:?}", record.outcomes);
    assert_eq!((record.kinds.resumed, record.kinds.full), (resumed, full));
    assert_eq!(record.requests, (resumed + full) * u64::from(REQUESTS));
    assert!(record.facts.iter().all(|counted| counted.facts.alpn == "h2"), "{:?}", record.facts);
}

#[test]
fn every_kind_of_resumption_carries_http2() {
    for server_backend in SERVERS {
        let (server, trust) = reference(server_backend, None);
        let (mut full, mut resumed) = (0, 0);
        for backend in BACKENDS {
            for resume in [Resume::Id, Resume::Ticket, Resume::Psk, Resume::PskOnly] {
                let openssl = (BackendChoice::Openssl, ServerBackend::Openssl);
                if resume == Resume::PskOnly && (backend, server_backend) != openssl {
                    continue;
                }
                for ratio in [None, Some(0.5)] {
                    let mut spec = over_http2(&server, backend, 20);
                    (spec.tls.resume, spec.tls.resume_ratio) = (resume, ratio);
                    let record = measured(spec, trust.clone());
                    let wanted = if ratio.is_some() { 10 } else { 20 };
                    assert_did(&record, wanted, 20 - wanted);
                    let by = record.facts.iter().find(|counted| counted.facts.kind == "resumed");
                    assert_eq!(by.unwrap().facts.resumed_by, resume.name());
                    full += 20 - wanted + 1 + record.kinds.primed_connections;
                    resumed += wanted + 1;
                }
            }
        }
        let counted = server.stop().unwrap().handshakes;
        assert_eq!((counted.full, counted.resumed, counted.failed), (full, resumed, 0));
    }
}

#[test]
fn a_client_certificate_is_shown_on_every_connection() {
    let authority = Authority::new("clients");
    let own = authority.issue_client(Key::P256);
    for server_backend in SERVERS {
        let (server, trust) = reference(server_backend, Some(&authority));
        let mut handshakes = 0;
        for backend in BACKENDS {
            for version in TlsVersion::CURRENT {
                let mut spec = over_http2(&server, backend, 5);
                spec.tls.versions = vec![version];
                let (certificate, key) = own.pem();
                spec.tls.client_identity =
                    Some(ClientIdentity { certificate, key: Secret::new(key) });
                let record = measured(spec, trust.clone());
                assert_did(&record, 0, 5);
                assert!(record.facts[0].facts.client_authenticated, "{backend:?} {version}");
                handshakes += 5 + 1;
            }
        }
        let counted = server.stop().unwrap().handshakes;
        assert_eq!((counted.full, counted.mutual, counted.failed), (handshakes, handshakes, 0));
    }
}

#[test]
fn an_open_loop_has_its_arrivals_and_their_response_times() {
    for server_backend in SERVERS {
        let (server, trust) = reference(server_backend, None);
        for (backend, threads) in BACKENDS.into_iter().zip([1, 2]) {
            for arrivals in [ArrivalProcess::Constant, ArrivalProcess::Poisson] {
                let rate = Some(Rate::Constant(400.0));
                let load = LoadSpec { rate, arrivals, ..LoadSpec::default() };
                let spec = over_http2(&server, backend, 31);
                let spec = RunSpec { load, threads, connections: 64, ..spec };
                let record = measured(spec, trust.clone());
                assert_did(&record, 0, 31);
                let open_loop = record.open_loop.unwrap();
                assert_eq!((open_loop.arrivals, open_loop.waiting_at_stop), (31, 0));
                assert_eq!(record.summaries["response_first_byte"].n, 31);
            }
        }
    }
}

#[test]
fn an_open_loop_resumes_and_counts_who_found_no_slot() {
    let (server, trust) = reference(ServerBackend::Openssl, None);
    for backend in BACKENDS {
        let rate = Some(Rate::Constant(20_000.0));
        let load = LoadSpec { rate, ..LoadSpec::default() };
        let mut spec = RunSpec { load, connections: 2, ..over_http2(&server, backend, 0) };
        (spec.tls.resume, spec.stop) = (Resume::Psk, Stop::DurationMs(200));
        let record = measured(spec, trust.clone());
        let open_loop = record.open_loop.unwrap();
        assert_eq!(open_loop.arrivals, 4_000);
        assert!(open_loop.blocked > 2_000 && open_loop.waiting_at_stop > 0, "{open_loop:?}");
        assert_eq!((record.kinds.full, record.kinds.resumed), (0, record.outcomes.completed));
        assert!(record.outcomes.completed > 0 && record.outcomes.failures() == 0);
    }
}
