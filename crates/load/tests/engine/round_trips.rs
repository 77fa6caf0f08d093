//! The round trips of connections until the first byte of the response, by kind of handshake. The
//! harness compares those of every other run with its facts.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::harness::{BACKENDS, measured, spec, with_minimal_client};
use openssl::x509::X509;
use tlslab_contract::record::RoundTrips;
use tlslab_contract::spec::{Finished, HelloRetry, HttpVersion, Resume, RunSpec, Stop};
use tlslab_serve::{Resumption, ServeSpec, Server, ServerBackend};
use tlslab_tls::TrustAnchors;
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::{KeyKind, TlsVersion};

const SERVERS: [ServerBackend; 2] = [ServerBackend::Openssl, ServerBackend::Rustls];

/// Every way to resume, and early data of this length.
fn reference(backend: ServerBackend, early_data: u32) -> (Server, TrustAnchors) {
    let resumption = Resumption { id: true, ticket: false, psk: true, tickets: 2, early_data };
    let made = self_signed(KeyKind::EcdsaP256).unwrap();
    let spec = ServeSpec { resumption, ..ServeSpec::loopback(backend, vec![made.identity]) };
    let authority = X509::from_pem(made.authority.as_bytes()).unwrap().to_der().unwrap();
    (Server::start(&spec).unwrap(), TrustAnchors::Certificates(vec![authority]))
}

/// The numbers of round trips, each with its connections.
fn counted<const N: usize>(counts: [(u8, u64); N]) -> BTreeMap<String, u64> {
    counts.map(|(number, count)| (number.to_string(), count)).into()
}

fn full(round_trips: u8) -> RoundTrips {
    RoundTrips { full: counted([(round_trips, 12)]), resumed: counted([]) }
}

fn resumed(round_trips: u8) -> RoundTrips {
    RoundTrips { full: counted([]), resumed: counted([(round_trips, 12)]) }
}

/// Asserts the round trips of twelve connections with each client and each server.
fn assert_counted(early_data: u32, expected: &RoundTrips, change: impl Fn(&mut RunSpec)) {
    for server_backend in SERVERS {
        let (server, trust) = reference(server_backend, early_data);
        let address: SocketAddr = server.address();
        for backend in BACKENDS {
            let stop = Stop::Count(12);
            let mut spec = RunSpec { connections: 3, threads: 2, stop, ..spec(address, backend) };
            change(&mut spec);
            let record = measured(spec, trust.clone());
            assert_eq!(record.round_trips, *expected, "{server_backend:?} {backend:?}");
        }
    }
}

#[test]
fn tls_1_2_takes_four_in_full_and_three_resumed() {
    let by = |resume| {
        move |spec: &mut RunSpec| {
            spec.tls.versions = vec![TlsVersion::Tls12];
            spec.tls.resume = resume;
        }
    };
    assert_counted(0, &full(4), by(Resume::None));
    assert_counted(0, &resumed(3), by(Resume::Id));
}

#[test]
fn tls_1_3_takes_three_in_full_and_resumed_with_every_client_and_over_http_2() {
    let by = |resume| move |spec: &mut RunSpec| spec.tls.resume = resume;
    assert_counted(0, &full(3), by(Resume::None));
    assert_counted(0, &resumed(3), by(Resume::Psk));
    assert_counted(0, &full(3), |spec| *spec = with_minimal_client(spec.clone()));
    assert_counted(0, &full(3), |spec| spec.finished = Finished::Separate);
    assert_counted(0, &full(3), |spec| spec.http.version = HttpVersion::Http2);
}

#[test]
fn a_hello_retry_request_takes_one_more() {
    assert_counted(0, &full(4), |spec| spec.tls.hello_retry = Some(HelloRetry::Decoy));
}

#[test]
fn early_data_saves_that_of_the_request_if_the_whole_request_is_taken() {
    let early = |spec: &mut RunSpec| {
        spec.tls.resume = Resume::Psk;
        spec.tls.early_data = true;
    };
    assert_counted(4096, &resumed(2), early);
    assert_counted(7, &resumed(3), early);
}

#[test]
fn full_and_resumed_connections_are_counted_apart() {
    let mixed = RoundTrips { full: counted([(3, 6)]), resumed: counted([(2, 6)]) };
    assert_counted(4096, &mixed, |spec| {
        spec.tls.resume = Resume::Psk;
        spec.tls.early_data = true;
        spec.tls.resume_ratio = Some(0.5);
    });
}

#[test]
fn without_a_request_they_are_those_until_the_handshake_is_confirmed() {
    let by = |version, resume| {
        move |spec: &mut RunSpec| {
            spec.handshake_only = true;
            spec.tls.versions = vec![version];
            spec.tls.resume = resume;
        }
    };
    // The server's Finished confirms.
    assert_counted(0, &full(3), by(TlsVersion::Tls12, Resume::None));
    // The server's close_notify confirms.
    assert_counted(0, &full(3), by(TlsVersion::Tls13, Resume::None));
    assert_counted(0, &resumed(3), by(TlsVersion::Tls12, Resume::Id));
}
